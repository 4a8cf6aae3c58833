//! Bytes of a pipe as packets for the engine.
//!
//! A short packet is gathered in memory of the reader and given to the engine whole. For a long one
//! the engine is asked where it goes as soon as its header is there, and its bytes go there at
//! once: copied from chunks, or read by the device. Only if the receive is scattered it is
//! gathered, in as much memory as the receive has.

use super::PipeChannel;
use super::layout::{RECORD_BYTES, parse_record};
use super::rdma_channel::RdmaChannel;
use crate::rc::adapter::Adapter;
use verbena_channel::packet::Header;
use verbena_channel::{Landing, Peer, Sink};
use verbena_fault::Fault;
use verbena_memory::{Owned, Region};

/// The most packets of a peer that are taken in one poll.
const PACKETS_MAX: usize = 16;

/// The packet that is being read from a pipe.
#[derive(Debug)]
pub(super) struct Reader {
    record: Owned,
    /// Memory for a short packet's payload.
    short: Owned,
    /// Bytes of the record, or of the payload, that were got.
    got: usize,
    /// The packet, once its record is there.
    packet: Option<Packet>,
}

/// A packet whose record was read.
#[derive(Debug)]
struct Packet {
    header: Header,
    bytes: usize,
    place: Place,
}

/// The place where its payload is put together.
#[derive(Debug)]
enum Place {
    /// The reader's memory.
    Short,
    /// Memory made for it.
    Own(Owned),
    /// The receive's own memory.
    Landing(Region),
}

/// The result of a look into a pipe.
enum Read {
    /// A packet was given to the engine.
    Packet,
    /// The rest has not come yet.
    Part,
}

impl Reader {
    pub(super) fn new(packet_bytes_max: usize) -> Reader {
        Reader {
            record: Owned::zeroed(RECORD_BYTES),
            short: Owned::zeroed(packet_bytes_max),
            got: 0,
            packet: None,
        }
    }

    /// Returns the memory that the next bytes go to.
    fn wanted(&self) -> Region {
        let all = match &self.packet {
            None => self.record.lend(),
            Some(Packet { place: Place::Short, bytes, .. }) => self.short.lend().part(0, *bytes),
            Some(Packet { place: Place::Own(owned), bytes, .. }) => owned.lend().part(0, *bytes),
            Some(Packet { place: Place::Landing(region), .. }) => *region,
        };
        all.part(self.got, all.len() - self.got)
    }

    /// Takes the record that is there: finds the place of the payload.
    fn open(&mut self, peer: Peer, sink: &mut dyn Sink) -> Result<(), Fault> {
        let mut record = [0; RECORD_BYTES];
        self.record.lend().read(0, &mut record);
        let (header, bytes) = parse_record(&record).ok_or_else(|| no_packet(peer, "no packet begins so"))?;
        let place = match bytes as usize <= self.short.len() {
            true => Place::Short,
            false => match sink.landing(peer, &header, bytes) {
                Landing::Here(region) => Place::Landing(region),
                Landing::Scattered => Place::Own(Owned::zeroed(bytes as usize)),
                Landing::Nowhere => return Err(no_packet(peer, "nobody waits for so long a packet")),
            },
        };
        self.packet = Some(Packet { header, bytes: bytes as usize, place });
        self.got = 0;
        Ok(())
    }

    /// Gives the packet, whose payload is there, to the engine.
    fn deliver(&mut self, peer: Peer, sink: &mut dyn Sink) {
        let Some(Packet { header, bytes, place }) = self.packet.take() else { return };
        self.got = 0;
        let region = match &place {
            Place::Landing(_) => return sink.landed(peer, &header, bytes as u64, true),
            Place::Short => self.short.lend(),
            Place::Own(owned) => owned.lend(),
        };
        // SAFETY: the memory is the reader's own, and no device or process writes it now.
        sink.packet(peer, &header, unsafe { region.part(0, bytes).bytes() });
    }

    /// Tells the engine that no more comes of the packet that is being read.
    pub(super) fn give_up(self, peer: Peer, sink: &mut dyn Sink) {
        if let Some(Packet { header, bytes, place: Place::Landing(_) }) = self.packet {
            sink.landed(peer, &header, bytes as u64, false);
        }
    }
}

impl<A: Adapter> PipeChannel<A> {
    /// Takes packets from all pipes, a bounded number of each; returns how many.
    pub(super) fn read_all(&mut self, sink: &mut dyn Sink) -> usize {
        let (mut at, mut packets) = (0, 0);
        while let Some(peer) = self.pipes.joined_at(at) {
            packets += self.read_some(peer, PACKETS_MAX, sink);
            at += 1;
        }
        packets
    }

    /// Takes at most so many packets from a pipe; returns how many. A failure breaks the
    /// connection.
    pub(super) fn read_some(&mut self, peer: Peer, most: usize, sink: &mut dyn Sink) -> usize {
        let bytes_max = self.pipes.settings().packet_bytes_max();
        let mut reader =
            self.readers[peer as usize].take().unwrap_or_else(|| Box::new(Reader::new(bytes_max)));
        let mut packets = 0;
        while packets < most {
            match self.read(peer, &mut reader, sink) {
                Ok(Read::Packet) => packets += 1,
                Ok(Read::Part) => break,
                Err(fault) => {
                    self.pipes.break_connection(peer, fault);
                    break;
                }
            }
        }
        self.readers[peer as usize] = Some(reader);
        packets
    }

    fn read(&mut self, peer: Peer, reader: &mut Reader, sink: &mut dyn Sink) -> Result<Read, Fault> {
        loop {
            let wanted = reader.wanted();
            let got = self.pipes.get(peer, wanted)?;
            if got > 0 {
                self.pipes.is_ready(peer);
            }
            reader.got += got;
            if got < wanted.len() {
                return Ok(Read::Part);
            }
            if reader.packet.is_some() {
                reader.deliver(peer, sink);
                return Ok(Read::Packet);
            }
            reader.open(peer, sink)?;
        }
    }

    /// Reports what broke. What the peer put before is still delivered: it may have left in order.
    pub(super) fn report_broken(&mut self, sink: &mut dyn Sink) -> usize {
        let broken = std::mem::take(&mut self.pipes.broken);
        for (peer, fault) in &broken {
            self.read_some(*peer, usize::MAX, sink);
            self.pipes.let_go(*peer, fault);
            self.begun[*peer as usize] = None;
            sink.broken(*peer, fault.clone());
            if let Some(reader) = self.readers[*peer as usize].take() {
                reader.give_up(*peer, sink);
            }
        }
        broken.len()
    }
}

fn no_packet(peer: Peer, why: &str) -> Fault {
    Fault::new(
        format!("rank {peer} sent through its pipe what makes no sense: {why}"),
        "the channel pipe",
        "memory of either process was overwritten, or a defect of Verbena",
        "check the program for writes out of bounds; if there are none, please report it",
    )
}
