//! Waiting: for a request, or until anything else comes true.

use super::Process;
use super::progress_thread::CALLS_AFTER;
use super::watch::LongWait;
use crate::threads;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Instant;
use verbena_engine::{Completion, Plain, Posted, RequestId, Taken};
use verbena_hang::Awaited;
use verbena_waiting::Step;
use verbena_waiting::current::InUse;
use verbena_waiting::lock::{SingleThread, is_shared};

impl Process {
    /// Makes progress until `done` gives a value.
    #[inline]
    pub fn wait<T>(&self, done: impl FnMut(&Process) -> Option<T>) -> T {
        self.wait_for(|_| Awaited::Other, done)
    }

    /// Like [`Process::wait`]; `awaited` says what this process waits for, to whom asks when the
    /// wait lasts.
    #[inline]
    pub fn wait_for<T>(
        &self,
        awaited: impl Fn(&Process) -> Awaited,
        done: impl FnMut(&Process) -> Option<T>,
    ) -> T {
        self.wait_in(None, awaited, done)
    }

    /// Like [`Process::wait_for`]; `wanted` is the number of the engine in which it happens, if it
    /// is one.
    #[inline]
    pub fn wait_in<T>(
        &self,
        wanted: Option<usize>,
        awaited: impl Fn(&Process) -> Awaited,
        mut done: impl FnMut(&Process) -> Option<T>,
    ) -> T {
        let (mut round, mut turn) = (0, 0_u32);
        loop {
            if let Some(value) = done(self) {
                return value;
            }
            turn = turn.wrapping_add(1);
            if self.progress_in_turn(wanted, turn) {
                round = 0;
                continue;
            }
            match self.idle(round, &mut done, &awaited) {
                ControlFlow::Break(value) => return value,
                ControlFlow::Continue(next) => round = next,
            }
        }
    }

    /// Waits for an engine's request and takes its completion.
    #[inline]
    pub fn finish(&self, posted: Posted) -> Completion {
        match posted {
            Posted::Done(completion) => completion,
            Posted::Pending(request) => self.finish_request(request),
        }
    }

    /// Waits for a request that ends as requests usually do. `None` if this one does not, or does
    /// not exist: then [`Process::finish_known`] tells more.
    #[inline(never)]
    pub fn finish_plain(&self, alone: SingleThread, request: RequestId) -> Option<(i32, i32, u64)> {
        // The guard must be gone before anything else is asked of the engine.
        let found = self.engine_alone(alone).take_plain(request);
        by_state(found, |ended| ended, || self.wait_plain(alone, request))
    }

    #[inline(never)]
    fn wait_plain(&self, alone: SingleThread, request: RequestId) -> Option<(i32, i32, u64)> {
        let mut engine = self.engine_alone(alone);
        engine.progress_in_turn();
        let found = engine.take_plain(request);
        drop(engine);
        by_state(found, |ended| ended, || self.wait_longer(request))
    }

    #[inline(never)]
    fn wait_longer(&self, request: RequestId) -> Option<(i32, i32, u64)> {
        self.wait_for(
            |process| process.awaited(request),
            |process| {
                let found = process.look(|engine| engine.take_plain(request));
                // One that is in doubt does not end as usual.
                let doubt = || process.look(|engine| engine.is_in_doubt(request)).then_some(None);
                by_state(found, Some, doubt)
            },
        )
    }

    /// Waits for a request; `None` if it does not exist. The completion comes with its context.
    /// That of a receive that is in doubt says so, and the request stays.
    #[inline]
    pub fn finish_known(&self, request: RequestId) -> Option<(Completion, u64)> {
        let take = |process: &Process| process.look_at(request, |engine, id| engine.take_known(id));
        match take(self) {
            Taken::Done(completion, context) => Some((completion, context)),
            Taken::Unknown => None,
            Taken::Pending => self.wait_in(
                Some(request.engine()),
                |process| process.awaited(request),
                |process| match take(process) {
                    Taken::Done(completion, context) => Some(Some((completion, context))),
                    Taken::Unknown => Some(None),
                    Taken::Pending => None,
                },
            ),
        }
    }

    /// Waits for a pending request and takes its completion. A receive that is in doubt fails. Not
    /// in line: the calls that wait are short where they need not.
    #[inline(never)]
    pub fn finish_request(&self, request: RequestId) -> Completion {
        self.wait_in(
            Some(request.engine()),
            |process| process.awaited(request),
            |process| process.look_at(request, |engine, id| engine.take_for_good(id)),
        )
    }

    /// Passes an idle round as the waiter says; breaks with the value if it turned up.
    #[cold]
    fn idle<T>(
        &self,
        round: u32,
        done: &mut impl FnMut(&Process) -> Option<T>,
        awaited: &impl Fn(&Process) -> Awaited,
    ) -> ControlFlow<T, u32> {
        if round == 0 {
            self.give_sign_of_life();
        }
        match self.pass(round) {
            None => ControlFlow::Continue(round.saturating_add(1)),
            Some(waiter) => {
                let began = Instant::now();
                self.aside.wait_begins();
                let value = self.wait_slowly(waiter, round, done, awaited);
                if began.elapsed() >= CALLS_AFTER {
                    self.aside.call();
                }
                ControlFlow::Break(value)
            }
        }
    }

    /// Passes an idle round; returns the waiter if it is armed now.
    fn pass(&self, round: u32) -> Option<InUse<'_>> {
        let waiter = self.waiter.get();
        self.note_round();
        if is_shared() && !self.shares_cores() && threads::several() {
            waiter.step_aside();
        }
        (waiter.idle(round) == Step::Armed).then_some(waiter)
    }

    /// Does the rest of a wait that has come to its first sleep; the waiter is armed.
    #[cold]
    #[inline(never)]
    fn wait_slowly<'p, T>(
        &'p self,
        mut waiter: InUse<'p>,
        mut round: u32,
        done: &mut impl FnMut(&Process) -> Option<T>,
        awaited: &impl Fn(&Process) -> Awaited,
    ) -> T {
        let mut long_wait = LongWait::begin(self);
        loop {
            match self.sleep(&waiter, round, done) {
                ControlFlow::Break(value) => return value,
                ControlFlow::Continue(next) => round = next,
            }
            long_wait.look(awaited);
            loop {
                if let Some(value) = done(self) {
                    return value;
                }
                if self.progress_in_turn(None, 0) {
                    round = 0;
                    continue;
                }
                if let Some(armed) = self.pass(round) {
                    waiter = armed;
                    break;
                }
                round = round.saturating_add(1);
            }
        }
    }

    /// Sleeps once, unless something has happened since the waiter was armed.
    fn sleep<T>(
        &self,
        waiter: &InUse<'_>,
        round: u32,
        done: &mut impl FnMut(&Process) -> Option<T>,
    ) -> ControlFlow<T, u32> {
        // Counted before the last look: a thread that completes our request after it will ring.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        self.look_abroad();
        let longest = self.arm();
        if self.goes_on() {
            // The bell for news rings only from now on.
            self.note_deaths();
        }
        let mut moved = self.progress_before_sleep();
        let value = done(self);
        if moved || value.is_some() {
            waiter.disarm();
            self.disarm();
        } else {
            self.slept.fetch_add(1, Ordering::Relaxed);
            waiter.sleep(longest.min(self.sleep_max));
            self.disarm();
            // What woke it may be in a channel whose turn would come later.
            moved = self.progress_before_sleep();
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        match value {
            Some(value) => ControlFlow::Break(value),
            None => ControlFlow::Continue(if moved { 0 } else { round.saturating_add(1) }),
        }
    }
}

/// Calls `ended` for a request that is over (with source, tag and bytes, or `None` if it did not
/// end as usual), else `pending`.
#[inline(always)]
fn by_state<R>(found: Plain, ended: impl Fn(Option<(i32, i32, u64)>) -> R, pending: impl FnOnce() -> R) -> R {
    match found {
        Plain::Ended { source, tag, bytes } => ended(Some((source, tag, bytes))),
        Plain::Unusual => ended(None),
        Plain::Pending => pending(),
    }
}
