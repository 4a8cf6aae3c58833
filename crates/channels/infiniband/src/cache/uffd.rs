//! userfaultfd: the kernel tells of memory that is unmapped, moved or emptied (userfaultfd(2)).
//!
//! Pages are registered for write protection, but never protected: so no access ever faults, and
//! all that remains are the events. Everybody may do that where `UFFD_USER_MODE_ONLY` exists (since
//! Linux 5.11), whatever `vm.unprivileged_userfaultfd` says, unless a seccomp filter forbids the
//! system call.

use super::span::{PAGE_BYTES, Span};
use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use verbena_machine::kept::{self, Kept};

const UFFD_API: u64 = 0xaa;
const UFFD_USER_MODE_ONLY: libc::c_int = 1;
const FEATURES: u64 = FEATURE_FLAG_WP | FEATURE_EVENT_REMAP | FEATURE_EVENT_REMOVE | FEATURE_EVENT_UNMAP;
const FEATURE_FLAG_WP: u64 = 1 << 0;
const FEATURE_EVENT_REMAP: u64 = 1 << 2;
const FEATURE_EVENT_REMOVE: u64 = 1 << 3;
const FEATURE_EVENT_UNMAP: u64 = 1 << 6;
const EVENT_REMAP: u8 = 0x14;
const EVENT_REMOVE: u8 = 0x15;
const EVENT_UNMAP: u8 = 0x16;
const REGISTER_MODE_WP: u64 = 1 << 1;
const WRITEPROTECT_MODE_DONTWAKE: u64 = 1 << 1;

// The requests of <linux/userfaultfd.h>, as the generic ioctl encoding makes them.
const USERFAULTFD_IOC_NEW: libc::Ioctl = 0x0000_aa00;
const UFFDIO_API: libc::Ioctl = 0xc018_aa3f_u32 as libc::Ioctl;
const UFFDIO_REGISTER: libc::Ioctl = 0xc020_aa00_u32 as libc::Ioctl;
const UFFDIO_UNREGISTER: libc::Ioctl = 0x8010_aa01_u32 as libc::Ioctl;
const UFFDIO_WRITEPROTECT: libc::Ioctl = 0xc018_aa06_u32 as libc::Ioctl;

/// `struct uffd_msg`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Message {
    event: u8,
    reserved: [u8; 7],
    words: [u64; 3],
}

impl Message {
    /// Returns the pages that are gone, or about to be emptied; `None` for what is no change.
    pub(super) fn changed(&self) -> Option<Span> {
        let [first, second, third] = self.words;
        match self.event {
            EVENT_UNMAP | EVENT_REMOVE => Some(Span { start: first, end: second }),
            // Moved from the first address to the second.
            EVENT_REMAP => Some(Span { start: first, end: first.saturating_add(third) }),
            _ => None,
        }
    }
}

/// The descriptor.
#[derive(Debug)]
pub(super) struct Uffd {
    fd: Kept<OwnedFd>,
}

impl Uffd {
    /// Opens a new descriptor, non-blocking, closed on exec, that tells of changes of what is
    /// registered with it.
    ///
    /// # Errors
    /// The kernel or a filter does not offer it, or not all features.
    pub(super) fn open() -> Result<Uffd> {
        let fd = by_call().or_else(|refused| by_device().map_err(|_| refused))?;
        let uffd = Uffd { fd: Kept::new(fd)? };
        // struct uffdio_api: api, features, ioctls.
        uffd.ioctl(UFFDIO_API, &mut [UFFD_API, FEATURES, 0])?;
        Ok(uffd)
    }

    /// Asks the kernel to tell of changes of these pages from now on.
    ///
    /// # Errors
    /// Memory of a sort that cannot be watched, or that somebody else watches.
    pub(super) fn register(&self, span: Span) -> Result<()> {
        // struct uffdio_register: range, mode, ioctls.
        self.ioctl(UFFDIO_REGISTER, &mut [span.start, span.bytes(), REGISTER_MODE_WP, 0])
    }

    /// Asks the kernel to tell of them no more. If the pages are not mapped any more, it returns an
    /// error that says nothing.
    pub(super) fn unregister(&self, span: Span) -> Result<()> {
        self.ioctl(UFFDIO_UNREGISTER, &mut [span.start, span.bytes()])
    }

    /// Returns whether no change is under way. It asks by way of a registered page: the kernel
    /// refuses to lift a write protection (there is none) while a change has begun that nobody has
    /// heard of.
    pub(super) fn is_settled(&self, page: u64) -> bool {
        // struct uffdio_writeprotect: range, mode.
        self.ioctl(UFFDIO_WRITEPROTECT, &mut [page, *PAGE_BYTES, WRITEPROTECT_MODE_DONTWAKE]).is_ok()
    }

    /// Waits until there is something to read. Allocates nothing.
    pub(super) fn wait(&self) {
        let mut poll = libc::pollfd { fd: self.number(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, and room for its answer.
        unsafe { libc::poll(&mut poll, 1, -1) };
    }

    /// Reads what there is, without waiting; returns how many messages. Allocates nothing.
    ///
    /// # Errors
    /// The descriptor is of no use any more, or the program has closed it.
    pub(super) fn read(&self, messages: &mut [Message]) -> Result<usize> {
        if self.fd.get().is_none() {
            return Err(kept::lost());
        }
        // SAFETY: the kernel writes whole messages, and any bytes are a message.
        let bytes = unsafe { libc::read(self.number(), messages.as_mut_ptr().cast(), size_of_val(messages)) };
        match (bytes, Error::last_os_error().raw_os_error()) {
            (0.., _) => Ok(bytes as usize / size_of::<Message>()),
            (_, Some(libc::EAGAIN | libc::EINTR)) => Ok(0),
            _ => Err(Error::last_os_error()),
        }
    }

    /// Puts another open file in the place of the descriptor: the kernel then forgets all that was
    /// registered, and lets go of everybody who waits to be heard. Allocates nothing.
    pub(super) fn give_up(&self, other: &Kept<OwnedFd>) {
        // A file of the program in either place is left alone.
        if let (Some(own), Some(other)) = (self.fd.get(), other.get()) {
            // SAFETY: both are open; the number stays valid, so nobody who still uses it meets a
            // stranger's file.
            unsafe { libc::dup3(other.as_raw_fd(), own.as_raw_fd(), libc::O_CLOEXEC) };
        }
    }

    /// Returns the number, whatever it means now: for calls that do no harm to another file.
    fn number(&self) -> libc::c_int {
        self.fd.number()
    }

    fn ioctl<const WORDS: usize>(&self, request: libc::Ioctl, words: &mut [u64; WORDS]) -> Result<()> {
        // SAFETY: each caller gives as many words as the request's structure has.
        let outcome = unsafe { libc::ioctl(self.number(), request, words.as_mut_ptr()) };
        if outcome == -1 { Err(Error::last_os_error()) } else { Ok(()) }
    }
}

fn by_call() -> Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | UFFD_USER_MODE_ONLY;
    // SAFETY: makes a descriptor; it touches no memory.
    owned(unsafe { libc::syscall(libc::SYS_userfaultfd, flags) } as libc::c_int)
}

/// Opens it by the device, which may be open to this user even where the call is forbidden.
fn by_device() -> Result<OwnedFd> {
    let device = File::options().read(true).write(true).open("/dev/userfaultfd")?;
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: makes a descriptor; the argument is a number.
    owned(unsafe { libc::ioctl(device.as_raw_fd(), USERFAULTFD_IOC_NEW, flags) })
}

fn owned(fd: libc::c_int) -> Result<OwnedFd> {
    // SAFETY: the kernel made this descriptor just now, for us.
    if fd < 0 { Err(Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) }
}
