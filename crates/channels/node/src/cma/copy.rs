//! The two system calls, repeated until all bytes are moved.

use std::io::{Error, ErrorKind, Result};
use verbena_memory::Region;

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// Into our memory.
    Read,
    /// Out of our memory.
    Write,
}

impl std::fmt::Display for Verb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Verb::Read { "reading" } else { "writing" })
    }
}

/// Moves all of `local` from or to `remote` of process `pid`.
pub(super) fn transfer(verb: Verb, pid: u32, local: Region, remote: u64) -> Result<()> {
    let mut done = 0;
    while done < local.len() {
        match transfer_some(verb, pid, local.part(done, local.len() - done), remote + done as u64) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(moved) => done += moved,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn transfer_some(verb: Verb, pid: u32, local: Region, remote: u64) -> Result<usize> {
    let ours = [run(local.address(), local.len())];
    let theirs = [run(remote, local.len())];
    // SAFETY: `ours` is valid by the promise of `Region`.
    unsafe { call(verb, pid, &ours, &theirs) }
}

/// Moves all bytes of `ours` from or to the runs `theirs` of process `pid`. Both have the same
/// number of bytes; each call takes as many runs as the kernel does.
pub(super) fn transfer_lists(verb: Verb, pid: u32, ours: &[Region], theirs: &[(u64, usize)]) -> Result<()> {
    let mut ours = Runs::new(ours.iter().map(|region| (region.address(), region.len())));
    let mut theirs = Runs::new(theirs.iter().copied());
    while ours.fill() && theirs.fill() {
        // SAFETY: `ours` has parts of regions, which are valid by the promise of `Region`.
        match unsafe { call(verb, pid, &ours.next, &theirs.next) } {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(moved) => {
                ours.pass(moved);
                theirs.pass(moved);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The most runs that a call takes on either side (`IOV_MAX`).
const RUNS_MAX: usize = 1024;

/// Runs of bytes of which some have been moved.
struct Runs<I> {
    /// The runs of the next call.
    next: Vec<libc::iovec>,
    /// The runs behind those.
    rest: I,
}

impl<I: ExactSizeIterator<Item = (u64, usize)>> Runs<I> {
    fn new(rest: I) -> Runs<I> {
        Runs { next: Vec::with_capacity(rest.len().min(RUNS_MAX)), rest }
    }

    /// Takes as many runs as a call has room for; false if there are none.
    fn fill(&mut self) -> bool {
        let room = RUNS_MAX - self.next.len();
        let runs = self.rest.by_ref().filter(|&(_, bytes)| bytes > 0);
        self.next.extend(runs.take(room).map(|(address, bytes)| run(address, bytes)));
        !self.next.is_empty()
    }

    /// Passes `moved` bytes, at most those of the next call.
    fn pass(&mut self, mut moved: usize) {
        let whole = |at: &&libc::iovec| {
            let is_moved = at.iov_len <= moved;
            moved -= if is_moved { at.iov_len } else { 0 };
            is_moved
        };
        let whole = self.next.iter().take_while(whole).count();
        self.next.drain(..whole);
        if let Some(first) = self.next.first_mut() {
            *first = run(first.iov_base as u64 + moved as u64, first.iov_len - moved);
        }
    }
}

fn run(address: u64, bytes: usize) -> libc::iovec {
    libc::iovec { iov_base: address as *mut _, iov_len: bytes }
}

/// Calls the kernel once, which may move fewer bytes than both sides have.
///
/// # Safety
/// The runs of `ours` obey the promise of [`Region::new`]. The kernel checks those of `theirs`.
unsafe fn call(verb: Verb, pid: u32, ours: &[libc::iovec], theirs: &[libc::iovec]) -> Result<usize> {
    let pid = pid as libc::pid_t;
    let (many, most) = (ours.len() as u64, theirs.len() as u64);
    // SAFETY: the caller's promise.
    let moved = unsafe {
        match verb {
            Verb::Read => libc::process_vm_readv(pid, ours.as_ptr(), many, theirs.as_ptr(), most, 0),
            Verb::Write => libc::process_vm_writev(pid, ours.as_ptr(), many, theirs.as_ptr(), most, 0),
        }
    };
    if moved < 0 { Err(Error::last_os_error()) } else { Ok(moved as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Given<'a> = std::iter::Copied<std::slice::Iter<'a, (u64, usize)>>;

    fn runs(list: &[(u64, usize)]) -> Runs<Given<'_>> {
        Runs::new(list.iter().copied())
    }

    fn next(runs: &Runs<Given<'_>>) -> Vec<(u64, usize)> {
        runs.next.iter().map(|run| (run.iov_base as u64, run.iov_len)).collect()
    }

    #[test]
    fn what_was_moved_is_passed_also_within_a_run() {
        let mut runs = runs(&[(100, 10), (0, 0), (200, 20), (300, 30)]);
        assert!(runs.fill());
        assert_eq!(next(&runs), [(100, 10), (200, 20), (300, 30)]);
        runs.pass(4);
        assert_eq!(next(&runs), [(104, 6), (200, 20), (300, 30)]);
        runs.pass(6);
        runs.pass(21);
        assert_eq!(next(&runs), [(301, 29)]);
        runs.pass(29);
        assert!(!runs.fill());
    }

    #[test]
    fn a_call_takes_no_more_runs_than_the_kernel() {
        let list = [(7, 1); RUNS_MAX + 3];
        let mut runs = runs(&list);
        assert!(runs.fill());
        assert_eq!(runs.next.len(), RUNS_MAX);
        runs.pass(1);
        assert!(runs.fill());
        assert_eq!((runs.next.len(), runs.rest.len()), (RUNS_MAX, 2));
        runs.pass(RUNS_MAX);
        assert!(runs.fill());
        assert_eq!(runs.next.len(), 2);
    }
}
