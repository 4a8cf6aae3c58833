//! The waiter of a process without peers on its node whose channels tell of arrivals by
//! descriptors: spin, yield, sleep on those.

use super::bell::Bell;
use super::events::Events;
use super::own_core::OwnCore;
use super::{SLEEP_MAX, Step, Waiter};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use verbena_machine::cores::Load;

/// Waits as [`Plain`](super::Plain), but sleeps on descriptors.
#[derive(Debug)]
pub struct Eventful {
    bell: Bell,
    events: Events,
    own_core: OwnCore,
    /// The threads between arming and waking.
    armed: AtomicU32,
}

impl Eventful {
    /// A waiter that sleeps on these descriptors, which must stay open as long as it.
    ///
    /// # Errors
    /// The process has no descriptor left, or the sandbox allows no socket.
    pub fn new(descriptors: Vec<RawFd>, load: &Load) -> std::io::Result<Eventful> {
        let bell = Bell::default();
        let events = Events::new(descriptors, &bell)?;
        Ok(Eventful { bell, events, own_core: OwnCore::new(load), armed: AtomicU32::new(0) })
    }
}

impl Waiter for Eventful {
    fn idle(&self, round: u32) -> Step {
        self.own_core.pass(round).unwrap_or_else(|| {
            if self.armed.fetch_add(1, SeqCst) == 0 {
                self.events.prepare(&self.bell);
            }
            self.bell.raise_locally();
            Step::Armed
        })
    }

    fn sleep(&self, longest: Duration) {
        self.events.wait(&self.bell, longest.min(SLEEP_MAX));
        self.disarm();
    }

    fn disarm(&self) {
        if self.armed.fetch_sub(1, SeqCst) == 1 {
            self.bell.lower();
            self.events.drain();
        }
    }

    fn shares_cores(&self) -> bool {
        self.own_core.shares_cores()
    }

    fn socket(&self) -> Option<(u64, u64)> {
        self.events.socket()
    }

    fn ring_self(&self) {
        self.bell.notify(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn another_thread_ends_the_sleep() {
        let waiter = Eventful::new(Vec::new(), &Load::measure(1)).expect("a socket");
        while waiter.idle(u32::MAX) != Step::Armed {}
        let start = Instant::now();
        waiter.ring_self();
        waiter.sleep(SLEEP_MAX);
        assert!(start.elapsed() < SLEEP_MAX);
        // The next one is not woken by the same ring.
        assert_eq!(waiter.idle(u32::MAX), Step::Armed);
        let start = Instant::now();
        waiter.sleep(Duration::from_millis(10));
        assert!(start.elapsed() >= Duration::from_millis(10));
    }
}
