//! The calls of MPI in a trace: when each began and ended, on which communicator, how many bytes,
//! and the lengths of the matching queues behind them.

use super::clock::{self, Moment};
use super::{is_on, with};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// A call of MPI by the program. Times are ticks of [`Log::tick_ns`](super::Log::tick_ns).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// The name of the function.
    pub name: Cow<'static, str>,
    /// The thread that called: 0 for the first one that did, and so on.
    pub thread: u32,
    /// The communicator, window or file that the call was about, as its place in
    /// [`Log::objects`](super::Log::objects).
    pub object: Option<u32>,
    /// Bytes in the buffer that the call names: of the data that it sends, else that it receives.
    pub bytes: u64,
    /// The rank that the call names: destination, target, root or source. Negative numbers are the
    /// wildcards of the standard.
    pub peer: Option<i32>,
    /// The tag that the call names.
    pub tag: Option<i32>,
    /// The time at which the program called.
    pub entered: u64,
    /// The time at which the call was about to return.
    pub left: u64,
    /// The error code that it returned.
    pub code: i32,
}

/// A communicator, window or file of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// The handle, by which the process tells its objects apart.
    pub handle: u64,
    /// The name that the program or the standard gave it, or a description.
    pub name: String,
    /// The number of processes in its group.
    pub size: u32,
    /// The matching context of a communicator's messages, and the three that follow it.
    pub context: Option<u64>,
}

/// The lengths of the matching queues after a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    /// The time.
    pub at: u64,
    /// Receives that wait for a message.
    pub posted: u64,
    /// Messages that wait for a receive.
    pub unexpected: u64,
    /// Bytes of these messages that are held.
    pub unexpected_bytes: u64,
}

/// A call that a thread is in.
#[derive(Clone, Copy)]
struct Inside {
    name: &'static str,
    entered: u64,
    /// True once the call is in a trace that was written while it ran.
    is_written: bool,
}

static THREADS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The number of this thread; `None` before its first call.
    static THREAD: Cell<Option<u32>> = const { Cell::new(None) };
    /// The call that this thread is in.
    static INSIDE: Cell<Option<Inside>> = const { Cell::new(None) };
}

/// The number of this thread in the trace.
pub(super) fn thread() -> u32 {
    THREAD.get().unwrap_or_else(|| {
        let number = THREADS.fetch_add(1, Ordering::Relaxed);
        THREAD.set(Some(number));
        number
    })
}

/// A call of this thread that is under way. Calls within it, by the program's own functions that
/// MPI calls, are part of it.
pub struct UnderWay(());

impl UnderWay {
    /// Begins a call of this function; `None` if the thread is in a call already.
    pub fn begin(name: &'static str) -> Option<UnderWay> {
        if INSIDE.get().is_some() {
            return None;
        }
        INSIDE.set(Some(Inside { name, entered: clock::ticks(), is_written: false }));
        Some(UnderWay(()))
    }

    /// Ends the call, which then has its times and its thread, and notes the queues behind it.
    pub fn end(self, call: Call, object: Option<Object>, queues: Queues) {
        let Some(inside) = INSIDE.get().filter(|inside| !inside.is_written) else { return };
        let (left, thread) = (clock::ticks(), thread());
        with(|recorder| {
            let object = object.map(|object| recorder.object(object));
            recorder.call(Call { thread, object, entered: inside.entered, left, ..call });
            recorder.queues(Queues { at: left, ..queues });
        });
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        INSIDE.set(None);
    }
}

/// Returns the call that this thread is in, as if it ended now: the one that ends MPI, when the
/// trace is about to be written.
pub(super) fn under_way() -> Option<Call> {
    let inside = INSIDE.get()?;
    INSIDE.set(Some(Inside { is_written: true, ..inside }));
    (!inside.is_written).then(|| about_none(inside.name, [inside.entered, clock::ticks()]))
}

/// The call that starts MPI, which begins before it is known whether there is a trace.
pub struct Starting {
    name: &'static str,
    began: Moment,
}

impl Starting {
    /// Begins a call of this function.
    pub fn begin(name: &'static str) -> Starting {
        Starting { name, began: Moment::now() }
    }

    /// Ends the call. The trace begins with it. Nothing is recorded without a trace, and by a call
    /// that began with one, which is recorded as others are.
    pub fn end(self) {
        if is_on() && INSIDE.get().is_none() {
            let call = about_none(self.name, [self.began.ticks(), clock::ticks()]);
            with(|recorder| {
                recorder.begin_at(self.began);
                recorder.call(call);
            });
        }
    }
}

/// A call of this thread that is about no object and moves nothing.
fn about_none(name: &'static str, [entered, left]: [u64; 2]) -> Call {
    let (object, peer, tag) = (None, None, None);
    Call { name: Cow::Borrowed(name), thread: thread(), object, bytes: 0, peer, tag, entered, left, code: 0 }
}
