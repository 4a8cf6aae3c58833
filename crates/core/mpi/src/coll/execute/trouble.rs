//! The looks of a rank that waits in a collective for what others do instead of their part.

use super::leaving::left_by;
use super::{Collective, Step, UnderWay, is_round_to_look};
use crate::coll::board::differing::{differing, differing_ways};
use crate::coll::call::{LEFT_AFTER_END, is_left, mismatch};
use crate::coll::tags::numbered;
use crate::error::Error;
use crate::process::{Access, ends_all, failure_error, is_end};
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_engine::{Engine, Failure};

impl Collective {
    /// Sets the processes that take part, if they are some of the communicator's alone.
    pub(in crate::coll) fn set_concerned(&mut self, concerned: &[Peer]) {
        self.concerned.extend_from_slice(concerned);
    }

    /// Sets the contexts and tags of the schedules that the call ran before this one.
    pub fn set_earlier(&mut self, earlier: &[(u64, i32)]) {
        self.earlier.extend_from_slice(earlier);
    }

    /// Looks whether a member was lost, if there are more losses than before. In some rounds it
    /// also looks whether another rank called something else: then what this one waits for might
    /// never come.
    #[inline]
    pub(super) fn look_for_clash(&mut self, access: &mut impl Access, losses: u64) {
        self.rounds = self.rounds.wrapping_add(1);
        let is_news = std::mem::replace(&mut self.losses, losses) != losses;
        if is_news && self.find_loss(access) {
            return;
        }
        if is_round_to_look(self.rounds) {
            self.find_trouble(access);
        }
    }

    /// Gives up if a member was lost, or called something else. Returns whether it did.
    #[cold]
    pub(super) fn find_trouble(&mut self, access: &mut impl Access) -> bool {
        self.find_loss(access) || self.call != Mark::NONE && self.find_clash(access)
    }

    /// Gives up if a member was lost: others may have left because of it, so that what this rank
    /// waits for never comes. Returns whether it did.
    ///
    /// A process of another job may have ended properly, as one that has its part of the call done.
    /// It has not if some rank says that it left a collective because of such an end, be it an
    /// earlier one, from which this rank came out in time.
    #[cold]
    fn find_loss(&mut self, access: &mut impl Access) -> bool {
        let (context, peers) = (self.context, &self.concerned);
        let loss = access.look(|engine| {
            let is_for_all = |failure: &Failure| {
                ends_all(failure) || is_end(failure) && engine.has_marked(|mark| mark == LEFT_AFTER_END)
            };
            match peers[..] {
                [] => engine.loss(context, None).filter(is_for_all),
                _ => peers.iter().filter_map(|&peer| engine.loss(context, Some(peer))).find(is_for_all),
            }
        });
        let is_lost = loss.is_some();
        if let Some(failure) = loss {
            self.failure.get_or_insert_with(|| failure_error(failure));
            access.with(|engine| self.abandon(engine));
        }
        is_lost
    }

    /// Gives up since a member was lost. Others must not take what this rank posts later for posts
    /// of this collective.
    #[cold]
    pub(super) fn abandon(&mut self, engine: &mut Engine) {
        self.give_up(engine);
        if let Some(board) = self.schedule.board() {
            board.lock().abandon();
        }
    }

    /// Looks for a message that this rank does not wait for, and at what the board's members say
    /// they call and do. Gives up if it finds something; returns whether it did.
    #[cold]
    fn find_clash(&mut self, access: &mut impl Access) -> bool {
        let call = self.call;
        let is_unlike = |theirs: Mark| call.is_unlike(theirs);
        let earlier = &self.earlier;
        let (unlike, left) = access.look(|engine| {
            let unlike = engine.find_marked(self.context, self.tag, is_unlike);
            let mut all = earlier.iter();
            let left = all.find_map(|&(context, tag)| engine.find_marked(context, tag, is_left));
            (unlike, unlike.filter(|(_, theirs)| is_left(*theirs)).or(left))
        });
        if let Some((envelope, theirs)) = left {
            let error = left_by(&self.members.sender(envelope.source), theirs);
            access.with(|engine| self.leave(engine, &error));
            self.failure.get_or_insert(error);
            return true;
        }
        let by_message = unlike.map(|(envelope, theirs)| self.mismatch(envelope.source, theirs));
        let found = by_message.or_else(|| self.clash_on_board(true)).or_else(|| self.left_behind());
        let is_found = found.is_some();
        if let Some(error) = found {
            access.with(|engine| self.give_up_unmatched(engine, error));
        }
        is_found
    }

    fn mismatch(&self, source: i32, theirs: Mark) -> Error {
        let sender = self.members.sender(source);
        mismatch(&self.members, &sender, [self.call, theirs], &numbered(self.tag))
    }

    /// The error of a member of the board that says that it calls something else, or, with
    /// `all_signs`, shows that it goes another way.
    fn clash_on_board(&self, all_signs: bool) -> Option<Error> {
        let board = self.schedule.board()?.lock();
        let clash = board.clash().or_else(|| all_signs.then(|| board.sign_of_other_way())?)?;
        Some(differing(&**board, &clash))
    }

    /// The error of a member of the board that has gone on without a post that this rank expects,
    /// or takes no part although this rank waits for messages.
    fn left_behind(&self) -> Option<Error> {
        let board = self.schedule.board()?.lock();
        // One that waits to send may wait for any member.
        let may_await =
            |under_way: &UnderWay, rank: usize| match &self.schedule.steps()[under_way.step as usize] {
                Step::Receive { source, .. } => *source == rank as i32,
                _ => true,
            };
        let awaits = |rank: usize| self.under_way.iter().any(|under_way| may_await(under_way, rank));
        if let Some(rank) = (0..board.ranks()).find(|&rank| board.has_skipped(rank) && awaits(rank)) {
            return Some(differing_ways(&**board, rank));
        }
        let Step::Expect { rank, posts } = *self.schedule.steps().get(self.next)? else { return None };
        // It is asked last, since it may have made the post before it went on.
        let is_left = board.has_left(rank) && !board.has_posted(rank, posts);
        is_left.then(|| differing_ways(&**board, rank))
    }

    /// Compares the members' calls before the first use of what they put on the board: when all
    /// have read what was there before, and when all have put something there. By then each has
    /// told its call.
    pub(super) fn compare_calls(&mut self, engine: &mut Engine) {
        self.compared += 1;
        if let Some(error) = self.clash_on_board(false) {
            self.give_up_unmatched(engine, error);
        }
    }

    /// Gives up with this error, and says so on the board, where others may wait for this rank.
    #[cold]
    pub(super) fn give_up_unmatched(&mut self, engine: &mut Engine, error: Error) {
        self.failure.get_or_insert(error);
        self.give_up(engine);
        if let Some(board) = self.schedule.board() {
            board.lock().give_up();
        }
    }
}
