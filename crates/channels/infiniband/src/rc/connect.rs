//! Connections on demand (paper 1, 4.6): made at the first message of a pair, by datagrams.
//!
//! Both sides do the same. A side that wants to send, or is asked, opens a queue pair and says
//! hello: its end of the connection, whether it has seen the other's, and whether it still wants an
//! answer. A side that learns the other's end connects; one that learns that its own was seen may
//! send. A datagram may be lost, doubled or late: hellos are resent until all is known, one that
//! wants an answer is always answered, one that does not never is, and none says anything that an
//! earlier one did not. A packet over the connection proves as much as a hello.
//!
//! A process answers only inside MPI, so the limit after which a peer is given up is long.

use super::adapter::Adapter;
use super::failure;
use super::peers::{Connection, Stage};
use super::{Credits, RcChannel};
use crate::device::Refused;
use crate::hello::{Act, Asking, Hello, Magic};
use verbena_channel::Peer;
use verbena_fault::Fault;

/// The mark of the datagrams of `rc`.
pub(super) const MAGIC: Magic = *b"vRC1";

impl<A: Adapter> RcChannel<A> {
    /// Begins a connection with a peer that has spoken or is to be spoken to; if it is `needed`,
    /// the peer takes it even beyond its limit.
    ///
    /// # Errors
    /// The device gives no queue pair, or there is no memory to register for it.
    #[cold]
    pub(super) fn begin(&mut self, peer: Peer, needed: bool) -> Result<(), Fault> {
        let shared = self.settings.shared_receives;
        let (pair, mine) = self.adapter.open_pair(shared)?;
        let posted = match self.post_receives(pair, peer) {
            Ok(posted) => posted,
            Err(fault) => {
                self.adapter.close_pair(pair);
                return Err(fault);
            }
        };
        let now_ns = self.adapter.now_ns();
        let spare = self.wanted_back.contains(&peer);
        let limit_ns = if spare { self.patience_ns() } else { self.settings.connect_ns_max };
        let stage = Stage::Asking(Asking::new(now_ns, limit_ns));
        let mut connection = Connection::new(Some(pair), mine, stage, posted, &self.limits, &self.settings);
        (connection.uncredited, connection.needed) = (spare.then(Box::default), needed);
        self.peers.add(peer, connection);
        self.asking.push(peer);
        self.ask(now_ns);
        Ok(())
    }

    /// Takes in the datagrams that have arrived and says hello where it is time; returns how many
    /// came. Costs almost nothing while all connections are up.
    pub(super) fn tend_connections(&mut self) -> usize {
        let mut hellos = 0;
        while let Some(bytes) = self.adapter.receive_datagram() {
            if let Some(hello) = Hello::parse(&bytes, MAGIC) {
                self.hear(&hello);
            }
            hellos += 1;
        }
        if !self.asking.is_empty() {
            let now_ns = self.adapter.now_ns();
            self.ask(now_ns);
        }
        hellos
    }

    /// Returns how long to wait for a peer that may be reached another way, or was just now.
    fn patience_ns(&self) -> u64 {
        self.settings.connect_ns_max.min(self.settings.take_over_ns_max)
    }

    /// Begins a connection beside another channel's or, if it is `needed`, in its place, unless
    /// there is one.
    #[cold]
    pub(super) fn begin_beside(&mut self, peer: Peer, needed: bool) {
        if self.peers.look(peer).is_none()
            && self.peers.address(peer).is_some()
            && let Err(fault) = self.begin(peer, needed)
        {
            self.refuse_connection(peer, fault);
            return;
        }
        let patience_ns = self.patience_ns();
        let Some(connection) = self.peers.get(peer) else { return };
        connection.needed |= needed;
        if let Stage::Asking(asking) = &mut connection.stage {
            asking.limit_ns = patience_ns;
        }
    }

    /// Resends hellos whose time has come, and gives up peers that never answered.
    fn ask(&mut self, now_ns: u64) {
        let mut at = 0;
        while let Some(&peer) = self.asking.get(at) {
            let connection = self.peers.get(peer).expect("a peer that is asked");
            let Stage::Asking(asking) = &mut connection.stage else {
                self.asking.swap_remove(at);
                continue;
            };
            at += 1;
            match asking.act(now_ns) {
                Act::Wait => {}
                Act::Greet => self.greet(peer),
                Act::GiveUp(limit_ns) => {
                    let fault = failure::no_answer(&self.ends(peer), limit_ns);
                    self.break_connection(peer, fault);
                }
            }
        }
    }

    /// Says hello. A datagram that the device does not take counts as lost.
    fn greet(&mut self, peer: Peer) {
        let Some(to) = self.peers.address(peer).copied() else { return };
        let connection = self.peers.look(peer).expect("a connection to be");
        let hello = Hello {
            from: self.me,
            seen: connection.theirs.is_some(),
            wanted: !connection.is_up(),
            declined: false,
            needed: connection.needed,
            credits: connection.posted,
            buffer_bytes: self.settings.buffer_bytes as u32,
            address: self.adapter.address(),
            endpoint: connection.mine,
        };
        if let Err(Refused::Broken(fault)) = self.adapter.send_datagram(&to, &hello.emit(MAGIC)) {
            let fault = failure::refused(&self.ends(peer), fault);
            self.break_connection(peer, fault);
        }
    }

    /// Takes in a hello.
    fn hear(&mut self, hello: &Hello) {
        let peer = hello.from;
        if self.peers.address(peer) != Some(&hello.address) {
            return; // of another job, or torn
        }
        if hello.declined {
            return self.connection_declined(peer, &hello.endpoint);
        }
        if self.is_replaced_by(hello) {
            let fault = failure::replaced(&self.ends(peer));
            return self.break_connection(peer, fault);
        }
        let is_new = self.peers.look(peer).is_none();
        if self.past.has(peer, &hello.endpoint) || (is_new && self.is_full() && !hello.needed) {
            return self.decline(hello);
        }
        if is_new && let Err(fault) = self.begin(peer, false) {
            self.refuse_connection(peer, fault);
            return;
        }
        let connection = self.peers.get(peer).expect("begun by now");
        if matches!(connection.stage, Stage::Broken(_)) {
            return;
        }
        let theirs = connection.theirs;
        match theirs {
            None if !self.join(peer, hello) => return,
            Some(known) if known != hello.endpoint => return, // its earlier life
            _ => {}
        }
        if hello.seen {
            self.is_ready(peer);
        }
        if hello.wanted {
            self.greet(peer);
        }
    }

    /// Returns whether the hello is for a new connection in place of the one here: the peer has
    /// given that back, and needs one again. When the break is known above, the next hello is
    /// answered.
    fn is_replaced_by(&self, hello: &Hello) -> bool {
        let connection = self.peers.look(hello.from).filter(|known| !matches!(known.stage, Stage::Broken(_)));
        hello.needed
            && connection.and_then(|known| known.theirs).is_some_and(|known| known != hello.endpoint)
            && !self.past.has(hello.from, &hello.endpoint)
    }

    /// Declines the hello: the connection that it asks for is not to be.
    #[cold]
    fn decline(&mut self, hello: &Hello) {
        let peer = hello.from;
        self.past.add(peer, hello.endpoint);
        let Some(to) = self.peers.address(peer).copied().filter(|_| hello.wanted) else { return };
        let (from, address) = (self.me, self.adapter.address());
        let answer = Hello { from, address, seen: false, wanted: false, declined: true, ..*hello };
        // Lost, or not taken: the peer says hello again.
        let _ = self.adapter.send_datagram(&to, &answer.emit(MAGIC));
    }

    /// Connects the queue pair, now that the other end is known. Returns whether that worked.
    fn join(&mut self, peer: Peer, hello: &Hello) -> bool {
        let mine = self.settings.buffer_bytes;
        let connection = self.peers.get(peer).expect("begun by now");
        connection.theirs = Some(hello.endpoint);
        connection.receives = Credits::new(hello.credits, connection.posted);
        let pair = connection.pair.expect("a queue pair that is not broken");
        let outcome = match hello.buffer_bytes as usize {
            theirs if theirs != mine => Err(failure::unlike(&self.ends(peer), mine, theirs)),
            _ => self.adapter.connect_pair(pair, &hello.endpoint),
        };
        let Err(fault) = outcome else { return true };
        let fault = failure::refused(&self.ends(peer), fault);
        self.break_connection(peer, fault);
        false
    }

    /// Notes that the other side has connected with us: packets may go.
    #[inline]
    pub(super) fn is_ready(&mut self, peer: Peer) {
        let connection = self.peers.get(peer).expect("a connection");
        if matches!(connection.stage, Stage::Asking(_)) {
            connection.stage = Stage::Up;
            self.met(peer);
        }
    }
}
