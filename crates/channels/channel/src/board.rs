//! Boards: memory that the members of a communicator share, for collectives without messages.
//!
//! A board has three sorts of words. Each member has a *log* to which it alone appends records and
//! which all others read; short collectives are made of these. Each member also has a few *slots*,
//! large pieces of memory that all may read, and a counter of its *posts*, by which it tells that
//! something in a slot is ready; long collectives go through them piece by piece. And members share
//! out the *parts* of collectives that any of them may do.
//!
//! A collective's appends, posts and reads follow from its arguments, which all members know alike.
//! So every member counts along where each log stands, and nobody needs to be told. Where arguments
//! differ, members count differently. So posts and parts are numbered in each collective anew,
//! a record says its collective, and each member says which one it has opened: what it owes to an
//! earlier one is done, or will never be ([`Board::has_left`]).

use crate::Peer;
use crate::mark::Mark;
use verbena_memory::Region;

/// The result of a reader's look at its place in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing yet.
    Nothing,
    /// The record's bytes. They may be read until [`Board::close`].
    Record(Region),
    /// A record of another collective, with that one's number, as heads state it: the members do
    /// not call the same ones in the same order.
    Astray(Clash),
    /// A record by a member whose call does not match this one's.
    Unlike(Clash),
}

/// Two members whose calls do not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The number of the collective, as [`Board::open`] was given it.
    pub number: u64,
    /// The other member.
    pub rank: usize,
    /// This member's call.
    pub mine: Mark,
    /// The other member's call.
    pub theirs: Mark,
    /// The bytes that this member told, and those of the other one.
    pub bytes: [u64; 2],
}

/// The number of bytes that says nothing, and goes with every other.
pub const ANY_BYTES: u64 = (1 << 48) - 1;

/// The way that a member goes in a collective. It follows from the call and its bytes, so all
/// members go the same way unless they do not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Each member that contributes publishes a record: [`Board::publish`].
    Records,
    /// One member fills slots and announces them: [`Board::announce`].
    Slots,
    /// Messages, or posts alone: no record is published and no slot announced.
    Messages,
}

/// A slot that a member filled in the open collective, as it announced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The number of the slot.
    pub slot: usize,
    /// The call of the member.
    pub call: Mark,
    /// The bytes that the member told.
    pub bytes: u64,
}

/// The way in which records lie in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Side by side, so that several short ones share a cache line: best where one member writes
    /// many and the others follow.
    Tight,
    /// In cache lines of their own: best where members answer each other, since a member that waits
    /// for a record does not hold the line that the next one goes to.
    Lines,
}

/// The length of a record, how it is packed, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of the payload.
    pub bytes: usize,
    /// The packing of the record.
    pub packing: Packing,
    /// True if the record tells what is elsewhere; false if it holds what the member contributes.
    /// So one is never taken for the other, whatever their lengths.
    pub meets: bool,
}

/// One member's side of a board. A collective claims and publishes at most one record, looks at the
/// records of others, and passes every record, also its own and those that it does not read; then
/// it closes.
pub trait Board: Send {
    /// Number of members.
    fn ranks(&self) -> usize;

    /// This member's number.
    fn me(&self) -> usize;

    /// The longest record in bytes.
    fn record_bytes_max(&self) -> usize;

    /// Begins a collective, and closes the last one if that was not closed. `number` counts the
    /// blocking collectives of the communicator from 1, whichever way they go and whether or not
    /// they fail, so that all members agree on it; it may wrap.
    fn open(&mut self, number: u32);

    /// The number of the collective that is open, which does not wrap.
    fn number(&self) -> u64;

    /// Tells this member's call in the open collective, and a number of bytes that must be alike on
    /// all members ([`ANY_BYTES`] if there is none); the others compare them with theirs.
    fn tell_call(&mut self, mark: Mark, bytes: u64, way: Way);

    /// The bytes that this member told.
    fn told_bytes(&self) -> u64;

    /// Finds another member of this collective whose call or bytes do not match.
    fn clash(&self) -> Option<Clash>;

    /// Finds, for a member that waits, a sign that another member goes or went another way through
    /// this collective, or gave it up. The sign may be that of a member which has done its part
    /// since the last look.
    fn sign_of_other_way(&self) -> Option<Clash>;

    /// Tells that this member leaves the open collective before its end, as the members' calls do
    /// not match, and wakes members that sleep. Nobody takes another part of this collective.
    fn give_up(&self);

    /// Tells that this member takes no part in the open collective, as its call failed, and wakes
    /// members that sleep. Those that do not need it go on.
    fn skip(&mut self);

    /// Returns whether `rank` has told that it takes no part in the open collective.
    fn has_skipped(&self, rank: usize) -> bool;

    /// Returns whether `rank` has left the open collective: it has begun a later one, or has given
    /// this one up, or skipped it. All that it did in this one is seen then.
    fn has_left(&self, rank: usize) -> bool;

    /// Claims room for a record of this shape in this member's log; `None` as long as somebody has
    /// not read what stands there.
    fn claim(&mut self, shape: Shape) -> Option<Region>;

    /// Publishes the claimed record and wakes members that sleep.
    fn publish(&mut self);

    /// Looks at the record of this collective in the log of `rank`. It should have this shape; it
    /// states its own length.
    fn look(&mut self, rank: usize, shape: Shape) -> Look;

    /// Finds, for a member that waits, the record also where it should not be, because a call of
    /// `rank` failed or had another length than this member's.
    fn seek(&mut self, rank: usize, shape: Shape);

    /// Goes past a record of this shape in the log of `rank`.
    fn pass(&mut self, rank: usize, shape: Shape);

    /// Ends a collective: nothing of it is read any more.
    fn close(&mut self);

    /// The number of slots of each member.
    fn slots(&self) -> usize;

    /// The bytes of each slot.
    fn slot_bytes(&self) -> usize;

    /// Slot `index` of member `rank`.
    fn slot(&self, rank: usize, index: usize) -> Region;

    /// Counts one more post of this member and wakes members that sleep.
    fn post(&mut self);

    /// Notes that this member puts something into its slots which the others have read when they
    /// make the next post, or leave the open collective.
    fn note_filled(&mut self);

    /// Counts one more post of this member, within a collective that ends by
    /// [`Board::say_results_read`], and wakes members that sleep.
    fn step(&mut self);

    /// Like [`Board::step`] in a collective in which members wait until all have made this post: it
    /// wakes them only if all have.
    fn step_together(&mut self);

    /// The number of posts that this member has made in the open collective. They are numbered from
    /// 1 in each.
    fn posted(&self) -> u64;

    /// Returns whether member `rank` has made the post of this number in the open collective. That
    /// is known until it makes one in a later collective, and false from then on. A member does so
    /// only when the others have left this one, or have made their last post in it. The root of a
    /// broadcast alone may be ahead: [`Board::announced`] knows of it.
    fn has_posted(&self, rank: usize, post: u64) -> bool;

    /// The number of the lowest slot of any member whose content all others are done with, if there
    /// is one: for a collective in which one member fills slots and all others read them. This
    /// member is about to fill it.
    fn free_slot(&self) -> Option<usize>;

    /// The slot of this number, as [`Board::free_slot`] and [`Board::announced`] give it.
    fn any_slot(&self, number: usize) -> Region;

    /// Counts one more post of this member, which says that it has filled this slot, and wakes
    /// members that sleep.
    fn announce(&mut self, number: usize);

    /// The slot that `rank` announced in the open collective by the post numbered as this member's
    /// next one; `None` if it has not yet.
    fn announced(&self, rank: usize) -> Option<Announced>;

    /// Returns whether the slot that [`Board::announced`] gave last still holds what was announced,
    /// after it was read: a member whose call does not match may have filled it.
    fn still_holds(&self, number: usize) -> bool;

    /// Counts one more post of this member, which says that it has read this slot, and wakes
    /// members that sleep.
    fn release(&mut self, number: usize);

    /// Returns whether all other members have read what was put into slots, results aside, and
    /// none uses this member's slots in a later collective, as the calls do not match. If so, this
    /// member is about to fill its own slots.
    fn slots_are_read(&self) -> bool;

    /// Returns whether they have read results too, else as [`Board::slots_are_read`].
    fn all_is_read(&self) -> bool;

    /// Counts one more post of this member, which says that it has read the results of a collective
    /// that stand in slots, and wakes members that sleep.
    fn say_results_read(&mut self);

    /// Tells that this member leaves the open collective before its end, as a member was lost. It
    /// fills no slot any more, since others may still read what stands there, and nobody takes
    /// another part of this collective.
    fn abandon(&mut self);

    /// Tells, before this member takes parts of the open collective, that it does so. So a member
    /// that abandons the collective, or gives it up, knows whether its memory is in use.
    fn begin_parts(&mut self);

    /// Tells that this member has done the last part that it took.
    fn end_parts(&mut self);

    /// Returns whether `rank` may be doing parts of the open collective.
    fn does_parts(&self, rank: usize) -> bool;

    /// Offers this member's parts of the open collective to all members, before its record is
    /// published.
    fn offer_parts(&mut self);

    /// Adds to the parts that must be done in all, once all members have offered theirs.
    fn owe_parts(&mut self, parts: usize);

    /// Takes the next part of the `parts` that `owner` offered in the last collective that was
    /// opened; `None` if there is none or a member has abandoned it or given it up.
    fn take_part(&mut self, owner: usize, parts: usize) -> Option<usize>;

    /// Counts a part that this member took, and whether it could be done; wakes members that sleep
    /// if it was the last.
    fn finish_part(&mut self, done: bool);

    /// Returns whether all parts are done.
    fn all_parts_finished(&self) -> bool;

    /// Returns, once all are done, whether any of them could not be done.
    fn any_part_failed(&self) -> bool;
}

/// Makes and opens boards, for a channel whose processes can share memory.
pub trait Boards: Send + Sync {
    /// Returns whether all of these processes can share a board. All of them get the same answer.
    fn unites(&self, members: &[Peer]) -> bool;

    /// Makes a board for this many members: a ticket with which each opens its side, once. `None`
    /// if boards are turned off here or no memory is left for one.
    fn make(&self, members: usize) -> Option<u64>;

    /// Opens this member's side of the board; `members` in an order that all agree on. `None` if
    /// [`Boards::make`] gave no such ticket for as many members.
    fn open(&self, ticket: u64, members: &[Peer], me: usize) -> Option<Box<dyn Board>>;
}
