//! Timers (MPI-5.0, 9.6).

/// Nanoseconds in a second.
const SECOND_NS: f64 = 1e9;

/// `MPI_Wtime`: seconds of the monotonic clock, which all processes of a node share.
pub fn wtime() -> f64 {
    let now = now();
    now.tv_sec as f64 + now.tv_nsec as f64 / SECOND_NS
}

/// `MPI_Wtick`.
pub fn wtick() -> f64 {
    let tick = read(libc::clock_getres);
    tick.tv_sec as f64 + tick.tv_nsec as f64 / SECOND_NS
}

/// The monotonic clock.
pub(crate) fn now() -> libc::timespec {
    read(libc::clock_gettime)
}

fn read(ask: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux and the place for the answer is ours.
    unsafe { ask(libc::CLOCK_MONOTONIC, &mut time) };
    time
}
