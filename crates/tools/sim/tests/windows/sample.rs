//! Datatypes that operations are drawn with.

use std::sync::{Arc, LazyLock};
use verbena_mpi::Datatype;
use verbena_mpi::datatype::Form;
use verbena_mpi::datatype::construct::Unit;
use verbena_mpi::generated::constants as mpi;
use verbena_sim::Random;

/// A word of 8 bytes.
pub(crate) static WORD: LazyLock<Arc<Datatype>> =
    LazyLock::new(|| Datatype::predefined(mpi::MPI_UINT64_T).expect("predefined").clone());
static BYTE: LazyLock<Arc<Datatype>> =
    LazyLock::new(|| Datatype::predefined(mpi::MPI_BYTE).expect("predefined").clone());
/// Words with gaps between them.
static VECTOR: LazyLock<Arc<Datatype>> = LazyLock::new(|| vector(3, 2, 4));
/// Words with gaps, from the last one to the first.
static BACKWARDS: LazyLock<Arc<Datatype>> = LazyLock::new(|| vector(5, 1, -3));
/// An element that is longer than a piece of an accumulate.
static LONG: LazyLock<Arc<Datatype>> = LazyLock::new(|| vector(9000, 1, 2));
/// One of elements of several sizes: 4 bytes, a gap of 4, and 8 bytes, again and again.
static MIXED: LazyLock<Arc<Datatype>> = LazyLock::new(|| {
    let types =
        [mpi::MPI_FLOAT, mpi::MPI_DOUBLE].map(|it| Datatype::predefined(it).expect("predefined").clone());
    let pair = Datatype::structure(Form::Int, &[1, 1], &[0, 8], &types).expect("a sound structure");
    row(9000, &Arc::new(pair))
});
/// One of pairs of a value and an index.
static PAIRS: LazyLock<Arc<Datatype>> =
    LazyLock::new(|| row(9000, Datatype::predefined(mpi::MPI_DOUBLE_INT).expect("predefined")));

fn row(count: i64, of: &Arc<Datatype>) -> Arc<Datatype> {
    let made = Datatype::contiguous(Form::Int, count, of).expect("a sound row");
    made.commit();
    Arc::new(made)
}

fn vector(count: i64, block: i64, stride: i64) -> Arc<Datatype> {
    let made =
        Datatype::vector(Form::Int, count, block, stride, Unit::Extent, &WORD).expect("a sound vector");
    made.commit();
    Arc::new(made)
}

/// Elements within a range of bytes: how many, the byte of the first one's origin, and where their
/// bytes lie.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) datatype: Arc<Datatype>,
    pub(crate) count: usize,
    pub(crate) at: usize,
}

impl Sample {
    /// Draws a long element of several sorts, or of pairs.
    pub(crate) fn draw_mixed(random: &mut Random, start: usize, room: usize) -> Sample {
        let datatype: &Arc<Datatype> = if random.percent(50) { &MIXED } else { &PAIRS };
        Sample::within(random, datatype, 1, (start, room))
    }

    /// Draws elements in the bytes from `start` to `start + room`; of words only, if `of_words`.
    pub(crate) fn draw(random: &mut Random, start: usize, room: usize, of_words: bool) -> Sample {
        let datatype: &Arc<Datatype> = match random.below(10) {
            0..3 if !of_words => &BYTE,
            0..6 => &WORD,
            6..8 => &VECTOR,
            8 => &BACKWARDS,
            _ => &LONG,
        };
        let bytes = random.pick(&[8, 8, 64, 500, 3000, 5000, 20_000, 150_000]);
        let fits = |count: usize| datatype.span(count).is_ok_and(|(low, high)| (high - low) as usize <= room);
        let mut count = (bytes / datatype.size()).max(1);
        while count > 1 && !fits(count) {
            count /= 2;
        }
        Sample::within(random, datatype, count, (start, room))
    }

    /// Places so many elements anywhere in the bytes from `start` to `start + room`.
    fn within(
        random: &mut Random,
        datatype: &Arc<Datatype>,
        count: usize,
        (start, room): (usize, usize),
    ) -> Sample {
        let (low, high) = datatype.span(count).expect("a small span");
        let gap = random.below((room - (high - low) as usize) as u64 + 1) as usize / 8 * 8;
        Sample { datatype: datatype.clone(), count, at: (start + gap).wrapping_add_signed(-low) }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.datatype.size() * self.count
    }

    /// The bytes that they span, from the first to the one after the last.
    pub(crate) fn span(&self) -> (usize, usize) {
        let (low, high) = self.datatype.span(self.count).expect("a small span");
        (self.at.wrapping_add_signed(low), self.at.wrapping_add_signed(high))
    }

    fn for_each_run(&self, mut each: impl FnMut(usize, usize)) {
        self.datatype.layout().for_each_run(self.count, 0, self.bytes(), |at, len| {
            each(self.at.wrapping_add_signed(at), len);
        });
    }

    /// Packs their bytes in `memory`.
    pub(crate) fn pack(&self, memory: &[u8]) -> Vec<u8> {
        let mut packed = Vec::with_capacity(self.bytes());
        self.for_each_run(|at, len| packed.extend(&memory[at..at + len]));
        packed
    }

    /// Unpacks bytes to `memory`.
    pub(crate) fn unpack(&self, packed: &[u8], memory: &mut [u8]) {
        let mut from = 0;
        self.for_each_run(|at, len| {
            memory[at..at + len].copy_from_slice(&packed[from..from + len]);
            from += len;
        });
    }
}
