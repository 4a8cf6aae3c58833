//! Writes to a pipe whose reader is gone: an error of the call, and no signal that ends the
//! program.

use std::io::{Error, Result};
use std::mem::MaybeUninit;
use std::ptr;

/// Runs a write to a stream. Where nobody reads the other end, it fails with `EPIPE`; the signal
/// that comes with it (`SIGPIPE`) reaches nobody.
///
/// The signal goes to the thread that writes, so to block it in this one is enough. One that the
/// program has waiting already goes on waiting. A thread has one place for this signal and the
/// process another: ours took the thread's place, or came together with one that was in it.
pub(crate) fn without_signal(write: impl FnOnce() -> Result<usize>) -> Result<usize> {
    let pipe = only_pipe();
    let is_programs = is_pending();
    let before = mask(libc::SIG_BLOCK, &pipe);
    let outcome = write();
    if outcome.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EPIPE)) {
        // What waits for the thread is taken before what waits for the process.
        take(&pipe);
        if is_programs && !is_pending() {
            // It was in the thread's place: the program has its one back.
            // SAFETY: a signal to this thread, which blocks it.
            unsafe { libc::raise(libc::SIGPIPE) };
        }
    }
    mask(libc::SIG_SETMASK, &before);
    outcome
}

/// The set of `SIGPIPE` alone.
fn only_pipe() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the calls fill the set, and cannot fail with these arguments.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
        set.assume_init()
    }
}

/// Changes the signals that the calling thread blocks. Returns those of before.
fn mask(how: libc::c_int, set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = MaybeUninit::uninit();
    // SAFETY: the call fills the set, and cannot fail with these arguments.
    unsafe {
        libc::pthread_sigmask(how, set, before.as_mut_ptr());
        before.assume_init()
    }
}

/// Returns whether a `SIGPIPE` waits until it is let through.
fn is_pending() -> bool {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call fills the set, the second one looks into it.
    unsafe { libc::sigpending(set.as_mut_ptr()) == 0 && libc::sigismember(set.as_ptr(), libc::SIGPIPE) == 1 }
}

/// Takes the signal, if there is one.
fn take(pipe: &libc::sigset_t) {
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a set and a time that are there; what the signal tells is not wanted.
    while unsafe { libc::sigtimedwait(pipe, ptr::null_mut(), &raw const at_once) } < 0
        && Error::last_os_error().raw_os_error() == Some(libc::EINTR)
    {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk;
    use crate::open::OpenFile;
    use crate::tests::children;
    use std::fs::File;
    use std::os::fd::OwnedFd;
    use verbena_memory::Owned;

    /// Programs in C begin so; the harness of tests ignores it.
    fn dies_of_the_signal() {
        // SAFETY: the default of a signal, in a child that has one thread.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    }

    fn is_refused(pipe: &OpenFile, bytes: &Owned) -> bool {
        pipe.write(bytes.lend(), 0).is_err_and(|error| error.raw_os_error() == Some(libc::EPIPE))
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_an_error_and_ends_nobody() {
        let children = children();
        let (reader, writer) = std::io::pipe().unwrap();
        let pipe = OpenFile::new(File::from(OwnedFd::from(writer)), true).unwrap();
        let bytes = Owned::from(&[1; 10][..]);
        assert_eq!(pipe.write(bytes.lend(), 0).unwrap(), 10);
        drop(reader);
        let status = children.find(|| {
            dies_of_the_signal();
            is_refused(&pipe, &bytes) && is_refused(&pipe, &bytes) && !is_pending()
        });
        assert_eq!(status, 0, "a signal ended the child, or one was left");
    }

    /// Returns whether one signal waits, which the program blocks and has sent itself so, once the
    /// library has met a pipe that nobody reads.
    fn keeps_one(send: impl Fn()) -> bool {
        let children = children();
        let (reader, writer) = std::io::pipe().unwrap();
        let pipe = OpenFile::new(File::from(OwnedFd::from(writer)), true).unwrap();
        drop(reader);
        let bytes = Owned::from(&[1; 10][..]);
        let status = children.find(|| {
            dies_of_the_signal();
            mask(libc::SIG_BLOCK, &only_pipe());
            send();
            let is_kept = is_refused(&pipe, &bytes) && is_refused(&pipe, &bytes) && is_pending();
            take(&only_pipe());
            is_kept && !is_pending()
        });
        status == 0
    }

    /// Signals that the program itself blocks and waits for are not taken from it, nor doubled.
    #[test]
    fn a_signal_that_waited_before_stays() {
        // SAFETY: a signal to the calling thread, which blocks it.
        assert!(keeps_one(|| unsafe {
            libc::raise(libc::SIGPIPE);
        }));
        // SAFETY: a signal to the calling process, whose only thread blocks it.
        assert!(keeps_one(|| unsafe {
            libc::kill(libc::getpid(), libc::SIGPIPE);
        }));
    }
}
