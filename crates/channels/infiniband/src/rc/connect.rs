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
use crate::device::{Address, Endpoint, Refused};
use verbena_channel::Peer;
use verbena_fault::Fault;

/// Time until the first hello is resent, in nanoseconds.
const RESEND_NS_MIN: u64 = 2_000_000;
/// The longest time between two hellos.
const RESEND_NS_MAX: u64 = 250_000_000;

/// The state while the other side has not said that it is ready.
#[derive(Debug)]
pub(super) struct Asking {
    since_ns: u64,
    /// The time to wait for the other side.
    limit_ns: u64,
    /// The time of the next hello.
    at_ns: u64,
    interval_ns: u64,
}

/// A hello.
///
/// | offset | bytes | field |
/// | --- | --- | --- |
/// | 0 | 4 | "vRC1" |
/// | 4 | 4 | the sender's rank |
/// | 8 | 1 | bit 0: your end was seen; bit 1: an answer is wanted; bit 2: the connection is declined; bit 3: there is no other way |
/// | 10 | 2 | receive buffers posted for the other |
/// | 12 | 4 | their size in bytes |
/// | 16 | 32 | the sender's address, as proof that it is of this job |
/// | 48 | 32 | its end of the connection; if that is declined, the other's |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    from: Peer,
    seen: bool,
    wanted: bool,
    declined: bool,
    needed: bool,
    credits: u16,
    buffer_bytes: u32,
    address: Address,
    endpoint: Endpoint,
}

const MAGIC: [u8; 4] = *b"vRC1";
const HELLO_BYTES: usize = 80;

impl Hello {
    pub(super) fn emit(&self) -> [u8; HELLO_BYTES] {
        let mut out = [0; HELLO_BYTES];
        out[..4].copy_from_slice(&MAGIC);
        out[4..8].copy_from_slice(&self.from.to_le_bytes());
        let flags = [self.seen, self.wanted, self.declined, self.needed];
        out[8] = (0..).zip(flags).map(|(bit, flag)| u8::from(flag) << bit).sum();
        out[10..12].copy_from_slice(&self.credits.to_le_bytes());
        out[12..16].copy_from_slice(&self.buffer_bytes.to_le_bytes());
        out[16..48].copy_from_slice(&self.address.0);
        out[48..80].copy_from_slice(&self.endpoint.0);
        out
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Hello> {
        let bytes: &[u8; HELLO_BYTES] = bytes.get(..HELLO_BYTES)?.try_into().ok()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        (bytes[..4] == MAGIC).then(|| Hello {
            from: word(4),
            seen: bytes[8] & 1 != 0,
            wanted: bytes[8] & 2 != 0,
            declined: bytes[8] & 4 != 0,
            needed: bytes[8] & 8 != 0,
            credits: u16::from_le_bytes([bytes[10], bytes[11]]),
            buffer_bytes: word(12),
            address: Address(bytes[16..48].try_into().expect("32 bytes")),
            endpoint: Endpoint(bytes[48..80].try_into().expect("32 bytes")),
        })
    }
}

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
        let (since_ns, at_ns, interval_ns) = (now_ns, now_ns, RESEND_NS_MIN);
        let stage = Stage::Asking(Asking { since_ns, limit_ns, at_ns, interval_ns });
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
            if let Some(hello) = Hello::parse(&bytes) {
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
            if now_ns.saturating_sub(asking.since_ns) > asking.limit_ns {
                let limit_ns = asking.limit_ns;
                let fault = failure::no_answer(&self.ends(peer), limit_ns);
                self.break_connection(peer, fault);
            } else if now_ns >= asking.at_ns {
                asking.at_ns = now_ns + asking.interval_ns;
                asking.interval_ns = (asking.interval_ns * 2).min(RESEND_NS_MAX);
                self.greet(peer);
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
        if let Err(Refused::Broken(fault)) = self.adapter.send_datagram(&to, &hello.emit()) {
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
        let _ = self.adapter.send_datagram(&to, &answer.emit());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_survives_the_wire() {
        let hello = Hello {
            from: 1023,
            seen: true,
            wanted: false,
            declined: true,
            needed: true,
            credits: 300,
            buffer_bytes: 2048,
            address: Address([3; 32]),
            endpoint: Endpoint([9; 32]),
        };
        assert_eq!(Hello::parse(&hello.emit()), Some(hello));
        assert_eq!(Hello::parse(&hello.emit()[..79]), None);
        assert_eq!(Hello::parse(&[0; 80]), None);
    }
}
