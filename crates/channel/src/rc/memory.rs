//! Long messages, moved by RDMA without a copy.

use super::Rc;
use super::adapter::{Adapter, Completion};
use crate::{Peer, Sink};

impl<A: Adapter> Rc<A> {
    /// Work with the id [`Id::Memory`](super::id::Id::Memory) has ended.
    pub(super) fn memory_done(
        &mut self,
        peer: Peer,
        _number: u32,
        completion: &Completion,
        _sink: &mut dyn Sink,
    ) {
        self.done(peer, completion);
    }
}
