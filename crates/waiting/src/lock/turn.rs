//! How a thread that came in alone and threads that share exclude each other.
//!
//! Alone, a thread raises a flag, and then looks whether threads share: normally not, and the flag is its lock. Once they
//! share, each takes a mutex, and then waits until the flag is down. Each side writes one word and reads the other's (Dekker's
//! pattern), which needs a full fence on both. The thread alone is on the fast path, so [`share`](super::share) pays for both: it says that
//! threads share and then puts a fence into every thread. Whoever raised the flag before that fence is seen by those that
//! share; whoever raises it afterwards sees that they do, and takes his turn as they do.
//!
//! The words are behind [`Turn`], so that loom can try every interleaving.

/// The words of a lock.
pub(super) trait Turn {
    /// Whether threads share.
    fn is_shared(&self) -> bool;
    /// The flag of the thread alone (acquire).
    fn is_held_alone(&self) -> bool;
    /// Raises it or takes it down (release).
    fn hold_alone(&self, held: bool);
    /// Keeps what stands before it before what stands behind, given the fence of `share`.
    fn light_fence(&self);
    /// Waits for the mutex.
    fn lock_mutex(&self);
    /// Takes the mutex if it is free.
    fn try_lock_mutex(&self) -> bool;
    /// Gives it back.
    fn unlock_mutex(&self);
    /// Lets another thread run.
    fn pause(&self);
}

/// For a thread that began when threads did not share: holds the flag. False if it is held already.
#[inline(always)]
pub(super) fn enter_alone(turn: &impl Turn) -> bool {
    if turn.is_held_alone() {
        return false;
    }
    if !raise(turn) {
        enter_late(turn);
    }
    true
}

/// Raises the flag, which is down; false, and it is down again, if threads share.
#[inline(always)]
fn raise(turn: &impl Turn) -> bool {
    turn.hold_alone(true);
    turn.light_fence();
    if turn.is_shared() {
        turn.hold_alone(false);
        return false;
    }
    true
}

/// Threads came to share meanwhile. Under the mutex nobody is inside, and who comes later waits for the flag.
#[cold]
#[inline(never)]
fn enter_late(turn: &impl Turn) {
    enter(turn);
    turn.hold_alone(true);
    turn.unlock_mutex();
}

/// As [`enter_alone`], but false too if it would have to wait.
#[inline]
pub(super) fn try_enter_alone(turn: &impl Turn) -> bool {
    if turn.is_held_alone() {
        return false;
    }
    if raise(turn) {
        return true;
    }
    if !try_enter(turn) {
        return false;
    }
    turn.hold_alone(true);
    turn.unlock_mutex();
    true
}

/// For threads that share: holds the mutex, while the flag is down.
#[inline]
pub(super) fn enter(turn: &impl Turn) {
    turn.lock_mutex();
    while turn.is_held_alone() {
        turn.pause();
    }
}

/// As [`enter`], if it need not wait.
#[inline]
pub(super) fn try_enter(turn: &impl Turn) -> bool {
    let locked = turn.try_lock_mutex();
    if locked && turn.is_held_alone() {
        turn.unlock_mutex();
        return false;
    }
    locked
}

#[cfg(test)]
mod tests;
