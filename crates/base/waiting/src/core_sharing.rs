//! Processes of a job that share cores with this one, by what each tells of itself at the start.
//!
//! A process of another node, with which no memory is shared, may still run on the same cores: in a
//! container or a namespace beside this one, or because the user left `shm` out. If it spins there,
//! it holds them up as well.
//!
//! | bytes | field of a card |
//! | --- | --- |
//! | 8 | the machine: a number that is equal exactly on processes of one boot of one kernel, little-endian |
//! | rest | cores that the process may run on, one bit each, lowest first |

use verbena_machine::cores::Load;
use verbena_machine::{cores, node};

/// The card of this process, for the others.
pub fn card() -> Vec<u8> {
    [&node::machine().to_le_bytes()[..], &cores::affinity()].concat()
}

/// The machine and the cores in a card.
fn parse(card: &[u8]) -> Option<(u64, &[u8])> {
    let (machine, mask) = card.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*machine), mask))
}

/// The number of ranks that share some cores of process `me`, and of the cores that they may use,
/// by the cards of all.
pub fn load(me: usize, cards: &[Option<Vec<u8>>]) -> Load {
    let all: Vec<_> = cards.iter().map(|card| parse(card.as_deref()?)).collect();
    let Some(&Some((machine, mask))) = all.get(me) else { return Load::measure(1) };
    let meets = |other: &[u8]| mask.iter().zip(other).any(|(own, other)| own & other != 0);
    let sharers: Vec<&[u8]> = all
        .iter()
        .flatten()
        .filter(|(theirs, other)| *theirs == machine && meets(other))
        .map(|(_, other)| *other)
        .collect();
    let cores = cores::count_union(sharers.iter().copied());
    Load { local_ranks: sharers.len() as u32, cores, quota: cores::quota() }
}

/// The cards of process `me`, first, and of the others of its machine: all that [`load`] needs. In
/// a large job most cards are of other machines.
pub fn beside(me: usize, cards: impl Iterator<Item = Option<Vec<u8>>> + Clone) -> Vec<Option<Vec<u8>>> {
    let machine = |card: &Option<Vec<u8>>| card.as_deref().and_then(parse).map(|(machine, _)| machine);
    let own = cards.clone().nth(me).flatten();
    let here = machine(&own);
    let others = cards.enumerate().filter(|(process, _)| *process != me).map(|(_, card)| card);
    let near = others.filter(|card| here.is_some() && machine(card) == here);
    std::iter::once(own.clone()).chain(near).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(machine: u64, mask: &[u8]) -> Option<Vec<u8>> {
        Some([&machine.to_le_bytes()[..], mask].concat())
    }

    #[test]
    fn ranks_of_the_same_machine_with_cores_in_common_count() {
        let cards = [card(7, &[0b11]), card(7, &[0b110]), card(7, &[0, 1]), card(8, &[0b11]), None];
        let of = |me: usize| {
            let load = load(me, &cards);
            (load.local_ranks, load.cores)
        };
        assert_eq!([of(0), of(1), of(2), of(3)], [(2, 3), (2, 3), (1, 1), (1, 2)]);
    }

    #[test]
    fn cards_of_other_machines_are_not_needed() {
        let mut cards = vec![card(9, &[1]); 1000];
        (cards[7], cards[8], cards[500], cards[501]) =
            (card(7, &[0b11]), card(7, &[0b110]), card(7, &[1]), None);
        for me in [7, 8, 500, 501, 999] {
            let near = beside(me, cards.iter().cloned());
            assert_eq!(near[0], cards[me]);
            assert_eq!(super::load(0, &near), super::load(me, &cards));
        }
        assert_eq!(beside(500, cards.iter().cloned()).len(), 3);
    }

    #[test]
    fn bound_ranks_have_a_core_each() {
        let cards = [card(7, &[1]), card(7, &[2]), card(7, &[4])];
        assert!((0..3).all(|me| load(me, &cards).ranks_per_core() <= 1.0 || cores::quota().is_some()));
    }

    #[test]
    fn a_process_finds_itself() {
        let load = load(0, &[Some(super::card())]);
        assert_eq!((load.local_ranks, load.cores), (1, Load::measure(1).cores));
        assert_eq!(super::load(0, &[]), Load::measure(1));
    }
}
