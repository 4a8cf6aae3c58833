//! The parts of all members, as every member keeps them: in as few bytes as they take. A number
//! that all members have alike is kept once, and places in a heap for those of this node only.
//! Whoever accesses a member keeps its part with the way to it ([`super::target`]).

use super::part::Part;
use verbena_channel::heap::Ticket;

/// The parts of all members, by rank.
pub(super) struct Parts {
    base: Column,
    size: Column,
    unit: Column,
    /// The ranks with memory in the heap of their node, and those with control words there.
    in_heap: [Column; 2],
    /// The members of this node with the places of their memory and control words, by rank.
    near: Box<[(u32, [Option<u64>; 2])]>,
}

impl Parts {
    /// Keeps these parts. `is_near` says whether a rank's heap is that of this process.
    pub(super) fn new(parts: &[Part], is_near: impl Fn(usize) -> bool) -> Parts {
        let column = |number: fn(&Part) -> u64| Column::of(parts.iter().map(number));
        let near = (0..parts.len()).filter(|&rank| is_near(rank));
        Parts {
            base: column(|part| part.base),
            size: column(|part| part.size),
            unit: column(|part| part.unit as u64),
            in_heap: [0, 1].map(|i| Column::of(parts.iter().map(|part| part.places()[i].is_some().into()))),
            near: near.map(|rank| (rank as u32, parts[rank].places())).collect(),
        }
    }

    /// The number of members.
    pub(super) fn len(&self) -> usize {
        self.base.len
    }

    /// The part of a rank. Where a member of another node has memory or control words in its heap,
    /// it does not say.
    pub(super) fn get(&self, rank: usize) -> Part {
        let near = self.near.binary_search_by_key(&(rank as u32), |near| near.0);
        let places = match near {
            Ok(at) => self.near[at].1,
            Err(_) => [0, 1].map(|i| (self.in_heap[i].get(rank) == 1).then_some(ELSEWHERE)),
        };
        let size = self.size.get(rank);
        let ticket = |offset| Ticket { offset, bytes: size };
        let [memory, control] = places.map(|place| place.map(ticket));
        Part::new(self.base.get(rank), size, self.unit.get(rank) as i64, memory, control)
    }
}

/// The offset of what lies in another node's heap: no heap is as large.
const ELSEWHERE: u64 = u64::MAX - 1;

/// A number of each rank.
struct Column {
    len: usize,
    numbers: Numbers,
}

enum Numbers {
    /// One that all ranks have.
    Same(u64),
    Short(Box<[u32]>),
    Long(Box<[u64]>),
}

impl Column {
    fn of(numbers: impl Iterator<Item = u64> + Clone) -> Column {
        let first = numbers.clone().next().unwrap_or(0);
        let shorts = || numbers.clone().map(u32::try_from).collect::<Result<Box<[u32]>, _>>();
        let len = numbers.clone().count();
        let numbers = match numbers.clone().all(|number| number == first) {
            true => Numbers::Same(first),
            false => shorts().map_or_else(|_| Numbers::Long(numbers.collect()), Numbers::Short),
        };
        Column { len, numbers }
    }

    fn get(&self, rank: usize) -> u64 {
        match &self.numbers {
            Numbers::Same(number) => *number,
            Numbers::Short(numbers) => numbers[rank].into(),
            Numbers::Long(numbers) => numbers[rank],
        }
    }

    /// The bytes that it takes, for tests.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        match &self.numbers {
            Numbers::Same(_) => 0,
            Numbers::Short(numbers) => size_of_val(&**numbers),
            Numbers::Long(numbers) => size_of_val(&**numbers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(offset: u64) -> Option<Ticket> {
        Some(Ticket { offset, bytes: 80 })
    }

    #[test]
    fn the_parts_of_this_node_are_kept_whole() {
        let all: Vec<Part> = (0..10u64)
            .map(|i| {
                let memory = if i % 3 == 0 { None } else { ticket(100 * i) };
                Part::new(i << 40, 10 * i, 1 + i as i64 % 2, memory, ticket(7 * i))
            })
            .collect();
        let parts = Parts::new(&all, |rank| (3..7).contains(&rank));
        assert_eq!(parts.len(), 10);
        for (rank, part) in all.iter().enumerate() {
            let kept = parts.get(rank);
            assert_eq!((kept.base, kept.size, kept.unit), (part.base, part.size, part.unit));
            assert_eq!(kept.is_mapped(), part.is_mapped());
            assert_eq!(kept.has_control(), part.has_control());
            assert_eq!(kept == *part, (3..7).contains(&rank), "{rank}");
        }
    }

    #[test]
    fn what_all_have_alike_takes_no_bytes() {
        let all: Vec<Part> =
            (0..1000).map(|i| Part::new(0x7000_0000_0000 + i * 4096, 4096, 8, None, None)).collect();
        let parts = Parts::new(&all, |_| false);
        let columns = [&parts.base, &parts.size, &parts.unit, &parts.in_heap[0], &parts.in_heap[1]];
        assert_eq!(columns.map(Column::bytes), [8000, 0, 0, 0, 0]);
        assert!(parts.near.is_empty());
        assert!(all.iter().enumerate().all(|(rank, part)| parts.get(rank) == *part));
        let sizes: Vec<Part> = (0..1000).map(|i| Part::new(0, i, 1, None, None)).collect();
        assert_eq!(Parts::new(&sizes, |_| false).size.bytes(), 4000);
        assert_eq!(Parts::new(&[], |_| true).len(), 0);
    }
}
