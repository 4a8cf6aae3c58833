//! The doorbell of a process: how it sleeps until another one has something for it.
//!
//! The sleeper raises `sleeping`, makes sure that every sender sees it, looks at its rings once more and
//! then waits on that word. A sender publishes its packet and then reads `sleeping`. Each side writes one word and
//! reads the other's (Dekker's pattern), so both need a full fence between. The sender is on the fast path, so the
//! sleeper pays for both: `membarrier(GLOBAL_EXPEDITED)` puts a fence into every running registered process. Where
//! that system call is refused, the desk says so and its senders do fence.

use std::io::{Error, Result};
use std::sync::atomic::{AtomicU32, Ordering::*, compiler_fence, fence};
use std::time::Duration;

/// The words of a doorbell, in shared memory. All zero is a process that is awake.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Bell {
    /// 1 if the process sleeps or is about to; the word that it waits on.
    sleeping: AtomicU32,
    /// 1 if its senders must fence, since it cannot do it for them.
    fence: AtomicU32,
}

impl Bell {
    /// For a sender, after it has published something: wakes the owner if it sleeps. `fence_always` if
    /// this process is not registered for the sleepers' barrier.
    #[inline]
    pub(crate) fn notify(&self, fence_always: bool) {
        if fence_always || self.fence.load(Relaxed) != 0 {
            fence(SeqCst);
        } else {
            compiler_fence(SeqCst);
        }
        if self.sleeping.load(Relaxed) != 0 {
            self.ring();
        }
    }

    /// Wakes all who sleep here. Taking the word down first makes the next sender silent.
    #[cold]
    pub(crate) fn ring(&self) {
        if self.sleeping.swap(0, AcqRel) != 0 {
            futex_wake(&self.sleeping);
        }
    }

    /// Says that senders must fence.
    pub(crate) fn ask_for_fences(&self) {
        self.fence.store(1, SeqCst);
    }

    /// Whether senders must fence.
    pub(crate) fn wants_fences(&self) -> bool {
        self.fence.load(Relaxed) != 0
    }

    /// Raises the word, visible to every sender before the caller looks at its rings again.
    pub(crate) fn raise(&self) {
        self.sleeping.store(1, SeqCst);
        if !self.wants_fences() && membarrier(GLOBAL_EXPEDITED).is_err() {
            self.ask_for_fences();
        }
        fence(SeqCst);
    }

    /// As `raise`, where only threads of this process ring, which do fence.
    pub(crate) fn raise_locally(&self) {
        self.sleeping.store(1, SeqCst);
        fence(SeqCst);
    }

    /// Takes the word down.
    pub(crate) fn lower(&self) {
        self.sleeping.store(0, Relaxed);
    }

    /// Sleeps until rung, or `limit` is over, or a signal arrives. Returns at once if rung since `raise`.
    pub(crate) fn wait(&self, limit: Duration) {
        let limit =
            libc::timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
        // SAFETY: the word lives for the whole call; the kernel only compares it.
        unsafe { libc::syscall(libc::SYS_futex, self.sleeping.as_ptr(), libc::FUTEX_WAIT, 1, &limit) };
    }
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: the kernel uses the address as a name only. The word is shared between processes, so no PRIVATE flag.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

const GLOBAL_EXPEDITED: libc::c_int = 1 << 1;
const REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;

/// Registers this process for the sleepers' barrier; an error if kernel or sandbox refuse.
pub(crate) fn register() -> Result<()> {
    membarrier(REGISTER_GLOBAL_EXPEDITED)?;
    membarrier(GLOBAL_EXPEDITED)
}

fn membarrier(command: libc::c_int) -> Result<()> {
    // SAFETY: the call touches no memory of ours.
    let rc = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if rc == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}
