//! Progress for calls that ask and do not wait: tests, probes, and those that end their own work.

use super::Process;
use crate::threads;
use std::sync::atomic::Ordering;
use verbena_hang::Awaited;
use verbena_waiting::lock::{SingleThread, is_shared};

/// After this many calls in a row that do not wait and find nothing, one lets others run.
const VAIN_POLLS: u32 = 8;
/// From then on, a call that only asks lets others run each time, and one that has ended work of
/// its own, one time in this many.
const ASIDE_EACH: u32 = 1;
const ASIDE_AFTER_WORK: u32 = 64;

impl Process {
    /// Makes progress for a call that does not wait (`MPI_Test`, `MPI_Iprobe`). Programs repeat
    /// such calls in loops, so where ranks or threads share cores, a call that finds nothing
    /// yields. The first few do not: another process may compute for a whole time slice. And such a
    /// call looks for deaths where the process goes on when others die, or has met other jobs.
    #[inline]
    pub fn poll(&self) -> bool {
        self.poll_for(|_| None)
    }

    /// Like [`Process::poll`]; `polled` says what the call asks for, if the launcher wants to know.
    #[inline]
    pub fn poll_for(&self, polled: impl Fn(&Process) -> Option<Awaited>) -> bool {
        self.poll_in(None, polled)
    }

    /// Like [`Process::poll_for`], for a call alone in MPI: then there is one engine.
    #[inline]
    pub fn poll_alone(&self, _alone: SingleThread, polled: impl Fn(&Process) -> Option<Awaited>) -> bool {
        let moved = self.progress_by(|engine| engine.progress());
        match self.polls_with_care() || is_shared() {
            true => self.polled_for(moved, polled, ASIDE_EACH),
            false => moved,
        }
    }

    /// Like [`Process::poll_for`]; `wanted` is the number of the engine that the call asks, if it
    /// is one.
    #[inline]
    pub fn poll_in(&self, wanted: Option<usize>, polled: impl Fn(&Process) -> Option<Awaited>) -> bool {
        let moved = self.progress_in(wanted);
        match self.polls_with_care() || is_shared() {
            true => self.polled_for(moved, polled, ASIDE_EACH),
            false => moved,
        }
    }

    /// Like [`Process::poll`] for a call that ends work of its own, as `MPI_Win_flush` does. A loop
    /// of such calls may wait for another process (a lock in a window), or be work from beginning
    /// to end: others may run now and then.
    pub fn poll_after_work(&self) -> bool {
        let moved = self.progress();
        match self.polls_with_care() || is_shared() {
            true => self.polled_for(moved, |_| None, ASIDE_AFTER_WORK),
            false => moved,
        }
    }

    /// Does the rest of [`Process::poll_for`] where somebody shares the core, or others may die, or
    /// the launcher asks. A program that only polls has no other news of these.
    #[cold]
    #[inline(never)]
    fn polled_for(
        &self,
        moved: bool,
        polled: impl Fn(&Process) -> Option<Awaited>,
        aside_every: u32,
    ) -> bool {
        let noted = self.question_noted.swap(false, Ordering::Relaxed);
        self.answer_with(&polled);
        if noted {
            // Another thread may have answered before.
            self.choose_care();
        }
        self.polled(moved, aside_every)
    }

    /// The part of [`Process::polled_for`] that does not depend on what is asked for.
    fn polled(&self, mut moved: bool, aside_every: u32) -> bool {
        self.note_round();
        self.look_abroad();
        if self.goes_on() {
            self.note_deaths();
            self.clear_suspects();
        }
        let vain = self.polled_in_vain.load(Ordering::Relaxed);
        let is_due = vain >= VAIN_POLLS && vain.is_multiple_of(aside_every);
        if !moved && is_due && (self.shares_cores() || threads::several()) {
            self.waiter.get().step_aside();
            moved = self.progress();
        }
        self.polled_in_vain.store(if moved { 0 } else { vain.saturating_add(1) }, Ordering::Relaxed);
        moved
    }
}
