//! The host of each rank: hosts are filled in order, each with as many ranks as it has slots, or
//! get them in turns, and again from the first one when all are full.

use crate::hosts::Entry;
use crate::plan::Assignment;
use std::collections::HashMap;

/// The ranks of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRanks {
    /// The host's name; `None` for the host on which `mpiexec` runs.
    pub name: Option<String>,
    /// The host's ranks in order.
    pub assignments: Vec<Assignment>,
}

/// The wishes of a part of the command line about its layout.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// The number of ranks.
    pub count: u32,
    /// Hosts of its own; `None`: it continues where the part before stopped in the common list.
    pub own: Option<&'a [Entry]>,
}

/// The order in which hosts get ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Turns {
    /// A host's slots are filled before the next host's.
    #[default]
    Slots,
    /// Each host gets a rank in turn, as long as it has slots.
    Hosts,
    /// Hosts are filled, and then the ranks of a part are numbered in turns over them.
    Ranks,
}

/// The most slots that hosts get in turns before it begins again.
const TURNS_MAX: usize = 65_536;

/// Lays out all parts. The result has each host once, in the order of their lowest ranks.
pub fn lay_out(
    wishes: &[Wish<'_>],
    common: &[Entry],
    turns: Turns,
    is_here: impl Fn(&str) -> bool,
) -> Vec<HostRanks> {
    let mut hosts: Vec<HostRanks> = Vec::new();
    let mut shared = names(common, turns);
    let mut rank = 0;
    for (part, wish) in (0..).zip(wishes) {
        let mut own = wish.own.map(|own| names(own, turns));
        let source = own.as_mut().unwrap_or(&mut shared);
        let mut taken: Vec<Option<&str>> = (0..wish.count).map(|_| source.next()).collect();
        if turns == Turns::Ranks {
            taken = in_turns(taken.into_iter());
        }
        for name in taken {
            let name = name.filter(|name| !is_here(name));
            let assignment = Assignment { rank, part };
            match hosts.iter_mut().find(|host| host.name.as_deref() == name) {
                Some(host) => host.assignments.push(assignment),
                None => {
                    hosts.push(HostRanks { name: name.map(str::to_owned), assignments: vec![assignment] })
                }
            }
            rank += 1;
        }
    }
    hosts
}

/// The hosts' names without end, each as often as it has slots before it begins again; nothing for
/// an empty list.
fn names(entries: &[Entry], turns: Turns) -> Box<dyn Iterator<Item = &str> + '_> {
    let once =
        || entries.iter().flat_map(|entry| std::iter::repeat_n(entry.name.as_str(), entry.slots as usize));
    match turns {
        Turns::Slots | Turns::Ranks => Box::new(once().cycle()),
        Turns::Hosts => Box::new(in_turns(once().take(TURNS_MAX)).into_iter().cycle()),
    }
}

/// Puts names in turns: all first ones, then all second ones, and so on.
fn in_turns<T: Copy + Eq + std::hash::Hash>(names: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen: HashMap<T, (usize, usize)> = HashMap::new();
    let mut keyed = Vec::new();
    for name in names {
        let place = seen.len();
        let (times, place) = seen.entry(name).or_insert((0, place));
        keyed.push((*times, *place, name));
        *times += 1;
    }
    keyed.sort_by_key(|(times, place, _)| (*times, *place));
    keyed.into_iter().map(|(_, _, name)| name).collect()
}

/// The host number of each rank.
pub fn host_of_rank(hosts: &[HostRanks]) -> Vec<u32> {
    let size = hosts.iter().map(|host| host.assignments.len()).sum();
    let mut numbers = vec![0; size];
    for (number, host) in (0..).zip(hosts) {
        host.assignments.iter().for_each(|assignment| numbers[assignment.rank as usize] = number);
    }
    numbers
}

/// The layout in the form of MPICH's key `PMI_process_mapping`: `(vector,(A,N,R),...)` says that N
/// nodes from number A on have R ranks each.
pub fn process_mapping(hosts: &[u32]) -> String {
    let mut blocks: Vec<(u32, u32, u32)> = Vec::new();
    for run in hosts.chunk_by(|a, b| a == b) {
        let (node, length) = (run[0], run.len() as u32);
        match blocks.last_mut() {
            Some((first, nodes, ranks)) if *ranks == length && *first + *nodes == node => *nodes += 1,
            _ => blocks.push((node, 1, length)),
        }
    }
    let blocks = blocks.iter().map(|(first, nodes, ranks)| format!(",({first},{nodes},{ranks})"));
    format!("(vector{})", blocks.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::read_list;

    fn hosts(counts: &[(u32, Option<&str>)], common: &str) -> String {
        turned(counts, common, Turns::Slots)
    }

    fn turned(counts: &[(u32, Option<&str>)], common: &str, turns: Turns) -> String {
        let lists: Vec<_> = counts.iter().map(|(_, own)| own.map(|own| read_list(own).unwrap())).collect();
        let wish = |(count, own)| Wish { count, own };
        let wishes: Vec<_> = counts
            .iter()
            .map(|(count, _)| *count)
            .zip(lists.iter().map(Option::as_deref))
            .map(wish)
            .collect();
        let common = read_list(common).unwrap_or_default();
        let laid = lay_out(&wishes, &common, turns, |name| name == "me");
        let numbers = host_of_rank(&laid);
        let name = |number: &u32| laid[*number as usize].name.clone().unwrap_or("-".into());
        numbers.iter().map(name).collect()
    }

    #[test]
    fn ranks_fill_the_slots_in_order_and_begin_again() {
        assert_eq!(hosts(&[(3, None)], ""), "---");
        assert_eq!(hosts(&[(4, None)], "a:2,b:2"), "aabb");
        assert_eq!(hosts(&[(7, None)], "a:2,me"), "aa-aa-a");
        assert_eq!(hosts(&[(3, None)], "a,b,a"), "aba");
    }

    #[test]
    fn parts_go_on_or_have_their_own() {
        assert_eq!(hosts(&[(1, None), (2, None)], "a:2,b:2"), "aab");
        assert_eq!(hosts(&[(1, None), (2, Some("c")), (1, None)], "a,b"), "accb");
    }

    #[test]
    fn hosts_get_ranks_in_turns_while_they_have_slots() {
        let turned = |count, common, turns| turned(&[(count, None)], common, turns);
        assert_eq!(turned(5, "a:2,b:2", Turns::Hosts), "ababa");
        assert_eq!(turned(6, "a:1,b:4,me", Turns::Hosts), "ab-bbb");
        assert_eq!(turned(4, "a,b,a", Turns::Hosts), "abaa");
        assert_eq!(turned(3, "", Turns::Hosts), "---");
        assert_eq!(turned(5, "a:2,b:4", Turns::Ranks), "ababb", "counts as by slots");
        assert_eq!(turned(3, "", Turns::Ranks), "---");
    }

    #[test]
    fn mpich_is_told_where_ranks_are() {
        assert_eq!(process_mapping(&[0, 0, 0]), "(vector,(0,1,3))");
        assert_eq!(process_mapping(&[0, 0, 1, 1, 2]), "(vector,(0,2,2),(2,1,1))");
        assert_eq!(process_mapping(&[0, 1, 0, 1]), "(vector,(0,2,1),(0,2,1))");
    }
}
