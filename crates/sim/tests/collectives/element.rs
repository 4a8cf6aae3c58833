//! The kinds of elements that the tests send, in several layouts, and the operations on them.

use std::sync::{Arc, OnceLock};
use verbena_channel::elements::Elements;
use verbena_channel::layout::Layout;
use verbena_channel::memory::{Buffer, Region};
use verbena_mpi::datatype::{Datatype, Form};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::op::Op;
use verbena_sim::Random;

/// Packed bytes of an element of a derived kind: two words.
pub const PAIR_BYTES: usize = 8;

/// Datatypes of the same signature: two `MPI_UINT32_T`.
pub fn pairs() -> &'static [Arc<Datatype>] {
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
pub fn word() -> Arc<Datatype> {
    Datatype::predefined(mpi::MPI_UINT32_T).expect("a predefined datatype").clone()
}

/// A datatype of no bytes, but of some extent.
pub fn nothing() -> &'static Arc<Datatype> {
    static NOTHING: OnceLock<Arc<Datatype>> = OnceLock::new();
    NOTHING.get_or_init(|| {
        let empty = Arc::new(Datatype::contiguous(Form::Large, 0, &word()).expect("a datatype"));
        Arc::new(Datatype::resized(Form::Large, 0, 4, &empty).expect("a datatype"))
    })
}

/// A way to reduce: the operation, its datatype, and the same on packed bytes.
#[derive(Clone)]
pub struct Reducing {
    pub op: Arc<Op>,
    pub datatype: Arc<Datatype>,
    pub model: fn(&[u8], &[u8]) -> Vec<u8>,
}

impl Reducing {
    /// One of: a predefined operation, a program's commutative one, a program's one that is not.
    pub fn random(random: &mut Random) -> Reducing {
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

    fn of(model: fn(&[u8], &[u8]) -> Vec<u8>, commutative: bool, datatype: usize) -> Reducing {
        let function = move |left: Region, right: Region, count: i64, datatype: &Arc<Datatype>| {
            let each = |region| Elements::at_origins(region, datatype.layout());
            for i in 0..count as isize {
                let (left, right) = (each(left).buffer(i, 1), each(right).buffer(i, 1));
                right.copy_in(0, &model(&packed(&left), &packed(&right)));
            }
        };
        let op = Arc::new(Op::user(Box::new(function), commutative));
        Reducing { op, datatype: pairs()[datatype].clone(), model }
    }
}

/// The packed bytes of a buffer.
pub fn packed(buffer: &Buffer) -> Vec<u8> {
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

/// Memory of one argument: elements of a layout, with guard bytes around, and what it should hold in the end.
pub struct Arena {
    memory: Box<[u8]>,
    expected: Box<[u8]>,
    origin: usize,
    layout: &'static Arc<Layout>,
}

const GUARD_BYTES: usize = 16;

impl Arena {
    /// Room for `count` elements. The layout is one of a few that live for ever.
    pub fn new(count: usize, layout: &'static Arc<Layout>) -> Arena {
        let (low, high) = layout.span(count).expect("a span");
        let memory = vec![0xa5; (high - low) as usize + 2 * GUARD_BYTES].into_boxed_slice();
        let origin = (GUARD_BYTES as isize - low) as usize;
        Arena { expected: memory.clone(), memory, origin, layout }
    }

    /// Its elements. The arena must outlive their use.
    pub fn elements(&mut self) -> Elements<'static> {
        elements_of(&mut self.memory, self.origin, self.layout)
    }

    /// Puts in packed bytes, as the program does before the call.
    pub fn put(&mut self, first: usize, packed: &[u8]) {
        self.write(first, packed, true);
    }

    /// States that the packed bytes are there in the end.
    pub fn expect(&mut self, first: usize, packed: &[u8]) {
        self.write(first, packed, false);
    }

    fn write(&mut self, first: usize, packed: &[u8], now: bool) {
        let (origin, layout) = (self.origin, self.layout);
        let count = if layout.size() == 0 { 0 } else { packed.len() / layout.size() };
        let memories = [Some(&mut self.expected), now.then_some(&mut self.memory)];
        for memory in memories.into_iter().flatten() {
            elements_of(memory, origin, layout).buffer(first as isize, count).copy_in(0, packed);
        }
    }

    /// Whether every byte is as expected, those between elements and around too.
    pub fn is_as_expected(&self) -> bool {
        self.memory == self.expected
    }
}

fn elements_of(memory: &mut [u8], origin: usize, layout: &'static Arc<Layout>) -> Elements<'static> {
    // SAFETY: the arena has room for all of its elements and lives in a box that does not move; tests keep
    // it until the collective has ended.
    unsafe { Elements::new(memory.as_mut_ptr().wrapping_add(origin), layout) }
}

/// Values that tell who made them: `count` elements of `size` bytes each.
pub fn values(seed: u64, rank: usize, block: usize, count: usize, size: usize) -> Vec<u8> {
    let mut random = Random::new(seed ^ (rank as u64) << 20 ^ (block as u64) << 40);
    (0..count * size).map(|_| random.word() as u8).collect()
}
