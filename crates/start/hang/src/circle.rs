//! Ranks that wait for each other in a circle.

use crate::waits::{Blocker, Scene, Why};
use std::collections::BTreeMap;

/// A circle: each rank waits for the next one, the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    /// The ranks, from the lowest on.
    pub ranks: Vec<u32>,
    /// The reasons for which each holds up the one before it, in the order of `ranks`.
    pub whys: Vec<Why>,
}

impl Circle {
    /// Returns whether all its reasons are this one.
    pub fn is_of(&self, why: Why) -> bool {
        self.whys.iter().all(|own| *own == why)
    }
}

type Graph = BTreeMap<u32, Vec<Blocker>>;

/// Finds a circle, a short one before a long one.
pub fn find(scene: &Scene<'_>) -> Option<Circle> {
    let numbers = scene.ranks().iter().map(|rank| rank.number);
    let graph: Graph = numbers.map(|number| (number, scene.blockers(number))).collect();
    pair(&graph).or_else(|| long(&graph))
}

/// Two ranks that wait for each other, or one that waits for itself.
fn pair(graph: &Graph) -> Option<Circle> {
    for (&rank, blockers) in graph {
        if let Some(own) = blockers.iter().find(|blocker| blocker.rank == rank) {
            return Some(Circle { ranks: vec![rank], whys: vec![own.why] });
        }
        for blocker in blockers {
            let back = graph.get(&blocker.rank).into_iter().flatten().find(|back| back.rank == rank);
            if let Some(back) = back {
                return Some(Circle { ranks: vec![rank, blocker.rank], whys: vec![back.why, blocker.why] });
            }
        }
    }
    None
}

/// The first circle that a search in depth meets.
fn long(graph: &Graph) -> Option<Circle> {
    let mut done: BTreeMap<u32, bool> = BTreeMap::new();
    for &start in graph.keys() {
        // The way from the start: each rank, the reason why it is waited for, and the next of its
        // blockers to look at.
        let mut way: Vec<(u32, Why, usize)> = vec![(start, Why::Start, 0)];
        while let Some((rank, _, next)) = way.last_mut() {
            let rank = *rank;
            if *next == 0 && done.contains_key(&rank) {
                way.pop();
                continue;
            }
            let blocker = graph.get(&rank).and_then(|blockers| blockers.get(*next)).copied();
            *next += 1;
            let Some(blocker) = blocker else {
                done.insert(rank, true);
                way.pop();
                continue;
            };
            if let Some(at) = way.iter().position(|(on_way, ..)| *on_way == blocker.rank) {
                return Some(circle(&way[at..], blocker.why));
            }
            way.push((blocker.rank, blocker.why, 0));
        }
    }
    None
}

/// The circle of this part of a way; `closing`: why the last one waits for the first.
fn circle(way: &[(u32, Why, usize)], closing: Why) -> Circle {
    let mut members: Vec<(u32, Why)> = way.iter().map(|(rank, why, _)| (*rank, *why)).collect();
    members[0].1 = closing;
    let lowest = (0..members.len()).min_by_key(|&at| members[at].0).unwrap_or(0);
    members.rotate_left(lowest);
    let (ranks, whys) = members.into_iter().unzip();
    Circle { ranks, whys }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Cast, receive, send};

    fn of(cast: Cast) -> Option<Circle> {
        find(&Scene::new(cast.ranks()))
    }

    #[test]
    fn two_sends_are_a_circle() {
        let found = of(Cast::new(2).waits(0, send(1, 5)).waits(1, send(0, 5))).expect("a circle");
        assert_eq!(found.ranks, [0, 1]);
        assert!(found.is_of(Why::Receive));
    }

    #[test]
    fn a_ring_is_found_from_its_lowest_rank_on() {
        let cast = Cast::new(6).waits(5, receive(3, 1)).waits(3, receive(4, 1)).waits(4, receive(2, 1));
        let cast = cast.waits(2, receive(3, 1)).waits(0, receive(5, 1)).outside(1);
        let found = of(cast).expect("a circle");
        assert_eq!(found.ranks, [2, 3, 4]);
        assert!(found.is_of(Why::Send));
    }

    #[test]
    fn a_chain_is_no_circle() {
        let cast = Cast::new(4).waits(0, receive(1, 1)).waits(1, receive(2, 1)).waits(2, send(3, 1));
        assert_eq!(of(cast.outside(3)), None);
    }

    #[test]
    fn a_send_to_oneself_is_a_circle_of_one() {
        assert_eq!(of(Cast::new(1).waits(0, send(0, 5))).expect("a circle").ranks, [0]);
    }

    #[test]
    fn a_long_ring_takes_no_deep_stack() {
        let size = 5000;
        let cast = (0..size).fold(Cast::new(size), |cast, rank| cast.waits(rank, send((rank + 1) % size, 1)));
        // Rank look-ups are linear in the number of ranks; only the search is of interest here.
        let graph: Graph = (0..size)
            .map(|rank| (rank, vec![Blocker { rank: (rank + 1) % size, why: Why::Receive }]))
            .collect();
        drop(cast);
        assert_eq!(long(&graph).expect("a circle").ranks.len(), size as usize);
    }
}
