//! The two benchmarks of paper 3: ping-pong, and the discovery of bursts (figure 1).

use super::node::{RANKS, Shared, Spinning, World};
use crate::memory::{Memory, Shape};
use std::sync::{Arc, Mutex};
use verbena_channel::Channel;
use verbena_engine::{Engine, Mode, Polling, Posted, Receive, RequestId, Send, Settings};

/// Bytes of a message.
const BYTES: usize = 8;
/// Round trips before the clock starts, and those that are measured.
const WARM: u32 = 200;
const ROUNDS: u32 = 2000;
/// Bursts from each of the two peers.
const BURSTS: u32 = 20;
/// A benchmark that takes more looks than this hangs.
const LOOKS_MAX: u64 = 50_000_000;

/// A process that waits for messages and answers, or asks.
struct Process {
    engine: Engine,
    memory: Memory,
    waits: Option<RequestId>,
}

/// The three of them.
struct Group {
    processes: Vec<Process>,
    world: Shared,
    looks: u64,
}

impl Group {
    fn new(polling: Polling) -> Group {
        let world = Shared::new(Mutex::new(World::default()));
        let process = |me: usize| {
            let channel = |network| -> Box<dyn Channel> {
                Box::new(Spinning { me: me as u32, network, world: Arc::clone(&world) })
            };
            let settings = Settings { polling: Some(polling), ..Settings::default() };
            let engine = Engine::new(me as u32, RANKS as u32, vec![channel(false), channel(true)], settings);
            Process { engine, memory: Memory::new(BYTES, Shape::Contiguous), waits: None }
        };
        Group { processes: (0..RANKS).map(process).collect(), world, looks: 0 }
    }

    fn clock_ns(&self, rank: usize) -> u64 {
        self.world.lock().expect("no thread panicked").clocks_ns[rank]
    }

    fn send(&mut self, from: usize, to: usize) {
        let process = &mut self.processes[from];
        let (buffer, mode) = (process.memory.buffer(), Mode::Standard);
        let (peer, source) = (to as u32, from as i32);
        process.engine.send(Send { peer, context: 0, source, tag: 0, buffer, mode });
    }

    fn receive(&mut self, at: usize, from: usize) {
        let process = &mut self.processes[at];
        let receive = Receive { context: 0, source: from as i32, tag: 0, buffer: process.memory.buffer() };
        if let Posted::Pending(id) = process.engine.receive(receive) {
            process.waits = Some(id);
        }
    }

    /// Whoever's clock is behind has a round, until `at` has what it waits for.
    fn wait(&mut self, at: usize) -> Result<(), String> {
        while let Some(id) = self.processes[at].waits {
            let rank = (0..RANKS).min_by_key(|rank| self.clock_ns(*rank)).expect("there are ranks");
            self.processes[rank].engine.progress_in_turn();
            if self.processes[at].engine.take(id).is_some() {
                self.processes[at].waits = None;
            }
            self.looks += 1;
            if self.looks > LOOKS_MAX {
                return Err(format!("rank {at} waits in vain: {:?}", self.processes[at].engine.describe()));
            }
        }
        Ok(())
    }

    /// A message from `peer` to rank 0 and the answer.
    fn exchange(&mut self, peer: usize) -> Result<(), String> {
        self.receive(0, peer);
        self.receive(peer, 0);
        self.send(peer, 0);
        self.wait(0)?;
        self.send(0, peer);
        self.wait(peer)
    }
}

/// Half of a round trip between rank 0 and `peer`, in nanoseconds.
///
/// # Errors
/// What hung.
pub(super) fn latency_ns(polling: Polling, peer: usize) -> Result<u64, String> {
    let mut group = Group::new(polling);
    for _ in 0..WARM {
        group.exchange(peer)?;
    }
    let start_ns = group.clock_ns(peer);
    for _ in 0..ROUNDS {
        group.exchange(peer)?;
    }
    Ok((group.clock_ns(peer) - start_ns) / u64::from(2 * ROUNDS))
}

/// The mean time between a message's arrival at rank 0 and its discovery: bursts of so many, from the one peer and the other
/// in turn, each message answered (paper 3, figure 1).
///
/// # Errors
/// What hung.
pub(super) fn discovery_ns(polling: Polling, burst: u32) -> Result<f64, String> {
    let mut group = Group::new(polling);
    for peer in (0..2 * BURSTS).map(|number| 1 + number as usize % 2) {
        for _ in 0..burst {
            group.exchange(peer)?;
        }
    }
    let world = group.world.lock().expect("no thread panicked");
    Ok(world.found_ns as f64 / world.found as f64)
}
