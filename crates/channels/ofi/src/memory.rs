//! Long messages, read or written where they lie.
//!
//! A transfer is one message, or the rest of one. It is begun in pieces, a few under way at a time,
//! so that packets for the same peer, which share its connection, get their turn. A write has ended
//! when the provider says that it was delivered (`FI_DELIVERY_COMPLETE`). Registrations last as
//! long as an operation: with TCP they are an entry in a table, and providers that pin memory keep
//! registrations themselves.
//!
//! A provider that makes a connection anew may forget pieces that were on their way and never tell
//! of them. Over the Internet's protocols such pieces are *lost*, and their transfer ends with an
//! error, when the peer was asked several questions since, a second apart, and each of them showed
//! that the connection of the pieces is no more, so that nothing is read or written for them later:
//!
//! - It was answered. Questions have numbers, so that it is known to be this one. The provider has
//!   one connection with a peer (`rxm` closes the former before it takes another), which keeps the
//!   order, also of what it reads at the peer: over the connection of the pieces the answer would
//!   have come behind their end.
//! - The provider did not take it, though it had room: it has no connection with the peer, nor gets
//!   one. One whose queue is full says the same, and may be at work on the pieces.
//! - The peer is gone, as the owner of the channel says, and has not answered: it sends nothing any
//!   more, and what it had sent was read by the polls meanwhile.

use super::OfiChannel;
use super::name::Name;
use super::net;
use slab::Slab;
use std::collections::VecDeque;
use std::num::NonZeroU32;
use verbena_channel::key::ExposedMemory;
use verbena_channel::{Access, Key, Peer, RemoteMemory, Started, Transfer};
use verbena_fabric::{MemoryRegion, Refused, raw};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The most pieces of one transfer under way.
const PIECES_MAX: u32 = 4;

/// The questions in a row, each after the pieces of a transfer and none less than a second after
/// the one before, until these are lost: none of them has ended meanwhile.
const QUESTIONS_MAX: u32 = 5;

/// Transfers and exposures.
#[derive(Default)]
pub(crate) struct Memory {
    moves: Slab<Move>,
    /// The transfers with pieces to begin, which take turns.
    waiting: VecDeque<u32>,
    ended: Vec<(u64, Result<(), Fault>)>,
    exposed: Slab<MemoryRegion>,
    /// The pieces that the provider has for each peer, but for those that are lost.
    pieces: Vec<u32>,
    /// The pieces that the provider has for all peers, lost ones too.
    under_way: usize,
    /// The number of transfers, but for those that are lost.
    live: usize,
}

/// A transfer under way.
struct Move {
    token: u64,
    peer: Peer,
    is_read: bool,
    local: Region,
    registered: Option<MemoryRegion>,
    remote: u64,
    key: u64,
    /// The bytes of the pieces that were begun.
    begun: usize,
    under_way: u32,
    failure: Option<Fault>,
    /// The number of the first question to the peer after the pieces under way that it has not
    /// answered.
    asked: Option<NonZeroU32>,
    /// The questions since a piece has ended that have shown something.
    questions: u32,
    /// True if its pieces are lost: its end was told, though the provider still has them.
    is_lost: bool,
}

impl Move {
    /// Returns whether the provider has pieces for this peer, which are not lost.
    fn is_under_way_to(&self, peer: Peer) -> bool {
        self.peer == peer && self.under_way > 0 && !self.is_lost
    }
}

/// Returns whether the question of one number was asked after that of another; numbers wrap.
pub(crate) fn is_after(number: u32, other: u32) -> bool {
    number.wrapping_sub(other) as i32 > 0
}

impl Memory {
    /// Returns whether pieces wait to be begun.
    pub(crate) fn has_work(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns whether no transfer is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.live == 0
    }

    /// Returns whether the provider has pieces for this peer.
    #[inline]
    pub(crate) fn is_busy_with(&self, peer: Peer) -> bool {
        self.pieces.get(peer as usize).is_some_and(|pieces| *pieces > 0)
    }

    /// The pieces that the provider has.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Counts pieces for a peer that begin or end.
    fn count_pieces(&mut self, peer: Peer, change: i32) {
        let at = peer as usize;
        if at >= self.pieces.len() {
            self.pieces.resize(at + 1, 0);
        }
        self.pieces[at] = self.pieces[at].strict_add_signed(change);
    }

    /// The transfers whose pieces the provider has for this peer.
    fn under_way_to(&mut self, peer: Peer) -> impl Iterator<Item = &mut Move> {
        let any = self.is_busy_with(peer);
        let all = self.moves.iter_mut().filter(move |(_, one)| any && one.is_under_way_to(peer));
        all.map(|(_, one)| one)
    }

    /// Notes that the peer was asked the question of this number.
    pub(crate) fn asked(&mut self, peer: Peer, question: NonZeroU32) {
        self.under_way_to(peer).for_each(|one| _ = one.asked.get_or_insert(question));
    }

    /// Counts the answer of the peer to the question of this number, and to those before it.
    /// Returns whether pieces are lost by now.
    pub(crate) fn answered(&mut self, peer: Peer, question: NonZeroU32) -> bool {
        let is_old = |asked: &mut NonZeroU32| !is_after(asked.get(), question.get());
        self.count_questions(peer, |one| one.asked.take_if(is_old).is_some())
    }

    /// Counts a question to the peer that the provider did not take, or that one who is gone did
    /// not answer. Returns whether pieces are lost by now.
    pub(crate) fn unanswered(&mut self, peer: Peer) -> bool {
        self.count_questions(peer, |_| true)
    }

    fn count_questions(&mut self, peer: Peer, counts: impl Fn(&mut Move) -> bool) -> bool {
        let mut has_lost = false;
        for one in self.under_way_to(peer) {
            one.questions += u32::from(counts(one));
            has_lost |= one.questions >= QUESTIONS_MAX;
        }
        has_lost
    }

    /// Returns whether a question to the peer that followed pieces was not answered.
    pub(crate) fn awaits_answer(&mut self, peer: Peer) -> bool {
        self.under_way_to(peer).any(|one| one.asked.is_some())
    }

    /// Ends the transfers with a peer that is given up whose pieces are lost.
    pub(crate) fn lose(&mut self, peer: Peer, fault: &Fault) {
        let (mut ended, mut pieces) = (Vec::new(), 0);
        for one in self.under_way_to(peer).filter(|one| one.questions >= QUESTIONS_MAX) {
            one.is_lost = true;
            pieces += one.under_way;
            ended.push((one.token, Err(one.failure.get_or_insert_with(|| fault.clone()).clone())));
        }
        self.live -= ended.len();
        self.count_pieces(peer, -(pieces as i32));
        self.ended.extend(ended);
    }

    /// The transfers that have ended, to be reported.
    pub(crate) fn take_ended(&mut self) -> Vec<(u64, Result<(), Fault>)> {
        std::mem::take(&mut self.ended)
    }

    /// The peer of a transfer.
    pub(crate) fn peer_of(&self, at: u32) -> Option<Peer> {
        self.moves.get(at as usize).map(|one| one.peer)
    }

    /// Returns whether a transfer writes.
    pub(crate) fn is_write(&self, at: u32) -> bool {
        self.moves.get(at as usize).is_some_and(|one| !one.is_read)
    }

    /// Ends a transfer if it is over and nothing of it is under way.
    fn settle(&mut self, at: u32) {
        let Some(one) = self.moves.get(at as usize) else { return };
        let over = one.failure.is_some() || one.begun == one.local.len();
        if one.under_way == 0 && over {
            let one = self.moves.remove(at as usize);
            if !one.is_lost {
                self.live -= 1;
                self.ended.push((one.token, one.failure.map_or(Ok(()), Err)));
            }
        }
    }
}

impl RemoteMemory for OfiChannel {
    /// Registers memory for these accesses by peers from now on; `None` if that cannot be.
    fn expose(&mut self, _peer: Peer, region: Region, access: Access) -> Option<Key> {
        if region.is_empty() {
            return None;
        }
        let registered = self.net.register(region, access).ok()?;
        let (base, key) = (self.net.remote_base(&region), registered.key());
        let number = self.memory.exposed.insert(registered) as u32;
        Some(ExposedMemory { base, bytes: region.len() as u64, key, number }.emit())
    }

    fn conceal(&mut self, _peer: Peer, key: &Key) {
        self.memory.exposed.try_remove(ExposedMemory::of(key).number as usize);
    }

    fn get(&mut self, peer: Peer, key: &Key, offset: u64, into: Region, token: u64) -> Started {
        self.move_memory(peer, true, key, offset, into, token)
    }

    fn put(&mut self, peer: Peer, key: &Key, offset: u64, from: Region, token: u64) -> Started {
        self.move_memory(peer, false, key, offset, from, token)
    }
}

impl OfiChannel {
    /// Begins a transfer between `local` and the memory that `key` exposes.
    ///
    /// # Errors
    /// The peer is given up, the place does not lie within, or this process's memory cannot be
    /// registered.
    fn move_memory(
        &mut self,
        peer: Peer,
        is_read: bool,
        key: &Key,
        offset: u64,
        local: Region,
        token: u64,
    ) -> Started {
        let exposed = ExposedMemory::of(key);
        let remote = exposed.part(offset, local.len()).ok_or_else(|| self.out_of_range(peer))?;
        if let Some(fault) = &self.meet(peer)?.broken {
            return Err((**fault).clone());
        }
        if local.is_empty() {
            return Ok(Transfer::Done);
        }
        let access = if is_read { raw::FI_READ } else { raw::FI_WRITE };
        let registered = self.net.register_local(local, access)?;
        let key = exposed.key;
        let begun = Move {
            token,
            peer,
            is_read,
            local,
            registered,
            remote,
            key,
            begun: 0,
            under_way: 0,
            failure: None,
            asked: None,
            questions: 0,
            is_lost: false,
        };
        let at = self.memory.moves.insert(begun) as u32;
        self.memory.live += 1;
        self.memory.waiting.push_back(at);
        self.advance_moves();
        Ok(Transfer::Pending)
    }

    /// Begins the pieces that may be begun, each transfer in turn.
    pub(super) fn advance_moves(&mut self) {
        for _ in 0..self.memory.waiting.len() {
            let Some(at) = self.memory.waiting.pop_front() else { return };
            let outcome = self.advance(at);
            match (outcome, self.memory.moves.get_mut(at as usize)) {
                (Ok(()), Some(one)) if one.failure.is_none() && one.begun < one.local.len() => {
                    self.memory.waiting.push_back(at);
                }
                (Err(fault), Some(one)) => {
                    one.failure.get_or_insert(fault);
                    self.memory.settle(at);
                }
                _ => self.memory.settle(at),
            }
        }
    }

    /// Begins pieces of one transfer until enough are under way.
    fn advance(&mut self, at: u32) -> Result<(), Fault> {
        loop {
            let Some(one) = self.memory.moves.get_mut(at as usize) else { return Ok(()) };
            let bytes = self.settings.piece_bytes.min(one.local.len() - one.begun);
            if bytes == 0 || one.under_way >= PIECES_MAX || one.failure.is_some() {
                return Ok(());
            }
            let link = self.links.look(one.peer).expect("met");
            let piece = one.local.part(one.begun, bytes);
            let memory: *mut u8 = std::ptr::with_exposed_provenance_mut(piece.address() as usize);
            let descriptor = net::descriptor(one.registered.as_ref());
            let remote = raw::fi_rma_iov { addr: one.remote + one.begun as u64, len: bytes, key: one.key };
            let context = self.net.contexts.take(Name::Move(at).number());
            let (to, endpoint) = (link.address, &self.net.endpoint);
            // SAFETY: the engine keeps the region until the transfer has ended, which is reported
            // when no piece is under way; the context was taken for this.
            let posted = unsafe { endpoint.transfer(one.is_read, to, memory, descriptor, &remote, context) };
            match posted {
                Ok(()) => {
                    one.begun += bytes;
                    one.under_way += 1;
                    self.memory.under_way += 1;
                    let peer = one.peer;
                    self.memory.count_pieces(peer, 1);
                    continue;
                }
                // SAFETY: taken above; nothing was begun.
                Err(_) => unsafe { self.net.contexts.give_back(context) },
            }
            let peer = one.peer;
            return match posted {
                Err(Refused::Failed(number)) => Err(self.failed(peer, number, "")),
                _ => Ok(()),
            };
        }
    }

    /// Notes that a piece has ended, with a failure or without.
    pub(super) fn piece_ended(&mut self, at: u32, failure: Option<Fault>) {
        let Some(one) = self.memory.moves.get_mut(at as usize) else { return };
        one.under_way -= 1;
        self.memory.under_way -= 1;
        (one.asked, one.questions) = (None, 0);
        if one.failure.is_none() {
            one.failure = failure;
        }
        let (peer, is_lost) = (one.peer, one.is_lost);
        if !is_lost {
            self.memory.count_pieces(peer, -1);
        }
        self.memory.settle(at);
    }

    /// Ends the transfers of a peer that is given up, each when nothing of it is under way any
    /// more.
    pub(super) fn break_moves(&mut self, peer: Peer, fault: &Fault) {
        let of_peer = self.memory.moves.iter_mut().filter(|(_, one)| one.peer == peer);
        let all: Vec<u32> = of_peer
            .map(|(at, one)| {
                one.failure.get_or_insert_with(|| fault.clone());
                at as u32
            })
            .collect();
        self.memory.waiting.retain(|at| !all.contains(at));
        all.into_iter().for_each(|at| self.memory.settle(at));
    }
}

/// Begins a transfer that never ends at the provider. Returns its place.
#[cfg(test)]
pub(crate) fn stuck(channel: &mut OfiChannel, peer: Peer, local: Region, token: u64) -> u32 {
    let one = Move {
        token,
        peer,
        is_read: false,
        local,
        registered: None,
        remote: 0,
        key: 0,
        begun: local.len(),
        under_way: 1,
        failure: None,
        asked: None,
        questions: 0,
        is_lost: false,
    };
    channel.memory.live += 1;
    channel.memory.under_way += 1;
    channel.memory.count_pieces(peer, 1);
    channel.memory.moves.insert(one) as u32
}
