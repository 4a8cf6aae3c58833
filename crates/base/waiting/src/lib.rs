//! Waiting: spin, then yield, then sleep.
//!
//! A process that waits calls [`Waiter::idle`] each time a round of progress found nothing. The
//! waiter decides by what it knows (cores against local ranks, rounds so far) and answers with a
//! [`Step`].
//!
//! A process with peers on its node gets its waiter from the shared-memory channel
//! (`Channel::shared`); any other uses [`Plain`].
//!
//! | module | what it holds |
//! | --- | --- |
//! | `plain` | a process that nothing wakes: it naps |
//! | `eventful` | a process that sleeps on descriptors of devices |
//! | [`sleeper`] | a process that its peers on the node wake |
//! | `thread_placement` | the thread that makes progress beside the program |
//! | [`bell`] | the bell at which a process sleeps |
//! | `socket` | the socket on which a process sleeps, and how it is rung |
//! | `events` | sleeping on descriptors and the bell at once |
//! | [`core_sharing`] | which processes of the job share cores |
//! | `patience` | the time that a process spins and yields before it sleeps |
//! | [`whereabouts`] | the cores on which the ranks of a node said they are |
//! | `balance`, `other_programs`, `own_core` | what a process does before it sleeps |
//! | [`current`] | the waiter of a process that takes another one when it meets others |
//! | [`lock`] | the engine's lock, cheap for a process with one thread |

mod balance;
pub mod bell;
pub mod core_sharing;
pub mod current;
mod eventful;
mod events;
pub mod lock;
mod other_programs;
mod own_core;
mod patience;
mod plain;
pub mod sleeper;
mod socket;
mod thread_placement;
pub mod whereabouts;

pub use eventful::Eventful;
pub use plain::Plain;
pub use thread_placement::ThreadPlacement;

use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;
use verbena_machine::cores::Load;

/// The longest sleep of a process if everything that it waits for rings.
pub const SLEEP_MAX: Duration = Duration::from_millis(100);

/// The longest sleep of a process if something may come that rings no bell: RDMA from another node,
/// a device, another thread.
pub const NAP: Duration = Duration::from_micros(200);

/// The caller's next step after an idle round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make progress again (the waiter spun or yielded).
    Again,
    /// The waiter is armed: senders will ring. Make progress once more; if that finds nothing call
    /// [`Waiter::sleep`], else [`Waiter::disarm`].
    Armed,
}

/// A process's way to wait. Shared by its threads.
pub trait Waiter: Send + Sync {
    /// Passes an idle round; `round` counts them since the last time something happened.
    fn idle(&self, round: u32) -> Step;
    /// Sleeps until rung or until a bounded time is over, `longest` at most. Only after
    /// [`Step::Armed`].
    fn sleep(&self, longest: Duration);
    /// Takes the arming back without sleeping.
    fn disarm(&self);
    /// Returns whether ranks share cores, so that a call that finds nothing and does not wait had
    /// better [`step_aside`](Waiter::step_aside).
    fn shares_cores(&self) -> bool;
    /// Lets another process run.
    fn step_aside(&self) {
        std::thread::yield_now();
    }
    /// Sleeps, from now on, on these descriptors too. Once, before the first wait; they stay open
    /// as long as the waiter.
    ///
    /// # Errors
    /// The process has no descriptor left, or the sandbox allows no socket: then it must not sleep
    /// for long.
    fn watch(&self, _descriptors: Vec<RawFd>) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
    /// Returns the name and the secret of the socket that this process sleeps on, for its other
    /// bells ([`bell::Bell::sleep_on`]); `None` if it does not sleep on one.
    fn socket(&self) -> Option<(u64, u64)> {
        None
    }
    /// Notes that the calling thread, which makes progress beside the program, has woken: waiters
    /// on its core let it work.
    fn help(&self) {}
    /// Wakes the other threads of this process that sleep here (one of them made progress for
    /// another).
    fn ring_self(&self);
}

/// Makes further waiters of a process, at the bell that its peers ring already.
pub trait MakeWaiter: Send + Sync {
    /// Makes a waiter for this load that sleeps on a socket and on these descriptors, which stay
    /// open as long as it.
    ///
    /// # Errors
    /// The process has no descriptor left, or the sandbox allows no socket.
    fn make(&self, load: &Load, descriptors: Vec<RawFd>) -> std::io::Result<Arc<dyn Waiter>>;
}
