//! The protocol under loom: no two threads are inside at once, whenever threads come to share.

use super::*;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, Ordering::*, fence};
use loom::sync::{Arc, Mutex, MutexGuard};
use loom::thread;

/// A lock around a number that counts who was inside.
struct Model {
    shared: AtomicBool,
    held: AtomicBool,
    mutex: Mutex<()>,
    /// The mutex's guard, while it is locked.
    locked: std::cell::UnsafeCell<Option<MutexGuard<'static, ()>>>,
    inside: UnsafeCell<u32>,
    /// True if the fences are there.
    fences: bool,
}

// SAFETY: the test is about just this: loom reports it if two threads use the number at the same
// time.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

impl Turn for Model {
    fn is_shared(&self) -> bool {
        self.shared.load(Relaxed)
    }

    fn is_held_alone(&self) -> bool {
        self.held.load(Acquire)
    }

    fn hold_alone(&self, held: bool) {
        self.held.store(held, Release);
    }

    /// The fence that `membarrier` puts into this thread.
    fn light_fence(&self) {
        if self.fences {
            fence(SeqCst);
        }
    }

    fn lock_mutex(&self) {
        self.keep(self.mutex.lock().unwrap());
    }

    fn try_lock_mutex(&self) -> bool {
        self.mutex.try_lock().map(|guard| self.keep(guard)).is_ok()
    }

    fn unlock_mutex(&self) {
        // SAFETY: only the thread that has locked the mutex comes here.
        drop(unsafe { (*self.locked.get()).take() });
    }

    fn pause(&self) {
        thread::yield_now();
    }
}

impl Model {
    fn new() -> Model {
        Model {
            shared: AtomicBool::new(false),
            held: AtomicBool::new(false),
            mutex: Mutex::new(()),
            locked: std::cell::UnsafeCell::new(None),
            inside: UnsafeCell::new(0),
            fences: true,
        }
    }

    fn keep(&self, guard: MutexGuard<'_, ()>) {
        // SAFETY: the mutex lives longer than what is kept beside it, and only the thread that has
        // locked it comes here.
        unsafe {
            *self.locked.get() =
                Some(std::mem::transmute::<MutexGuard<'_, ()>, MutexGuard<'static, ()>>(guard))
        };
    }

    fn share(&self) {
        self.shared.store(true, SeqCst);
        self.light_fence();
    }

    fn work(&self) {
        // SAFETY: checked by loom.
        self.inside.with_mut(|count| unsafe { *count += 1 });
    }

    /// Works as a thread alone in a call that began when nobody shared.
    fn work_alone(&self) {
        assert!(enter_alone(self), "it holds nothing");
        self.work();
        self.hold_alone(false);
    }

    fn work_shared(&self) {
        enter(self);
        self.work();
        self.unlock_mutex();
    }
}

/// Tries all interleavings of `run`.
fn check(preemptions: usize, run: fn()) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(run);
}

/// Runs a call of a thread alone with two turns, as another one comes to share and takes one.
fn meet(model: Model) {
    let lock = Arc::new(model);
    let other = {
        let lock = lock.clone();
        thread::spawn(move || {
            lock.share();
            lock.work_shared();
        })
    };
    lock.work_alone();
    lock.work_alone();
    other.join().unwrap();
    // SAFETY: the other thread has ended.
    assert_eq!(lock.inside.with(|count| unsafe { *count }), 3);
}

#[test]
fn loom_a_thread_alone_and_one_that_comes_to_share_exclude_each_other() {
    check(3, || meet(Model::new()));
}

/// The model would find it.
#[test]
#[should_panic]
fn loom_without_its_fences_they_do_not() {
    check(3, || meet(Model { fences: false, ..Model::new() }));
}

/// Two threads that share exclude each other and the one that came in alone.
#[test]
fn loom_threads_that_share_exclude_each_other_and_the_one_alone() {
    check(2, || {
        let lock = Arc::new(Model::new());
        let other = {
            let lock = lock.clone();
            thread::spawn(move || {
                lock.share();
                let third = {
                    let lock = lock.clone();
                    thread::spawn(move || lock.work_shared())
                };
                lock.work_shared();
                third.join().unwrap();
            })
        };
        lock.work_alone();
        other.join().unwrap();
    });
}

/// Neither waits, and neither gets in while the other is.
#[test]
fn loom_attempts_exclude_each_other() {
    check(3, || {
        let lock = Arc::new(Model::new());
        let other = {
            let lock = lock.clone();
            thread::spawn(move || {
                lock.share();
                if try_enter(&*lock) {
                    lock.work();
                    lock.unlock_mutex();
                }
            })
        };
        if try_enter_alone(&*lock) {
            lock.work();
            lock.hold_alone(false);
        }
        other.join().unwrap();
    });
}
