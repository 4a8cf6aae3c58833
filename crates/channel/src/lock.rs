//! A lock that costs two plain stores while only one thread may call MPI.
//!
//! Below `MPI_THREAD_MULTIPLE` the program promises that no two threads are inside MPI at once
//! (MPI-5.0, 11.6), so mutual exclusion is already given; the lock then only notices re-entrance, which
//! would be a defect of Verbena or a callback that breaks the standard's rules. [`share`] switches the real
//! mutex on, before a second thread may enter.

use parking_lot::lock_api::RawMutex as _;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

static SHARED: AtomicBool = AtomicBool::new(false);

/// From now on several threads may take locks at once. Must be called while no lock is held.
pub fn share() {
    SHARED.store(true, Ordering::SeqCst);
}

/// Whether several threads may be inside MPI at once.
#[inline]
pub fn is_shared() -> bool {
    SHARED.load(Ordering::Relaxed)
}

/// Says that only one thread is inside MPI: kept for the length of a call, since [`share`] is one too.
#[derive(Clone, Copy, Debug)]
pub struct Alone(PhantomData<*const ()>);

impl Alone {
    /// What it says, if it is so.
    #[inline(always)]
    pub fn now() -> Option<Alone> {
        if is_shared() { None } else { Some(Alone(PhantomData)) }
    }

    /// The same, of a caller who knows it already.
    ///
    /// # Safety
    /// [`is_shared`] is false.
    #[inline(always)]
    pub unsafe fn known() -> Alone {
        debug_assert!(!is_shared());
        Alone(PhantomData)
    }
}

/// A value that one thread at a time may use.
pub struct Lock<T> {
    mutex: parking_lot::RawMutex,
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: access is exclusive: by the mutex once threads share, by the program's promise before.
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
    /// If this thread holds it already (only noticed while threads do not share).
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        let real = is_shared();
        if real {
            self.mutex.lock();
        } else {
            if self.held.load(Ordering::Relaxed) {
                called_back();
            }
            self.held.store(true, Ordering::Relaxed);
        }
        Guard { lock: self, real }
    }

    /// The value, in a call that is alone in MPI and that asks for it while no lock is held.
    ///
    /// # Panics
    /// If it is held already.
    #[inline(always)]
    pub fn lock_alone(&self, _alone: Alone) -> AloneGuard<'_, T> {
        if self.held.load(Ordering::Relaxed) {
            called_back();
        }
        self.held.store(true, Ordering::Relaxed);
        AloneGuard { lock: self, _here: PhantomData }
    }

    /// The lock if it is free now.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let real = is_shared();
        let free = if real { self.mutex.try_lock() } else { !self.held.swap(true, Ordering::Relaxed) };
        // Not `then_some`: a guard that is made and dropped would free the lock of whoever holds it.
        free.then(|| Guard { lock: self, real })
    }
}

#[cold]
fn called_back() -> ! {
    panic!("a callback called back into MPI communication");
}

/// Holds a [`Lock`] for a call that is alone in MPI.
pub struct AloneGuard<'a, T> {
    lock: &'a Lock<T>,
    _here: PhantomData<*const ()>,
}

impl<T> Deref for AloneGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: no other thread is inside MPI, and within this one the guard is proof of exclusive access.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for AloneGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for AloneGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.held.store(false, Ordering::Relaxed);
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
            // SAFETY: this guard took the mutex.
            unsafe { self.lock.mutex.unlock() }
        } else {
            self.lock.held.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_exclude_each_other() {
        share();
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
