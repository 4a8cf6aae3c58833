//! Buffers for receiving: a few large ones that take many messages each; if the provider cannot do
//! that, many that take one.

use super::name::Name;
use super::net::{self, Net};
use super::settings::Settings;
use std::ffi::c_void;
use verbena_fabric::explain::fault;
use verbena_fabric::{Completion, MemoryRegion, Refused, raw};
use verbena_fault::Fault;
use verbena_memory::{Owned, Region};

/// The number of large buffers.
const LARGE: usize = 3;
/// The number of buffers for one message each.
const SMALL: usize = 64;

/// All buffers. They are the provider's, except while a message is read.
pub(crate) struct Receives {
    buffers: Vec<Buffer>,
    /// The buffers that could not be posted again yet.
    waiting: Vec<u32>,
    takes_several: bool,
}

struct Buffer {
    region: Region,
    /// Keeps the region's memory.
    _owner: Owned,
    registered: Option<MemoryRegion>,
}

impl Receives {
    /// Makes and posts all buffers.
    ///
    /// # Errors
    /// Those of the provider.
    pub(crate) fn new(net: &mut Net, settings: &Settings) -> Result<Receives, Fault> {
        let takes_several = net.takes_several();
        let (count, bytes) = match takes_several {
            true => (LARGE, settings.receive_bytes),
            false => (SMALL.min(net.offer().operations_max().1), settings.message_bytes),
        };
        let mut receives = Receives { buffers: Vec::new(), waiting: Vec::new(), takes_several };
        for at in 0..count as u32 {
            let owner = Owned::zeroed(bytes);
            let region = owner.lend();
            let registered = net.register_local(region, raw::FI_RECV)?;
            receives.buffers.push(Buffer { region, _owner: owner, registered });
            receives.post(net, at)?;
        }
        Ok(receives)
    }

    fn post(&mut self, net: &mut Net, at: u32) -> Result<(), Fault> {
        let buffer = &self.buffers[at as usize];
        let context = net.contexts.take(Name::Receive(at).number());
        let memory: *mut u8 = buffer.region.pointer();
        let descriptor = net::descriptor(buffer.registered.as_ref());
        let (bytes, several) = (buffer.region.len(), self.takes_several);
        // SAFETY: the buffer is ours, posted once at a time, and outlives the endpoint; the context
        // was taken for this.
        let posted = unsafe { net.endpoint.receive(memory, bytes, descriptor, several, context) };
        if posted.is_err() {
            // SAFETY: taken above; nothing was begun.
            unsafe { net.contexts.give_back(context) };
        }
        match posted {
            Ok(()) => Ok(()),
            Err(Refused::Again) => {
                self.waiting.push(at);
                Ok(())
            }
            Err(Refused::Failed(number)) => {
                Err(fault("a receive buffer cannot be posted", format!("{:?}", net.offer()), number))
            }
        }
    }

    /// The message that came, if one did.
    pub(crate) fn message(&self, at: u32, completion: &Completion) -> Option<Region> {
        if completion.bytes == 0 {
            return None;
        }
        let buffer = &self.buffers[at as usize];
        let offset = match self.takes_several {
            true => completion.address.checked_sub(buffer.region.address())? as usize,
            false => 0,
        };
        let within = offset.checked_add(completion.bytes)? <= buffer.region.len();
        within.then(|| buffer.region.part(offset, completion.bytes))
    }

    /// Returns whether the buffer is ours again after this completion.
    pub(crate) fn is_back(&self, flags: u64) -> bool {
        !self.takes_several || flags & raw::FI_MULTI_RECV != 0
    }

    /// Posts a buffer again that is ours again, and whose content was read.
    ///
    /// # Errors
    /// Those of the provider.
    pub(crate) fn recycle(&mut self, net: &mut Net, at: u32, context: *mut c_void) -> Result<(), Fault> {
        // SAFETY: taken when the buffer was posted, and that receive is over.
        unsafe { net.contexts.give_back(context) };
        self.post(net, at)
    }

    /// Posts the buffers that could not be posted before.
    ///
    /// # Errors
    /// Those of the provider.
    pub(crate) fn catch_up(&mut self, net: &mut Net) -> Result<(), Fault> {
        std::mem::take(&mut self.waiting).into_iter().try_for_each(|at| self.post(net, at))
    }
}
