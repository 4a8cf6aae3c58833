//! What is known of each peer. Nothing is kept of one that was never spoken to but its card.

use super::card::Contact;
use super::sends::Slot;
use crate::packet::Header;
use crate::{Fault, Peer};
use std::collections::VecDeque;
use std::time::Instant;

/// A peer that was met.
pub struct Link {
    /// What operations name it by.
    pub address: u64,
    /// Packets sent to it, wrapping.
    pub sent: u32,
    /// The buffers of those that it has not told to have taken, oldest first.
    pub untold: VecDeque<Slot>,
    /// Packets taken from it, wrapping.
    pub heard: u32,
    /// How many of them it was told of.
    pub told: u32,
    /// It is on the list of those who are owed an answer.
    pub is_owed: bool,
    /// When something last came from it.
    pub news: Instant,
    /// When it was last asked for an answer.
    pub asked: Instant,
    /// The number of packets sent when it was asked whether all had arrived, before leaving.
    pub asked_at_end: u32,
    /// Messages to it that the provider has.
    pub flying: u32,
    /// The provider has taken something for it, or something came from it: there was a connection.
    pub was_connected: bool,
    /// Since when the provider takes nothing for it, although it has nothing of it.
    pub refused_since: Option<Instant>,
    /// Why it is given up.
    pub broken: Option<Box<Fault>>,
    /// What it may not have taken when it was lost.
    pub undelivered: Vec<(Header, Vec<u8>)>,
}

impl Link {
    /// A peer that is met now.
    pub fn new(address: u64) -> Link {
        let now = Instant::now();
        Link {
            address,
            sent: 0,
            untold: VecDeque::new(),
            heard: 0,
            told: 0,
            is_owed: false,
            news: now,
            asked: now,
            asked_at_end: 0,
            flying: 0,
            was_connected: false,
            refused_since: None,
            broken: None,
            undelivered: Vec::new(),
        }
    }

    /// The provider has taken something for it.
    #[inline]
    pub fn is_heard_of(&mut self) {
        self.was_connected = true;
        self.refused_since = None;
    }

    /// The peer tells that it has taken so many packets: hands out the buffers of those that it had not told of before. A number
    /// that cannot be is ignored.
    pub fn take_told(&mut self, heard: u32) -> impl Iterator<Item = Slot> + '_ {
        let left = self.sent.wrapping_sub(heard) as usize;
        let count = self.untold.len().saturating_sub(left);
        self.untold.drain(..count)
    }
}

/// All peers.
pub struct Links {
    contacts: Vec<Option<Contact>>,
    links: Vec<Option<Box<Link>>>,
    met: Vec<Peer>,
}

impl Links {
    /// Peers with these cards, none of them met.
    pub fn new(contacts: Vec<Option<Contact>>) -> Links {
        let links = contacts.iter().map(|_| None).collect();
        Links { contacts, links, met: Vec::new() }
    }

    /// How a peer is reached.
    pub fn contact(&self, peer: Peer) -> Option<&Contact> {
        self.contacts.get(peer as usize)?.as_ref()
    }

    /// The peer, if it was met.
    #[inline]
    pub fn get(&mut self, peer: Peer) -> Option<&mut Link> {
        self.links.get_mut(peer as usize)?.as_deref_mut()
    }

    /// As [`Links::get`], to look only.
    pub fn look(&self, peer: Peer) -> Option<&Link> {
        self.links.get(peer as usize)?.as_deref()
    }

    /// The peer is met.
    pub fn add(&mut self, peer: Peer, link: Link) {
        self.links[peer as usize] = Some(Box::new(link));
        self.met.push(peer);
    }

    /// Those who were met, in the order of meeting.
    pub fn met(&self) -> usize {
        self.met.len()
    }

    /// One of them.
    pub fn met_at(&self, at: usize) -> Peer {
        self.met[at]
    }

    /// Everyone who was met.
    pub fn iter(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().filter_map(Option::as_deref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_is_told_once_and_wraps() {
        let mut link = Link::new(0);
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
