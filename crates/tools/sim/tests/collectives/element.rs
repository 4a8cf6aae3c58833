//! The kinds of elements that the tests send, in several layouts, and the operations on them.

use std::sync::{Arc, OnceLock};
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Region};
use verbena_mpi::datatype::{Datatype, Form};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::op::Op;
use verbena_sim::Random;

/// Datatypes of the same signature: two `MPI_UINT32_T`.
pub(crate) fn pairs() -> &'static [Arc<Datatype>] {
    static PAIRS: OnceLock<Vec<Arc<Datatype>>> = OnceLock::new();
    PAIRS.get_or_init(|| {
        let word = word();
        let placed = |at: [i64; 2], lb: i64, extent: i64| {
            let inner = Datatype::structure(Form::Large, &[1, 1], &at, &[word.clone(), word.clone()]);
            let inner = Arc::new(inner.expect("a datatype"));
            Arc::new(Datatype::resized(Form::Large, lb, extent, &inner).expect("a datatype"))
        };
        vec![
            placed([0, 4], 0, 8),
            placed([0, 8], 0, 16),
            placed([4, 0], 0, 8),
            placed([-8, 4], -8, 20),
            placed([12, 4], 0, 24),
            placed([0, 4], 0, -12),
        ]
    })
}

/// `MPI_UINT32_T`.
pub(crate) fn word() -> &'static Arc<Datatype> {
    Datatype::predefined(mpi::MPI_UINT32_T).expect("a predefined datatype")
}

/// A datatype of no bytes, but of some extent.
pub(crate) fn nothing() -> &'static Arc<Datatype> {
    static NOTHING: OnceLock<Arc<Datatype>> = OnceLock::new();
    NOTHING.get_or_init(|| {
        let empty = Arc::new(Datatype::contiguous(Form::Large, 0, word()).expect("a datatype"));
        Arc::new(Datatype::resized(Form::Large, 0, 4, &empty).expect("a datatype"))
    })
}

/// A way to reduce: the operation, its datatype, and the same on packed bytes.
#[derive(Clone)]
pub(crate) struct Reducing {
    pub op: Arc<Op>,
    pub datatype: &'static Arc<Datatype>,
    pub model: fn(&[u8], &[u8]) -> Vec<u8>,
}

impl Reducing {
    /// Picks a predefined operation, a program's commutative one, or a program's one that is not.
    pub(crate) fn random(random: &mut Random) -> Reducing {
        let datatype = random.pick(&[0, 1, 2, 3, 4, 5]);
        match random.below(4) {
            0 => Reducing {
                op: Op::predefined(mpi::MPI_SUM).expect("a predefined operation").clone(),
                datatype: word(),
                model: sum,
            },
            1 => Reducing::of(swap_sum, true, datatype),
            _ => Reducing::of(affine, false, datatype),
        }
    }

    /// An operation that is not commutative.
    pub(crate) fn ordered() -> Reducing {
        Reducing::of(affine, false, 0)
    }

    fn of(model: fn(&[u8], &[u8]) -> Vec<u8>, commutative: bool, datatype: usize) -> Reducing {
        let function = move |left: Region, right: Region, count: i64, datatype: &Arc<Datatype>| {
            let each = |region| Elements::at_origins(region, datatype.layout());
            for i in 0..count as isize {
                let (left, right) = (each(left).buffer(i, 1), each(right).buffer(i, 1));
                right.copy_in(0, &model(&packed(&left), &packed(&right)));
            }
        };
        let op = Arc::new(Op::user(Box::new(function), commutative));
        Reducing { op, datatype: &pairs()[datatype], model }
    }
}

/// The packed bytes of a buffer.
pub(crate) fn packed(buffer: &Buffer) -> Vec<u8> {
    let mut out = vec![0; buffer.len()];
    buffer.copy_out(0, &mut out);
    out
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn sum(a: &[u8], b: &[u8]) -> Vec<u8> {
    bytes(&[words(a)[0].wrapping_add(words(b)[0])])
}

fn swap_sum(a: &[u8], b: &[u8]) -> Vec<u8> {
    let (a, b) = (words(a), words(b));
    bytes(&[a[0] ^ b[0], a[1].wrapping_mul(b[1])])
}

/// Composition of the maps `x -> m x + c`: associative, not commutative.
fn affine(a: &[u8], b: &[u8]) -> Vec<u8> {
    let (a, b) = (words(a), words(b));
    bytes(&[a[0].wrapping_mul(b[0]), a[0].wrapping_mul(b[1]).wrapping_add(a[1])])
}
