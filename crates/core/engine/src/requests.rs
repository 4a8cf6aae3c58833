//! The table of operations under way, and the order of the posted receives among them.
//!
//! A posted receive has one entry: its place in the table holds what it asks for, what it matches,
//! and its neighbours in the posted queue. So posting a receive is one insertion, and ending one is
//! one removal. In the steady state nothing is allocated: freed places form a list and are handed
//! out again, with a generation that tells one use from the next.

use crate::INDEX_BITS;
use crate::matching::{Entry, Links, MatchKey, Matcher, NONE};
use crate::request::{Request, State};
use crate::slab::Id;
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_memory::{Buffer, Region};

/// The links of a pattern.
const LINKS: usize = 2;

/// The largest index, which must leave room for the number of the engine ([`crate::RequestId`]).
const INDEX_MAX: usize = (1 << INDEX_BITS) - 2;

struct Place {
    generation: u32,
    links: Links<LINKS>,
    /// While the place is vacant its state says so, it owns nothing, and its flags are false.
    request: Request,
}

impl Place {
    fn vacant() -> Place {
        Place { generation: 0, links: Links::NONE, request: Request::vacant() }
    }
}

impl Entry<LINKS> for Place {
    #[inline(always)]
    fn key(&self) -> MatchKey {
        self.request.key()
    }

    #[inline(always)]
    fn links(&self) -> &Links<LINKS> {
        &self.links
    }

    #[inline(always)]
    fn links_mut(&mut self) -> &mut Links<LINKS> {
        &mut self.links
    }
}

/// The table.
pub(crate) struct Requests {
    /// The first place is never used, so that the number 0 is no valid id.
    places: Vec<Place>,
    /// The first vacant place; each names the next one as its successor in the order.
    free: u32,
    posted: Matcher<true, LINKS>,
}

impl Requests {
    pub(crate) fn new() -> Requests {
        Requests { places: vec![Place::vacant()], free: NONE, posted: Matcher::new() }
    }

    /// The number of requests.
    pub(crate) fn len(&self) -> usize {
        self.iter().count()
    }

    /// The number of posted receives.
    pub(crate) fn posted_len(&self) -> usize {
        self.iter().filter(|(_, request)| matches!(request.state, State::Posted)).count()
    }

    /// Like [`Matcher::steps`] of the posted queue.
    pub(crate) fn steps(&self) -> u64 {
        self.posted.steps()
    }

    /// Returns whether any receive is posted.
    #[inline(always)]
    pub(crate) fn has_posted(&self) -> bool {
        !self.posted.is_empty()
    }

    /// Adds a request that is not in the posted queue.
    #[inline]
    pub(crate) fn insert(&mut self, request: Request) -> Id {
        if self.free == NONE {
            self.grow();
        }
        let index = self.free;
        let place = &mut self.places[index as usize];
        self.free = place.links.next();
        place.request = request;
        Id { index, generation: place.generation }
    }

    /// Adds a receive to the table and to the end of the posted queue.
    #[inline]
    pub(crate) fn post(&mut self, peer: Peer, key: MatchKey, buffer: Buffer) -> Id {
        self.post_marked(peer, key, Mark::NONE, buffer)
    }

    /// Like [`Requests::post`], for a receive with a mark.
    #[inline]
    pub(crate) fn post_marked(&mut self, peer: Peer, key: MatchKey, mark: Mark, buffer: Buffer) -> Id {
        let id = self.insert(Request { mark, ..Request::receive(peer, key, buffer, State::Posted) });
        self.posted.append(&mut self.places, id.index);
        id
    }

    /// Like [`Requests::post`], for a receive that names its sender's process, into one span of
    /// memory; only where that takes no call: with a vacant place and without an index.
    #[inline(always)]
    pub(crate) fn try_post(&mut self, peer: Peer, key: MatchKey, region: Region) -> Option<Id> {
        let index = self.free;
        let place = self.places.get_mut(index as usize).filter(|_| !self.posted.is_indexed())?;
        self.free = place.links.next();
        place.request.receive_again(peer, key, region);
        *place.links.order() = self.posted.link_at_end();
        let id = Id { index, generation: place.generation };
        self.posted.append_linked(&mut self.places, index);
        Some(id)
    }

    /// The earliest posted receive that matches this message: its index.
    #[inline(always)]
    pub(crate) fn find_posted(&mut self, message: &MatchKey) -> Option<u32> {
        self.posted.find(&mut self.places, message)
    }

    /// Takes the receive at this index out of the posted queue; it stays in the table, in a state
    /// other than posted that the caller must set.
    #[inline(always)]
    pub(crate) fn unpost(&mut self, index: u32) -> (Id, &mut Request) {
        self.posted.remove(&mut self.places, index);
        let place = &mut self.places[index as usize];
        debug_assert!(matches!(place.request.state, State::Posted));
        (Id { index, generation: place.generation }, &mut place.request)
    }

    /// Returns the state of the receive at this index, if its generation is `meant`; if it has
    /// ended as receives of short messages do, it is then forgotten.
    #[inline(always)]
    pub(crate) fn near(&mut self, index: u32, meant: impl FnOnce(u32) -> bool) -> Near<'_> {
        let Some(place) = self.places.get_mut(index as usize).filter(|place| meant(place.generation)) else {
            return Near::Other;
        };
        let key = place.request.key();
        match (&place.request.state, &place.request.buffer) {
            (State::Received(bytes), _) => {
                let ended = Near::Ended(key.source, key.tag, *bytes);
                vacate(&mut self.free, index, place);
                ended
            }
            (State::Posted, Buffer::Contiguous(region)) => {
                let (peer, region) = (place.request.peer, *region);
                match self.posted.first() == index && !self.posted.is_indexed() {
                    true => Near::First(First {
                        peer,
                        key,
                        region,
                        index,
                        place,
                        free: &mut self.free,
                        posted: &mut self.posted,
                    }),
                    false => Near::Posted,
                }
            }
            (State::Posted, _) => Near::Posted,
            _ => Near::Other,
        }
    }

    /// The mark of the receive at this index.
    pub(crate) fn mark(&self, index: u32) -> Mark {
        self.places[index as usize].request.mark
    }

    /// The generation of the request at this index, if there is one.
    #[inline(always)]
    pub(crate) fn generation(&self, index: u32) -> Option<u32> {
        let place = self.places.get(index as usize)?;
        (!place.request.is_vacant()).then_some(place.generation)
    }

    #[inline]
    pub(crate) fn get(&self, id: Id) -> Option<&Request> {
        let place = self.places.get(id.index as usize)?;
        (place.generation == id.generation && !place.request.is_vacant()).then_some(&place.request)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut Request> {
        let place = self.places.get_mut(id.index as usize)?;
        (place.generation == id.generation && !place.request.is_vacant()).then_some(&mut place.request)
    }

    /// Takes a request out of the table, which must not be in the posted queue.
    #[inline]
    pub(crate) fn remove(&mut self, id: Id) -> Option<Request> {
        self.get(id)?;
        let place = &mut self.places[id.index as usize];
        let request = std::mem::replace(&mut place.request, Request::vacant());
        debug_assert!(!matches!(request.state, State::Posted));
        vacate(&mut self.free, id.index, place);
        Some(request)
    }

    /// Every request with its id, in order of place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &Request)> {
        (0..).zip(&self.places).filter(|(_, place)| !place.request.is_vacant()).map(|(index, place)| {
            let id = Id { index, generation: place.generation };
            (id, &place.request)
        })
    }

    /// Adds a vacant place where there is none.
    #[cold]
    fn grow(&mut self) {
        let index = self.places.len();
        assert!(index <= INDEX_MAX, "more than {INDEX_MAX} pending operations");
        self.places.push(Place::vacant());
        self.free = index as u32;
    }
}

/// The state of a receive.
pub(crate) enum Near<'a> {
    /// Ended, with this source, tag and number of bytes; the receive is forgotten.
    Ended(i32, i32, u64),
    /// The first of the posted queue, and goes into one span of memory.
    First(First<'a>),
    /// Posted.
    Posted,
    /// Neither, or there is none.
    Other,
}

/// The first posted receive.
pub(crate) struct First<'a> {
    /// The process that it names; [`crate::request::NOBODY`] if it names none.
    pub peer: Peer,
    /// The key that it matches.
    pub key: MatchKey,
    /// The memory where its message goes.
    pub region: Region,
    index: u32,
    place: &'a mut Place,
    free: &'a mut u32,
    posted: &'a mut Matcher<true, LINKS>,
}

impl First<'_> {
    /// Ends and forgets the receive: its message is in its place.
    #[inline(always)]
    pub(crate) fn end(self) {
        self.posted.remove_first_in_order(self.place.links.next());
        vacate(self.free, self.index, self.place);
    }
}

/// Hands the place back. What its request owned was taken out, or it owns nothing.
#[inline(always)]
fn vacate(free: &mut u32, index: u32, place: &mut Place) {
    place.request.vacate();
    place.generation = place.generation.wrapping_add(1);
    place.links.order().next = std::mem::replace(free, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tag: i32) -> MatchKey {
        MatchKey { context: 5, source: 1, tag }
    }

    fn end_received(requests: &mut Requests, id: Id) -> Option<(i32, i32, u64)> {
        match requests.near(id.index, |generation| generation == id.generation) {
            Near::Ended(source, tag, bytes) => Some((source, tag, bytes)),
            _ => None,
        }
    }

    /// Ends the receive if it is the first: its process and tag.
    fn end_first(requests: &mut Requests, id: Id) -> Option<(Peer, i32)> {
        let Near::First(first) = requests.near(id.index, |generation| generation == id.generation) else {
            return None;
        };
        let found = (first.peer, first.key.tag);
        first.end();
        Some(found)
    }

    #[test]
    fn an_old_id_does_not_reach_the_next_use_of_its_place() {
        let mut requests = Requests::new();
        let first = requests.insert(Request::receive(0, key(1), Buffer::EMPTY, State::Received(7)));
        assert_eq!(end_received(&mut requests, first), Some((1, 1, 7)));
        let second = requests.insert(Request::receive(0, key(2), Buffer::EMPTY, State::Received(8)));
        assert_eq!(first.index, second.index);
        assert!(requests.get(first).is_none() && requests.remove(first).is_none());
        assert_eq!(end_received(&mut requests, first), None);
        assert_eq!(requests.get(second).map(|request| request.tag), Some(2));
    }

    #[test]
    fn no_id_leads_to_a_vacant_place() {
        let mut requests = Requests::new();
        let id = requests.insert(Request::receive(0, key(1), Buffer::EMPTY, State::Received(7)));
        assert!(id.number() != 0 && requests.get(Id::of(0)).is_none());
        requests.remove(id);
        // The generation that the place has now, guessed.
        let guessed = Id { generation: id.generation + 1, ..id };
        assert!(requests.get(guessed).is_none() && end_received(&mut requests, guessed).is_none());
        assert_eq!((requests.len(), requests.generation(id.index)), (0, None));
    }

    #[test]
    fn both_ways_to_post_keep_one_order() {
        let mut requests = Requests::new();
        for round in 0..100 {
            // Some are posted quickly: there must be a vacant place.
            let ids: Vec<_> = (0..8)
                .map(|tag| {
                    let quick = requests.try_post(3, key(tag), Region::EMPTY);
                    assert_eq!(quick.is_some(), round > 0);
                    quick.unwrap_or_else(|| requests.post(3, key(tag), Buffer::EMPTY))
                })
                .collect();
            assert_eq!((requests.len(), requests.posted_len()), (8, 8));
            assert_eq!(end_first(&mut requests, ids[1]), None, "not the first");
            assert_eq!(end_first(&mut requests, ids[0]), Some((3, 0)));
            assert_eq!(end_first(&mut requests, ids[0]), None, "it is gone");
            for tag in [5, 1, 7, 2, 6, 4, 3] {
                let found = requests.find_posted(&key(tag)).expect("posted");
                assert_eq!(found, ids[tag as usize].index);
                let (id, request) = requests.unpost(found);
                request.state = State::Received(0);
                assert_eq!(end_received(&mut requests, id), Some((1, tag, 0)));
            }
            assert!(!requests.has_posted());
        }
        assert_eq!(requests.places.len(), 9);
    }
}
