//! The host of each rank: hosts are filled in order, each with as many ranks as it has slots, and
//! again from the first one when all are full.

use crate::hosts::Entry;
use crate::plan::Assignment;

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

/// Lays out all parts. The result has each host once, in the order of their lowest ranks.
pub fn lay_out(wishes: &[Wish<'_>], common: &[Entry], is_here: impl Fn(&str) -> bool) -> Vec<HostRanks> {
    let mut hosts: Vec<HostRanks> = Vec::new();
    let mut shared = slots(common);
    let mut rank = 0;
    for (part, wish) in (0..).zip(wishes) {
        let mut own = wish.own.map(slots);
        for _ in 0..wish.count {
            let name = own.as_mut().unwrap_or(&mut shared).next().filter(|name| !is_here(name));
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

/// The hosts' names, each as often as it has slots, in an endless cycle; nothing for an empty list.
fn slots(entries: &[Entry]) -> impl Iterator<Item = &str> {
    let each = |entry: &'_ Entry| entry.slots as usize;
    entries.iter().flat_map(move |entry| std::iter::repeat_n(entry.name.as_str(), each(entry))).cycle()
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
        let lists: Vec<_> = counts.iter().map(|(_, own)| own.map(|own| read_list(own).unwrap())).collect();
        let wish = |(count, own)| Wish { count, own };
        let wishes: Vec<_> = counts
            .iter()
            .map(|(count, _)| *count)
            .zip(lists.iter().map(Option::as_deref))
            .map(wish)
            .collect();
        let common = read_list(common).unwrap_or_default();
        let laid = lay_out(&wishes, &common, |name| name == "me");
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
    fn mpich_is_told_where_ranks_are() {
        assert_eq!(process_mapping(&[0, 0, 0]), "(vector,(0,1,3))");
        assert_eq!(process_mapping(&[0, 0, 1, 1, 2]), "(vector,(0,2,2),(2,1,1))");
        assert_eq!(process_mapping(&[0, 1, 0, 1]), "(vector,(0,2,1),(0,2,1))");
    }
}
