//! Two ranks that answer each other, as most programs do, while a third talks to both. Each message
//! is waited for alone, so it may go the shortest way, from the device straight to the receive
//! (`Channel::take_direct`). That way must be taken, and must lose, double or swap nothing, over
//! devices that do.

use verbena_channel::mark::Mark;
use verbena_engine::{Mode, Plain, Posted, ReceiveRequest, RequestId, SendRequest};
use verbena_sim::over_rc::{self, RcFaults};
use verbena_sim::over_ud::{self, UdFaults};
use verbena_sim::seeds::seeds_to_run;
use verbena_sim::{Cluster, Memory, Random, Rank, Shape};

const RANKS: Rank = 3;
/// The one that talks to both.
const THIRD: Rank = 2;
const ROUNDS: u64 = 40;
const STEPS_MAX: u64 = 3_000_000;

/// A request under way.
struct Pending {
    at: Rank,
    request: RequestId,
}

struct Talk {
    cluster: Cluster,
    random: Random,
    /// Messages that were taken by a look, which had not ended before.
    fronts: u64,
}

/// Returns the bytes of the message with this number.
fn content(number: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (number * 31 + at * 7) as u8).collect()
}

impl Talk {
    fn send(&mut self, from: Rank, to: Rank, context: u64, number: u64, len: usize) -> Option<Pending> {
        let memory = self.cluster.memory(len, Shape::Contiguous);
        memory.fill(&content(number, len));
        let (buffer, tag, mode) = (memory.buffer(), number as i32, Mode::Standard);
        let send =
            SendRequest { peer: to, context, source: from as i32, tag, buffer, mark: Mark::NONE, mode };
        let posted = self.cluster.engine(from).send(send);
        pending(from, posted)
    }

    fn receive(&mut self, at: Rank, from: Rank, context: u64, number: u64) -> (Memory, Option<Pending>) {
        let memory = self.cluster.memory(20_000, Shape::Contiguous);
        let (buffer, tag, source) = (memory.buffer(), number as i32, from as i32);
        let receive = ReceiveRequest::new(context, source, tag, buffer);
        let posted = self.cluster.engine(at).receive(ReceiveRequest { peer: Some(from), ..receive });
        (memory, pending(at, posted))
    }

    /// Waits until all of these have ended; returns how long each message was.
    fn wait(&mut self, all: &[Option<Pending>]) -> Vec<u64> {
        let mut lengths: Vec<Option<u64>> = all.iter().map(|one| one.is_none().then_some(0)).collect();
        while lengths.iter().any(Option::is_none) {
            let (fronts, looks) = (&mut self.fronts, self.random.percent(80));
            self.cluster.step_after(|rank, engine| {
                let mine = |one: &&Pending| looks && one.at == rank;
                for (one, length) in all.iter().zip(&mut lengths) {
                    let Some(one) = one.as_ref().filter(mine).filter(|_| length.is_none()) else { continue };
                    let had_ended = !engine.is_pending(one.request);
                    match engine.take_plain(one.request) {
                        Plain::Ended { bytes, .. } => {
                            *fronts += u64::from(!had_ended);
                            *length = Some(bytes);
                        }
                        Plain::Pending => {}
                        Plain::Unusual => {
                            let taken = engine.take(one.request);
                            assert!(taken.iter().all(|taken| taken.failure.is_none()), "{taken:?}");
                            *length = taken.map(|taken| taken.bytes);
                        }
                    }
                }
            });
            assert!(self.cluster.steps() < STEPS_MAX, "it hangs:\n{}", self.cluster.describe());
        }
        lengths.into_iter().flatten().collect()
    }

    fn round(&mut self, number: u64) {
        let (from, to) = ((number % 2) as Rank, (1 - number % 2) as Rank);
        let lens: Vec<usize> = (0..self.random.pick(&[1, 1, 1, 2, 5]))
            .map(|_| self.random.pick(&[0, 1, 8, 8, 40, 200, 1000, 5000, 20_000]))
            .collect();
        let third = self.random.percent(20).then(|| {
            let (to, len) = (self.random.pick(&[0, 1]), self.random.pick(&[0, 100]));
            (to, len, self.send(THIRD, to, 1, number, len))
        });
        let posts_first = self.random.percent(70);
        let (mut heard, mut memories, mut said) = (Vec::new(), Vec::new(), Vec::new());
        for receives in [posts_first, !posts_first] {
            for (at, len) in lens.iter().enumerate() {
                let number = number * 10 + at as u64;
                if receives {
                    let (memory, request) = self.receive(to, from, 0, number);
                    memories.push(memory);
                    heard.push(request);
                } else {
                    said.push(self.send(from, to, 0, number, *len));
                }
            }
        }
        let waited: Vec<bool> = heard.iter().map(Option::is_some).collect();
        let lengths = self.wait(&heard);
        self.wait(&said);
        for (at, len) in lens.iter().enumerate() {
            assert!(!waited[at] || lengths[at] == *len as u64, "message {at} of round {number}");
            assert_eq!(memories[at].packed()[..*len], content(number * 10 + at as u64, *len));
            assert!(memories[at].is_guarded_after(*len), "more than message {at} of round {number}");
        }
        if let Some((to, len, said)) = third {
            let (memory, heard) = self.receive(to, THIRD, 1, number);
            self.wait(&[said, heard]);
            assert_eq!(memory.packed()[..len], content(number, len));
        }
    }
}

fn pending(at: Rank, posted: Posted) -> Option<Pending> {
    match posted {
        Posted::Pending(request) => Some(Pending { at, request }),
        Posted::Done(completion) => {
            assert!(completion.failure.is_none(), "{completion:?}");
            None
        }
    }
}

/// Messages that went the shortest way.
fn talk(seed: u64, cluster: impl Fn(&mut Random) -> Cluster) -> u64 {
    let mut random = Random::new(seed);
    let cluster = cluster(&mut random);
    let mut talk = Talk { cluster, random, fronts: 0 };
    (0..ROUNDS).for_each(|number| talk.round(number));
    talk.fronts
}

/// Runs many seeds; for every ten rounds at least one message must have gone the shortest way.
fn many(cluster: impl Fn(u64, &mut Random) -> Cluster) {
    let seeds = seeds_to_run(300);
    let rounds = (seeds.end - seeds.start) * ROUNDS;
    let fronts: u64 = seeds.map(|seed| talk(seed, |random| cluster(seed, random))).sum();
    assert!(fronts > rounds / 10, "{fronts} of {rounds}");
}

#[test]
fn over_ud_each_message_comes_once_and_in_order() {
    many(|seed, random| {
        let faults = UdFaults::random(random);
        over_ud::cluster(seed, RANKS, &UdFaults { node_size: 1, ..faults }).0
    });
}

#[test]
fn over_rc_each_message_comes_once_and_in_order() {
    many(|seed, random| {
        let faults = RcFaults::random(random);
        over_rc::cluster(seed, RANKS, &RcFaults { node_size: 1, ..faults }).0
    });
}
