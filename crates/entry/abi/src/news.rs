//! The thread that hears at once when another process of the job has died, in a process that goes
//! on then: it wakes the threads that sleep in MPI. Nothing else would, until their sleeps end by
//! themselves.
//!
//! It touches nothing of MPI but the bell, so that the program's threads need no more locks.

use crate::{process, watch};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;
use verbena_boot::status::StatusPlace;

static STOP: AtomicBool = AtomicBool::new(false);
static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

/// The longest sleep. Whoever ends the thread wakes it.
const SLEEP_MAX: Duration = Duration::from_secs(3600);

/// Starts the thread, if this process has such a launcher and the thread does not run. Without it
/// news come when the sleeps of a wait end.
pub(crate) fn start() {
    let mut thread = THREAD.lock().unwrap();
    let Some(place) = watch::place().filter(|_| thread.is_none()) else { return };
    STOP.store(false, SeqCst);
    // A limit on threads costs a moment's delay of the news, and no more.
    *thread = std::thread::Builder::new().name("verbena-news".into()).spawn(|| listen(place)).ok();
}

fn listen(place: &StatusPlace) {
    crate::progress_thread::block_signals();
    // What was told before this is seen when the next sleep begins.
    let mut known = place.news();
    while !STOP.load(SeqCst) {
        let news = place.news();
        if std::mem::replace(&mut known, news) != news {
            process().wake_sleepers();
        }
        place.await_news(known, SLEEP_MAX);
    }
}

/// Ends the thread, if it runs.
pub(crate) fn stop() {
    let Some(thread) = THREAD.lock().unwrap().take() else { return };
    STOP.store(true, SeqCst);
    if let Some(place) = watch::place() {
        // Again and again: it may be about to sleep.
        while !thread.is_finished() {
            place.wake_all();
            std::thread::yield_now();
        }
    }
    // The thread panics only because of a defect, which it has reported itself.
    let _ = thread.join();
}
