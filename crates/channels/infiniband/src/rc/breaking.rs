//! The end of a broken connection: the peer is given up, with both ends named, and nothing waits
//! for it.

use super::RcChannel;
use super::adapter::Adapter;
use super::failure::{self, Ends};
use super::peers::{Connection, Stage};
use crate::device::{Endpoint, Failed, QueuePair, Trouble};
use verbena_channel::packet::Header;
use verbena_channel::{Peer, Sink};
use verbena_fault::Fault;

impl<A: Adapter> RcChannel<A> {
    /// Describes both ends of the connection with this peer in words.
    pub(super) fn ends(&self, peer: Peer) -> Ends {
        let theirs = self.peers.look(peer).and_then(|connection| connection.theirs);
        let other = theirs.map(|endpoint| self.adapter.describe_endpoint(&endpoint));
        Ends {
            me: self.me,
            place: self.adapter.place(),
            peer,
            other: other.unwrap_or_else(|| "which has not answered yet".into()),
        }
    }

    /// Finds the peer with this queue pair.
    pub(super) fn owner_of(&self, pair: QueuePair) -> Option<Peer> {
        self.peers.iter().find(|(_, connection)| connection.pair == Some(pair)).map(|(peer, _)| peer)
    }

    /// Notes that work for the peer failed: the queue pair is of no use any more.
    #[cold]
    pub(super) fn work_failed(&mut self, peer: Peer, failed: Failed) {
        // The device may know more of it by now.
        self.look_for_trouble();
        let fault = failure::work_failed(&self.ends(peer), failed, self.port_trouble.as_ref());
        self.break_connection(peer, fault);
    }

    /// Gives the peer up; the next poll reports it. Only the first reason counts.
    #[cold]
    pub(super) fn break_connection(&mut self, peer: Peer, fault: Fault) {
        let Some(connection) = self.peers.get(peer) else { return };
        if matches!(connection.stage, Stage::Broken(_)) {
            return;
        }
        connection.stage = Stage::Broken(Box::new(fault.clone()));
        if let Some(pair) = connection.pair.take() {
            self.adapter.close_pair(pair);
        }
        // Nothing completes on the queue pair any more. Buffers posted to itself stay its own: it
        // does not come back.
        self.sends.give_back_all_of(peer);
        self.broken.push((peer, fault));
    }

    /// Lets go of all that a broken connection still holds.
    pub(super) fn let_go(&mut self, peer: Peer) {
        self.set.remove(peer);
        let Some(connection) = self.peers.get(peer) else { return };
        connection.note_undelivered();
        let credits = std::mem::take(&mut connection.posted);
        if self.settings.shared_receives {
            self.pool.end_promise(credits);
        }
        while let Some(buffer) = connection.sequence.waiting() {
            connection.sequence.release(&self.receives);
            self.receives.give_back(buffer);
        }
        let ring_in = connection.ring_in.take().map(|ring| ring.into_memory());
        let ring_out = connection.ring_out.take().map(|ring| ring.into_memory());
        let retired = std::mem::take(&mut connection.retired);
        self.rings_in -= usize::from(ring_in.is_some());
        self.rings_out -= usize::from(ring_out.is_some());
        for memory in retired.into_iter().map(|(_, memory)| memory).chain(ring_in).chain(ring_out) {
            memory.release(&mut self.adapter);
        }
        self.fill_set();
    }

    /// Notes that no connection could even be begun. Returns the fault, with both ends.
    #[cold]
    pub(super) fn refuse_connection(&mut self, peer: Peer, fault: Fault) -> Fault {
        let fault = failure::refused(&self.ends(peer), fault);
        let stage = Stage::Broken(Box::new(fault.clone()));
        self.peers
            .add(peer, Connection::new(None, Endpoint([0; 32]), stage, 0, &self.limits, &self.settings));
        self.broken.push((peer, fault.clone()));
        fault
    }

    /// Reports what broke. What the peer wrote into its ring before is still delivered: it may have
    /// left in order.
    #[cold]
    pub(super) fn report_broken(&mut self, sink: &mut dyn Sink) -> usize {
        let broken = std::mem::take(&mut self.broken);
        for (peer, fault) in &broken {
            self.drain_ring(*peer, usize::MAX, sink);
            self.let_go(*peer);
            sink.broken(*peer, fault.clone());
            // The moves fail afterwards: if they failed first, another way to a peer that is gone
            // would be tried.
            self.fail_moves(*peer, fault, sink);
        }
        broken.len()
    }

    /// Keeps packets to the peer from now on.
    #[cold]
    pub(super) fn keep_packets(&mut self, peer: Peer) {
        self.wanted_back.insert(peer);
        if let Some(connection) = self.peers.get(peer) {
            connection.uncredited.get_or_insert_default();
        }
    }

    /// Returns what the peer may not have taken, if its connection is broken.
    #[cold]
    pub(super) fn hand_back(&mut self, peer: Peer) -> Vec<(Header, Vec<u8>)> {
        let Some(connection) = self.peers.get(peer) else { return Vec::new() };
        connection.note_undelivered();
        std::mem::take(&mut connection.undelivered)
    }

    /// Asks the adapter what happened to the device.
    #[cold]
    pub(super) fn look_for_trouble(&mut self) {
        while let Some(trouble) = self.adapter.trouble() {
            match trouble {
                Trouble::Pair(pair, fault) => {
                    if let Some(peer) = self.owner_of(pair) {
                        let fault = failure::refused(&self.ends(peer), fault);
                        self.break_connection(peer, fault);
                    }
                }
                Trouble::Device(fault) => self.break_all(&fault),
                // The connections decide: their retries outlast a short break. If they do not, it
                // is said why.
                Trouble::Port(fault) => self.port_trouble = Some(fault),
                Trouble::FewReceives => self.pool_is_low(),
            }
        }
    }

    fn break_all(&mut self, fault: &Fault) {
        let peers: Vec<Peer> = self.peers.iter().map(|(peer, _)| peer).collect();
        for peer in peers {
            let fault = failure::refused(&self.ends(peer), fault.clone());
            self.break_connection(peer, fault);
        }
    }
}
