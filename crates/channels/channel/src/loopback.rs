//! The channel of a process to itself: a queue of packets, and memory read where it lies.
//!
//! A short message is copied into the queue, so that a blocking send to oneself returns; a long one
//! is read from the sender's buffer when its receive is there.

use crate::key::ExposedMemory;
use crate::packet::Header;
use crate::{
    Access, Channel, Cost, Key, Opening, Payload, Peer, Place, Reach, RemoteMemory, SendError, Sink, Started,
    Transfer,
};
use std::collections::VecDeque;
use std::time::Duration;
use verbena_fault::Fault;
use verbena_machine::cores::Load;
use verbena_memory::Region;
use verbena_waiting::SLEEP_MAX;

/// The cost of a copy within one process.
const COST: Cost = Cost { start_ns: 20, byte_ps: 30 };
/// The largest packet in bytes, and the largest message sent eagerly.
const PACKET_BYTES_MAX: usize = 64 << 10;
/// The most packets in the queue.
const QUEUE_MAX: usize = 1024;
/// The most bytes in the queue.
const QUEUE_BYTES_MAX: usize = 1 << 20;
/// The most payload memories that are kept to be used again.
const SPARE_MAX: usize = 64;
/// The most packets delivered per poll.
const POLL_MAX: usize = 64;

struct Packet {
    header: Header,
    payload: Vec<u8>,
}

/// A process's channel to itself.
pub struct LoopbackChannel {
    me: Peer,
    queue: VecDeque<Packet>,
    queue_bytes: usize,
    /// Payload memory to be used again.
    spare: Vec<Vec<u8>>,
}

/// Opens the channel; every process has use for it.
pub fn open(place: &Place) -> Result<Option<LoopbackOpening>, Fault> {
    Ok(Some(LoopbackOpening { me: place.me }))
}

/// The channel before it is connected.
#[derive(Debug)]
pub struct LoopbackOpening {
    me: Peer,
}

impl Opening for LoopbackOpening {
    type Channel = LoopbackChannel;

    fn card(&self) -> Vec<u8> {
        Vec::new()
    }

    fn connect(self, _cards: &[Option<Vec<u8>>], _load: &Load) -> Result<LoopbackChannel, Fault> {
        Ok(LoopbackChannel::new(self.me))
    }
}

impl LoopbackChannel {
    /// The channel of process `me`.
    pub fn new(me: Peer) -> LoopbackChannel {
        LoopbackChannel { me, queue: VecDeque::new(), queue_bytes: 0, spare: Vec::new() }
    }

    /// The channel of another engine of the process.
    pub fn beside(&self) -> LoopbackChannel {
        LoopbackChannel::new(self.me)
    }

    /// Returns whether there is nothing to deliver.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

impl Channel for LoopbackChannel {
    fn name(&self) -> &'static str {
        "loopback"
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        (peer == self.me).then_some(Reach {
            packet_bytes_max: PACKET_BYTES_MAX,
            eager_bytes_max: PACKET_BYTES_MAX,
            whole_bytes_max: 0,
            ordered: true,
            get: Some(COST),
            put: None,
            in_background: false,
            memory_bytes_min: 1,
            latency_ns: 0,
        })
    }

    fn send(&mut self, _peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        let bytes = payload.len();
        if self.queue.len() >= QUEUE_MAX || self.queue_bytes + bytes > QUEUE_BYTES_MAX {
            return Err(SendError::Full);
        }
        let mut memory = self.spare.pop().unwrap_or_default();
        memory.resize(bytes, 0);
        payload.copy_to(&mut memory);
        self.queue_bytes += bytes;
        self.queue.push_back(Packet { header: *header, payload: memory });
        Ok(())
    }

    /// Only this process sends here, and a thread that does wakes the others.
    fn arm(&mut self) -> Duration {
        SLEEP_MAX
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        for delivered in 0..POLL_MAX {
            let Some(mut packet) = self.queue.pop_front() else { return delivered };
            self.queue_bytes -= packet.payload.len();
            sink.packet(self.me, &packet.header, &packet.payload);
            packet.payload.clear();
            if self.spare.len() < SPARE_MAX {
                self.spare.push(packet.payload);
            }
        }
        POLL_MAX
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        Some(self)
    }
}

impl RemoteMemory for LoopbackChannel {
    fn expose(&mut self, _peer: Peer, region: Region, _access: Access) -> Option<Key> {
        Some(ExposedMemory::by_address(region).emit())
    }

    /// Nothing is kept of an exposure.
    fn conceal(&mut self, _peer: Peer, _key: &Key) {}

    fn get(&mut self, _: Peer, key: &Key, offset: u64, into: Region, _: u64) -> Started {
        into.copy_from(exposed(key).part(offset as usize, into.len()));
        Ok(Transfer::Done)
    }

    fn put(&mut self, _: Peer, key: &Key, offset: u64, from: Region, _: u64) -> Started {
        exposed(key).part(offset as usize, from.len()).copy_from(from);
        Ok(Transfer::Done)
    }
}

/// The memory that a key describes.
fn exposed(key: &Key) -> Region {
    let ExposedMemory { base, bytes, .. } = ExposedMemory::of(key);
    // SAFETY: the key was made by `expose` in this very process, from a region that stays valid
    // until the operation ends; `part` checks the range.
    unsafe { Region::new(base as *mut u8, bytes as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{self, Ends};
    use crate::packet::Kind;

    #[derive(Default)]
    struct Log(Vec<(u64, Vec<u8>)>);

    impl Sink for Log {
        fn packet(&mut self, _peer: Peer, header: &Header, payload: &[u8]) {
            self.0.push((header.context, payload.to_vec()));
        }
        fn transferred(&mut self, _token: u64, _outcome: Result<(), Fault>) {}
    }

    fn header(context: u64) -> Header {
        Header { context, ..Header::new(Kind::Eager) }
    }

    #[test]
    fn packets_come_back_in_order_and_full_is_said() {
        let mut channel = LoopbackChannel::new(3);
        let mut sent = 0;
        while channel.send(3, &header(sent), Payload::Bytes(&sent.to_le_bytes())).is_ok() {
            sent += 1;
        }
        assert_eq!(sent, QUEUE_MAX as u64);
        let mut log = Log::default();
        while channel.poll(&mut log) > 0 {}
        assert_eq!(log.0.len() as u64, sent);
        assert!(log.0.iter().zip(0u64..).all(|((c, p), i)| *c == i && *p == i.to_le_bytes()));
    }

    #[test]
    fn only_oneself_is_reached() {
        let mut channel = LoopbackChannel::new(3);
        assert!(channel.reach(3).is_some());
        assert!(channel.reach(2).is_none());
    }

    #[test]
    fn memory_is_read_and_written_at_an_offset() {
        let mut channel = LoopbackChannel::new(0);
        let mut from: Vec<u8> = (0..100).collect();
        let mut to = [0; 10];
        // SAFETY: both outlive the call below.
        let (region, into) = unsafe { (Region::of(&mut from), Region::of(&mut to)) };
        let key = channel.expose(0, region, Access::READ).expect("a key");
        assert_eq!(channel.get(0, &key, 50, into, 0), Ok(Transfer::Done));
        assert_eq!(channel.put(0, &key, 51, into, 0), Ok(Transfer::Done));
        assert!(from[49..62].iter().copied().eq([49, 50].into_iter().chain(50..60).chain([61])));
    }

    /// The channel's only end.
    impl Ends for LoopbackChannel {
        fn count(&self) -> usize {
            1
        }

        fn channel(&mut self, _end: usize) -> (&mut dyn Channel, Peer) {
            let me = self.me;
            (self, me)
        }
    }

    #[test]
    fn it_keeps_the_promises_of_a_channel() {
        conformance::every_packet_arrives_once(&mut LoopbackChannel::new(3));
        conformance::full_does_nothing(&mut LoopbackChannel::new(3));
        conformance::memory_is_read(&mut LoopbackChannel::new(3));
    }
}
