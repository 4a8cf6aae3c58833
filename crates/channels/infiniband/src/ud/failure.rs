//! Giving peers up, and the messages about it: both ends, with device, port and GID.

use super::UdChannel;
use super::adapter::Datagrams;
use super::frame::PREFIX_BYTES;
use super::header::EncodedHeader;
use super::peers::Broken;
use crate::device::{Address, Trouble};
use crate::reliable::Piece;
use verbena_channel::packet::Header;
use verbena_channel::{Peer, Sink};
use verbena_fault::Fault;

impl<A: Datagrams> UdChannel<A> {
    /// Describes both ends in words.
    fn ends(&self, peer: Peer) -> String {
        let other = self.peers.card(peer).map(|card| self.adapter.describe(&card.address));
        format!(
            "datagrams from rank {} ({}) to rank {peer} ({})",
            self.me,
            self.adapter.place(),
            other.unwrap_or_else(|| "which has no device".into())
        )
    }

    /// Describes a peer that has not answered for too long.
    pub(super) fn silent(&self, peer: Peer) -> Fault {
        let spare = self.peers.iter().any(|(other, partner)| other == peer && partner.spare);
        let (since, setting) = match spare {
            true => (format!("after {} resends in a row", self.settings.rules.resends_max), "RESENDS_MAX"),
            false => {
                (format!("for {} s", self.settings.rules.silent_ns_max as f64 / 1e9), "SILENT_SECONDS_MAX")
            }
        };
        let heard =
            self.port_trouble.as_ref().map_or(String::new(), |p| format!("{} ({}); else ", p.what, p.on));
        Fault::new(
            format!("rank {peer} has not acknowledged anything {since}"),
            self.ends(peer),
            format!(
                "{heard}that process ended or computes without calling MPI, its node went down, or the path is cut"
            ),
            format!(
                "raise VERBENA_UD_{setting} if it computes so long; else check cable and port (ibstat, rdma link)"
            ),
        )
    }

    /// Describes a packet that makes no sense: nothing that follows can be trusted.
    pub(super) fn nonsense(&self, peer: Peer, what: &str) -> Fault {
        Fault::new(
            format!("rank {peer} sent a packet that makes no sense: {what}"),
            self.ends(peer),
            "a device or a bus garbled it, memory of either process was overwritten, or a defect of Verbena",
            "set VERBENA_UD_CHECKSUM=1, by which garbled datagrams are found and sent again",
        )
    }

    /// Describes a peer that has left MPI.
    pub(super) fn gone(&self, peer: Peer) -> Fault {
        Fault::new(
            format!("rank {peer} has left MPI"),
            self.ends(peer),
            "the program sends to a process that has finalised",
            "receive every message before MPI_Finalize",
        )
    }

    /// Adds both ends to something that the device refused.
    pub(super) fn refused(&self, peer: Peer, fault: &Fault) -> Fault {
        Fault { on: format!("{}; {}", self.ends(peer), fault.on), ..fault.clone() }
    }

    /// Gives the peer up; the next poll reports it. Only the first reason counts.
    #[cold]
    pub(super) fn break_off(&mut self, peer: Peer, fault: Fault) {
        let Some(partner) = self.peers.get(peer) else { return };
        if partner.broken.is_some() {
            return;
        }
        let pieces = partner.link.outgoing.give_up();
        partner.link.incoming.told();
        let undelivered = self.packets(&pieces);
        pieces.iter().for_each(|piece| self.buffers.release(piece.buffer));
        let partner = self.peers.get(peer).expect("looked at just now");
        partner.broken = Some(Box::new(Broken { fault: fault.clone(), undelivered }));
        self.broken.push((peer, fault));
    }

    /// Returns the packets from which these fragments, group by group, were made.
    fn packets(&self, pieces: &[Piece]) -> Vec<(Header, Vec<u8>)> {
        let mut packets = Vec::new();
        let mut rest = pieces;
        while let Some(first) = rest.first() {
            let (group, behind) = rest.split_at(usize::from(first.count).min(rest.len()));
            rest = behind;
            let mut bytes = Vec::new();
            for piece in group {
                let region = self.buffers.memory(piece.buffer).region;
                bytes.extend(region.part(0, usize::from(piece.bytes)).to_vec().drain(PREFIX_BYTES..));
            }
            packets.extend(
                EncodedHeader::parse(&bytes).ok().map(|(header, payload)| (header, payload.to_vec())),
            );
        }
        packets
    }

    /// Reports what broke.
    #[cold]
    pub(super) fn report_broken(&mut self, sink: &mut dyn Sink) -> usize {
        let broken = std::mem::take(&mut self.broken);
        for (peer, fault) in &broken {
            sink.broken(*peer, fault.clone());
        }
        broken.len()
    }

    /// Gives up every peer, and any that is spoken to from now on: the device is of no use any
    /// more.
    #[cold]
    pub(super) fn break_all(&mut self, fault: Fault) {
        let peers: Vec<Peer> = self.peers.iter().map(|(peer, _)| peer).collect();
        for peer in peers {
            let fault = self.refused(peer, &fault);
            self.break_off(peer, fault);
        }
        self.device_fault.get_or_insert(fault);
    }

    /// Notes that no queue pair for sending is of use.
    #[cold]
    pub(super) fn no_queue(&mut self) {
        let seconds = self.settings.local_ns_max as f64 / 1e9;
        let fault = Fault::new(
            format!(
                "no sending queue pair of the channel ud has completed anything for {seconds} s, or all failed"
            ),
            self.adapter.place(),
            "the device or its driver hangs or broke",
            "look at the kernel's log (dmesg); choose another device with VERBENA_RC_DEVICE",
        );
        self.break_all(fault);
    }

    /// Asks the adapter what happened to the device.
    #[cold]
    pub(super) fn look_for_trouble(&mut self) {
        while let Some(trouble) = self.adapter.trouble() {
            match trouble {
                Trouble::Device(fault) | Trouble::Pair(_, fault) => self.break_all(fault),
                // It may come back; waits without result decide. If they do not end, it is said
                // why.
                Trouble::Port(fault) => self.port_trouble = Some(fault),
                // Only asked for by `rc`.
                Trouble::FewReceives => {}
            }
        }
    }

    /// Returns the peer's address, for tests and reports.
    pub fn address_of(&self, peer: Peer) -> Option<&Address> {
        self.peers.card(peer).map(|card| &card.address)
    }
}
