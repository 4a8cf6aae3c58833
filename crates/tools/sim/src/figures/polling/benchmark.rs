//! The two benchmarks of paper 3: ping-pong, and the discovery of bursts (figure 1).

use super::Manner;
use super::node::{RANKS, Shared, Spinning, World};
use crate::Random;
use crate::memory::{Memory, Shape};
use std::sync::{Arc, Mutex};
use verbena_channel::Channel;
use verbena_channel::mark::Mark;
use verbena_engine::{
    ANY_SOURCE, Engine, Mode, Plain, Polling, ReceiveRequest, RequestId, SendRequest, Settings,
};

/// Bytes of a message.
const BYTES: usize = 8;
/// Round trips before the clock starts, and those that are measured.
const WARM: u32 = 200;
const ROUNDS: u32 = 1000;
/// The longest that a peer computes before each message of a burst, in nanoseconds.
const COMPUTES_NS_MAX: u64 = 1000;
/// Bursts from each of the two peers at least, and messages from each.
const BURSTS: u32 = 40;
const MESSAGES: u32 = 2000;
/// A benchmark that takes more looks than this hangs.
const LOOKS_MAX: u64 = 50_000_000;

/// A process that waits for messages and answers, or asks.
struct Process {
    engine: Engine,
    memory: Memory,
    waits: Option<RequestId>,
    /// Updates and calculations of its scheduler that were charged.
    charged: [u64; 2],
}

/// The three of them.
struct Group {
    processes: Vec<Process>,
    world: Shared,
    manner: Manner,
    looks: u64,
    /// The sum of times from the arrival of a message at rank 0 to the end of its receive, without
    /// the work for its packet, and the number of messages.
    found_ns: u64,
    found: u64,
}

impl Group {
    fn new(polling: Polling, manner: Manner) -> Group {
        let world = Shared::new(Mutex::new(World::default()));
        let process = |me: usize| {
            let channel = |network| -> Box<dyn Channel> {
                Box::new(Spinning { me: me as u32, network, world: Arc::clone(&world) })
            };
            let settings = Settings { polling, ..Settings::default() };
            let engine = Engine::new(me as u32, RANKS as u32, vec![channel(false), channel(true)], settings);
            let memory = Memory::new(BYTES, Shape::Contiguous);
            Process { engine, memory, waits: None, charged: [0; 2] }
        };
        let processes = (0..RANKS).map(process).collect();
        Group { processes, world, manner, looks: 0, found_ns: 0, found: 0 }
    }

    fn clock_ns(&self, rank: usize) -> u64 {
        self.world.lock().expect("no thread panicked").clocks_ns[rank]
    }

    fn send(&mut self, from: usize, to: usize) {
        let process = &mut self.processes[from];
        let (buffer, mode) = (process.memory.buffer(), Mode::Standard);
        let (peer, source) = (to as u32, from as i32);
        process.engine.send(SendRequest { peer, context: 0, source, tag: 0, buffer, mark: Mark::NONE, mode });
    }

    fn receive(&mut self, at: usize, from: usize) {
        // The peers always name rank 0.
        let any = at == 0 && self.manner.any_source;
        let process = &mut self.processes[at];
        let source = if any { ANY_SOURCE } else { from as i32 };
        let receive = ReceiveRequest::new(0, source, 0, process.memory.buffer());
        let peer = (!any).then_some(from as u32);
        process.waits = Some(process.engine.post(ReceiveRequest { peer, ..receive }));
    }

    /// Runs rounds of the rank whose clock is behind, until `at` has what it waits for.
    fn wait(&mut self, at: usize) -> Result<(), String> {
        while self.processes[at].waits.is_some() {
            let waiting = (0..RANKS).filter(|rank| self.processes[*rank].waits.is_some());
            let rank = waiting.min_by_key(|rank| self.clock_ns(*rank)).expect("this one waits");
            self.round(rank);
            self.looks += 1;
            if self.looks > LOOKS_MAX {
                return Err(format!("rank {at} waits in vain: {:?}", self.processes[at].engine.describe()));
            }
        }
        Ok(())
    }

    /// Runs a round of a wait as the library does: a look for the message at the front of its
    /// queue, then a round of progress.
    fn round(&mut self, rank: usize) {
        self.collect(rank);
        if self.processes[rank].waits.is_some() {
            self.processes[rank].engine.progress_in_turn();
            self.charge(rank);
        }
    }

    /// A rank that has what it waits for waits no more.
    fn collect(&mut self, rank: usize) {
        let Process { engine, waits, .. } = &mut self.processes[rank];
        let Some(id) = *waits else { return };
        if matches!(engine.take_plain(id), Plain::Pending) {
            return;
        }
        *waits = None;
        if rank == 0 {
            let world = self.world.lock().expect("no thread panicked");
            self.found += 1;
            self.found_ns += world.clocks_ns[0] - world.ready_ns;
        }
    }

    /// Charges a rank for what its scheduler calculated.
    fn charge(&mut self, rank: usize) {
        let Process { engine, charged, .. } = &mut self.processes[rank];
        let done = engine.polling_work();
        let [updates, calculations] = [0, 1].map(|at| done[at] - charged[at]);
        *charged = done;
        let ns = updates * self.manner.update_ns + calculations * self.manner.calculation_ns;
        self.world.lock().expect("no thread panicked").clocks_ns[rank] += ns;
    }

    /// Sets all clocks to the latest: a rank that did nothing has not stopped its clock.
    fn synchronise(&self) {
        let mut world = self.world.lock().expect("no thread panicked");
        let latest_ns = world.clocks_ns.into_iter().max().unwrap_or(0);
        world.clocks_ns = [latest_ns; RANKS];
    }

    /// Exchanges a message from `peer` to rank 0 and the answer; the peer computes for
    /// `computes_ns` before.
    fn exchange(&mut self, peer: usize, computes_ns: u64) -> Result<(), String> {
        self.synchronise();
        self.world.lock().expect("no thread panicked").clocks_ns[peer] += computes_ns;
        self.receive(0, peer);
        self.receive(peer, 0);
        self.send(peer, 0);
        self.wait(0)?;
        self.send(0, peer);
        self.wait(peer)
    }
}

/// Measures half of a round trip between rank 0 and `peer`, in nanoseconds.
///
/// # Errors
/// What hung.
pub(super) fn latency_ns(polling: Polling, peer: usize, manner: Manner) -> Result<u64, String> {
    let mut group = Group::new(polling, manner);
    for _ in 0..WARM {
        group.exchange(peer, 0)?;
    }
    let start_ns = group.clock_ns(peer);
    for _ in 0..ROUNDS {
        group.exchange(peer, 0)?;
    }
    Ok((group.clock_ns(peer) - start_ns) / u64::from(2 * ROUNDS))
}

/// Measures the mean time between a message's arrival at rank 0 and its discovery, when the answer
/// may go: bursts of `burst` messages, from the two peers in turn, each message answered (paper 3,
/// figure 1).
///
/// # Errors
/// What hung.
pub(super) fn discovery_ns(polling: Polling, burst: u32, manner: Manner) -> Result<f64, String> {
    let mut group = Group::new(polling, manner);
    let mut random = Random::new(u64::from(burst));
    for peer in (0..2 * BURSTS.max(MESSAGES / burst)).map(|number| 1 + number as usize % 2) {
        for _ in 0..burst {
            // Messages do not come in step with the looks.
            group.exchange(peer, random.below(COMPUTES_NS_MAX))?;
        }
    }
    Ok(group.found_ns as f64 / group.found as f64)
}
