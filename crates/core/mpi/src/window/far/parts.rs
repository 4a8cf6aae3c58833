//! An operation as parts: bytes that lie side by side at both ends.

use crate::window::place::Remote;
use verbena_engine::Part;
use verbena_memory::{Buffer, Region};

/// The most parts of an operation. More would hold up what else goes to the target; a message packs
/// them.
const PARTS_MAX: usize = 32;
/// The fewest bytes that a part has on average if there are several: a message carries short ones
/// quicker.
const PART_BYTES_MIN: usize = 256;
/// The bytes by which elements at the origin are judged that lie in very many places.
const PROBE_BYTES: usize = PARTS_MAX * PART_BYTES_MIN;

/// The parts of an operation between `buffer` and elements of as many bytes, the first of them `at`
/// bytes from the beginning of the target's memory, which holds them all. `None` if there is no
/// such place, or if they are better carried by a message.
pub(super) fn of(buffer: &Buffer, remote: &Remote, at: Option<i64>) -> Option<Vec<Part>> {
    let at = at?;
    let (layout, count) = (remote.datatype.layout(), remote.count as usize);
    let offset = |first: isize| u64::try_from(at.checked_add(first as i64)?).ok();
    if let (Some(region), Some((first, _))) = (buffer.region(), layout.contiguous_span(count)) {
        return Some(vec![Part { offset: offset(first)?, region }]);
    }
    let mut theirs = Vec::new();
    let mut many = 0;
    layout.for_each_run(count, 0, buffer.len(), |first, len| {
        many += 1;
        if many <= PARTS_MAX {
            theirs.push((first, len));
        }
    });
    if many > PARTS_MAX || buffer.part(0, buffer.len().min(PROBE_BYTES)).runs().len() > PARTS_MAX {
        return None;
    }
    let parts = paired(&buffer.runs(), &theirs, offset)?;
    (parts.len() <= PARTS_MAX && buffer.len() >= parts.len() * PART_BYTES_MIN).then_some(parts)
}

/// Cuts the runs of both ends, of as many bytes, where a run ends at either.
fn paired(
    ours: &[Region],
    theirs: &[(isize, usize)],
    offset: impl Fn(isize) -> Option<u64>,
) -> Option<Vec<Part>> {
    let (mut parts, mut ours) = (Vec::new(), ours.iter().copied());
    let mut here = Region::EMPTY;
    for &(first, len) in theirs {
        let mut done = 0;
        while done < len {
            if here.is_empty() {
                here = ours.find(|region| !region.is_empty())?;
            }
            let bytes = here.len().min(len - done);
            parts.push(Part { offset: offset(first)? + done as u64, region: here.part(0, bytes) });
            here = here.part(bytes, here.len() - bytes);
            done += bytes;
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::construct::Unit;
    use crate::datatype::{Datatype, Form};
    use crate::generated::constants as mpi;
    use std::sync::Arc;
    use verbena_memory::Owned;

    fn vector(count: i64, block: i64, stride: i64) -> Arc<Datatype> {
        let byte = Datatype::predefined(mpi::MPI_BYTE).expect("predefined");
        Arc::new(Datatype::vector(Form::Int, count, block, stride, Unit::Extent, byte).expect("a vector"))
    }

    fn remote(datatype: &Arc<Datatype>, count: i64) -> Remote<'_> {
        Remote { rank: 1, displacement: 0, count, datatype }
    }

    /// The parts as offsets at the target and bytes from the beginning of `memory`, with lengths.
    fn spans(parts: &[Part], memory: Region) -> Vec<(u64, u64, usize)> {
        let here = |part: &Part| part.region.address() - memory.address();
        parts.iter().map(|part| (part.offset, here(part), part.region.len())).collect()
    }

    #[test]
    fn bytes_side_by_side_are_one_part() {
        let memory = Owned::zeroed(100);
        let byte = Datatype::predefined(mpi::MPI_BYTE).expect("predefined");
        let parts = of(&Buffer::Contiguous(memory.lend()), &remote(byte, 100), Some(7)).expect("parts");
        assert_eq!(spans(&parts, memory.lend()), [(7, 0, 100)]);
        assert_eq!(of(&Buffer::Contiguous(memory.lend()), &remote(byte, 100), None), None);
    }

    #[test]
    fn gaps_at_the_target_cut() {
        let memory = Owned::zeroed(3000);
        let parts = of(&Buffer::Contiguous(memory.lend()), &remote(&vector(3, 1000, 1500), 1), Some(10));
        let expected = [(10, 0, 1000), (1510, 1000, 1000), (3010, 2000, 1000)];
        assert_eq!(spans(&parts.expect("parts"), memory.lend()), expected);
    }

    #[test]
    fn runs_of_both_ends_cut() {
        let memory = Owned::zeroed(3000);
        let ours = [memory.lend().part(0, 1000), memory.lend().part(2000, 500)];
        let theirs = [(0, 300), (400, 1200)];
        let offset = |first: isize| u64::try_from(first).ok();
        let parts = paired(&ours, &theirs, offset).expect("as many bytes");
        assert_eq!(spans(&parts, memory.lend()), [(0, 0, 300), (400, 300, 700), (1100, 2000, 500)]);
        // The origin has too few bytes.
        assert_eq!(paired(&ours[..1], &theirs, offset), None);
    }

    #[test]
    fn many_or_short_parts_go_by_message() {
        let memory = Owned::zeroed(1 << 20);
        let buffer = |bytes| Buffer::Contiguous(memory.lend().part(0, bytes));
        let short = vector(10, 100, 150);
        assert_eq!(of(&buffer(1000), &remote(&short, 1), Some(0)), None);
        let many = vector(100, 1000, 1500);
        assert_eq!(of(&buffer(100_000), &remote(&many, 1), Some(0)), None);
        let enough = vector(32, 1000, 1500);
        assert_eq!(of(&buffer(32_000), &remote(&enough, 1), Some(0)).map(|parts| parts.len()), Some(32));
    }
}
