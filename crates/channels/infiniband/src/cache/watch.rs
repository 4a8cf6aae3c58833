//! A watch that hears of memory that the program gives back, without touching its allocator.
//!
//! The kernel tells of it by userfaultfd ([`super::uffd`]). There is one descriptor for the
//! process, and one thread that reads it, from the first cached registration to the end of the
//! process.
//!
//! # Why nothing hangs
//! A thread that unmaps, moves or empties watched memory stays inside that system call until its
//! event was read. So the reading thread must get on whatever state the others are in, also when
//! one of them holds the allocator's lock while it unmaps, as `free` does. Therefore that thread,
//! once it runs, takes no lock, allocates and frees nothing, and calls nothing but `poll`, `fstat`
//! and `read`. It writes changes into a fixed log of atomics ([`super::changes`]), blocks all
//! signals, so that no handler of the program runs on it, and never ends. The descriptor is never
//! closed while something is registered with it, except when reading it fails: then closing it lets
//! everybody go, and nothing is cached any more. A child after `fork` has neither the thread nor
//! watched memory (the kernel takes the watch off its copies), so it can unmap what it likes.
//!
//! A program that closes the descriptor ends the watch: that counts as a failed read. Whatever file
//! gets its number is neither read nor closed (on kernels where a userfaultfd has no inode of its
//! own, unless that file is an eventfd or the like).
//!
//! # Why nothing stale is found
//! A cache looks up an entry only after [`Watch::is_settled`]. That asks the kernel, by one short
//! call, whether a change has begun whose event was not read, and then the reading thread whether
//! it holds back what it read. The kernel counts a change as begun before the memory is gone. So
//! when memory was unmapped and the same address mapped anew, by this thread or by another one that
//! has not even returned from `munmap`, either the change is in the log by then, or the cache knows
//! that it may not trust itself.
//!
//! Memory that the kernel does not tell of is not watched: files, shared memory and System V
//! segments ([`super::maps`]). One call remains: `MADV_GUARD_INSTALL` (Linux 6.13), which empties
//! private memory unheard; a buffer that the program made inaccessible by that call and accessible
//! again must not have been a buffer of a message before.
//!
//! # Where it does not run
//! Under Valgrind threads take turns, and one that unmaps keeps its turn inside the system call:
//! the reading thread would never run. So there is no watch there, and nothing is cached.

use super::armed::Armed;
pub use super::changes::Missed;
use super::maps::Maps;
use super::reader::{self, CHANGES, FAILED};
use super::span::{PAGE_BYTES, Span};
use super::uffd::Uffd;
use std::ffi::OsStr;
use std::io::{Error, Result};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The number of times that a cache yields to the reading thread before it does without the cache.
const YIELDS_MAX: u32 = 20;

/// The looks, a moment apart, until the reading thread counts as one that never runs: a second.
const FIRST_LOOKS_MAX: u32 = 1000;
const MOMENT: Duration = Duration::from_millis(1);

/// A watch that tells a cache what has changed.
pub trait Watch: Send {
    /// Begins to tell of changes of these pages. Returns false if they cannot be told: then nothing
    /// may be believed of the pages later.
    fn arm(&self, span: Span) -> bool;

    /// Takes back one call of [`Watch::arm`] with this span.
    fn disarm(&self, span: Span);

    /// Returns whether [`Watch::changes`] tells all that has changed until now. If not, nothing may
    /// be believed now.
    fn is_settled(&self) -> bool;

    /// Returns what has changed since the last call.
    ///
    /// # Errors
    /// Too much: anything may have changed.
    fn changes(&mut self) -> std::result::Result<Vec<Span>, Missed>;
}

/// One cache's view of the process's `userfaultfd`: how far it has read the changes.
#[derive(Debug)]
pub struct KernelWatch {
    kernel: &'static Kernel,
    seen: u64,
}

/// The one descriptor and what belongs to it.
#[derive(Debug)]
struct Kernel {
    uffd: &'static Uffd,
    maps: Maps,
    armed: Mutex<Armed>,
    /// A page that is always registered, used to ask the kernel.
    page: u64,
}

impl KernelWatch {
    /// Returns the watch; the first call starts it and tries it for real.
    ///
    /// # Errors
    /// The reason, in words, why the kernel does not tell here.
    pub fn start() -> std::result::Result<KernelWatch, String> {
        static KERNEL: OnceLock<std::result::Result<Kernel, String>> = OnceLock::new();
        match KERNEL.get_or_init(|| Kernel::start().map_err(|error| reason(&error))) {
            Ok(kernel) => Ok(KernelWatch { kernel, seen: CHANGES.count() }),
            Err(reason) => Err(reason.clone()),
        }
    }
}

impl Watch for KernelWatch {
    fn arm(&self, span: Span) -> bool {
        self.kernel.arm(span)
    }

    fn disarm(&self, span: Span) {
        self.kernel.disarm(span);
    }

    fn is_settled(&self) -> bool {
        self.kernel.is_settled()
    }

    fn changes(&mut self) -> std::result::Result<Vec<Span>, Missed> {
        let changes = CHANGES.since(&mut self.seen);
        if FAILED.load(Ordering::SeqCst) { Err(Missed) } else { changes }
    }
}

impl Kernel {
    fn start() -> Result<Kernel> {
        if is_valgrind(std::env::var_os("LD_PRELOAD").as_deref()) {
            return Err(Error::other(
                "the program runs under Valgrind, where a thread that unmaps memory keeps the others from running",
            ));
        }
        let uffd: &'static Uffd = Box::leak(Box::new(Uffd::open()?));
        reader::start(uffd)?;
        let kernel = Kernel { uffd, maps: Maps::open(), armed: Mutex::default(), page: map_page()? };
        uffd.register(kernel.page())?;
        kernel.try_it()?;
        Ok(kernel)
    }

    /// Arms under a lock that the reading thread never takes, so its holder may allocate and free.
    /// The question what memory it is comes last, since it takes longest: files are refused before.
    fn arm(&self, span: Span) -> bool {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        if self.uffd.register(span).is_err() {
            return false;
        }
        armed.add(span);
        let is_private = self.maps.is_private(span);
        if !is_private {
            self.give_up(&mut armed, span);
        }
        is_private
    }

    fn disarm(&self, span: Span) {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        self.give_up(&mut armed, span);
    }

    fn give_up(&self, armed: &mut Armed, span: Span) {
        for free in armed.remove(span) {
            // Pages that are not mapped any more are not watched any more either.
            let _ = self.uffd.unregister(free);
        }
    }

    fn is_settled(&self) -> bool {
        (0..YIELDS_MAX).any(|tries| {
            if tries > 0 {
                std::thread::yield_now();
            }
            // The order matters: what the kernel has told was read by then, and what was read is in
            // the log.
            !FAILED.load(Ordering::SeqCst) && self.uffd.is_settled(self.page) && CHANGES.is_settled()
        })
    }

    fn page(&self) -> Span {
        Span { start: self.page, end: self.page + *PAGE_BYTES }
    }

    /// Gives a watched page back, and looks whether that is told. It waits for a while: without the
    /// answer nothing is ever cached, and the reading thread may just have lost its core.
    fn try_it(&self) -> Result<()> {
        let start = map_page()?;
        let span = Span { start, end: start + *PAGE_BYTES };
        let mut seen = CHANGES.count();
        let armed = self.arm(span);
        // SAFETY: mapped above, and nobody else knows of it.
        unsafe { libc::munmap(start as *mut libc::c_void, *PAGE_BYTES as usize) };
        let settled = comes_true(|| self.is_settled());
        let told = CHANGES.since(&mut seen).is_ok_and(|changes| changes.contains(&span));
        self.disarm(span);
        if armed && settled && told {
            Ok(())
        } else {
            Err(Error::other("the kernel does not tell of a page that was unmapped"))
        }
    }
}

/// Returns whether something comes true within a second.
fn comes_true(mut is_so: impl FnMut() -> bool) -> bool {
    (0..FIRST_LOOKS_MAX).any(|look| {
        if look > 0 {
            std::thread::sleep(MOMENT);
        }
        is_so()
    })
}

/// Returns whether Valgrind runs the program: it loads libraries of its own into it, and names them
/// where all preloaded ones are named.
fn is_valgrind(preloaded: Option<&OsStr>) -> bool {
    preloaded.is_some_and(|names| names.to_string_lossy().contains("vgpreload_"))
}

/// Maps a page of its own, with memory behind it.
fn map_page() -> Result<u64> {
    let (rights, sort) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let bytes = *PAGE_BYTES as usize;
    // SAFETY: new memory, wherever the kernel has room.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, sort, -1, 0) };
    if page == libc::MAP_FAILED { Err(Error::last_os_error()) } else { Ok(page as u64) }
}

fn reason(error: &Error) -> String {
    let hint = match error.raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS) => {
            ": the kernel lacks userfaultfd, or a seccomp filter (container) forbids it"
        }
        Some(libc::EINVAL) => ": this kernel's userfaultfd does not tell of unmapped memory",
        _ => "",
    };
    format!("{error}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading thread that has lost its core for a while is waited for.
    #[test]
    fn what_comes_true_late_does() {
        let mut looks = 0;
        assert!(comes_true(|| {
            looks += 1;
            looks > 5 * YIELDS_MAX
        }));
        let mut looks = 0;
        assert!(!comes_true(|| {
            looks += 1;
            false
        }));
        assert_eq!(looks, FIRST_LOOKS_MAX);
    }

    #[test]
    fn valgrind_is_known_by_what_it_preloads() {
        let is = |names: &str| is_valgrind(Some(OsStr::new(names)));
        assert!(
            is("/usr/libexec/valgrind/vgpreload_core-amd64-linux.so:/lib/mine.so") && !is("/lib/mine.so")
        );
        assert!(!is_valgrind(None));
    }
}
