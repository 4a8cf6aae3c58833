//! Mutual exclusion between a thread that came in alone and threads that share.
//!
//! A thread alone raises a flag, and then looks whether threads share: normally not, and the flag
//! is its lock. Once they share, each takes a mutex, and then waits until the flag is down. Each
//! side writes one word and reads the other's (Dekker's pattern), which needs a full fence on both.
//! The thread alone is on the fast path, so [`share`](super::share) pays for both: it says that
//! threads share and then puts a fence into every thread. A thread that raised the flag before that
//! fence is seen by those that share; one that raises it afterwards sees that they do, and takes
//! its turn as they do.
//!
//! The words are behind [`Turn`], so that loom can try every interleaving.

/// The words of a lock.
pub(super) trait Turn {
    /// Returns whether threads share.
    fn is_shared(&self) -> bool;
    /// Returns the flag of the thread alone (acquire).
    fn is_held_alone(&self) -> bool;
    /// Raises the flag of the thread alone or takes it down (release).
    fn hold_alone(&self, held: bool);
    /// Keeps the order of what stands before it and behind it, given the fence of `share`.
    fn light_fence(&self);
    /// Waits for the mutex.
    fn lock_mutex(&self);
    /// Takes the mutex if it is free.
    fn try_lock_mutex(&self) -> bool;
    /// Gives the mutex back.
    fn unlock_mutex(&self);
    /// Lets another thread run.
    fn pause(&self);
}

/// Raises the flag for a thread that began when threads did not share. False if it is up already.
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

/// Raises the flag, which is down. If threads share, takes it down again and returns false.
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

/// Handles that threads came to share meanwhile. Under the mutex nobody is inside, and later
/// threads wait for the flag.
#[cold]
#[inline(never)]
fn enter_late(turn: &impl Turn) {
    enter(turn);
    turn.hold_alone(true);
    turn.unlock_mutex();
}

/// Enters as [`enter_alone`], but returns false too if it would have to wait.
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

/// Enters for threads that share: holds the mutex, while the flag is down.
#[inline]
pub(super) fn enter(turn: &impl Turn) {
    turn.lock_mutex();
    while turn.is_held_alone() {
        turn.pause();
    }
}

/// Enters as [`enter`], if it need not wait.
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
