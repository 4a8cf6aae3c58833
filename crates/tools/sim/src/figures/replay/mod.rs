//! Programs over 2, 4 and 8 nodes (paper 1, figures 20 and 21; paper 2, figures 16 and 17): the
//! messages of each rank are given as steps, and the real engine, channels and schedules carry them
//! by the cost model of their device. One rank is on each node.
//!
//! The messages are a program's own: partners, lengths, order and collectives. The time that it
//! computes between them is no finding of the model: [`Step::Compute`] is an input. A replay
//! without such steps gives the time of communication alone.
//!
//! Registering memory takes no time here: a program of many rounds does so once. It would depend on
//! the addresses that this process happens to get, and so would the order of all messages after it.
//!
//! The bytes are not the program's. Each message carries a number that says from whom, for whom and
//! which one it is, and its receiver compares; sums are compared too.

mod member;

use crate::Rank;
use crate::figures::Rung;
use crate::verbs::{Costs, Counts, Subnet};
use member::Member;
use verbena_engine::Counters;

/// A partner, with the bytes of a message.
pub type Part = (Rank, usize);

/// A step of a rank. It begins when the one before has ended. Lengths are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The processor computes this many nanoseconds.
    Compute(u64),
    /// Messages to others and from others, all at once.
    Exchange {
        /// The messages to others.
        sends: Vec<Part>,
        /// The messages from others.
        receives: Vec<Part>,
    },
    /// `MPI_Alltoall` with blocks of this length.
    Alltoall(usize),
    /// `MPI_Alltoallv`.
    Alltoallv {
        /// The lengths of the blocks for others.
        sends: Vec<usize>,
        /// The lengths of the blocks from others.
        receives: Vec<usize>,
    },
    /// `MPI_Allreduce`: a sum of words, of this length together.
    Sum(usize),
    /// `MPI_Barrier`.
    Barrier,
    /// Notes the time.
    Mark,
}

/// The time and the counts of a round. The rounds before have made the connections and registered
/// the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The time from when the first rank begins to when the last one has ended.
    pub time_us: f64,
    /// Messages that the engines sent, whole or announced; those of collectives are among them.
    pub messages: u64,
    /// Packets that the engines handed to the network.
    pub packets: u64,
    /// The work of all devices in all [`ROUNDS`].
    pub devices: Counts,
    /// The most messages that a rank held at a time until their receives came, in all rounds.
    pub held: u64,
    /// The most bytes that a rank held so.
    pub held_bytes: u64,
}

/// Rounds of a replay; the last one is measured.
pub const ROUNDS: usize = 5;
/// Time that passes when nothing is to come.
const DULL_NS: u64 = 300_000;
/// The run counts as hanging when no rank has begun a step for this time, computing aside.
const STUCK_NS: u64 = 10_000_000_000;

/// Plays the steps of each rank several times over a design, and measures the last time.
///
/// # Errors
/// What hung or failed, or a message that came out wrong.
pub fn replay(scripts: &[Vec<Step>], rung: Rung, costs: Costs) -> Result<Outcome, String> {
    replay_from(scripts, rung, costs, &vec![0; scripts.len()])
}

/// Plays the same where each rank begins the round that is measured so many nanoseconds after the
/// barrier before it: no machine starts all at once, and a little decides which of two long blocks
/// goes first.
///
/// # Errors
/// As [`replay`].
pub fn replay_from(
    scripts: &[Vec<Step>],
    rung: Rung,
    costs: Costs,
    starts_ns: &[u64],
) -> Result<Outcome, String> {
    let nodes = scripts.len() as Rank;
    let costs = Costs { register_ns: 0, register_page_ns: 0, deregister_ns: 0, ..costs };
    let (wires, subnet, settings) = rung.network(costs, nodes);
    let member = |(rank, (wire, steps)): (Rank, (_, &Vec<Step>))| {
        // The barrier is in each round, so that its ways are there before the clock starts.
        let round = [steps, &[Step::Barrier][..]].concat();
        let start = [Step::Compute(starts_ns[rank as usize]), Step::Mark];
        let start = if starts_ns[rank as usize] > 0 { &start[..] } else { &start[1..] };
        let program = [&[&round[..]; ROUNDS - 1].concat(), start, steps, &[Step::Mark]].concat();
        Member::new(rank, nodes, wire, settings, program)
    };
    let members = (0..nodes).zip(wires.into_iter().zip(scripts)).map(member).collect();
    let mut job = Job { members, subnet };
    job.run()?;
    Ok(job.outcome())
}

struct Job {
    members: Vec<Member>,
    subnet: Subnet,
}

impl Job {
    fn run(&mut self) -> Result<(), String> {
        let (mut begun, mut moved_ns) = (0, 0);
        while self.members.iter().any(|member| !member.has_ended()) {
            self.step()?;
            let (now, now_ns) = (self.members.iter().map(Member::begun).sum(), self.now_ns());
            if now != begun {
                (begun, moved_ns) = (now, now_ns);
            } else if now_ns > moved_ns + STUCK_NS {
                let pending = self.members.iter().flat_map(|member| member.engine.describe());
                return Err(format!("nothing moves: {}", pending.collect::<Vec<_>>().join("; ")));
            }
        }
        match self.subnet.violations() {
            none if none.is_empty() => Ok(()),
            some => Err(some.join("; ")),
        }
    }

    /// The time that the last rank has reached.
    fn now_ns(&self) -> u64 {
        (0..self.members.len()).map(|rank| self.subnet.time_ns(rank as Rank)).max().unwrap_or(0)
    }

    /// Lets a rank run, or the devices, whichever is first, or time pass if there is none.
    fn step(&mut self) -> Result<(), String> {
        let devices_ns = self.subnet.next_ns().unwrap_or(u64::MAX);
        let awake = (0..self.members.len()).filter(|rank| self.members[*rank].awake);
        let first = awake.map(|rank| (self.subnet.time_ns(rank as Rank), rank)).min();
        match first {
            Some((at_ns, rank)) if at_ns <= devices_ns => {
                self.subnet.run_until(at_ns);
                let moved = self.members[rank].play(&self.subnet)?;
                self.members[rank].awake = moved || self.subnet.has_unseen(rank as Rank);
            }
            _ if devices_ns < u64::MAX => self.subnet.run_until(devices_ns),
            _ => {
                self.subnet.run_until(self.subnet.now_ns() + DULL_NS);
                self.members.iter_mut().for_each(|member| member.awake = true);
            }
        }
        for (rank, _) in self.subnet.take_woken() {
            self.members[rank as usize].awake = true;
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        let marks = |which: usize| self.members.iter().map(move |member| member.marks[which]);
        let begin_ns = marks(0).map(|mark| mark.at_ns).min().unwrap_or(0);
        let end_ns = marks(1).map(|mark| mark.at_ns).max().unwrap_or(0);
        let all = |count: fn(&member::Mark) -> u64| {
            marks(1).map(|mark| count(&mark)).sum::<u64>() - marks(0).map(|mark| count(&mark)).sum::<u64>()
        };
        let most = |count: fn(&Counters) -> usize| {
            self.members.iter().map(|member| count(&member.engine.counters())).max().unwrap_or(0) as u64
        };
        Outcome {
            held: most(|counters| counters.unexpected_high),
            held_bytes: most(|counters| counters.unexpected_bytes_high),
            time_us: (end_ns - begin_ns) as f64 / 1e3,
            messages: all(|mark| mark.messages),
            packets: all(|mark| mark.packets),
            devices: self.subnet.counts(),
        }
    }
}
