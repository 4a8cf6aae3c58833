//! The clock of the stamps.
//!
//! By definition the monotonic clock is the same for all processes of a machine. But where the
//! kernel keeps it by a slow device (in an emulated guest for instance), a reading is a system
//! call. The time-stamp counter of the processor is read in a few nanoseconds; the user must know
//! whether the cores agree on it, and `verbena trace` says how many messages came before they were
//! sent.

use std::sync::atomic::{AtomicBool, Ordering};

static COUNTER: AtomicBool = AtomicBool::new(false);

/// Takes the clock that the setting names.
pub(super) fn choose() {
    COUNTER
        .store(cfg!(target_arch = "x86_64") && verbena_settings::TRACE_CLOCK.get() == 1, Ordering::Relaxed);
}

/// A moment that is taken before the clock is chosen, on both: by the monotonic clock, and by the
/// counter where there is one.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    /// The monotonic clock.
    pub monotonic_ns: u64,
    counter: u64,
}

impl Moment {
    /// The moment now.
    pub(super) fn now() -> Moment {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every processor of this architecture has the instruction, and Linux allows it
        // unless a program asks not to.
        let counter = unsafe { std::arch::x86_64::_rdtsc() };
        #[cfg(not(target_arch = "x86_64"))]
        let counter = 0;
        Moment { monotonic_ns: monotonic_ns(), counter }
    }

    /// The moment by the clock that was chosen.
    pub(super) fn ticks(self) -> u64 {
        if is_counter() { self.counter } else { self.monotonic_ns }
    }
}

/// Returns whether the clock is the time-stamp counter.
pub(super) fn is_counter() -> bool {
    COUNTER.load(Ordering::Relaxed)
}

/// The clock now: nanoseconds of the monotonic clock, or ticks of the counter.
#[inline]
pub(super) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_counter() {
        // SAFETY: every processor of this architecture has the instruction, and Linux allows it
        // unless a program asks not to.
        return unsafe { std::arch::x86_64::_rdtsc() };
    }
    monotonic_ns()
}

/// Nanoseconds of the monotonic clock.
pub(super) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer leads to a timespec that only this call writes.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds since 1970, by the host's own idea of the time.
pub(super) fn since_1970_ns() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// The names of the host and of this start of its kernel: what reads the same in two processes has
/// one monotonic clock for them.
pub(super) fn machine() -> (String, String) {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_string();
    (read("/proc/sys/kernel/hostname"), read("/proc/sys/kernel/random/boot_id"))
}
