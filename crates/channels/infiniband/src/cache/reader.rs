//! The thread that reads what the kernel tells. [`super::watch`] says why it must do so little.

use super::changes::Changes;
use super::uffd::{Message, Uffd};
use std::io::Result;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use verbena_machine::kept::Kept;

/// The number of messages read at a time.
const BATCH: usize = 16;
/// The size of the thread's stack in bytes.
const STACK_BYTES: usize = 64 << 10;

/// The changes that the kernel told.
pub(super) static CHANGES: Changes = Changes::new();
/// Set when reading has failed: nothing is told any more.
pub(super) static FAILED: AtomicBool = AtomicBool::new(false);
/// Set when the thread runs, and needs nothing of the allocator any more.
static READY: AtomicBool = AtomicBool::new(false);

/// Starts the thread, and waits until it listens.
///
/// # Errors
/// The system has no room for a thread or a descriptor.
pub(super) fn start(uffd: &'static Uffd) -> Result<()> {
    let refuge = refuge()?;
    let thread = std::thread::Builder::new().name("verbena-unmap".into()).stack_size(STACK_BYTES);
    without_signals(|| thread.spawn(move || read_for_ever(uffd, &refuge)))?;
    while !READY.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    Ok(())
}

fn read_for_ever(uffd: &Uffd, refuge: &Kept<OwnedFd>) {
    let mut messages = [Message::default(); BATCH];
    READY.store(true, Ordering::SeqCst);
    loop {
        uffd.wait();
        CHANGES.begin();
        let outcome = uffd.read(&mut messages);
        let told = messages.iter().take(*outcome.as_ref().unwrap_or(&0));
        told.filter_map(Message::changed).for_each(|span| CHANGES.push(span));
        CHANGES.end();
        if outcome.is_err() {
            FAILED.store(true, Ordering::SeqCst);
            return uffd.give_up(refuge);
        }
    }
}

/// Opens a file that can take the descriptor's place later, when none could be opened any more.
fn refuge() -> Result<Kept<OwnedFd>> {
    // A file with an inode of its own, by which it is known.
    Kept::new(std::io::pipe()?.0.into())
}

/// Calls `start` with all signals blocked, so that a thread that it starts has them blocked for
/// ever.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both have room for a set; the first is filled before it is used, and `before` by the
    // call.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let outcome = start();
    // SAFETY: filled by the call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    outcome
}
