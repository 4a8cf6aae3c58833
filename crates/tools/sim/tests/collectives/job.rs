//! A collective on all ranks: what each passes, and what it must have in the end.

use crate::arena::Arena;
use crate::element::{Reducing, nothing, pairs, word};
use std::sync::Arc;
use verbena_memory::layout::Layout;
use verbena_mpi::Comm;
use verbena_mpi::coll::plan::{Plan, Team};
use verbena_mpi::coll::schedule::Schedule;
use verbena_sim::Random;

/// Fills one rank's schedule.
pub(crate) type Fill = Box<dyn FnOnce(&mut Schedule, &Comm)>;

/// The part of one rank.
pub(crate) struct Part {
    pub arenas: Vec<Arena>,
    pub fill: Option<Fill>,
}

/// A collective.
pub(crate) struct Job {
    pub what: String,
    pub parts: Vec<Part>,
    pub reducing: Option<Reducing>,
    /// True if nobody may be through before everybody has begun.
    pub is_barrier: bool,
}

impl Job {
    /// A job without parts.
    pub(crate) fn new(what: String) -> Job {
        Job { what, parts: Vec::new(), reducing: None, is_barrier: false }
    }

    /// Checks a barrier when a rank is through.
    pub(crate) fn check_barrier(&self) -> Result<(), String> {
        match self.parts.iter().position(|part| part.fill.is_some()) {
            Some(part) if self.is_barrier => Err(format!("{}: through before part {part} began", self.what)),
            _ => Ok(()),
        }
    }

    /// Returns whether a rank's memory is what it must be once it is through.
    pub(crate) fn check(&self, part: usize) -> Result<(), String> {
        match self.parts[part].arenas.iter().position(|arena| !arena.is_as_expected()) {
            None => Ok(()),
            Some(i) => {
                let name = ["send", "receive"][i.min(1)];
                Err(format!("{}: rank {part}: wrong bytes in the {name} buffer", self.what))
            }
        }
    }

    /// Adds the next rank's part.
    pub(crate) fn part(&mut self, arenas: Vec<Arena>, fill: impl FnOnce(&mut Schedule, &Comm) + 'static) {
        self.parts.push(Part { arenas, fill: Some(Box::new(fill)) });
    }
}

/// Makes jobs for a communicator.
pub(crate) struct Maker<'r> {
    pub random: &'r mut Random,
    /// Number of ranks.
    pub ranks: usize,
}

/// Elements of the same signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    Word,
    Pair,
    Nothing,
}

impl Family {
    pub(crate) fn size(self) -> usize {
        match self {
            Family::Word => 4,
            Family::Pair => 8,
            Family::Nothing => 0,
        }
    }
}

impl Maker<'_> {
    pub(crate) fn family(&mut self) -> Family {
        self.random.pick(&[
            Family::Word,
            Family::Word,
            Family::Pair,
            Family::Pair,
            Family::Pair,
            Family::Nothing,
        ])
    }

    /// Picks one of the family's layouts.
    pub(crate) fn layout(&mut self, family: Family) -> &'static Arc<Layout> {
        match family {
            Family::Word => word().layout(),
            Family::Nothing => nothing().layout(),
            Family::Pair => pairs()[self.random.below(pairs().len() as u64) as usize].layout(),
        }
    }

    pub(crate) fn rank(&mut self) -> usize {
        self.random.below(self.ranks as u64) as usize
    }

    /// A number of elements, such that `blocks` blocks of as many do not take too long.
    pub(crate) fn count(&mut self, blocks: usize) -> usize {
        let count = self.random.pick(&[0, 1, 1, 2, 3, 7, 33, 200, 1000, 5000]);
        count.min((40_000 / blocks).max(2))
    }

    /// Like [`Maker::count`], for one of `blocks` blocks of different sizes.
    pub(crate) fn counts(&mut self, blocks: usize, budget: usize) -> Vec<i64> {
        let most = self.random.pick(&[1, 3, 20, 500]).min((40_000 / budget).max(2)) as u64;
        (0..blocks)
            .map(|_| if self.random.percent(20) { 0 } else { self.random.below(most + 1) as i64 })
            .collect()
    }

    /// Places for blocks of these sizes, in any order and with gaps; and the end of the last.
    pub(crate) fn displacements(&mut self, counts: &[i64]) -> (Vec<i64>, usize) {
        let mut order: Vec<usize> = (0..counts.len()).collect();
        shuffle(self.random, &mut order);
        let (mut places, mut next) = (vec![0; counts.len()], 0);
        for block in order {
            next += self.random.below(3) as i64;
            places[block] = next;
            next += counts[block];
        }
        (places, next as usize)
    }

    /// Random packed bytes of `count` elements.
    pub(crate) fn values(&mut self, count: usize, family: Family) -> Vec<u8> {
        (0..count * family.size()).map(|_| self.random.word() as u8).collect()
    }
}

/// Puts a list into any order.
pub(crate) fn shuffle<T>(random: &mut Random, list: &mut [T]) {
    for i in (1..list.len()).rev() {
        list.swap(i, random.below(i as u64 + 1) as usize);
    }
}

/// A plan for all ranks of an intracommunicator.
pub(crate) fn plan<'s, 'c>(schedule: &'s mut Schedule, comm: &'c Comm) -> Plan<'s, 'c> {
    Plan::new(schedule, Team::local(comm))
}
