//! The state of each peer: a pointer and its card for those that never spoke, the rest for the
//! others.

use super::adapter::Aim;
use super::card::Card;
use super::farewell::Farewell;
use super::frame::{Delay, Frame, PREFIX_BYTES};
use crate::reliable::{Link, NEVER, Rules, distance};
use verbena_channel::Peer;
use verbena_channel::packet::Header;
use verbena_fault::Fault;
use verbena_memory::vacant::{Vacant, vacant};

/// A peer that spoke or was spoken to.
#[derive(Debug)]
pub(super) struct Partner {
    /// Both directions.
    pub link: Link,
    /// The way to it, as the adapter remembers it.
    pub aim: Aim,
    /// The bytes of a fragment that is not the last of its group.
    pub fragment_bytes: u16,
    /// The number of the next fragment, without reliability.
    pub number: u32,
    /// The time under which it stands in the timers.
    pub timer_ns: u64,
    /// True if another channel reaches it too.
    pub spare: bool,
    /// The progress of the farewell.
    pub farewell: Farewell,
    /// The reason why nothing goes there any more, with what was under way then.
    pub broken: Option<Box<Broken>>,
    /// True if it has something to send, but no queue pair has room.
    pub stalled: bool,
    /// The acknowledgement that rode on a fragment and was not looked at yet.
    pub unread: Option<Unread>,
}

/// The newest acknowledgement that came with a fragment, which has no bitmap for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unread {
    /// The first fragment that is missing there.
    pub next: u32,
    /// The time since the last arrival there.
    pub delay: Delay,
    /// The time when it came.
    pub at_ns: u64,
}

/// A peer that was given up.
#[derive(Debug)]
pub(super) struct Broken {
    /// The reason.
    pub fault: Fault,
    /// Packets that are not known to have arrived, in order.
    pub undelivered: Vec<(Header, Vec<u8>)>,
}

impl Partner {
    /// Makes a peer with this card, seen from a process whose datagrams have `datagram_bytes_max`
    /// bytes at most.
    #[cold]
    fn first(card: &Card, datagram_bytes_max: usize, rules: &Rules) -> Box<Partner> {
        let datagram = datagram_bytes_max.min(card.datagram_bytes_max as usize);
        Box::new(Partner {
            link: Link::new(rules),
            aim: Aim::default(),
            fragment_bytes: fragment_bytes(datagram),
            number: 0,
            timer_ns: NEVER,
            spare: false,
            farewell: Farewell::No,
            broken: None,
            stalled: false,
            unread: None,
        })
    }

    /// Puts the acknowledgement that came with this fragment by, to be looked at later; a peer that
    /// has one stands in the list, once.
    #[inline]
    pub(super) fn put_by(&mut self, frame: &Frame, at_ns: u64, list: &mut Vec<Peer>) {
        let unread = Unread { next: frame.next, delay: frame.delay, at_ns };
        match &mut self.unread {
            // Fragments may overtake each other.
            Some(before) if distance(before.next, unread.next) < 0 => {}
            Some(before) => *before = unread,
            none => {
                *none = Some(unread);
                list.push(frame.from);
            }
        }
    }

    /// Returns whether the peer can be spoken to: it was not given up and has not left.
    #[inline]
    pub(super) fn hears(&self) -> bool {
        self.broken.is_none() && self.farewell != Farewell::Gone
    }

    /// Returns when there is something to do though nothing arrives.
    pub(super) fn due_ns(&self) -> u64 {
        match self.broken {
            Some(_) => NEVER,
            None => self.link.due_ns().min(self.farewell.due_ns()),
        }
    }

    /// Returns the bytes of its state.
    fn bytes(&self) -> usize {
        size_of::<Partner>() + self.link.assembly.bytes()
    }
}

/// Returns the bytes of a fragment in a datagram of `datagram_bytes`: whole words, so that headers
/// lie aligned in the receive buffers.
pub(super) fn fragment_bytes(datagram_bytes: usize) -> u16 {
    let bytes = datagram_bytes.saturating_sub(PREFIX_BYTES).min(usize::from(u16::MAX));
    (bytes & !7) as u16
}

/// The state of all peers.
#[derive(Debug)]
pub(super) struct Peers {
    cards: Vec<Option<Card>>,
    partners: Vacant<Partner>,
}

impl Peers {
    /// Makes the peers with these cards, none of which has spoken.
    pub(super) fn new(cards: Vec<Option<Card>>) -> Peers {
        Peers { partners: vacant(cards.len()), cards }
    }

    /// Returns the bytes of state for a peer that never spoke.
    pub(super) const fn silent_bytes() -> usize {
        size_of::<Option<Card>>() + size_of::<Option<Box<Partner>>>()
    }

    /// Returns the peer's card; `None` if it has no device, or the job no such process.
    pub(super) fn card(&self, peer: Peer) -> Option<&Card> {
        self.cards.get(peer as usize)?.as_ref()
    }

    /// Returns the peer, if it has spoken.
    #[inline]
    pub(super) fn get(&mut self, peer: Peer) -> Option<&mut Partner> {
        self.partners.get_mut(peer as usize)?.as_deref_mut()
    }

    /// Returns card and state together.
    #[inline(always)]
    pub(super) fn both(&mut self, peer: Peer) -> Option<(&Card, &mut Partner)> {
        let card = self.cards.get(peer as usize)?.as_ref()?;
        Some((card, self.partners.get_mut(peer as usize)?.as_deref_mut()?))
    }

    /// Returns the peer, known from now on; `None` if it has no card.
    #[inline]
    pub(super) fn meet(&mut self, peer: Peer, bytes_max: usize, rules: &Rules) -> Option<&mut Partner> {
        let partner = self.partners.get_mut(peer as usize)?;
        if partner.is_none() {
            *partner = Some(Partner::first(self.cards[peer as usize].as_ref()?, bytes_max, rules));
        }
        partner.as_deref_mut()
    }

    /// Iterates over all that have spoken.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Peer, &Partner)> {
        (0..).zip(self.partners.iter()).filter_map(|(peer, partner)| Some((peer, partner.as_deref()?)))
    }

    /// Iterates over all that have spoken, to change them.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Peer, &mut Partner)> {
        (0..)
            .zip(self.partners.iter_mut())
            .filter_map(|(peer, partner)| Some((peer, partner.as_deref_mut()?)))
    }

    /// Returns the bytes of state for all peers.
    pub(super) fn bytes(&self) -> usize {
        self.cards.len() * Peers::silent_bytes()
            + self.iter().map(|(_, partner)| partner.bytes()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_peer_costs_its_card_and_a_pointer() {
        assert!(Peers::silent_bytes() <= 56, "{}", Peers::silent_bytes());
    }

    #[test]
    fn fragments_are_whole_words_behind_the_prefix() {
        assert_eq!((fragment_bytes(1024), fragment_bytes(1023), fragment_bytes(4096)), (1000, 992, 4072));
    }
}
