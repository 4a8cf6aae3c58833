//! The waiter of a process whose peers share memory with it: spin, yield, sleep at the bell.

use super::balance::Balance;
use super::bell::Bell;
use super::events::Events;
use super::other_programs::OtherPrograms;
use super::patience::{Learnt, Patience};
use super::whereabouts::{Others, ReportedPlace, Whereabouts, others_on};
use super::{SLEEP_MAX, Step, Waiter};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use verbena_machine::cores::{self, Load};

/// After this many idle rounds a rank with a core of its own yields though no other rank seems to
/// be there: about 300 microseconds, by when the rank that it waits for has probably lost its core
/// to another program.
const YIELD_TO_PROGRAMS_EVERY: u32 = 4096;

/// Waits at the bell `B`.
#[derive(Debug)]
pub struct Sleeper<B> {
    bell: B,
    patience: Patience,
    yields: Learnt,
    /// The threads of this process between arming and waking: the last one takes the bell's word
    /// down.
    armed: Mutex<u32>,
    shared_core: SharedCore,
    balance: Balance,
    other_programs: OtherPrograms,
    /// The events that it sleeps on, if not on the bell's word.
    events: OnceLock<Events>,
}

/// Notices that this process shares its core with the one that it waits for, though there would be
/// a core for each.
///
/// Then wait after wait ends when the core was yielded, and each message costs two switches of the
/// core (two microseconds, measured, against two tenths). The scheduler may leave it so for
/// seconds, since neither process is ever away for long. So one of them leaves the core by itself
/// ([`cores::leave_core`]).
#[derive(Debug, Default)]
struct SharedCore {
    /// True if the last idle round yielded the core.
    yielded: AtomicBool,
    /// The number of waits in a row that ended so.
    waits: AtomicU32,
    /// The number of times that the process left: each doubles the waits before the next, since
    /// leaving may not help.
    answers: AtomicU32,
}

/// The number of waits in a row that do not end with a yield by chance.
const SHARED_CORE_WAITS: u32 = 32;
/// The most times that the number is doubled: to two seconds of waits of two microseconds.
const DOUBLED_MAX: u32 = 15;

impl SharedCore {
    /// Notes an idle round; true if the core had better be left to the other.
    #[inline]
    fn should_leave(&self, round: u32, yields: bool) -> bool {
        let after_yield = self.yielded.load(Relaxed);
        self.yielded.store(yields, Relaxed);
        if round == 0 {
            let waits = if after_yield { self.waits.load(Relaxed) + 1 } else { 0 };
            self.waits.store(waits, Relaxed);
        }
        let answers = self.answers.load(Relaxed);
        let met = yields && self.waits.load(Relaxed) >= SHARED_CORE_WAITS << answers.min(DOUBLED_MAX);
        if met {
            self.waits.store(0, Relaxed);
            self.answers.store(answers.saturating_add(1), Relaxed);
        }
        met
    }
}

impl<B: AsRef<Bell> + Whereabouts> Sleeper<B> {
    /// The waiter of the process that owns `bell`.
    pub fn new(bell: B, load: &Load) -> Sleeper<B> {
        Sleeper::patient(bell, Patience::for_load(load), load)
    }

    fn patient(bell: B, patience: Patience, load: &Load) -> Sleeper<B> {
        Sleeper {
            bell,
            patience,
            yields: Learnt(AtomicU32::new(patience.yields)),
            armed: Mutex::new(0),
            shared_core: SharedCore::default(),
            balance: Balance::new(load),
            other_programs: OtherPrograms::new(),
            events: OnceLock::new(),
        }
    }

    /// Returns, if this idle round yields the core although each rank should have one, which others
    /// are there.
    ///
    /// A rank that it waits for gives the core back in microseconds. Another program keeps it for a
    /// whole time slice, in which the answer lies unread: 16 KiB took 300 microseconds beside a
    /// busy process, and 1.6 without yields. So it yields only if another rank is on its core.
    fn yields_at(&self, patience: Patience, round: u32) -> Option<Others> {
        if !patience.yields_at(round) || patience.is_over(round) {
            return None;
        }
        let core = cores::here();
        self.bell.report(ReportedPlace { core, helper: false });
        let (round, others) = (round - patience.spins, others_on(&self.bell, core));
        let to_programs = round > 0 && round.is_multiple_of(YIELD_TO_PROGRAMS_EVERY);
        (others != Others::Nobody || to_programs).then_some(others)
    }

    fn armed(&self) -> std::sync::MutexGuard<'_, u32> {
        self.armed.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<B: AsRef<Bell> + Whereabouts + Send + Sync> Waiter for Sleeper<B> {
    fn idle(&self, round: u32) -> Step {
        let patience = Patience { yields: self.yields.0.load(Relaxed), ..self.patience };
        let over = patience.is_over(round) || (round >= patience.spins && self.other_programs.are_here());
        let yields = if patience.shares_cores() {
            self.balance.pass(&self.bell);
            patience.yields_at(round)
        } else {
            let yields = if over { None } else { self.yields_at(patience, round) };
            // Another rank's progress thread is no reason to leave: on the next core its program
            // may compute.
            if self.shared_core.should_leave(round, yields.is_some_and(|others| others != Others::Helpers)) {
                cores::leave_core();
            }
            yields.is_some()
        };
        if !over {
            match yields {
                true => self.other_programs.yield_to_them(&self.bell),
                false => std::hint::spin_loop(),
            }
            return Step::Again;
        }
        let mut armed = self.armed();
        if *armed == 0 {
            self.events.get().into_iter().for_each(|events| events.prepare(self.bell.as_ref()));
        }
        *armed += 1;
        drop(armed);
        self.bell.as_ref().raise();
        Step::Armed
    }

    fn sleep(&self, longest: Duration) {
        self.other_programs.slept();
        let start = Instant::now();
        match self.events.get() {
            Some(events) => events.wait(self.bell.as_ref(), longest.min(SLEEP_MAX)),
            None => self.bell.as_ref().wait(longest.min(SLEEP_MAX)),
        };
        // With a core each, a rank has yielded for milliseconds already: there is nothing to learn.
        if self.patience.shares_cores() {
            self.yields.after(start.elapsed(), self.patience.yields);
        }
        self.disarm();
    }

    fn disarm(&self) {
        let mut armed = self.armed();
        *armed = armed.saturating_sub(1);
        if *armed == 0 {
            self.bell.as_ref().lower();
            self.events.get().into_iter().for_each(Events::drain);
        }
    }

    fn shares_cores(&self) -> bool {
        self.patience.shares_cores()
    }

    fn watch(&self, descriptors: Vec<RawFd>) -> std::io::Result<()> {
        // Once, as the trait says: a second one would take the bell from the first.
        let _ = self.events.set(Events::new(descriptors, self.bell.as_ref())?);
        Ok(())
    }

    fn socket(&self) -> Option<(u64, u64)> {
        self.events.get().and_then(Events::socket)
    }

    fn help(&self) {
        // Ranks that share cores yield anyhow, and count who is where.
        if !self.patience.shares_cores() {
            self.bell.report(ReportedPlace { core: cores::here(), helper: true });
        }
    }

    fn ring_self(&self) {
        self.bell.as_ref().notify(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;

    #[derive(Default)]
    struct Own {
        bell: Bell,
        /// True if nobody else is on this core.
        alone: bool,
        /// True if only the other's progress thread is.
        helper: bool,
    }

    impl AsRef<Bell> for Own {
        fn as_ref(&self) -> &Bell {
            &self.bell
        }
    }

    impl Whereabouts for Own {
        fn me(&self) -> u32 {
            0
        }
        fn report(&self, _: ReportedPlace) {}
        fn reported(&self) -> impl Iterator<Item = Option<ReportedPlace>> {
            let here = |helper| ReportedPlace { core: cores::here(), helper };
            let other = (!self.alone).then(|| here(self.helper));
            [Some(here(false))].into_iter().chain(other.map(Some))
        }
        fn awake(&self) -> u32 {
            1
        }
    }

    const PAIR: Load = Load { local_ranks: 2, cores: 2, quota: None };

    fn sleeper() -> Sleeper<Own> {
        Sleeper::patient(Own::default(), Patience { spins: 3, yields: 4, yield_every: 2 }, &PAIR)
    }

    #[test]
    fn waiting_deepens_and_then_arms() {
        let sleeper = sleeper();
        let idle = |round| {
            sleeper.other_programs.forget();
            sleeper.idle(round)
        };
        let steps: Vec<Step> = (0..8).map(idle).collect();
        assert_eq!(steps[..7], [Step::Again; 7]);
        assert_eq!((steps[7], sleeper.idle(u32::MAX)), (Step::Armed, Step::Armed));
    }

    /// Waits until this round, where round 3 yields; returns whether the core should be left.
    fn wait_until(shared_core: &SharedCore, round: u32) -> bool {
        (0..=round)
            .map(|round| shared_core.should_leave(round, round == 3))
            .last()
            .expect("at least one round")
    }

    #[test]
    fn waits_that_keep_ending_with_a_yield_show_a_shared_core() {
        let shared_core = SharedCore::default();
        for _ in 0..SHARED_CORE_WAITS {
            assert!(!wait_until(&shared_core, 3));
        }
        assert!(wait_until(&shared_core, 3));
        // From now on it takes twice as many.
        assert!((1..2 * SHARED_CORE_WAITS).all(|_| !wait_until(&shared_core, 3)));
        assert!(wait_until(&shared_core, 3));
    }

    #[test]
    fn a_wait_that_ends_while_spinning_shows_a_core_of_its_own() {
        let shared_core = SharedCore::default();
        for wait in 0..4 * SHARED_CORE_WAITS {
            let round = if wait % SHARED_CORE_WAITS == 0 { 2 } else { 3 };
            assert!(!wait_until(&shared_core, round), "wait {wait}");
        }
    }

    #[test]
    fn ranks_without_a_core_each_do_not_spin() {
        let load = Load { local_ranks: 4, cores: 2, quota: None };
        assert_eq!(Patience::for_load(&load).spins, 0);
        assert!(Patience::for_load(&load).shares_cores());
        let with_cores = Patience::for_load(&Load { cores: 4, ..load });
        assert!(with_cores.spins > 0 && !with_cores.shares_cores());
    }

    #[test]
    fn a_rank_alone_on_its_core_yields_seldom() {
        for (alone, expected) in [(false, 128), (true, 1)] {
            let patience = Patience { spins: 100, yields: u32::MAX, yield_every: 32 };
            let sleeper = Sleeper::patient(Own { alone, ..Own::default() }, patience, &PAIR);
            let yields =
                (101..=100 + YIELD_TO_PROGRAMS_EVERY).filter_map(|round| sleeper.yields_at(patience, round));
            assert_eq!(yields.count(), expected);
        }
    }

    #[test]
    fn the_core_is_yielded_to_a_progress_thread_but_not_left() {
        for (helper, left) in [(true, 0), (false, 1)] {
            let patience = Patience { spins: 1, yields: 8, yield_every: 2 };
            let sleeper = Sleeper::patient(Own { helper, ..Own::default() }, patience, &PAIR);
            for _ in 0..=SHARED_CORE_WAITS {
                (0..4).for_each(|round| {
                    sleeper.other_programs.forget();
                    assert_eq!(sleeper.idle(round), Step::Again);
                });
            }
            assert!(sleeper.other_programs.yields_so_far() > SHARED_CORE_WAITS);
            assert_eq!(sleeper.shared_core.answers.load(Relaxed), left);
        }
    }

    #[test]
    fn long_sleeps_teach_to_sleep_sooner_and_short_ones_to_yield_again() {
        let (yields, max) = (Learnt(AtomicU32::new(200)), 200);
        (0..20).for_each(|_| yields.after(Duration::from_millis(1), max));
        assert_eq!(yields.0.load(Relaxed), Learnt::YIELDS_MIN);
        (0..20).for_each(|_| yields.after(Duration::from_micros(100), max));
        assert_eq!(yields.0.load(Relaxed), max);
    }

    #[test]
    fn who_sleeps_on_descriptors_is_woken_by_senders_too() {
        use std::os::fd::AsRawFd;
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let sleeper = sleeper();
        sleeper.watch(vec![reader.as_raw_fd()]).expect("a socket");
        let events = sleeper.events.get().expect("it watches");
        for _ in 0..3 {
            assert_eq!(sleeper.idle(u32::MAX), Step::Armed);
            sleeper.bell.bell.notify(false);
            assert!(events.wait(&sleeper.bell.bell, Duration::from_secs(60)), "a sender");
            sleeper.disarm();
            assert!(!events.wait(&sleeper.bell.bell, Duration::from_millis(1)), "the ring is forgotten");
        }
        std::io::Write::write_all(&mut writer, &[1]).expect("room");
        assert!(events.wait(&sleeper.bell.bell, Duration::from_secs(60)), "a device");
    }

    #[test]
    fn a_ring_wakes_all_threads_and_a_disarm_none() {
        const THREADS: u32 = 3;
        let (sleeper, asleep) = (sleeper(), AtomicU32::new(0));
        std::thread::scope(|s| {
            let sleep = || {
                assert_eq!(sleeper.idle(u32::MAX), Step::Armed);
                asleep.fetch_add(1, SeqCst);
                // Longer than the sleeper's own limit, so that only the ring ends it early.
                let rung = sleeper.bell.bell.wait(Duration::from_secs(60));
                sleeper.disarm();
                rung
            };
            let threads: Vec<_> = (0..THREADS).map(|_| s.spawn(sleep)).collect();
            while asleep.load(SeqCst) < THREADS {
                std::thread::yield_now();
            }
            // One more thread that finds something to do leaves the others to the next ring.
            assert_eq!(sleeper.idle(u32::MAX), Step::Armed);
            sleeper.disarm();
            let start = Instant::now();
            sleeper.ring_self();
            assert!(threads.into_iter().all(|t| t.join().unwrap()));
            assert!(start.elapsed() < Duration::from_secs(30));
        });
        assert_eq!(*sleeper.armed(), 0);
    }
}
