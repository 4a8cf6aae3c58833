//! The channel `pipe` of one process, whose peer writes whatever it likes into the memory of the
//! pipe: chunks, pointers, offers of memory with any key, packets of any length.
//!
//! It may end the connection, and may deliver nonsense; it must not bring the channel to a panic,
//! let it write outside the memory that it was given, or deliver anything after the end.

use arbitrary::{Result, Unstructured};
use verbena_channel::packet::{HEADER_BYTES, Header, Kind};
use verbena_channel::{Channel, Landing, Payload, Peer, Sink};
use verbena_fault::Fault;
use verbena_infiniband::pipe::fuzzing::{scribble, scribble_chunk};
use verbena_infiniband::pipe::{Design, PipeChannel};
use verbena_memory::Owned;
use verbena_sim::over_pipe::{PipeFaults, channels};
use verbena_sim::verbs::{Costs, DeviceFaults, SimAdapter, Subnet};

/// The process under test, and its peer.
const ME: usize = 0;
const PEER: Peer = 1;
/// Memory for long packets, and the bytes around it that nobody may touch.
const LANDING_BYTES: usize = 4000;
const GUARD: usize = 64;
/// The byte that guards hold.
const GUARD_BYTE: u8 = 0xa5;
/// Rounds until the two know each other.
const ROUNDS_MAX: usize = 1000;
/// The most acts of an input.
const ACTS_MAX: usize = 64;
/// Virtual time between two polls, in nanoseconds.
const STEP_NS: u64 = 20_000;

/// An act of the peer, or of the process under test.
enum Act {
    /// The peer writes bytes anywhere.
    Bytes(u16, Vec<u8>),
    /// The peer writes a chunk, with flags that are right.
    Chunk { ahead: u8, kind: u8, tail: u8, body: Vec<u8> },
    /// The peer offers memory of its own, or of nobody.
    Offer { address: u64, bytes: u32, key: u32 },
    /// The peer begins a packet of this length.
    Packet { bytes: u16, kind: u8 },
    /// The peer writes its pointers.
    Pointers(u16, u16),
    /// The process sends a packet.
    Send(u16),
    /// Time goes on.
    Poll,
}

/// The receiver of what comes.
struct Watcher {
    memory: Owned,
    /// True while a payload is on its way into the memory.
    landing: bool,
    broken: bool,
}

impl Sink for Watcher {
    fn packet(&mut self, peer: Peer, _header: &Header, _payload: &[u8]) {
        assert!(peer == PEER && !self.broken, "a packet after the end");
    }

    fn transferred(&mut self, _token: u64, _outcome: std::result::Result<(), Fault>) {
        panic!("nobody asked for a transfer");
    }

    fn landing(&mut self, _peer: Peer, header: &Header, bytes: u64) -> Landing {
        assert!(!self.landing && !self.broken);
        match (header.flags % 2, bytes as usize <= LANDING_BYTES) {
            (_, false) => Landing::Nowhere,
            (0, true) => Landing::Scattered,
            (_, true) => {
                self.landing = true;
                Landing::Here(self.memory.lend().part(GUARD, bytes as usize))
            }
        }
    }

    fn landed(&mut self, _peer: Peer, _header: &Header, _bytes: u64, _whole: bool) {
        assert!(std::mem::take(&mut self.landing), "nothing was to land");
    }

    fn broken(&mut self, peer: Peer, _fault: Fault) {
        assert!(peer == PEER && !self.broken, "told twice");
        self.broken = true;
    }
}

/// Checks what any acts do.
pub fn inbox(data: &[u8]) {
    let Ok((design, acts)) = read(&mut Unstructured::new(data)) else { return };
    let faults = PipeFaults::none(design);
    let subnet = Subnet::new(1, 2, Costs::PLAIN, DeviceFaults::NONE);
    let mut channels = channels(&subnet, |_| faults.settings.clone(), 2);
    meet(&mut channels, &subnet);
    let memory = Owned::from(&[GUARD_BYTE; LANDING_BYTES + 2 * GUARD][..]);
    let mut watcher = Watcher { memory, landing: false, broken: false };
    // More polls than acts, so that all comes to its end.
    let polls = std::iter::repeat_with(|| Act::Poll).take(20);
    for act in acts.into_iter().chain(polls) {
        carry_out(&act, &mut channels[ME]);
        subnet.run_until(subnet.now_ns() + STEP_NS);
        channels[ME].poll(&mut watcher);
    }
    assert!(!(watcher.broken && watcher.landing), "the end of a landing was not told");
    let memory = watcher.memory.lend();
    let guards = [memory.part(0, GUARD), memory.part(GUARD + LANDING_BYTES, GUARD)];
    assert!(guards.iter().all(|guard| guard.to_vec().iter().all(|byte| *byte == GUARD_BYTE)));
}

fn read(input: &mut Unstructured<'_>) -> Result<(Design, Vec<Act>)> {
    let design = *input.choose(&Design::ALL)?;
    let mut acts = Vec::new();
    while !input.is_empty() && acts.len() < ACTS_MAX {
        acts.push(act(input)?);
    }
    Ok((design, acts))
}

fn act(input: &mut Unstructured<'_>) -> Result<Act> {
    Ok(match input.int_in_range(0..=6)? {
        0 => Act::Bytes(input.arbitrary()?, input.arbitrary()?),
        1 => Act::Chunk {
            ahead: input.arbitrary()?,
            kind: input.arbitrary()?,
            tail: input.arbitrary()?,
            body: input.arbitrary()?,
        },
        2 => Act::Offer { address: input.arbitrary()?, bytes: input.arbitrary()?, key: input.arbitrary()? },
        3 => Act::Packet { bytes: input.arbitrary()?, kind: input.arbitrary()? },
        4 => Act::Pointers(input.arbitrary()?, input.arbitrary()?),
        5 => Act::Send(input.arbitrary()?),
        _ => Act::Poll,
    })
}

/// Lets both send a packet, after which the pipes are laid.
fn meet(channels: &mut [PipeChannel<SimAdapter>], subnet: &Subnet) {
    let mut watchers = [0, 1].map(|_| Arrived(0));
    let mut sent = [false; 2];
    for _ in 0..ROUNDS_MAX {
        for (end, channel) in channels.iter_mut().enumerate() {
            let header = Header::new(Kind::Eager);
            sent[end] = sent[end] || channel.send(1 - end as Peer, &header, Payload::Bytes(&[1])).is_ok();
            channel.poll(&mut watchers[end]);
        }
        subnet.run_until(subnet.now_ns() + STEP_NS);
        if watchers.iter().all(|watcher| watcher.0 == 1) {
            return;
        }
    }
    panic!("the two do not meet");
}

/// The number of packets that came while the two met.
struct Arrived(u32);

impl Sink for Arrived {
    fn packet(&mut self, _peer: Peer, _header: &Header, _payload: &[u8]) {
        self.0 += 1;
    }

    fn transferred(&mut self, _token: u64, _outcome: std::result::Result<(), Fault>) {}
}

fn carry_out(act: &Act, channel: &mut PipeChannel<SimAdapter>) {
    match act {
        Act::Bytes(offset, bytes) => scribble(channel, PEER, usize::from(*offset), bytes),
        Act::Chunk { ahead, kind, tail, body } => {
            scribble_chunk(channel, PEER, u64::from(*ahead % 4), kind % 5, u64::from(*tail), body);
        }
        Act::Offer { address, bytes, key } => {
            let body = [&address.to_le_bytes()[..], &u64::from(*bytes).to_le_bytes(), &key.to_le_bytes()];
            scribble_chunk(channel, PEER, 0, 2, 0, &body.concat());
        }
        Act::Packet { bytes, kind } => {
            let mut record = u64::from(*bytes).to_le_bytes().to_vec();
            record.extend([kind % 16, *kind]);
            record.resize(8 + HEADER_BYTES, 0);
            scribble_chunk(channel, PEER, 0, 1, 0, &record);
        }
        Act::Pointers(head, tail) => {
            let ring = PipeFaults::none(Design::Basic).settings.ring_bytes;
            let words = [u64::from(*head), u64::from(*tail)].map(u64::to_le_bytes).concat();
            scribble(channel, PEER, ring, &words);
        }
        Act::Send(bytes) => {
            let bytes = vec![7; usize::from(*bytes) % 900];
            let header = Header::new(Kind::Eager);
            // Full, taken or broken: all may be.
            let _ = channel.send(PEER, &header, Payload::Bytes(&bytes));
        }
        Act::Poll => {}
    }
}
