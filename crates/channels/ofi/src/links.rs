//! The state of each peer. A peer that was never spoken to has only its card.

use super::card::Contact;
use super::memory::is_after;
use super::sends::Slot;
use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU32;
use std::time::Instant;
use verbena_channel::Peer;
use verbena_channel::packet::Header;
use verbena_fault::Fault;
use verbena_memory::vacant::{Vacant, vacant};

/// The answers, a second or more apart, until packets that a peer lacks count as lost: it may take
/// messages out of order.
const LACKING_MAX: u32 = 5;

/// The most packets taken beyond a gap: more than any peer has under way.
const EARLY_MAX: usize = 1 << 16;

/// A peer that was met.
pub(crate) struct Link {
    /// The address by which operations name it.
    pub address: u64,
    /// The token that its messages must bear.
    pub token: u64,
    /// The number of packets sent to it, wrapping.
    pub sent: u32,
    /// The buffers of the packets that it has not told to have taken, oldest first.
    pub untold: VecDeque<Slot>,
    /// The number of packets taken from it without a gap, wrapping.
    pub heard: u32,
    /// The numbers of packets taken beyond a gap: long messages may complete after short ones.
    early: BTreeSet<u32>,
    /// The value of `heard` that it was last told.
    pub told: u32,
    /// True if it is on the list of peers that are owed an answer.
    pub is_owed: bool,
    /// The time when something last came from it.
    pub news: Instant,
    /// The time when it last told to have taken packets that it had not told of before, or the
    /// first of those that it has not told of was sent.
    pub gained: Instant,
    /// The time when it was last asked for an answer.
    pub asked: Instant,
    /// The number of the last question to it, 0 if there was none; wrapping, but for 0.
    pub question: u32,
    /// The number of the last question that it has answered, 0 if there was none.
    answered: u32,
    /// The number of the last question that came from it, 0 if none did.
    pub questioned: u32,
    /// The number of packets sent when it was asked whether all had arrived, before leaving.
    pub asked_at_end: u32,
    /// The number of messages to it that the provider has.
    pub flying: u32,
    /// The number of packets sent when it was last asked.
    pub asked_sent: u32,
    /// The number of answers in a row by which it lacks packets that were sent before it was asked.
    pub lacking: u32,
    /// True if the provider has taken something for it, or something came from it: there was a
    /// connection.
    pub was_connected: bool,
    /// The time since when the provider takes nothing for it, although it has nothing of it.
    pub refused_since: Option<Instant>,
    /// True if the channel's owner says that it is gone: it does nothing any more.
    pub is_gone: bool,
    /// The reason why it is given up.
    pub broken: Option<Box<Fault>>,
    /// The packets that it may not have taken when it was lost.
    pub undelivered: Vec<(Header, Vec<u8>)>,
}

impl Link {
    /// A peer that is met now.
    pub(crate) fn new(address: u64, token: u64) -> Link {
        let now = Instant::now();
        Link {
            address,
            token,
            sent: 0,
            untold: VecDeque::new(),
            heard: 0,
            early: BTreeSet::new(),
            told: 0,
            is_owed: false,
            news: now,
            gained: now,
            asked: now,
            question: 0,
            answered: 0,
            questioned: 0,
            asked_at_end: 0,
            flying: 0,
            asked_sent: 0,
            lacking: 0,
            was_connected: false,
            refused_since: None,
            is_gone: false,
            broken: None,
            undelivered: Vec::new(),
        }
    }

    /// Takes a packet with this number into account. Returns whether it is the next one.
    #[inline]
    pub(crate) fn hear(&mut self, number: u32) -> bool {
        let next = |heard: u32| heard.wrapping_add(1);
        if number != next(self.heard) {
            self.early.insert(number);
            return false;
        }
        self.heard = self.heard.wrapping_add(1);
        while !self.early.is_empty() && self.early.remove(&next(self.heard)) {
            self.heard = self.heard.wrapping_add(1);
        }
        true
    }

    /// Returns whether more came beyond a gap than any peer sends before it hears of the gap.
    pub(crate) fn has_strayed(&self) -> bool {
        self.early.len() > EARLY_MAX
    }

    /// Notes that the provider has taken something for it.
    #[inline]
    pub(crate) fn is_heard_of(&mut self) {
        self.was_connected = true;
        self.refused_since = None;
    }

    /// Takes a message of the peer that says this number. Returns the question that it answers, if
    /// that is one that was not answered.
    pub(crate) fn take_answer(&mut self, number: u32) -> Option<NonZeroU32> {
        let is_asked = number == self.question || is_after(self.question, number);
        let is_new = self.answered == 0 || is_after(number, self.answered);
        let answered = NonZeroU32::new(number).filter(|_| self.question != 0 && is_asked && is_new);
        self.answered = answered.map_or(self.answered, NonZeroU32::get);
        answered
    }

    /// Counts an answer of the peer. Returns whether it has lacked packets for too long that the
    /// provider says are sent: a connection was cut and made anew, and what was on its way is lost.
    pub(crate) fn has_lost(&mut self) -> bool {
        if !self.untold.is_empty() && self.flying == 0 && self.asked_sent == self.sent {
            self.lacking += 1;
        }
        self.lacking >= LACKING_MAX
    }

    /// Takes the number of packets that the peer tells to have taken: hands out the buffers of
    /// those that it had not told of before. An impossible number is ignored.
    pub(crate) fn take_told(&mut self, heard: u32) -> impl Iterator<Item = Slot> + '_ {
        let left = self.sent.wrapping_sub(heard) as usize;
        let count = self.untold.len().saturating_sub(left);
        if count > 0 {
            self.lacking = 0;
        }
        self.untold.drain(..count)
    }
}

/// All peers.
pub(crate) struct Links {
    contacts: Vec<Option<Contact>>,
    links: Vacant<Link>,
    met: Vec<Peer>,
}

impl Links {
    /// Peers with these cards, none of them met.
    pub(crate) fn new(contacts: Vec<Option<Contact>>) -> Links {
        Links { links: vacant(contacts.len()), contacts, met: Vec::new() }
    }

    /// The card by which a peer is reached.
    pub(crate) fn contact(&self, peer: Peer) -> Option<&Contact> {
        self.contacts.get(peer as usize)?.as_ref()
    }

    /// The peer, if it was met.
    #[inline]
    pub(crate) fn get(&mut self, peer: Peer) -> Option<&mut Link> {
        self.links.get_mut(peer as usize)?.as_deref_mut()
    }

    /// The peer, if it was met, to look only.
    pub(crate) fn look(&self, peer: Peer) -> Option<&Link> {
        self.links.get(peer as usize)?.as_deref()
    }

    /// Adds a peer that is met.
    pub(crate) fn add(&mut self, peer: Peer, link: Link) {
        self.links[peer as usize] = Some(Box::new(link));
        self.met.push(peer);
    }

    /// The number of peers that were met.
    pub(crate) fn met(&self) -> usize {
        self.met.len()
    }

    /// The peer that was met as number `at`, from 0.
    pub(crate) fn met_at(&self, at: usize) -> Peer {
        self.met[at]
    }

    /// All peers that were met.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().filter_map(Option::as_deref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_in_answer_after_answer_is_lost() {
        let mut link = Link::new(0, 0);
        (link.sent, link.asked_sent) = (3, 2);
        link.untold = (10..13).collect();
        assert!((0..100).all(|_| !link.has_lost()), "sent after it was asked");
        link.asked_sent = 3;
        assert!((1..LACKING_MAX).all(|_| !link.has_lost()));
        assert_eq!(link.take_told(1).count(), 1);
        assert!((1..LACKING_MAX).all(|_| !link.has_lost()));
        assert!(link.has_lost());
    }

    #[test]
    fn a_question_is_answered_once_and_only_if_it_was_asked() {
        let mut link = Link::new(0, 0);
        assert_eq!([0, 1].map(|number| link.take_answer(number)), [None; 2], "nothing was asked");
        link.question = 3;
        assert_eq!(link.take_answer(4), None, "it was not asked");
        assert_eq!(link.take_answer(2), NonZeroU32::new(2));
        // Messages that nobody asked for say the same number again.
        assert_eq!([2, 1, 0].map(|number| link.take_answer(number)), [None; 3]);
        assert_eq!(link.take_answer(3), NonZeroU32::new(3));
        (link.question, link.answered) = (1, u32::MAX - 1);
        assert_eq!(link.take_answer(u32::MAX), NonZeroU32::new(u32::MAX));
        assert_eq!(link.take_answer(1), NonZeroU32::new(1), "numbers wrap");
    }

    #[test]
    fn what_comes_beyond_a_gap_is_told_when_the_gap_is_filled() {
        let mut link = Link::new(0, 0);
        link.heard = u32::MAX - 1;
        assert!(link.hear(u32::MAX));
        assert!(!link.hear(2) && !link.hear(1));
        assert_eq!(link.heard, u32::MAX);
        assert!(link.hear(0));
        assert_eq!(link.heard, 2);
    }

    #[test]
    fn what_comes_beyond_a_gap_has_a_limit() {
        let mut link = Link::new(0, 0);
        assert!((2..).take(EARLY_MAX).all(|number| !link.hear(number)) && !link.has_strayed());
        assert!(!link.hear(u32::MAX) && link.has_strayed());
    }

    #[test]
    fn what_was_taken_is_told_once_and_wraps() {
        let mut link = Link::new(0, 0);
        link.sent = 2;
        link.untold = (10..15).collect();
        let mut told = |heard: u32| link.take_told(heard).collect::<Vec<_>>();
        assert_eq!(told(u32::MAX - 1), [10]);
        assert_eq!(told(u32::MAX - 1), [0; 0]);
        assert_eq!(told(0), [11, 12]);
        assert_eq!(told(77), [0; 0]);
        assert_eq!(told(2), [13, 14]);
    }
}
