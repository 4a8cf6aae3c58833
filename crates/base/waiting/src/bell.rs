//! The bell of a process: how it sleeps until another process has something for it.
//!
//! The sleeper raises `sleeping`, makes sure that every sender sees it, looks at its rings once
//! more and then waits on that word. A sender publishes its packet and then reads `sleeping`. Each
//! side writes one word and reads the other's (Dekker's pattern), so both need a full fence
//! between. The sender is on the fast path, so the sleeper pays for both:
//! `membarrier(GLOBAL_EXPEDITED)` puts a fence into every running registered process. Where that
//! system call is refused, the words of the rank say so and its senders do fence.
//!
//! Linux (6.18, for one) leaves a processor out of that barrier if the process ran there before it
//! registered elsewhere, and no other program since. Then a wake-up may be lost, and the sleep
//! lasts until its limit ([`SLEEP_MAX`](super::SLEEP_MAX)).

use super::socket;
use std::io::{Error, Result};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*, compiler_fence, fence};
use std::time::Duration;

/// The words of a bell, in shared memory. All zero is a process that is awake.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Bell {
    /// Not 0 if the process sleeps or is about to: [`ON_WORD`] or [`ON_SOCKET`].
    sleeping: AtomicU32,
    /// 1 if its senders must fence, since it cannot do it for them.
    fence: AtomicU32,
    /// The name of the socket that it sleeps on (`socket.rs`); 0 if it waits on the word.
    socket: AtomicU64,
    /// The secret that a sender writes to the socket; a datagram without it wakes nobody.
    secret: AtomicU64,
}

/// The process waits on the word itself.
const ON_WORD: u32 = 1;
/// The process waits on a socket, beside other descriptors.
const ON_SOCKET: u32 = 2;

impl Bell {
    /// Wakes the owner if it sleeps: for a sender, after it has published something. `fence_always`
    /// if this process is not registered for the sleepers' barrier.
    #[inline]
    pub fn notify(&self, fence_always: bool) {
        compiler_fence(SeqCst);
        if fence_always || self.fence.load(Relaxed) | self.sleeping.load(Relaxed) != 0 {
            self.notify_with_care(fence_always);
        }
    }

    #[cold]
    #[inline(never)]
    fn notify_with_care(&self, fence_always: bool) {
        if fence_always || self.fence.load(Relaxed) != 0 {
            fence(SeqCst);
        }
        if self.sleeping.load(Relaxed) != 0 {
            self.ring();
        }
    }

    /// Wakes all who sleep here. Taking the word down first makes the next sender silent.
    #[cold]
    pub fn ring(&self) {
        match self.sleeping.swap(0, AcqRel) {
            0 => {}
            ON_SOCKET => socket::ring(self.socket.load(Acquire), self.secret.load(Relaxed)),
            _ => futex_wake(&self.sleeping),
        }
    }

    /// Makes the owner sleep on the socket of this name from now on, and no more on the word; 0
    /// takes that back. Only while the word is down.
    pub fn sleep_on(&self, socket: u64, secret: u64) {
        self.secret.store(secret, Relaxed);
        self.socket.store(socket, Release);
    }

    /// The value of the word when it is up.
    fn place(&self) -> u32 {
        if self.socket.load(Relaxed) == 0 { ON_WORD } else { ON_SOCKET }
    }

    /// Says that senders must fence.
    pub fn ask_for_fences(&self) {
        self.fence.store(1, SeqCst);
    }

    /// Returns whether senders must fence.
    pub fn wants_fences(&self) -> bool {
        self.fence.load(Relaxed) != 0
    }

    /// Raises the word, visible to every sender before the caller looks at its rings again.
    pub fn raise(&self) {
        self.sleeping.store(self.place(), SeqCst);
        if !self.wants_fences() && membarrier(GLOBAL_EXPEDITED).is_err() {
            self.ask_for_fences();
        }
        fence(SeqCst);
    }

    /// Raises the word where only threads of this process ring, which do fence.
    pub fn raise_locally(&self) {
        self.sleeping.store(self.place(), SeqCst);
        fence(SeqCst);
    }

    /// Takes the word down.
    pub fn lower(&self) {
        self.sleeping.store(0, Relaxed);
    }

    /// Returns whether the owner sleeps, or is about to.
    pub fn is_raised(&self) -> bool {
        self.sleeping.load(Relaxed) != 0
    }

    /// Sleeps until rung, or `limit` is over, or a signal arrives. Returns at once if rung since
    /// `raise`. False if the limit came first.
    pub fn wait(&self, limit: Duration) -> bool {
        let limit =
            libc::timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
        // SAFETY: the word lives for the whole call; the kernel only compares it.
        let rc =
            unsafe { libc::syscall(libc::SYS_futex, self.sleeping.as_ptr(), libc::FUTEX_WAIT, 1, &limit) };
        rc == 0 || Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
    }
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: the kernel uses the address as a name only. The word is shared between processes, so
    // no PRIVATE flag.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

const GLOBAL_EXPEDITED: libc::c_int = 1 << 1;
const REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;

/// Registers this process for the sleepers' barrier; an error if kernel or sandbox refuse.
pub fn register() -> Result<()> {
    membarrier(REGISTER_GLOBAL_EXPEDITED)?;
    membarrier(GLOBAL_EXPEDITED)
}

fn membarrier(command: libc::c_int) -> Result<()> {
    // SAFETY: the call touches no memory of ours.
    let rc = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if rc == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_testing::children::end_of_child;
    use verbena_testing::refusal::{Call, refuse};

    /// One side of a rally: a counter, who sleeps for it, and how many rings its writer has
    /// finished.
    #[derive(Default)]
    struct Side {
        bell: Bell,
        value: AtomicU64,
        notified: AtomicU64,
    }

    impl Side {
        fn give(&self, value: u64) {
            self.value.store(value, Release);
            self.bell.notify(false);
            self.notified.store(value, Release);
        }

        /// Waits for `value` and returns how many wake-ups were lost: the writer had finished its
        /// ring, and still the word is up.
        fn take(&self, value: u64) -> u64 {
            let mut lost = 0;
            while self.value.load(Acquire) != value {
                self.bell.raise();
                if self.value.load(Acquire) != value && !self.bell.wait(Duration::from_millis(10)) {
                    let finished = self.notified.load(Acquire) == value;
                    lost += u64::from(finished && self.bell.sleeping.load(SeqCst) == 1);
                }
                self.bell.lower();
            }
            lost
        }
    }

    impl Bell {
        /// Connects as a process does.
        fn connect(&self) {
            if register().is_err() {
                self.ask_for_fences();
            }
        }
    }

    fn rally(rounds: u64, prepare: impl Fn() + Sync) -> u64 {
        let (here, there) = (Side::default(), Side::default());
        std::thread::scope(|s| {
            let far = s.spawn(|| {
                prepare();
                there.bell.connect();
                (1..=rounds).map(|n| (there.take(n), here.give(n)).0).sum::<u64>()
            });
            prepare();
            here.bell.connect();
            let lost: u64 = (1..=rounds).map(|n| (there.give(n), here.take(n)).1).sum();
            lost + far.join().unwrap()
        })
    }

    /// Counts in a child, which is registered before it runs anywhere: so no barrier leaves out a
    /// processor. Returns the child's end: 0 if nothing was lost. Else its exit code tells how
    /// often.
    fn lost_in_child(count: impl FnOnce() -> u64) -> libc::c_int {
        register().expect("this kernel has membarrier");
        end_of_child(|| count().min(100) as libc::c_int)
    }

    #[test]
    fn no_wake_up_is_lost_between_two_sleepers() {
        assert_eq!(lost_in_child(|| rally(20_000, || {})), 0);
    }

    #[test]
    fn no_wake_up_is_lost_where_membarrier_is_refused() {
        let refuse = || refuse(&[Call::any(libc::SYS_membarrier)], libc::EPERM);
        let lost = std::thread::spawn(move || rally(20_000, refuse)).join().unwrap();
        assert_eq!(lost, 0);
    }

    /// Tries the narrow window itself: in each round both sides start at the same moment, and it is
    /// lost if the sleeper saw nothing while the writer saw nobody asleep. Returns the rounds lost.
    fn duel(rounds: u64, prepare: impl Fn() + Sync) -> u64 {
        let (side, ready) = (Side::default(), [AtomicU64::new(0), AtomicU64::new(0)]);
        let meet = |me: usize, round: u64| {
            ready[me].store(round, SeqCst);
            let mut spins = 0u32;
            while ready[1 - me].load(SeqCst) < round {
                spins += 1;
                if spins.is_multiple_of(1000) {
                    std::thread::yield_now();
                }
            }
        };
        std::thread::scope(|s| {
            s.spawn(|| {
                prepare();
                for round in 1..=rounds {
                    meet(0, 2 * round);
                    side.value.store(round, Release);
                    side.bell.notify(false);
                    meet(0, 2 * round + 1);
                }
            });
            prepare();
            side.bell.connect();
            let mut lost = 0;
            for round in 1..=rounds {
                meet(1, 2 * round);
                side.bell.raise();
                let seen = side.value.load(Acquire) == round;
                meet(1, 2 * round + 1);
                lost += u64::from(!seen && side.bell.sleeping.load(SeqCst) == 1);
                side.bell.lower();
            }
            lost
        })
    }

    #[test]
    fn one_of_writer_and_sleeper_always_sees_the_other() {
        assert_eq!(lost_in_child(|| duel(100_000, || {})), 0);
        let refuse = || refuse(&[Call::any(libc::SYS_membarrier)], libc::EPERM);
        assert_eq!(std::thread::spawn(move || duel(100_000, refuse)).join().unwrap(), 0);
    }

    #[test]
    fn a_refused_membarrier_asks_the_senders_to_fence() {
        let work = || {
            refuse(&[Call::any(libc::SYS_membarrier)], libc::EPERM);
            assert!(register().is_err());
            let bell = Bell::default();
            bell.raise();
            assert!(bell.wants_fences());
        };
        std::thread::spawn(work).join().unwrap();
    }

    #[test]
    fn a_bell_rung_before_the_sleep_ends_it_at_once() {
        let bell = Bell::default();
        bell.raise();
        bell.notify(true);
        assert!(bell.wait(Duration::from_secs(60)));
    }

    #[test]
    fn a_sleep_that_nobody_ends_is_bounded() {
        let bell = Bell::default();
        bell.raise();
        assert!(!bell.wait(Duration::from_millis(5)));
    }
}
