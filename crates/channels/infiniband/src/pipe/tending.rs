//! Everything that is not bytes: completions, silent peers, the device's trouble, and what breaks.

use super::connection::{Connection, Stage};
use super::pipes::Pipes;
use crate::device::{Completion, Failed, Post, QueuePair, Refused, Trouble};
use crate::rc::adapter::{Adapter, Operation, Remote, Work};
use crate::rc::failure::{self, Ends};
use crate::rc::id::Id;
use crate::rc::pulse::Care;
use verbena_channel::Peer;
use verbena_fault::Fault;
use verbena_memory::Region;

/// The most completions that are taken in a round.
const COMPLETIONS_MAX: usize = 64;
/// Datagrams are looked at every this many rounds, while nobody is waited for.
const DATAGRAMS_EVERY: u32 = 16;

impl<A: Adapter> Pipes<A> {
    /// Does a round: completions, what waits to be posted, and now and then the rest.
    pub(super) fn tend(&mut self) -> usize {
        self.rounds = self.rounds.wrapping_add(1);
        let mut events = if self.joined.is_empty() { 0 } else { self.poll_completions() };
        self.pump();
        let is_turn = self.rounds.is_multiple_of(DATAGRAMS_EVERY);
        if is_turn || !self.asking.is_empty() {
            events += self.tend_connections();
        }
        if is_turn {
            self.cache.tidy(&mut self.adapter);
            if self.pace.is_due() {
                self.look_at_clock();
            }
        }
        events
    }

    fn poll_completions(&mut self) -> usize {
        for handled in 0..COMPLETIONS_MAX {
            let Some(completion) = self.adapter.poll() else { return handled };
            match Id::of_word(completion.id) {
                Some(Id::Ring(peer)) => self.done(peer, false, &completion),
                Some(Id::Memory(peer, _)) => self.done(peer, true, &completion),
                _ => debug_assert!(false, "a completion of work that was never posted"),
            }
        }
        COMPLETIONS_MAX
    }

    /// Takes in that work of this peer's connection is done, or has failed.
    fn done(&mut self, peer: Peer, is_read: bool, completion: &Completion) {
        let Some(connection) = self.connection(peer) else { return };
        if connection.pair != Some(completion.pair) {
            return; // broken meanwhile
        }
        match (completion.outcome, &mut connection.pipes) {
            (Err(failed), _) => self.work_failed(peer, failed),
            (Ok(_), Some(ends)) if is_read => ends.read_done(),
            _ => connection.queue.completed(),
        }
    }

    /// Posts what found no room before.
    fn pump(&mut self) {
        for at in 0..self.joined.len() {
            let peer = self.joined[at];
            // A failure breaks the connection, which is reported.
            let _ = self.on_line(peer, |ends, line| ends.pump(line).map(|()| 0));
        }
    }

    /// Does what is due by time.
    #[cold]
    fn look_at_clock(&mut self) {
        let now_ns = self.adapter.now_ns();
        self.pace.read(now_ns);
        if self.pace.is_trouble_due(now_ns) {
            self.look_for_trouble();
        }
        let interval_ns = self.settings.keepalive_ns;
        if interval_ns > 0 && self.pace.is_tour_due(now_ns, interval_ns) {
            self.tour(now_ns);
        }
    }

    /// Looks after every connected peer (`rc/keepalive.rs`).
    fn tour(&mut self, now_ns: u64) {
        let (interval_ns, limit_ns) = (self.settings.keepalive_ns, self.settings.keepalive_ns_max);
        for peer in self.joined.clone() {
            let Some(connection) = self.connection(peer).filter(|connection| connection.is_up()) else {
                continue;
            };
            match connection.pulse.look(connection.signs(), now_ns, interval_ns, limit_ns) {
                Care::Rest => {}
                Care::Ask => self.ask_for_life(peer),
                Care::GiveUp(silent_ns) => {
                    let fault = failure::silent(&self.ends(peer), silent_ns, self.port_trouble.as_ref());
                    self.break_connection(peer, fault);
                }
            }
        }
    }

    /// Writes no bytes to the peer, signalled, if the queue has room: its device answers, after all
    /// that went before.
    pub(super) fn ask_for_life(&mut self, peer: Peer) {
        let Some(connection) = self.connections.get_mut(peer as usize).and_then(|slot| slot.as_deref_mut())
        else {
            return;
        };
        let Some(pair) = connection.pair.filter(|_| connection.pulse.may_post(&connection.queue)) else {
            return;
        };
        let operation = Operation::Write(Remote { address: 0, key: 0 });
        let work = Work { id: Id::Ring(peer).word(), operation, local: Region::EMPTY, local_key: 0 };
        let mut descriptor = self.adapter.describe(&work);
        match self.adapter.post(pair, &mut descriptor, 0, Post { signalled: true, inline: false }) {
            Ok(()) => {
                connection.queue.posted(true);
                connection.pulse.asked = true;
            }
            Err(Refused::Full) => {}
            Err(Refused::Broken(fault)) => {
                let fault = failure::refused(&self.ends(peer), fault);
                self.break_connection(peer, fault);
            }
        }
    }

    /// Describes both ends of the connection with this peer in words.
    pub(super) fn ends(&self, peer: Peer) -> Ends {
        let theirs = self.look(peer).and_then(|connection| connection.theirs);
        let other = theirs.map(|endpoint| self.adapter.describe_endpoint(&endpoint));
        let other = other.unwrap_or_else(|| "which has not answered yet".into());
        Ends { me: self.me, place: self.adapter.place(), peer, other }
    }

    #[cold]
    fn work_failed(&mut self, peer: Peer, failed: Failed) {
        // The device may know more of it by now.
        self.look_for_trouble();
        let fault = failure::work_failed(&self.ends(peer), failed, self.port_trouble.as_ref());
        self.break_connection(peer, fault);
    }

    /// Gives the peer up: its queue pair is closed, so that the device touches no memory for it any
    /// more, and it is to be reported. Only the first reason counts.
    #[cold]
    pub(super) fn break_connection(&mut self, peer: Peer, fault: Fault) {
        let Some(connection) = self.connections.get_mut(peer as usize).and_then(|slot| slot.as_deref_mut())
        else {
            return;
        };
        if matches!(connection.stage, Stage::Broken(_)) {
            return;
        }
        connection.stage = Stage::Broken(Box::new(fault.clone()));
        if let Some(pair) = connection.pair.take() {
            self.adapter.close_pair(pair);
        }
        self.broken.push((peer, fault));
    }

    /// Lets go of a broken connection and all that it holds.
    #[cold]
    pub(super) fn let_go(&mut self, peer: Peer, fault: &Fault) {
        self.joined.retain(|joined| *joined != peer);
        self.lost.insert(peer, fault.clone());
        let Some(connection) = self.connections.get_mut(peer as usize).and_then(Option::take) else { return };
        let Connection { pipes, inbox, outbox, .. } = *connection;
        if let Some(mut ends) = pipes {
            ends.let_go(&mut self.cache, &mut self.adapter);
        }
        inbox.release(&mut self.adapter);
        outbox.memory.release(&mut self.adapter);
    }

    fn owner_of(&self, pair: QueuePair) -> Option<Peer> {
        let all = (0..).zip(self.connections.iter());
        let mut owners = all.filter_map(|(peer, slot)| Some((peer, slot.as_deref()?.pair?)));
        owners.find(|(_, owned)| *owned == pair).map(|(peer, _)| peer)
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
                Trouble::Device(fault) => {
                    for peer in 0..self.peers() as Peer {
                        let fault = failure::refused(&self.ends(peer), fault.clone());
                        self.break_connection(peer, fault);
                    }
                }
                Trouble::Port(fault) => self.port_trouble = Some(fault),
                // Pipes have no shared queue.
                Trouble::FewReceives => {}
            }
        }
    }
}
