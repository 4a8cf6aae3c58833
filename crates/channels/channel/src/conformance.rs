//! The promises of the [`Channel`] trait, as checks that run over any channel: the test of a new
//! channel begins here.
//!
//! A test brings two ends of its channel ([`Ends`]) and calls the checks that apply; each panics
//! with what was broken. The real channels call them in their own tests, `rc` and `ud` over
//! simulated devices.

use crate::packet::{Header, Kind};
use crate::{
    ATOMIC_BYTES, Access, Atomic, Channel, Key, Payload, Peer, Reach, RemoteMemory, SendError, Sink, Transfer,
};
use std::time::{Duration, Instant};
use verbena_fault::Fault;
use verbena_memory::{Owned, Region};

/// The two ends of a channel, both in this process; or the only end of one that reaches itself.
pub trait Ends {
    /// The number of ends: 2, or 1 of a channel that reaches itself.
    fn count(&self) -> usize {
        2
    }

    /// The channel at this end, and the process at the other.
    fn channel(&mut self, end: usize) -> (&mut dyn Channel, Peer);

    /// Lets time pass. Simulated channels have none otherwise.
    fn pass(&mut self) {}

    /// Ends the process at end 1 without a word. Its channel is not asked for any more.
    fn kill(&mut self) {
        panic!("this channel has no peer that could die");
    }
}

/// The two ends of one channel in one process.
impl<C: Channel> Ends for (C, C) {
    fn channel(&mut self, end: usize) -> (&mut dyn Channel, Peer) {
        match end {
            0 => (&mut self.0, 1),
            _ => (&mut self.1, 0),
        }
    }
}

/// The number of packets that go each way.
const PACKETS: u32 = 500;

/// The most packets that a channel with a limit takes for a peer that never looks.
const FULL_PACKETS_MAX: u32 = 1 << 20;

/// The time after which a check has hung.
const HUNG: Duration = Duration::from_secs(60);

/// The number of polls that look for what must not come.
const LATER_POLLS: u32 = 200;

/// The token of a transfer.
const TOKEN: u64 = 0x70_4b_e4;

/// The packets and transfers that arrived at one end.
#[derive(Default)]
struct Basket {
    packets: Vec<(Peer, Header, Vec<u8>)>,
    ended: Vec<(u64, Result<(), Fault>)>,
    broken: Vec<Peer>,
}

impl Sink for Basket {
    fn packet(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        self.packets.push((peer, *header, payload.to_vec()));
    }

    fn transferred(&mut self, token: u64, outcome: Result<(), Fault>) {
        self.ended.push((token, outcome));
    }

    fn broken(&mut self, peer: Peer, _fault: Fault) {
        self.broken.push(peer);
    }
}

/// Both ends, and what arrived there.
struct Trial<'a> {
    ends: &'a mut dyn Ends,
    arrived: [Basket; 2],
    /// The number of packets sent from each end.
    sent: [u32; 2],
    /// The number of ends that still live.
    alive: usize,
}

impl<'a> Trial<'a> {
    fn new(ends: &'a mut dyn Ends) -> Trial<'a> {
        let alive = ends.count();
        Trial { ends, arrived: Default::default(), sent: [0; 2], alive }
    }

    fn other(&self, end: usize) -> usize {
        self.ends.count() - 1 - end
    }

    fn reach(&mut self, end: usize) -> Reach {
        let (channel, peer) = self.ends.channel(end);
        channel.reach(peer).expect("the channel reaches its other end")
    }

    fn poll(&mut self, end: usize) {
        self.ends.channel(end).0.poll(&mut self.arrived[end]);
    }

    fn poll_all(&mut self) {
        (0..self.alive).for_each(|end| self.poll(end));
        self.ends.pass();
    }

    fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Trial) -> bool) {
        let begin = Instant::now();
        while !holds(self) {
            self.poll_all();
            assert!(begin.elapsed() < HUNG, "{what} takes more than a minute");
        }
    }

    /// Tries to send the next packet from this end, and counts it if it was taken.
    fn try_send(&mut self, end: usize, bytes: usize) -> Result<(), SendError> {
        let number = self.sent[end];
        let (channel, peer) = self.ends.channel(end);
        channel.send(peer, &header(end, number), Payload::Bytes(&pattern(end, number, bytes)))?;
        self.sent[end] += 1;
        Ok(())
    }

    fn send(&mut self, end: usize, bytes: usize) {
        self.until("sending", |trial| match trial.try_send(end, bytes) {
            Ok(()) => true,
            Err(SendError::Full) => false,
            Err(SendError::Broken(fault)) => panic!("the channel broke: {fault}"),
        });
    }

    /// Waits until everything sent so far has arrived, looks for what must not come, and compares.
    fn settle(&mut self, bytes_of: impl Fn(u32) -> usize) {
        let has_all = |trial: &Trial, end: usize| trial.packets_from(end).len() >= trial.sent[end] as usize;
        self.until("arriving", |trial| (0..trial.ends.count()).all(|end| has_all(trial, end)));
        (0..LATER_POLLS).for_each(|_| self.poll_all());
        for end in 0..self.ends.count() {
            self.compare(end, &bytes_of);
        }
    }

    fn packets_from(&self, end: usize) -> &[(Peer, Header, Vec<u8>)] {
        &self.arrived[self.other(end)].packets
    }

    /// Checks that each packet from this end is there once, as sent; in order, if the channel says
    /// so.
    fn compare(&mut self, end: usize, bytes_of: &impl Fn(u32) -> usize) {
        let (ordered, to) = (self.reach(end).ordered, self.other(end));
        let (_, from) = self.ends.channel(to);
        let mut packets: Vec<_> = self.packets_from(end).iter().collect();
        if !ordered {
            packets.sort_by_key(|(_, header, _)| header.sequence);
        }
        let numbers: Vec<u32> = packets.iter().map(|(_, header, _)| header.sequence).collect();
        assert_eq!(numbers, (0..self.sent[end]).collect::<Vec<_>>(), "packets from end {end}");
        for (number, (peer, head, payload)) in (0..).zip(packets) {
            assert_eq!((*peer, *head), (from, header(end, number)), "the header of packet {number}");
            assert!(*payload == pattern(end, number, bytes_of(number)), "the payload of packet {number}");
        }
    }

    /// Sends a packet each way, after which the ends know each other. Channels for memory alone
    /// need none.
    fn meet(&mut self) {
        if self.reach(0).packet_bytes_max == 0 {
            return;
        }
        (0..self.ends.count()).for_each(|end| self.send(end, 8));
        self.settle(|_| 8);
    }
}

fn header(end: usize, number: u32) -> Header {
    let context = 0x1234_5678_9abc_0000 + end as u64;
    Header { sequence: number, context, tag: -3, length: u64::from(number) << 33, ..Header::new(Kind::Eager) }
}

/// Bytes that tell this packet of this end from every other.
fn pattern(end: usize, number: u32, bytes: usize) -> Vec<u8> {
    let start = number.wrapping_mul(97).wrapping_add(end as u32 * 13);
    (0..bytes as u32).map(|at| at.wrapping_mul(31).wrapping_add(start) as u8).collect()
}

/// Checks that every packet arrives once and whole, both ways, in order if the channel says so;
/// then the channel is quiet.
///
/// # Panics
/// If not.
pub fn every_packet_arrives_once(ends: &mut dyn Ends) {
    let mut trial = Trial::new(ends);
    let most = (0..trial.ends.count()).map(|end| trial.reach(end).packet_bytes_max).min().unwrap_or(0);
    assert!(most >= crate::CONTROL_BYTES_MAX, "every channel takes packets of control");
    let bytes_of = |number: u32| [0, 1, 8, 25, 100, 1000, most - 1, most][number as usize % 8].min(most);
    for number in 0..PACKETS {
        (0..trial.ends.count()).for_each(|end| trial.send(end, bytes_of(number)));
    }
    trial.settle(bytes_of);
    trial.until("becoming quiet", |trial| {
        let count = trial.ends.count();
        (0..count).map(|end| trial.ends.channel(end).0.is_quiet()).filter(|quiet| *quiet).count() == count
    });
}

/// Checks that `Full` does nothing: the packet can be sent again, none is lost, none comes twice.
///
/// # Panics
/// If not, or if the channel is never full.
pub fn full_does_nothing(ends: &mut dyn Ends) {
    let mut trial = Trial::new(ends);
    trial.meet();
    let bytes = trial.reach(0).packet_bytes_max.min(1000);
    let mut refused = 0;
    // A channel that takes packets in the background may make room at any time, so `Full` is asked
    // for more than once.
    while refused < 5 {
        match trial.try_send(0, bytes) {
            Ok(()) => assert!(trial.sent[0] < FULL_PACKETS_MAX, "the channel is never full"),
            Err(SendError::Full) => refused += 1,
            Err(SendError::Broken(fault)) => panic!("the channel broke: {fault}"),
        }
    }
    assert!(trial.sent[0] > 1, "nothing was taken before it was full");
    // The first packet each way is the one by which they met.
    let bytes_of = |number| if number == 0 { 8 } else { bytes };
    trial.settle(bytes_of);
    trial.send(0, bytes);
    trial.settle(bytes_of);
}

/// The bytes before and behind moved memory that must stay as they are.
const GUARD: usize = 64;
/// The number of bytes that are moved.
const MOVED: usize = 100_000;
/// The offset in the exposed memory.
const OFFSET: u64 = 777;

fn memory(channel: &mut dyn Channel) -> &mut dyn RemoteMemory {
    channel.remote_memory().expect("a channel that tells the cost of memory has it")
}

/// Exposes memory at end 1 to end 0.
fn expose(trial: &mut Trial, region: Region, access: Access) -> Key {
    let mut key = None;
    trial.until("exposing", |trial| {
        let to = trial.ends.count() - 1;
        let (channel, peer) = trial.ends.channel(to);
        key = memory(channel).expose(peer, region, access);
        key.is_some()
    });
    key.expect("it has just been given")
}

fn finish(trial: &mut Trial, started: Result<Transfer, Fault>) {
    match started {
        Ok(Transfer::Done) => {}
        Ok(Transfer::Pending) => {
            trial.until("moving memory", |trial| !trial.arrived[0].ended.is_empty());
            assert_eq!(trial.arrived[0].ended, [(TOKEN, Ok(()))]);
        }
        Err(fault) => panic!("the channel moves memory, and did not: {fault}"),
    }
}

fn conceal(trial: &mut Trial, key: &Key) {
    let to = trial.ends.count() - 1;
    let (channel, peer) = trial.ends.channel(to);
    memory(channel).conceal(peer, key);
}

/// Checks that exposed memory is read at an offset, and nothing beside the target changes.
///
/// # Panics
/// If not, or if the channel does not say that it can.
pub fn memory_is_read(ends: &mut dyn Ends) {
    let mut trial = Trial::new(ends);
    assert!(trial.reach(0).get.is_some(), "the channel reads memory");
    trial.meet();
    let expected = pattern(1, 9, MOVED + 2000);
    let (theirs, ours) = (Owned::from(&expected[..]), Owned::zeroed(MOVED + 2 * GUARD));
    let key = expose(&mut trial, theirs.lend(), Access::READ);
    let into = ours.lend().part(GUARD, MOVED);
    let (channel, peer) = trial.ends.channel(0);
    let started = memory(channel).get(peer, &key, OFFSET, into, TOKEN);
    finish(&mut trial, started);
    conceal(&mut trial, &key);
    let read = ours.lend().to_vec();
    assert!(read[GUARD..GUARD + MOVED] == expected[OFFSET as usize..][..MOVED], "other bytes were read");
    assert!(read[..GUARD].iter().chain(&read[GUARD + MOVED..]).all(|byte| *byte == 0), "more was written");
}

/// Checks that exposed memory is written at an offset, that the bytes are there when the write has
/// ended, and that nothing beside them changes.
///
/// # Panics
/// If not, or if the channel does not say that it can.
pub fn memory_is_written(ends: &mut dyn Ends) {
    let mut trial = Trial::new(ends);
    assert!(trial.reach(0).put.is_some(), "the channel writes memory");
    trial.meet();
    let sent = pattern(0, 5, MOVED);
    let (ours, theirs) = (Owned::from(&sent[..]), Owned::zeroed(MOVED + 2000));
    let key = expose(&mut trial, theirs.lend(), Access::WRITE);
    let (channel, peer) = trial.ends.channel(0);
    let started = memory(channel).put(peer, &key, OFFSET, ours.lend(), TOKEN);
    finish(&mut trial, started);
    conceal(&mut trial, &key);
    let (written, offset) = (theirs.lend().to_vec(), OFFSET as usize);
    assert!(written[offset..][..MOVED] == sent, "other bytes were written");
    assert!(
        written[..offset].iter().chain(&written[offset + MOVED..]).all(|byte| *byte == 0),
        "more was written"
    );
}

/// Checks that atomic operations change eight bytes of exposed memory and nothing beside them, tell
/// what was there before, and are refused at a place that is no multiple of eight bytes.
///
/// # Panics
/// If not, or if the channel has no atomic operations.
pub fn memory_is_changed_atomically(ends: &mut dyn Ends) {
    const COUNTER: u64 = 16;
    let mut trial = Trial::new(ends);
    trial.meet();
    let (theirs, ours) = (Owned::from(&[0xff; 64][..]), Owned::zeroed(ATOMIC_BYTES));
    theirs.lend().write(COUNTER as usize, &7_u64.to_ne_bytes());
    let key = expose(&mut trial, theirs.lend(), Access::EVERYTHING);
    let swap = |expected, desired| Atomic::CompareSwap { expected, desired };
    let begin = |trial: &mut Trial<'_>, offset, operation| {
        let (channel, peer) = trial.ends.channel(0);
        let atomics = memory(channel).atomics().expect("a device with atomic operations");
        atomics.atomic(peer, &key, offset, operation, ours.lend(), TOKEN)
    };
    let steps = [
        (Atomic::FetchAdd(5), 7, 12),
        (Atomic::FetchAdd(u64::MAX), 12, 11),
        (swap(12, 1), 11, 11),
        (swap(11, 1 << 63), 11, 1 << 63),
        (Atomic::FetchAdd(1 << 63), 1 << 63, 0),
    ];
    for (operation, former, later) in steps {
        let started = begin(&mut trial, COUNTER, operation);
        finish(&mut trial, started);
        trial.arrived[0].ended.clear();
        assert_eq!(ours.lend().to_vec(), u64::to_ne_bytes(former), "what was there before {operation:?}");
        let mut expected = [0xff; 64];
        expected[COUNTER as usize..][..ATOMIC_BYTES].copy_from_slice(&u64::to_ne_bytes(later));
        assert_eq!(theirs.lend().to_vec(), expected, "after {operation:?}");
    }
    assert!(begin(&mut trial, COUNTER + 4, Atomic::FetchAdd(1)).is_err(), "not aligned");
    assert!(begin(&mut trial, 64, Atomic::FetchAdd(1)).is_err(), "behind the memory");
    conceal(&mut trial, &key);
}

/// Checks that the channel tells, once, when the peer is gone: by `Broken`, or to the sink. After
/// that it takes nothing for the peer.
///
/// # Panics
/// If not.
pub fn a_break_is_told(ends: &mut dyn Ends) {
    let mut trial = Trial::new(ends);
    trial.meet();
    trial.ends.kill();
    trial.alive = 1;
    let mut refused = false;
    trial.until("telling of the break", |trial| {
        refused |= matches!(trial.try_send(0, 50), Err(SendError::Broken(_)));
        refused || !trial.arrived[0].broken.is_empty()
    });
    for _ in 0..LATER_POLLS {
        assert!(trial.try_send(0, 50).is_err(), "a packet was taken for a peer that is lost");
        trial.poll_all();
    }
    let (_, peer) = trial.ends.channel(0);
    let told = &trial.arrived[0].broken;
    assert!(told.len() <= 1 && told.iter().all(|lost| *lost == peer), "told of {told:?}");
}
