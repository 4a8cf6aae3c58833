//! The queue pairs, by their numbers, and the queues that they share.
//!
//! The completion queue always has room for all that may end at once, even if every connection
//! breaks: one that overflows is lost with all that is in it. So it grows as queue pairs are
//! opened.

use crate::device::QueuePair;
use crate::device::options::Options;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use verbena_fault::Fault;
use verbena_verbs::pair::{Plan, Service};
use verbena_verbs::{CompletionQueue, EventChannel, ProtectionDomain, SharedReceiveQueue};

/// The completion queue's size at first.
const ENTRIES_MIN: u32 = 256;

/// An open queue pair.
pub(super) struct Pair {
    /// The device's.
    pub queue: verbena_verbs::QueuePair,
    /// The number of its first packet.
    pub psn: u32,
    /// True if it receives from the shared queue.
    pub shared: bool,
    /// The completions that it may cause at once.
    entries: u32,
}

/// The sizes with which queue pairs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// The places of the send queue, reads included.
    pub sends: u32,
    /// The receive buffers of a queue.
    pub receives: u32,
    /// The bytes that go inline.
    pub inline_bytes: u32,
    /// The most places of a completion queue that the device allows.
    pub entries_max: u32,
}

/// All queue pairs of connections.
pub(super) struct Pairs {
    open: HashMap<u32, Pair, BuildHasherDefault<Scatter>>,
    domain: Arc<ProtectionDomain>,
    completions: Arc<CompletionQueue>,
    shared: Option<Arc<SharedReceiveQueue>>,
    sizes: Sizes,
    /// The completions that may come at once.
    entries: u32,
}

impl Pairs {
    /// Makes an empty set. Finds out how much the device takes inline.
    ///
    /// # Errors
    /// The device makes no completion queue or no queue pair.
    pub(super) fn new(
        domain: &Arc<ProtectionDomain>,
        sizes: Sizes,
        events: Option<Arc<EventChannel>>,
    ) -> Result<Pairs, Fault> {
        let entries = ENTRIES_MIN.min(sizes.entries_max);
        let completions = CompletionQueue::reporting(domain.context(), entries, events)?;
        let (domain, open) = (Arc::clone(domain), HashMap::default());
        let mut pairs = Pairs { open, domain, completions, shared: None, sizes, entries: 0 };
        pairs.sizes.inline_bytes = pairs.try_inline()?;
        Ok(pairs)
    }

    /// Returns the sizes, as the device takes them.
    pub(super) fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Returns the completion queue.
    #[inline]
    pub(super) fn completions(&self) -> &CompletionQueue {
        &self.completions
    }

    /// Tries how much the device copies inline. It does not say so: it either takes a queue pair
    /// with that much or does not.
    fn try_inline(&self) -> Result<u32, Fault> {
        let mut plan = self.plan(None);
        loop {
            match verbena_verbs::QueuePair::new(&self.domain, &plan) {
                Ok(_) => return Ok(plan.inline_bytes_max),
                Err(libc::EINVAL | libc::ENOMEM) if plan.inline_bytes_max > 0 => plan.inline_bytes_max /= 2,
                Err(number) => return Err(verbena_verbs::QueuePair::refusal(&self.domain, &plan, number)),
            }
        }
    }

    fn plan(&self, shared: Option<Arc<SharedReceiveQueue>>) -> Plan {
        Plan {
            service: Service::ReliableConnection,
            completions: Arc::clone(&self.completions),
            receives_max: if shared.is_some() { 0 } else { self.sizes.receives },
            shared,
            work_max: self.sizes.sends,
            inline_bytes_max: self.sizes.inline_bytes,
            segments_max: 1,
        }
    }

    /// Returns the shared receive queue, made when first asked for.
    ///
    /// # Errors
    /// The device has none.
    pub(super) fn shared(&mut self) -> Result<&Arc<SharedReceiveQueue>, Fault> {
        if self.shared.is_none() {
            self.make_room(self.sizes.receives)?;
            self.shared = Some(SharedReceiveQueue::new(&self.domain, self.sizes.receives)?);
        }
        Ok(self.shared.as_ref().expect("just made"))
    }

    /// Opens a new queue pair in the state reset.
    ///
    /// # Errors
    /// The device has no more, or its completion queue cannot grow.
    pub(super) fn open(&mut self, shared: bool, psn: u32) -> Result<&Pair, Fault> {
        let queue = if shared { Some(Arc::clone(self.shared()?)) } else { None };
        let plan = self.plan(queue);
        let entries = self.sizes.sends + plan.receives_max;
        self.make_room(entries)?;
        let queue = verbena_verbs::QueuePair::new(&self.domain, &plan).map_err(|number| {
            self.entries -= entries;
            verbena_verbs::QueuePair::refusal(&self.domain, &plan, number)
        })?;
        let number = queue.number();
        self.open.insert(number, Pair { queue, psn, shared, entries });
        Ok(&self.open[&number])
    }

    fn make_room(&mut self, entries: u32) -> Result<(), Fault> {
        let needed = self.entries + entries;
        if needed > self.sizes.entries_max {
            return Err(self.full(needed));
        }
        if needed > self.completions.entries() {
            self.completions.resize(needed.next_power_of_two().min(self.sizes.entries_max))?;
        }
        self.entries = needed;
        Ok(())
    }

    #[cold]
    fn full(&self, needed: u32) -> Fault {
        Fault::new(
            format!("no further connection can be made: {} are open", self.open.len()),
            self.domain.context().name(),
            format!(
                "the device's completion queues hold {} at most, and all connections together may cause {needed} completions",
                self.sizes.entries_max
            ),
            "lower VERBENA_RC_WORK_MAX or VERBENA_RC_RECEIVES_MAX, or run fewer processes",
        )
    }

    /// Finds one by its number.
    #[inline]
    pub(super) fn get(&self, pair: QueuePair) -> Option<&Pair> {
        self.open.get(&pair.0)
    }

    /// Destroys one; returns whether it received from the shared queue.
    pub(super) fn close(&mut self, pair: QueuePair) -> Option<bool> {
        let closed = self.open.remove(&pair.0)?;
        self.entries -= closed.entries;
        Some(closed.shared)
    }
}

impl Sizes {
    /// Returns what the options ask for, within what the device can do.
    pub(super) fn within(
        options: &Options,
        reads: u32,
        device: &verbena_verbs::raw::ibv_device_attr,
    ) -> Sizes {
        let positive = |number: i32| u32::try_from(number).unwrap_or(0).max(1);
        let receives = positive(device.max_srq_wr.max(device.max_qp_wr));
        Sizes {
            sends: (options.work_max + reads).min(positive(device.max_qp_wr)),
            receives: options.receives_max.min(receives),
            inline_bytes: options.inline_bytes_max as u32,
            entries_max: positive(device.max_cqe),
        }
    }
}

/// A hasher for numbers of queue pairs. They differ in their low bits; one multiplication
/// (Fibonacci hashing) brings these to the top.
#[derive(Default)]
pub(super) struct Scatter(u64);

impl Hasher for Scatter {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(u32::from(byte)));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_verbs::raw::ibv_device_attr;

    #[test]
    fn sizes_stay_within_what_the_device_can_do() {
        let options = Options::current();
        let device =
            ibv_device_attr { max_qp_wr: 100, max_srq_wr: 64, max_cqe: 500, ..ibv_device_attr::zeroed() };
        let sizes = Sizes::within(&options, 16, &device);
        assert_eq!((sizes.sends, sizes.receives, sizes.entries_max), (100, 100, 500));
        let roomy = ibv_device_attr { max_qp_wr: 1 << 15, max_srq_wr: 1 << 15, max_cqe: 1 << 22, ..device };
        let sizes = Sizes::within(&options, 16, &roomy);
        assert_eq!((sizes.sends, sizes.receives), (144, 4096));
    }
}
