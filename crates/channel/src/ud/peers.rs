//! What is known of each peer: a pointer and its card for those that never spoke, the rest for the others.

use super::adapter::Aim;
use super::card::Card;
use super::farewell::Farewell;
use super::frame::PREFIX_BYTES;
use crate::packet::Header;
use crate::reliable::{Link, NEVER, Rules};
use crate::{Fault, Peer};

/// A peer that spoke or was spoken to.
#[derive(Debug)]
pub struct Partner {
    /// Both directions.
    pub link: Link,
    /// The way to it, as the adapter remembers it.
    pub aim: Aim,
    /// Bytes of a fragment that is not the last of its group.
    pub fragment_bytes: u16,
    /// The number of the next fragment, without reliability.
    pub number: u32,
    /// The time that it stands in the timers with.
    pub timer_ns: u64,
    /// How far the farewell is.
    pub farewell: Farewell,
    /// Why nothing goes there any more, with what was under way then.
    pub broken: Option<Box<Broken>>,
    /// It has something to send, but no queue pair has room.
    pub stalled: bool,
}

/// A peer that was given up.
#[derive(Debug)]
pub struct Broken {
    /// Why.
    pub fault: Fault,
    /// Packets that are not known to have arrived, in order.
    pub undelivered: Vec<(Header, Vec<u8>)>,
}

impl Partner {
    /// A peer with this card, seen from a process whose datagrams have so many bytes at most.
    fn new(card: &Card, datagram_bytes_max: usize, rules: &Rules) -> Partner {
        let datagram = datagram_bytes_max.min(card.datagram_bytes_max as usize);
        Partner {
            link: Link::new(rules),
            aim: Aim::default(),
            fragment_bytes: fragment_bytes(datagram),
            number: 0,
            timer_ns: NEVER,
            farewell: Farewell::No,
            broken: None,
            stalled: false,
        }
    }

    /// When there is something to do though nothing arrives.
    pub fn due_ns(&self) -> u64 {
        match self.broken {
            Some(_) => NEVER,
            None => self.link.due_ns().min(self.farewell.due_ns()),
        }
    }

    /// Bytes of its state.
    fn bytes(&self) -> usize {
        size_of::<Partner>() + self.link.assembly.bytes()
    }
}

/// Bytes of a fragment in a datagram of so many: whole words, so that headers lie aligned in the receive buffers.
pub fn fragment_bytes(datagram_bytes: usize) -> u16 {
    let bytes = datagram_bytes.saturating_sub(PREFIX_BYTES).min(usize::from(u16::MAX));
    (bytes & !7) as u16
}

/// All peers.
#[derive(Debug)]
pub struct Peers {
    cards: Vec<Option<Card>>,
    partners: Vec<Option<Box<Partner>>>,
}

impl Peers {
    /// The peers with these cards, none of which has spoken.
    pub fn new(cards: Vec<Option<Card>>) -> Peers {
        let partners = std::iter::repeat_with(|| None).take(cards.len()).collect();
        Peers { cards, partners }
    }

    /// Bytes of state for a peer that never spoke.
    pub const fn silent_bytes() -> usize {
        size_of::<Option<Card>>() + size_of::<Option<Box<Partner>>>()
    }

    /// The peer's card; `None` if it has no device, or the job no such process.
    pub fn card(&self, peer: Peer) -> Option<&Card> {
        self.cards.get(peer as usize)?.as_ref()
    }

    /// The peer, if it has spoken.
    #[inline]
    pub fn get(&mut self, peer: Peer) -> Option<&mut Partner> {
        self.partners.get_mut(peer as usize)?.as_deref_mut()
    }

    /// Card and state together.
    pub fn both(&mut self, peer: Peer) -> Option<(&Card, &mut Partner)> {
        let card = self.cards.get(peer as usize)?.as_ref()?;
        Some((card, self.partners.get_mut(peer as usize)?.as_deref_mut()?))
    }

    /// The peer, known from now on; `None` if it has no card.
    pub fn meet(&mut self, peer: Peer, datagram_bytes_max: usize, rules: &Rules) -> Option<&mut Partner> {
        let card = self.cards.get(peer as usize)?.as_ref()?;
        let partner = &mut self.partners[peer as usize];
        Some(partner.get_or_insert_with(|| Box::new(Partner::new(card, datagram_bytes_max, rules))))
    }

    /// All that have spoken.
    pub fn iter(&self) -> impl Iterator<Item = (Peer, &Partner)> {
        (0..).zip(&self.partners).filter_map(|(peer, partner)| Some((peer, partner.as_deref()?)))
    }

    /// All that have spoken, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Peer, &mut Partner)> {
        (0..).zip(&mut self.partners).filter_map(|(peer, partner)| Some((peer, partner.as_deref_mut()?)))
    }

    /// Bytes of state for all peers.
    pub fn bytes(&self) -> usize {
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
        assert_eq!((fragment_bytes(1024), fragment_bytes(1023), fragment_bytes(4096)), (992, 984, 4064));
    }
}
