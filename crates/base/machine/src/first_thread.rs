//! The core on which the program's first thread is, read without a system call or a descriptor.
//!
//! The kernel keeps each thread's core in an area that the C library registered for it (rseq(2),
//! by glibc from 2.35 on). A file of `/proc` would say the same, but a thread of the library that
//! opens files disturbs programs that give numbers to their own descriptors meanwhile: `dup2`
//! fails with `EBUSY`, and the number may mean the program's file when the library closes it.

use crate::{cores, openmp};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The word that holds the first thread's core.
///
/// A process that calls `fork` has a child whose only thread is a copy of the caller; the kernel
/// goes on to keep that thread's area there. The child's copy of another thread's area tells the
/// past. Nobody asks it: no thread of the library is there, and MPI is not for such a child.
#[derive(Clone, Copy, Debug)]
pub struct FirstThread(&'static AtomicU32);

/// The program's first thread and the cores that it might use, as noted.
static NOTED: OnceLock<(FirstThread, Vec<u8>)> = OnceLock::new();

impl FirstThread {
    /// Notes the calling thread for [`FirstThread::noted`], if it is the program's first one, and
    /// the cores that the process may use: later the program may give each thread one of its own.
    /// GNU OpenMP may have done so already; then the cores of all its places are noted.
    pub fn note() {
        if let Some(first) = FirstThread::here() {
            NOTED.get_or_init(|| (first, cores::union(&cores::affinity(), &openmp::place_cores())));
        }
    }

    /// The program's first thread and the cores of the process, if they were noted.
    pub fn noted() -> Option<(FirstThread, &'static [u8])> {
        NOTED.get().map(|(first, allowed)| (*first, &**allowed))
    }

    /// The calling thread, if it is the program's first one and the kernel keeps its core.
    pub fn here() -> Option<FirstThread> {
        // SAFETY: both calls only return numbers. The C library has `gettid` from 2.30 on, packages
        // run with 2.28.
        let is_first = unsafe { libc::syscall(libc::SYS_gettid) == libc::c_long::from(libc::getpid()) };
        let word = if is_first { (thread_pointer()?.checked_add_signed(offset()?)?) + CORE_AT } else { 0 };
        // SAFETY: the area is aligned to 32 bytes and lies in the first thread's static block of
        // variables, which stays until the process ends. Only the kernel writes it, whole words.
        (word != 0).then(|| FirstThread(unsafe { AtomicU32::from_ptr(word as *mut u32) }))
    }

    /// The core on which it ran when the kernel last left it; `None` if the area is not registered.
    pub fn core(self) -> Option<u32> {
        let core = self.0.load(Ordering::Relaxed);
        // Both marks of an area that is not in use are negative (rseq(2): -1 and -2).
        (core <= i32::MAX as u32).then_some(core)
    }
}

/// The place of `cpu_id` in the area (linux/rseq.h).
const CORE_AT: usize = 4;

/// The distance of a thread's area from its thread pointer; `None` if the C library registers none.
fn offset() -> Option<isize> {
    // SAFETY: the names are C strings; the C library defines both as words that never change.
    unsafe {
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        (!size.is_null() && !offset.is_null() && *size > 0).then(|| *offset)
    }
}

/// The calling thread's pointer to its variables; `None` on machines that this does not know.
fn thread_pointer() -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        let pointer: usize;
        // SAFETY: the first word behind `fs` is the thread pointer itself (the psABI of TLS).
        unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly)) };
        Some(pointer)
    }
    #[cfg(target_arch = "aarch64")]
    {
        let pointer: usize;
        // SAFETY: the register may be read by anybody.
        unsafe { std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem)) };
        Some(pointer)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores;

    #[test]
    fn a_thread_that_is_not_the_first_has_none() {
        assert!(std::thread::spawn(|| FirstThread::here().is_none()).join().expect("it ends"));
    }

    /// The thread that makes a child lives on in it, and so does its area.
    #[test]
    fn a_childs_area_is_the_kernels_too() {
        let allowed = cores::affinity();
        let cores: Vec<u32> = (0..allowed.len() as u32 * 8)
            .filter(|core| allowed[*core as usize / 8] >> (core % 8) & 1 == 1)
            .take(4)
            .collect();
        let masks: Vec<Vec<u8>> =
            cores.iter().map(|&core| cores::only(&allowed, |other| other == core)).collect();
        let Some(offset) = offset() else { return };
        // SAFETY: the child makes system calls only, and ends.
        let status = unsafe {
            let child = libc::fork();
            assert!(child >= 0);
            if child == 0 {
                let follows = || {
                    let area = thread_pointer()?.checked_add_signed(offset)?;
                    let is_firsts = FirstThread::here()?.0.as_ptr() as usize == area + CORE_AT;
                    let moves = |(core, mask): (&u32, &Vec<u8>)| {
                        cores::confine(mask);
                        FirstThread::here().and_then(FirstThread::core) == Some(*core)
                    };
                    Some(is_firsts && cores.iter().zip(&masks).all(moves))
                };
                libc::_exit(if follows() == Some(true) { 0 } else { 1 });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            status
        };
        assert_eq!(status, 0);
    }

    /// The area of the calling thread, be it the first one or not, follows its moves.
    #[test]
    fn the_word_is_the_core() {
        let allowed = cores::affinity();
        let Some(offset) = offset() else { return };
        let word = thread_pointer().expect("a known machine").wrapping_add_signed(offset) + CORE_AT;
        // SAFETY: the area is the calling thread's own.
        let own = FirstThread(unsafe { AtomicU32::from_ptr(word as *mut u32) });
        let cores =
            (0..allowed.len() as u32 * 8).filter(|core| allowed[*core as usize / 8] >> (core % 8) & 1 == 1);
        for core in cores.take(4) {
            cores::confine(&cores::only(&allowed, |other| other == core));
            assert_eq!(own.core(), Some(core));
        }
        cores::confine(&allowed);
    }
}
