//! Two ranks that run a benchmark: real engines over simulated devices, in the order of virtual
//! time.

use crate::Rank;
use crate::memory::{Memory, Shape};
use crate::verbs::Subnet;
use verbena_channel::Channel;
use verbena_channel::loopback::LoopbackChannel;
use verbena_channel::mark::Mark;
use verbena_engine::{Engine, Mode, Posted, ReceiveRequest, RequestId, SendRequest, Settings};

/// Time that passes when nothing is to come: a rank may wait to say something again.
const DULL_NS: u64 = 300_000;
/// The benchmark counts as hanging after this many such times in a row.
const DULL_MAX: u32 = 1000;

/// Rounds before the clock starts: connections are made, rings offered, memory registered.
pub(super) const WARM_ROUNDS: usize = 60;
/// Rounds of ping-pong that are measured.
pub(super) const ROUNDS: usize = 50;
/// Windows that are measured, and those before; of long messages fewer, since they are alike.
pub(super) const WINDOWS: usize = 10;
const WINDOWS_LONG: usize = 2;
/// The length from which messages are long.
const LONG_BYTES: usize = 16 << 10;

/// Returns the windows of messages of this length that are measured.
pub(super) fn window_rounds(bytes: usize) -> usize {
    if bytes < LONG_BYTES { WINDOWS } else { WINDOWS_LONG }
}

/// The next action of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Starts to send this many bytes to the other.
    Send(usize),
    /// Starts to receive this many bytes.
    Receive(usize),
    /// Waits until everything started is complete.
    Wait,
    /// Notes the time.
    Mark,
}

/// A rank and its program.
struct Player {
    // Dropped before the memory that it holds buffers of.
    engine: Engine,
    program: Vec<Act>,
    next: usize,
    pending: Vec<RequestId>,
    marks_ns: Vec<u64>,
    /// True if something may have come for it.
    awake: bool,
    send: Memory,
    receive: Memory,
}

/// The benchmark.
pub(super) struct Bench {
    players: Vec<Player>,
    subnet: Subnet,
}

impl Bench {
    /// Makes two ranks with messages of at most `bytes_max`, over channels that `wires` makes.
    pub(super) fn new(
        subnet: Subnet,
        bytes_max: usize,
        settings: Settings,
        mut wires: impl FnMut(Rank) -> Vec<Box<dyn Channel>>,
    ) -> Bench {
        let mut channels = |me| {
            [Box::new(LoopbackChannel::new(me)) as Box<dyn Channel>].into_iter().chain(wires(me)).collect()
        };
        let players = [0, 1].map(|me| (me, channels(me)));
        let players = players.into_iter().map(|(me, channels)| Player {
            engine: Engine::new(me, 2, channels, settings),
            program: Vec::new(),
            next: 0,
            pending: Vec::new(),
            marks_ns: Vec::new(),
            awake: true,
            send: Memory::new(bytes_max, Shape::Contiguous),
            receive: Memory::new(bytes_max, Shape::Contiguous),
        });
        Bench { players: players.collect(), subnet }
    }

    /// Runs a program on each rank to its end; returns the times that the first one marked, in
    /// nanoseconds.
    ///
    /// # Errors
    /// What is pending if it hangs, or what failed.
    pub(super) fn run(&mut self, programs: [Vec<Act>; 2]) -> Result<Vec<u64>, String> {
        for (player, program) in self.players.iter_mut().zip(programs) {
            (player.program, player.next, player.awake) = (program, 0, true);
        }
        let mut dull = 0;
        while self.players.iter().any(|player| player.next < player.program.len()) {
            dull = if self.step()? { 0 } else { dull + 1 };
            if dull > DULL_MAX {
                let pending = self.players.iter().flat_map(|player| player.engine.describe());
                return Err(format!("nothing moves: {}", pending.collect::<Vec<_>>().join("; ")));
            }
        }
        Ok(std::mem::take(&mut self.players[0].marks_ns))
    }

    /// Measures half the time of a round trip of messages of this length, in microseconds.
    ///
    /// # Errors
    /// What hung or failed.
    pub(super) fn latency_us(&mut self, bytes: usize) -> Result<f64, String> {
        let marks = self.run(ping_pong(bytes, WARM_ROUNDS, ROUNDS))?;
        Ok((marks[1] - marks[0]) as f64 / 2e3 / ROUNDS as f64)
    }

    /// Measures bytes per microsecond (10^6 a second) of so many windows of messages of this
    /// length, each window answered.
    ///
    /// # Errors
    /// What hung or failed.
    pub(super) fn bandwidth_mb_s(
        &mut self,
        bytes: usize,
        window: usize,
        rounds: usize,
    ) -> Result<f64, String> {
        let marks = self.run(windows(bytes, window, rounds, rounds))?;
        Ok((bytes * window * rounds) as f64 * 1e3 / (marks[1] - marks[0]) as f64)
    }

    /// Lets a rank run, or the devices, whichever is first; `false` if there was none.
    fn step(&mut self) -> Result<bool, String> {
        let devices_ns = self.subnet.next_ns().unwrap_or(u64::MAX);
        let awake = (0..self.players.len()).filter(|rank| self.players[*rank].awake);
        let first = awake.map(|rank| (self.subnet.time_ns(rank as Rank), rank)).min();
        match first {
            Some((at_ns, rank)) if at_ns <= devices_ns => {
                self.subnet.run_until(at_ns);
                let (subnet, player) = (&self.subnet, &mut self.players[rank]);
                player.awake = player.play(rank as Rank, subnet)? || subnet.has_unseen(rank as Rank);
            }
            _ if devices_ns < u64::MAX => self.subnet.run_until(devices_ns),
            _ => {
                self.subnet.run_until(self.subnet.now_ns() + DULL_NS);
                self.players.iter_mut().for_each(|player| player.awake = true);
                return Ok(false);
            }
        }
        for (rank, _) in self.subnet.take_woken() {
            self.players[rank as usize].awake = true;
        }
        Ok(true)
    }
}

impl Player {
    /// Goes on with the program until it must wait; returns whether it did anything.
    fn play(&mut self, me: Rank, subnet: &Subnet) -> Result<bool, String> {
        let mut moved = self.engine.progress();
        while let Some(act) = self.program.get(self.next).copied() {
            self.collect()?;
            if act == Act::Wait && !self.pending.is_empty() {
                break;
            }
            self.act(act, me, subnet)?;
            self.next += 1;
            moved = true;
        }
        Ok(moved)
    }

    fn collect(&mut self) -> Result<(), String> {
        let engine = &mut self.engine;
        let mut failed = None;
        self.pending.retain(|request| match engine.take(*request) {
            Some(completion) => {
                failed = failed.take().or(completion.failure);
                false
            }
            None => true,
        });
        failed.map_or(Ok(()), |failure| Err(format!("{failure:?}")))
    }

    fn act(&mut self, act: Act, me: Rank, subnet: &Subnet) -> Result<(), String> {
        let (context, tag) = (0, 0);
        let posted = match act {
            Act::Send(bytes) => {
                let buffer = self.send.buffer().part(0, bytes);
                let (peer, source) = (1 - me, me as i32);
                self.engine.send(SendRequest {
                    peer,
                    context,
                    source,
                    tag,
                    buffer,
                    mark: Mark::NONE,
                    mode: Mode::Standard,
                })
            }
            Act::Receive(bytes) => {
                let buffer = self.receive.buffer().part(0, bytes);
                self.engine.receive(ReceiveRequest::new(context, 1 - me as i32, tag, buffer))
            }
            Act::Wait => return Ok(()),
            Act::Mark => {
                self.marks_ns.push(subnet.time_ns(me));
                return Ok(());
            }
        };
        match posted {
            Posted::Pending(request) => self.pending.push(request),
            Posted::Done(completion) if completion.failure.is_some() => {
                return Err(format!("{:?}", completion.failure));
            }
            Posted::Done(_) => {}
        }
        Ok(())
    }
}

/// Makes rounds of ping-pong: each rank sends when it has received. Half the time between the
/// marks, divided by the rounds, is the latency.
pub(super) fn ping_pong(bytes: usize, warm: usize, rounds: usize) -> [Vec<Act>; 2] {
    let mut programs = [Vec::new(), Vec::new()];
    for round in 0..warm + rounds {
        if round == warm {
            programs[0].push(Act::Mark);
        }
        programs[0].extend([Act::Send(bytes), Act::Receive(bytes), Act::Wait]);
        programs[1].extend([Act::Receive(bytes), Act::Wait, Act::Send(bytes), Act::Wait]);
    }
    programs[0].push(Act::Mark);
    programs
}

/// Windows of messages in a row, each window answered by an empty message.
pub(super) fn windows(bytes: usize, window: usize, warm: usize, rounds: usize) -> [Vec<Act>; 2] {
    let mut programs = [Vec::new(), Vec::new()];
    for round in 0..warm + rounds {
        if round == warm {
            programs[0].push(Act::Mark);
        }
        programs[0].extend(std::iter::repeat_n(Act::Send(bytes), window));
        programs[1].extend(std::iter::repeat_n(Act::Receive(bytes), window));
        programs[0].extend([Act::Receive(0), Act::Wait]);
        programs[1].extend([Act::Wait, Act::Send(0), Act::Wait]);
    }
    programs[0].push(Act::Mark);
    programs
}
