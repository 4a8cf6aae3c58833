//! Processes whose memory is read and written beside the engine.

use super::copy::{self, Verb};
use super::{Way, Ways, failed, probe};
use std::io::Error;
use std::sync::Arc;
use verbena_channel::Peer;
use verbena_channel::neighbor::{Neighbor, Neighbors, Refusal};
use verbena_memory::Region;

/// The processes of the job that were known at connect to be reachable or not.
pub(super) struct Reachable {
    me: Peer,
    ways: Ways,
}

impl Reachable {
    pub(super) fn new(me: Peer, ways: Ways) -> Reachable {
        Reachable { me, ways }
    }
}

impl Neighbors for Reachable {
    fn neighbor(&self, peer: Peer) -> Option<Arc<dyn Neighbor>> {
        let way = match self.ways.get(&peer)? {
            Way::Untried(card) => probe(card),
            way => way.clone(),
        };
        let Way::Tried { pid, read: true, write: true } = way else { return None };
        Some(Arc::new(Process { me: self.me, peer, pid }))
    }
}

/// A process that was tried out.
struct Process {
    me: Peer,
    peer: Peer,
    pid: u32,
}

impl Process {
    fn transfer(&self, verb: Verb, local: Region, address: u64) -> Result<(), Refusal> {
        copy::transfer(verb, self.pid, local, address)
            .map_err(|error| self.refusal(verb, local.len(), &error))
    }

    fn transfer_lists(&self, verb: Verb, ours: &[Region], theirs: &[(u64, usize)]) -> Result<(), Refusal> {
        let bytes: usize = ours.iter().map(Region::len).sum();
        assert_eq!(bytes, theirs.iter().map(|run| run.1).sum::<usize>(), "lists of as many bytes");
        copy::transfer_lists(verb, self.pid, ours, theirs).map_err(|error| self.refusal(verb, bytes, &error))
    }

    #[cold]
    fn refusal(&self, verb: Verb, bytes: usize, error: &Error) -> Refusal {
        let is_gone = error.raw_os_error() == Some(libc::EFAULT);
        Refusal { is_gone, fault: failed(verb, self.peer, self.me, bytes, error) }
    }
}

impl Neighbor for Process {
    fn read(&self, address: u64, into: Region) -> Result<(), Refusal> {
        self.transfer(Verb::Read, into, address)
    }

    fn write(&self, from: Region, address: u64) -> Result<(), Refusal> {
        self.transfer(Verb::Write, from, address)
    }

    fn read_list(&self, theirs: &[(u64, usize)], ours: &[Region]) -> Result<(), Refusal> {
        self.transfer_lists(Verb::Read, ours, theirs)
    }

    fn write_list(&self, ours: &[Region], theirs: &[(u64, usize)]) -> Result<(), Refusal> {
        self.transfer_lists(Verb::Write, ours, theirs)
    }
}

/// This process as a neighbour of itself, for simulations whose ranks share a process.
pub fn own_memory() -> Arc<dyn Neighbor> {
    Arc::new(Process { me: 0, peer: 0, pid: std::process::id() })
}
