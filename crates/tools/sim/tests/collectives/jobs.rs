//! The collectives that ranks do one after the other on a board, and the errors of ranks in them.

use crate::direct::Access;
use crate::in_place::Giving;
use verbena_sim::Random;

/// A collective, the same for all ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Barrier,
    Bcast,
    Allreduce,
    Reduce,
    Scan,
    Allgather,
    Gather,
    Scatter,
    Alltoall,
    /// Over slots, in pieces of this many bytes.
    Long(usize),
    /// A broadcast over slots, in pieces of this many bytes.
    LongBcast(usize),
    /// In place over slots, in pieces of this many bytes; with the operand where the result goes.
    InPlace(usize, Giving, bool),
    /// In rounds over slots, likewise.
    Rounds(usize, Giving, bool),
    /// A scan in rounds over slots, inclusive or not, likewise.
    ScanInRounds(usize, bool, bool),
    /// Over each other's memory, in parts of this many bytes.
    Direct(usize, Access, Giving),
}

impl Kind {
    /// Returns whether it may be another way through the same call, with other lengths.
    fn is_call_of(self, other: Kind) -> bool {
        let call = |kind: Kind| match kind {
            Kind::Allreduce | Kind::Long(_) => Kind::Allreduce,
            Kind::Bcast | Kind::LongBcast(_) => Kind::Bcast,
            Kind::Scan | Kind::ScanInRounds(..) => Kind::Scan,
            Kind::InPlace(_, giving, _) | Kind::Rounds(_, giving, _) | Kind::Direct(.., giving) => {
                match giving {
                    Giving::All => Kind::Allreduce,
                    Giving::ToRoot => Kind::Reduce,
                    Giving::Blocks => Kind::Rounds(0, Giving::Blocks, false),
                }
            }
            kind => kind,
        };
        std::mem::discriminant(&call(self)) == std::mem::discriminant(&call(other))
    }
}

/// A collective: its number, the words of each rank, its root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) number: usize,
    pub(crate) kind: Kind,
    pub(crate) words: usize,
    pub(crate) root: usize,
}

impl Job {
    /// This job of one rank, with the root that the others have. A broadcast of the same length has
    /// the same pieces.
    fn unlike(self, usual: &Job) -> Job {
        let is_longer = matches!(self.kind, Kind::LongBcast(_)) && self.words == usual.words;
        Job { root: usual.root, words: self.words + usize::from(is_longer), ..self }
    }
}

/// The error of a rank in a job.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Odd {
    /// The rank does this instead.
    Other(Job),
    /// The arguments are wrong: the rank does not take part, and may tell so or not.
    Skips { tells: bool },
    /// The rank gives up after so many steps.
    Leaves { steps: u32 },
}

/// The jobs of all ranks, and those in which one rank errs.
pub(crate) struct Jobs {
    pub(crate) all: Vec<Job>,
    pub(crate) odd: Vec<Option<(usize, Odd)>>,
}

/// The frequency and sorts of the ranks' errors.
#[derive(Clone, Copy)]
pub(crate) struct Errors {
    /// The jobs of a hundred in which one does.
    pub(crate) percent: u32,
    /// True if they err in any way; false if they do something else, with another length.
    pub(crate) of_all_sorts: bool,
}

impl Errors {
    pub(crate) const NONE: Errors = Errors { percent: 0, of_all_sorts: false };
}

impl Jobs {
    pub(crate) fn random(
        random: &mut Random,
        many: usize,
        ranks: usize,
        bytes: usize,
        errors: Errors,
    ) -> Jobs {
        let all: Vec<Job> = (0..many).map(|number| job(random, number, ranks, bytes)).collect();
        let odd = |usual: &Job| {
            let rank = random.below(ranks as u64) as usize;
            let mut others = (0..200).map(|_| job(random, usual.number, ranks, bytes));
            let other = others.find(|other| other.kind.is_call_of(usual.kind))?;
            if !random.percent(errors.percent) {
                return None;
            }
            let sort = if errors.of_all_sorts { random.below(4) } else { 0 };
            let odd = match sort {
                0 => Odd::Other(other.unlike(usual)),
                1 => Odd::Leaves { steps: random.pick(&[1, 1, 2, 5, 30]) },
                // Nobody waits for more of it behind the last one.
                _ => Odd::Skips { tells: random.percent(50) || usual.number + 1 == many },
            };
            Some((rank, odd))
        };
        let odd = all.iter().map(odd).collect();
        Jobs { all, odd }
    }

    /// The job of a rank, and its error.
    pub(crate) fn of(&self, number: usize, rank: usize) -> Option<(Job, Option<Odd>)> {
        let (usual, odd) = (*self.all.get(number)?, self.odd[number]);
        let odd = odd.filter(|&(odd, _)| odd == rank).map(|(_, odd)| odd);
        Some((if let Some(Odd::Other(other)) = odd { other } else { usual }, odd))
    }
}

fn job(random: &mut Random, number: usize, ranks: usize, record_bytes_max: usize) -> Job {
    let kind = match random.below(24) {
        0 => Kind::Barrier,
        1 | 2 => Kind::Bcast,
        3 => Kind::Allreduce,
        4 => Kind::Reduce,
        5 => Kind::Scan,
        6 => Kind::Allgather,
        7 => Kind::Gather,
        8 => Kind::Scatter,
        9 => Kind::Alltoall,
        10 => Kind::LongBcast(random.pick(&[3, 20, 64, 128])),
        11..=13 => {
            let access = [Access::Granted, Access::Granted, Access::InPlace, Access::Denied, Access::Lost];
            let giving = random.pick(&[Giving::All, Giving::All, Giving::ToRoot, Giving::Blocks]);
            Kind::Direct(random.pick(&[4, 20, 64, 128]), random.pick(&access), giving)
        }
        14..=19 => {
            let giving = random.pick(&[Giving::All, Giving::All, Giving::ToRoot, Giving::Blocks]);
            let way = random.pick(&[Kind::InPlace as fn(usize, Giving, bool) -> Kind, Kind::Rounds]);
            way(random.pick(&[4, 20, 64, 128]), giving, random.percent(30))
        }
        20 | 21 => Kind::ScanInRounds(random.pick(&[4, 20, 64, 128]), random.percent(50), random.percent(30)),
        _ => Kind::Long(random.pick(&[4, 20, 64, 128])),
    };
    let words = match kind {
        Kind::Long(_)
        | Kind::LongBcast(_)
        | Kind::Direct(..)
        | Kind::InPlace(..)
        | Kind::Rounds(..)
        | Kind::ScanInRounds(..) => random.between(1, 300) as usize,
        Kind::Scatter | Kind::Alltoall => random.below((record_bytes_max / ranks / 4) as u64 + 1) as usize,
        _ => random.below((record_bytes_max / 4) as u64 + 1) as usize,
    };
    Job {
        number,
        kind,
        words: words.max(1).min(record_bytes_max.max(1200)),
        root: random.below(ranks as u64) as usize,
    }
}
