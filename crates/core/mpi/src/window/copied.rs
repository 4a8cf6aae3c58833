//! Copies by the kernel between the origin's memory and elements in another process of the node.
//!
//! The kernel takes some 0.3 us for each run of bytes in the other process, however short it is; a
//! KiB more in a run takes 0.04. So short runs near each other are read at once, with the bytes
//! between them, and picked out here. Those bytes lie in pages that have bytes of the runs, so they
//! are there. Nothing can be written that way: the bytes between may be another's.

use super::place::{Remote, elements};
use std::ops::Range;
use std::result::Result;
use verbena_channel::neighbor::{Neighbor, Refusal};
use verbena_memory::scratch::Scratch;
use verbena_memory::{Buffer, Region};

/// The most bytes between two runs that are read at once: less than a page, so that none is read in
/// which no run has bytes.
const GAP_BYTES_MAX: u64 = 1024;
/// The bytes from one run to the next, on average, up to which runs are read at once: that takes
/// less time than one run more.
const DENSE_BYTES_MAX: u64 = 2048;
/// The memory for what is read at a time, in bytes.
const ROOM_BYTES: u64 = 256 << 10;

/// Runs of bytes in the other process: address and length.
type Runs<'a> = &'a [(u64, usize)];

/// The runs of bytes of elements in the other process.
fn runs(address: u64, remote: &Remote) -> Vec<(u64, usize)> {
    let mut runs = Vec::new();
    let count = remote.count as usize;
    remote.datatype.layout().for_each_run(count, 0, remote.bytes() as usize, |at, len| {
        runs.push((address.wrapping_add_signed(at as i64), len));
    });
    runs
}

/// The one run of bytes that both sides have, if that is how they lie.
fn solid(origin: &Buffer, address: u64, remote: &Remote) -> Option<(Region, u64)> {
    let (first, _) = remote.datatype.layout().contiguous_span(remote.count as usize)?;
    Some((origin.region()?, address.wrapping_add_signed(first as i64)))
}

/// Copies the origin's bytes to elements in the other process, the first one's origin at this
/// address.
pub(super) fn write(
    neighbor: &dyn Neighbor,
    origin: &Buffer,
    address: u64,
    remote: &Remote,
) -> Result<(), Refusal> {
    match solid(origin, address, remote) {
        Some((region, address)) => neighbor.write(region, address),
        None => neighbor.write_list(&origin.runs(), &runs(address, remote)),
    }
}

/// Copies elements in the other process to the origin's memory, as [`write`].
pub(super) fn read(
    neighbor: &dyn Neighbor,
    origin: &Buffer,
    address: u64,
    remote: &Remote,
) -> Result<(), Refusal> {
    if let Some((region, address)) = solid(origin, address, remote) {
        return neighbor.read(address, region);
    }
    match dense_span(remote) {
        Some(span) => gather(neighbor, origin, (address, remote), span),
        None => neighbor.read_list(&runs(address, remote), &origin.runs()),
    }
}

/// The bytes from the first one of elements to the last, if their runs lie so near to each other
/// that several are read at once.
fn dense_span(remote: &Remote) -> Option<u64> {
    let (layout, count) = (remote.datatype.layout(), remote.count as usize);
    let (low, high) = layout.span(count)?;
    let (span, mut many) = (low.abs_diff(high) as u64, 0);
    layout.for_each_run(count, 0, remote.bytes() as usize, |_, _| many += 1);
    (many > 1 && span <= DENSE_BYTES_MAX * many).then_some(span)
}

/// Copies elements out of a span of `span` bytes. Runs that lie near each other are read at once.
fn gather(
    neighbor: &dyn Neighbor,
    origin: &Buffer,
    (address, remote): (u64, &Remote),
    span: u64,
) -> Result<(), Refusal> {
    let mut scratch = Scratch::default();
    let room = scratch.take(span.min(ROOM_BYTES) as usize);
    let fetch = |batch: &Batch, packed: Range<usize>| {
        let into = origin.part(packed.start, packed.len());
        // It is one run, longer than the room.
        if batch.high - batch.low > ROOM_BYTES {
            return neighbor.read_list(&[(batch.low, packed.len())], &into.runs());
        }
        batch.fetch(neighbor, room)?;
        let elements = elements(room, address.wrapping_sub(batch.low) as i64, remote);
        into.copy_from(&elements.part(packed.start, packed.len()));
        Ok(())
    };
    let (mut batch, mut packed, mut outcome) = (Batch::default(), 0..0, Ok(()));
    let (count, bytes) = (remote.count as usize, remote.bytes() as usize);
    remote.datatype.layout().for_each_run(count, 0, bytes, |at, len| {
        let start = address.wrapping_add_signed(at as i64);
        let end = start + len as u64;
        if !batch.add(start, end) {
            if outcome.is_ok() {
                outcome = fetch(&batch, packed.clone());
            }
            batch.clear();
            batch.add(start, end);
            packed.start = packed.end;
        }
        packed.end += len;
    });
    outcome.and_then(|()| fetch(&batch, packed))
}

/// Fills `into` from some runs, one after the other: at once if they lie in a few KiB.
pub(super) fn read_runs(neighbor: &dyn Neighbor, theirs: Runs, into: Region) -> Result<(), Refusal> {
    if let &[(address, _)] = theirs {
        return neighbor.read(address, into);
    }
    let mut batch = Batch::default();
    let is_one = theirs.iter().all(|&(start, len)| batch.add(start, start + len as u64));
    if !is_one || batch.high - batch.low > DENSE_BYTES_MAX * theirs.len() as u64 {
        return neighbor.read_list(theirs, &[into]);
    }
    let mut scratch = Scratch::default();
    let room = scratch.take((batch.high - batch.low) as usize);
    batch.fetch(neighbor, room)?;
    let mut done = 0;
    for &(start, len) in theirs {
        into.put(done, room.part((start - batch.low) as usize, len));
        done += len;
    }
    Ok(())
}

/// Bytes of the other process that are read together, from `low` to `high`: those of the pieces.
#[derive(Default)]
struct Batch {
    low: u64,
    high: u64,
    /// Beginning and end of each.
    pieces: Vec<(u64, u64)>,
}

impl Batch {
    /// Adds a run, which joins the last piece if it is near; false if there is no room for it.
    fn add(&mut self, start: u64, end: u64) -> bool {
        let Some(last) = self.pieces.last_mut() else {
            (self.low, self.high) = (start, end);
            self.pieces.push((start, end));
            return true;
        };
        let (low, high) = (self.low.min(start), self.high.max(end));
        if high - low > ROOM_BYTES {
            return false;
        }
        (self.low, self.high) = (low, high);
        match start <= last.1 + GAP_BYTES_MAX && last.0 <= end + GAP_BYTES_MAX {
            true => *last = (last.0.min(start), last.1.max(end)),
            false => self.pieces.push((start, end)),
        }
        true
    }

    fn clear(&mut self) {
        self.pieces.clear();
    }

    /// Reads the pieces; the byte at `low` comes to the beginning of `room`.
    fn fetch(&self, neighbor: &dyn Neighbor, room: Region) -> Result<(), Refusal> {
        let theirs: Vec<(u64, usize)> =
            self.pieces.iter().map(|&(start, end)| (start, (end - start) as usize)).collect();
        let ours = theirs.iter().map(|&(start, len)| room.part((start - self.low) as usize, len));
        neighbor.read_list(&theirs, &ours.collect::<Vec<Region>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::construct::Unit;
    use crate::datatype::{Datatype, Form};
    use crate::generated::constants as mpi;
    use std::cell::Cell;
    use std::sync::Arc;
    use verbena_memory::Owned;
    use verbena_waiting::lock::Lock;

    /// Memory that counts the pieces that are read of it, and their bytes.
    struct Memory {
        owned: Owned,
        read: Lock<Cell<(usize, usize)>>,
    }

    impl Memory {
        fn new(bytes: usize) -> Memory {
            let data: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 251) as u8).collect();
            Memory { owned: Owned::from(&data[..]), read: Lock::new(Cell::default()) }
        }

        fn at(&self, address: u64, len: usize) -> Region {
            self.owned.lend().part((address - self.owned.lend().address()) as usize, len)
        }

        fn take_counts(&self) -> (usize, usize) {
            self.read.lock().take()
        }
    }

    impl Neighbor for Memory {
        fn read(&self, address: u64, into: Region) -> Result<(), Refusal> {
            self.read_list(&[(address, into.len())], &[into])
        }

        fn write(&self, from: Region, address: u64) -> Result<(), Refusal> {
            self.at(address, from.len()).copy_from(from);
            Ok(())
        }

        fn read_list(&self, theirs: Runs, ours: &[Region]) -> Result<(), Refusal> {
            let bytes: Vec<u8> = theirs.iter().flat_map(|run| self.at(run.0, run.1).to_vec()).collect();
            let mut rest = &bytes[..];
            for region in ours {
                let (first, others) = rest.split_at(region.len());
                region.write(0, first);
                rest = others;
            }
            assert!(rest.is_empty());
            let read = self.read.lock();
            read.set((read.get().0 + theirs.len(), read.get().1 + bytes.len()));
            Ok(())
        }

        fn write_list(&self, _: &[Region], _: Runs) -> Result<(), Refusal> {
            unreachable!("these tests only read")
        }
    }

    /// Reads elements at byte `at` into memory side by side, and into scattered memory. Returns the
    /// pieces and the bytes that were read.
    fn check(memory: &Memory, at: u64, (count, datatype): (i64, &Arc<Datatype>)) -> (usize, usize) {
        let address = memory.owned.lend().address() + at;
        let remote = Remote { rank: 0, displacement: 0, count, datatype };
        let expected: Vec<u8> =
            runs(address, &remote).iter().flat_map(|run| memory.at(run.0, run.1).to_vec()).collect();
        let (into, apart) = (Owned::zeroed(expected.len()), Owned::zeroed(2 * expected.len()));
        read(memory, &Buffer::Contiguous(into.lend()), address, &remote).expect("memory");
        assert_eq!(into.lend().to_vec(), expected);
        let counts = memory.take_counts();
        let spread = verbena_memory::layout::Layout::new(vec![(0, 1)], 2);
        let spread = Arc::new(spread);
        let elements = verbena_memory::elements::Elements::at_origins(apart.lend(), &spread);
        let buffer = elements.buffer(0, expected.len());
        read(memory, &buffer, address, &remote).expect("memory");
        let mut packed = vec![0; expected.len()];
        buffer.copy_out(0, &mut packed);
        assert_eq!(packed, expected);
        memory.take_counts();
        counts
    }

    fn blocks(count: i64, bytes: i64, stride: i64) -> Arc<Datatype> {
        let byte = Datatype::predefined(mpi::MPI_BYTE).expect("predefined");
        Arc::new(Datatype::vector(Form::Int, count, bytes, stride, Unit::Byte, byte).expect("a vector"))
    }

    #[test]
    fn short_runs_side_by_side_are_read_at_once() {
        let memory = Memory::new(2 << 20);
        assert_eq!(check(&memory, 3, (1, &blocks(1000, 4, 8))), (1, 999 * 8 + 4));
        // All in one place.
        assert_eq!(check(&memory, 3, (1, &blocks(1000, 4, 0))), (1, 4));
        // Backwards.
        assert_eq!(check(&memory, 8000, (1, &blocks(1000, 4, -8))), (1, 999 * 8 + 4));
        // More than there is room for.
        let (pieces, bytes) = check(&memory, 3, (1, &blocks(200_000, 4, 8)));
        assert!((7..9).contains(&pieces) && bytes <= 200_000 * 8, "{pieces} {bytes}");
    }

    #[test]
    fn bytes_between_runs_that_lie_apart_are_not_read() {
        let memory = Memory::new(2 << 20);
        let apart = 2 * GAP_BYTES_MAX as i64;
        assert_eq!(check(&memory, 0, (1, &blocks(100, 4, apart - 100))), (100, 400));
        assert_eq!(check(&memory, 0, (1, &blocks(100, 4, 5000))), (100, 400));
        assert_eq!(check(&memory, 0, (1, &blocks(3, 300_000, 400_000))), (3, 900_000));
        assert_eq!(check(&memory, 0, (1, &blocks(1, 300_000, 0))), (1, 300_000));
    }

    /// Accumulates read so what they change.
    #[test]
    fn a_few_runs_are_read_at_once() {
        let memory = Memory::new(100_000);
        let address = memory.owned.lend().address();
        let check = |runs: &[(u64, usize)]| {
            let runs: Vec<(u64, usize)> = runs.iter().map(|run| (address + run.0, run.1)).collect();
            let expected: Vec<u8> = runs.iter().flat_map(|run| memory.at(run.0, run.1).to_vec()).collect();
            let into = Owned::zeroed(expected.len());
            read_runs(&memory, &runs, into.lend()).expect("memory");
            assert_eq!(into.lend().to_vec(), expected);
            memory.take_counts()
        };
        assert_eq!(check(&[(100, 8)]), (1, 8));
        assert_eq!(check(&[(100, 8), (200, 8), (50, 4)]), (1, 158));
        assert_eq!(check(&[(100, 8), (3000, 8)]), (2, 16));
        assert_eq!(check(&[(100, 8), (90_000, 8)]), (2, 16));
    }

    #[test]
    fn runs_of_every_length_arrive() {
        let memory = Memory::new(2 << 20);
        let byte = Datatype::predefined(mpi::MPI_BYTE).expect("predefined");
        let (lengths, places): (Vec<i64>, Vec<i64>) = (0..300_i64)
            .map(|i| if i == 77 { (400_000, 40_000) } else { (1 + i * i % 50, 20_000 + i * 7 % 300 * 60) })
            .unzip();
        let mixed = Datatype::indexed(Form::Int, &lengths, &places, Unit::Byte, byte).expect("runs");
        let (pieces, bytes) = check(&memory, 0, (1, &Arc::new(mixed)));
        assert!(pieces < 300 && bytes < 2 << 20, "{pieces} {bytes}");
    }
}
