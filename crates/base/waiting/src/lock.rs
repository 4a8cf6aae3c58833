//! A lock that costs two plain stores while only one thread may call MPI.
//!
//! Below `MPI_THREAD_MULTIPLE` the program promises that no two threads are inside MPI at once
//! (MPI-5.0, 11.6), so mutual exclusion is already given; the lock then only notices that it is
//! held, which happens if a second thread or a callback breaks the standard's rules. [`share`]
//! switches the real mutex on before a second thread may enter; [`turn`] says how both ways exclude
//! each other.

mod turn;

use parking_lot::lock_api::RawMutex as _;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};
use turn::{Turn, enter, enter_alone, try_enter, try_enter_alone};

static SHARED: AtomicBool = AtomicBool::new(false);

/// The text of the panic when two calls are inside at once though threads do not share.
pub const MISUSE: &str = "two calls are inside MPI communication at once";

/// Lets several threads take locks at once from now on. If one of them `may_hold` a lock already,
/// taken alone, it keeps it until it is done, and the others wait: a session may ask for threads
/// while the program's first thread is in MPI.
pub fn share(may_hold: bool) {
    if !SHARED.swap(true, Ordering::SeqCst) && may_hold {
        fence_all_threads();
    }
}

/// Puts a fence into every thread of this process that runs.
#[cold]
fn fence_all_threads() {
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
    // SAFETY: the calls touch no memory of ours.
    let fenced = [REGISTER_PRIVATE_EXPEDITED, PRIVATE_EXPEDITED]
        .into_iter()
        .all(|command| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } == 0);
    if !fenced {
        // A sandbox refuses the call. A store leaves its processor within microseconds, and a
        // thread that does not run has fenced.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Returns whether several threads may be inside MPI at once.
#[inline]
pub fn is_shared() -> bool {
    SHARED.load(Ordering::Relaxed)
}

/// Says that only one thread was inside MPI when a call began; the call keeps it to its end. If
/// [`share`] comes meanwhile, locks notice.
#[derive(Clone, Copy, Debug)]
pub struct SingleThread(PhantomData<*const ()>);

impl SingleThread {
    /// Returns the token if threads do not share.
    #[inline(always)]
    pub fn now() -> Option<SingleThread> {
        if is_shared() { None } else { Some(SingleThread(PhantomData)) }
    }

    /// Makes the token for a caller that knows already that threads do not share.
    ///
    /// # Safety
    /// [`is_shared`] was false when the call began.
    #[inline(always)]
    pub unsafe fn known() -> SingleThread {
        SingleThread(PhantomData)
    }
}

/// A value that one thread at a time may use.
pub struct Lock<T> {
    mutex: parking_lot::RawMutex,
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: access is exclusive: by the program's promise before threads share, and by `turn` from
// then on.
unsafe impl<T: Send> Sync for Lock<T> {}
// SAFETY: moving the lock moves the value.
unsafe impl<T: Send> Send for Lock<T> {}

impl<T: Default> Default for Lock<T> {
    fn default() -> Lock<T> {
        Lock::new(T::default())
    }
}

impl<T> Lock<T> {
    /// A free lock around `value`.
    pub const fn new(value: T) -> Lock<T> {
        Lock {
            mutex: parking_lot::RawMutex::INIT,
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock.
    ///
    /// # Panics
    /// With [`MISUSE`] if it is held (only noticed while threads do not share).
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        let real = is_shared();
        if real {
            enter(self);
        } else if !enter_alone(self) {
            held_twice();
        }
        Guard { lock: self, real }
    }

    /// Lends the value to a call that is alone in MPI, while no lock is held.
    ///
    /// Threads that come to share between the beginning of the call and this are not noticed: a
    /// second look at the flag here costs each short message five instructions of 115.
    ///
    /// # Panics
    /// With [`MISUSE`] if it is held.
    #[inline(always)]
    pub fn lock_alone(&self, _alone: SingleThread) -> SingleThreadGuard<'_, T> {
        if self.is_held_alone() {
            held_twice();
        }
        self.hold_alone(true);
        SingleThreadGuard { lock: self, _here: PhantomData }
    }

    /// Takes the lock if it is free now.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let real = is_shared();
        let free = if real { try_enter(self) } else { try_enter_alone(self) };
        // Not `then_some`: a guard that is made and dropped would free the lock of its holder.
        free.then(|| Guard { lock: self, real })
    }
}

impl<T> Turn for Lock<T> {
    #[inline(always)]
    fn is_shared(&self) -> bool {
        is_shared()
    }

    #[inline(always)]
    fn is_held_alone(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn hold_alone(&self, held: bool) {
        self.held.store(held, Ordering::Release);
    }

    /// Keeps the order in the compiler only: `share` puts the fence into the processor.
    #[inline(always)]
    fn light_fence(&self) {
        compiler_fence(Ordering::SeqCst);
    }

    fn lock_mutex(&self) {
        self.mutex.lock();
    }

    fn try_lock_mutex(&self) -> bool {
        self.mutex.try_lock()
    }

    fn unlock_mutex(&self) {
        // SAFETY: the protocol unlocks what it has locked.
        unsafe { self.mutex.unlock() }
    }

    fn pause(&self) {
        std::thread::yield_now();
    }
}

#[cold]
fn held_twice() -> ! {
    panic!("{MISUSE}");
}

/// Holds a [`Lock`] for a call that is alone in MPI.
pub struct SingleThreadGuard<'a, T> {
    lock: &'a Lock<T>,
    _here: PhantomData<*const ()>,
}

impl<T> Deref for SingleThreadGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard is proof of exclusive access.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for SingleThreadGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for SingleThreadGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.hold_alone(false);
    }
}

/// Holds a [`Lock`] until dropped.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
    real: bool,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is proof of exclusive access.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is proof of exclusive access.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.real {
            self.lock.unlock_mutex();
        } else {
            self.lock.hold_alone(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_exclude_each_other() {
        share(false);
        let lock = Lock::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 40_000);
        assert!(lock.try_lock().is_some());
        let held = lock.lock();
        assert!(lock.try_lock().is_none());
        assert!(lock.try_lock().is_none(), "a failed attempt frees nothing");
        drop(held);
        assert!(lock.try_lock().is_some());
    }
}
