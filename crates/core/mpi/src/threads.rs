//! The number of the program's threads that wait or poll in MPI (`MPI_THREAD_MULTIPLE`). If there
//! are several, one that only spins may hold up the very thread that its partner waits for.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static THREADS: AtomicU32 = AtomicU32::new(0);

/// Counts its thread while that lives.
struct Counted;

impl Counted {
    fn new() -> Counted {
        THREADS.fetch_add(1, Relaxed);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        THREADS.fetch_sub(1, Relaxed);
    }
}

thread_local!(static HERE: Counted = Counted::new());

/// Counts this thread from now on, and returns whether there is another.
pub(crate) fn several() -> bool {
    // A thread that is ending and still calls MPI is no longer counted, which only makes it less
    // polite.
    let _ = HERE.try_with(|_| ());
    THREADS.load(Relaxed) > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn a_thread_counts_until_it_ends() {
        let barrier = Barrier::new(2);
        let both = || (barrier.wait(), several(), barrier.wait(), several(), barrier.wait()).3;
        std::thread::scope(|scope| {
            let other = scope.spawn(both);
            assert!(both() && other.join().unwrap());
        });
    }
}
