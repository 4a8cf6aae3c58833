//! Duplication (`MPI_Comm_dup`, `_dup_with_info`, `_idup`, `_idup_with_info`; MPI-5.0, 7.4.2).
//!
//! There are three steps, so that a blocking call and a task share them. [`Comm::dup_begin`] makes
//! the duplicate with everything but its contexts (and runs the copy callbacks, which must run
//! during the call). An exchange carries what the leaders offer. [`Comm::settle`] gives the
//! duplicate its contexts.
//!
//! In the exchange, rank 0 of the local group makes an [`offer`](Comm::offer). In an
//! intercommunicator it swaps it with rank 0 of the other side, and tells both to its own side. A
//! task broadcasts what follows from them ([`agreed`](Comm::agreed)) in the [inner](Comm::inner)
//! communicator instead.

use super::words::{pack, unpack};
use super::{Comm, Exchange, NO_CONTEXT, Remote};
use crate::error::Result;
use crate::info::Info;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Comm {
    /// A duplicate with the hints in `info`, after a collective exchange. Copy callbacks may fail
    /// it.
    pub fn duplicate(&self, info: Option<&Info>, exchange: &dyn Exchange) -> Result<Comm> {
        // A failure is reported after the exchange, for which the others wait.
        let begun = self.dup_begin(info);
        let contexts = self.dup_exchange(exchange)?;
        let new = begun?;
        new.settle(&contexts)?;
        Ok(new)
    }

    fn dup_exchange(&self, exchange: &dyn Exchange) -> Result<Vec<u8>> {
        let offer = match self.rank {
            0 => self.offer(&|| exchange.new_context()),
            _ => Vec::new(),
        };
        if self.is_inter() {
            let (ours, theirs) = self.swap(Ok(offer), exchange)?;
            return self.agreed(&ours, &theirs);
        }
        let offer = exchange.bcast(self.inner(), 0, offer)?;
        self.agreed(&offer, &offer)
    }

    /// Makes the duplicate without contexts: it must not be used before [`Comm::settle`].
    pub fn dup_begin(&self, info: Option<&Info>) -> Result<Comm> {
        let attributes = self.attributes.copied(self.handle())?;
        let remote = self.remote.as_ref().map(|remote| Remote {
            group: remote.group.clone(),
            inner: Arc::new(self.child(NO_CONTEXT, self.local.clone(), None)),
            is_local_first: remote.is_local_first,
        });
        let new = self.child(NO_CONTEXT, self.local.clone(), remote);
        if let Some(info) = info {
            new.hints.merge(info)?;
        }
        Ok(Comm { attributes, topology: self.topology.clone(), ..new })
    }

    /// The offer of rank 0 of the local group: a context, and one for the inner communicator.
    pub fn offer(&self, new_context: &dyn Fn() -> u64) -> Vec<u8> {
        let inner = if self.is_inter() { new_context() } else { 0 };
        pack(&[new_context(), inner])
    }

    /// The agreement that follows from both leaders' offers (twice the same in an
    /// intracommunicator), for [`Comm::settle`] of every rank.
    pub fn agreed(&self, ours: &[u8], theirs: &[u8]) -> Result<Vec<u8>> {
        let ([ours, inner], [theirs, _]) = (unpack(ours)?, unpack(theirs)?);
        let first = self.remote.as_ref().is_none_or(|remote| remote.is_local_first);
        Ok(pack(&[if first { ours } else { theirs }, inner]))
    }

    /// Gives a duplicate its contexts.
    pub fn settle(&self, agreed: &[u8]) -> Result<()> {
        let [context, inner] = unpack(agreed)?;
        if let Some(remote) = &self.remote {
            remote.inner.context.store(inner, Ordering::Relaxed);
        }
        self.context.store(context, Ordering::Release);
        Ok(())
    }
}
