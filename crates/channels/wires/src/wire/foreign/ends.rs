//! The ends of processes of another job, which nobody else tells its channels.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use verbena_channel::Peer;
use verbena_fault::Fault;

/// The processes of another job that have ended, as far as the owner of the channels to them has
/// found out.
#[derive(Debug, Default)]
pub struct Ends {
    count: AtomicUsize,
    peers: Mutex<Vec<Peer>>,
}

impl Ends {
    /// Notes that a process has ended, by the engine's number.
    pub fn add(&self, peer: Peer) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.push(peer);
        self.count.store(peers.len(), Ordering::Release);
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub(super) fn part(&self, from: usize, to: usize) -> Vec<Peer> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)[from..to].to_vec()
    }
}

/// The fault of a process of another job that has ended.
#[cold]
pub(super) fn fault(peer: Peer) -> Fault {
    Fault::new(
        "a process of another job has ended",
        format!("process {peer}, as this process numbers those of other jobs"),
        "it was killed, or left MPI before this process had disconnected from it",
        "look at its own output; MPI_Comm_disconnect separates jobs before one of them ends",
    )
}
