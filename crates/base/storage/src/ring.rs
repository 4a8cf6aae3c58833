//! Many reads or writes by few calls of the system (io_uring), where the kernel allows it.
//!
//! A thread that needs a ring takes one that is idle, or makes one. The kernel may refuse that
//! (containers often do); nobody asks again then. The program may close the ring's descriptor, as a
//! daemon closes all: a ring that the kernel does not know any more is given up, and what it did
//! not take is done by plain calls.

use crate::disk::Piece;
use io_uring::squeue::Entry;
use io_uring::{IoUring, opcode, types};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Operations that are under way at once.
const DEPTH: u32 = 64;

/// The way of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Read,
    Write,
}

/// The result of an operation that was not begun.
pub(crate) const NOT_BEGUN: i32 = -libc::EAGAIN;

/// Set once the kernel has refused a ring.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Pieces that the kernel has moved through rings.
static PIECES: AtomicU64 = AtomicU64::new(0);

/// The rings that no thread uses now. None is ever closed: its number may mean a file of the
/// program.
static IDLE: Mutex<Vec<IoUring>> = Mutex::new(Vec::new());

/// The number of pieces so far that went through io_uring.
pub fn pieces_by_ring() -> u64 {
    PIECES.load(Ordering::Relaxed)
}

/// Moves the pieces. Returns the result of each, as the system calls give it (bytes, or an error's
/// number negated); `None` if there is no ring.
pub(crate) fn transfer(file: RawFd, way: Way, pieces: &[Piece]) -> Option<Vec<i32>> {
    let mut ring = take()?;
    let mut results = vec![NOT_BEGUN; pieces.len()];
    if run(&mut ring, file, way, pieces, &mut results) {
        lock().push(ring);
    } else {
        // What the kernel did not take must never be handed in later: the ring goes.
        std::mem::forget(ring);
        REFUSED.store(true, Ordering::Relaxed);
    }
    Some(results)
}

/// A ring that nobody uses, or a new one.
fn take() -> Option<IoUring> {
    if REFUSED.load(Ordering::Relaxed) {
        return None;
    }
    let idle = lock().pop();
    idle.or_else(|| {
        let ring = IoUring::new(DEPTH);
        REFUSED.fetch_or(ring.is_err(), Ordering::Relaxed);
        ring.ok()
    })
}

fn lock() -> MutexGuard<'static, Vec<IoUring>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn entry(file: RawFd, way: Way, piece: &Piece, number: usize) -> Entry {
    let (memory, len) = (piece.region.pointer(), piece.region.len().min(1 << 30) as u32);
    let entry = match way {
        Way::Read => opcode::Read::new(types::Fd(file), memory, len).offset(piece.at).build(),
        Way::Write => opcode::Write::new(types::Fd(file), memory, len).offset(piece.at).build(),
    };
    entry.user_data(number as u64)
}

/// Runs all pieces through a ring. Nothing is under way when it returns. Returns whether the ring
/// is sound.
fn run(ring: &mut IoUring, file: RawFd, way: Way, pieces: &[Piece], results: &mut [i32]) -> bool {
    let (mut next, mut under_way) = (0, 0);
    while next < pieces.len() || under_way > 0 {
        let mut queue = ring.submission();
        while next < pieces.len() && under_way < DEPTH as usize {
            // SAFETY: the region stays valid until this function returns, by its creator's promise,
            // and nothing is under way then.
            if unsafe { queue.push(&entry(file, way, &pieces[next], next)) }.is_err() {
                break;
            }
            next += 1;
            under_way += 1;
        }
        drop(queue);
        let is_taken = match ring.submit_and_wait(1) {
            Ok(_) => true,
            Err(error) => {
                matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
            }
        };
        under_way -= reap(ring, results);
        if !is_taken {
            // What the kernel took goes on without a call.
            under_way -= ring.submission().len();
            while under_way > 0 {
                std::thread::yield_now();
                under_way -= reap(ring, results);
            }
            return false;
        }
    }
    true
}

/// Takes the results that are there. Returns how many.
fn reap(ring: &mut IoUring, results: &mut [i32]) -> usize {
    let mut count = 0;
    for entry in ring.completion() {
        if let Some(result) = results.get_mut(entry.user_data() as usize) {
            *result = entry.result();
        }
        count += 1;
    }
    PIECES.fetch_add(count as u64, Ordering::Relaxed);
    count
}
