//! The looks of a rank that waits in a collective for what others do instead of their part.

use super::{Collective, Step, is_round_to_look};
use crate::coll::board::differing::{differing, differing_ways};
use crate::coll::call::mismatch;
use crate::coll::tags::numbered;
use crate::error::Error;
use crate::process::{Access, failure_error};
use verbena_channel::mark::Mark;
use verbena_engine::{Engine, Failure};

impl Collective {
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
    #[cold]
    fn find_loss(&mut self, access: &mut impl Access) -> bool {
        let loss = access.look(|engine| engine.loss(self.context, None));
        // Those that have lost a link alone say so themselves.
        let loss = loss.filter(|failure| matches!(failure, Failure::Dead(_) | Failure::Revoked));
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
        if let Some(board) = self.schedule.board() {
            board.lock().tell_closed();
        }
        let found = access.look(|engine| engine.find_marked(self.context, self.tag));
        let unlike = found.filter(|&(_, theirs, _)| self.call.is_unlike(theirs));
        let by_message = unlike.map(|(source, theirs, _)| self.mismatch(source, theirs));
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

    /// The error of a member of the board that has gone on without a post that this rank expects.
    fn left_behind(&self) -> Option<Error> {
        let Step::Expect { rank, posts } = *self.schedule.steps().get(self.next)? else { return None };
        let board = self.schedule.board()?.lock();
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
