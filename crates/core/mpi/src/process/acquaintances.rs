//! The table of the processes of other jobs that a process knows, by identity and by number. No
//! I/O.

use crate::tie::{Identity, Tie};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};
use verbena_channel::Peer;

/// A process of another job.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The number of the process here.
    pub peer: Peer,
    /// The tie that must be held while the number is used.
    pub tie: Weak<Tie>,
}

/// The processes of one introduction.
#[derive(Debug, Default)]
struct Home {
    members: Vec<(Peer, Identity)>,
    cores: Vec<Option<Vec<u8>>>,
}

/// The table.
#[derive(Debug, Default)]
pub(super) struct Acquaintances {
    homes: BTreeMap<u32, Home>,
    by_identity: HashMap<Identity, Known>,
    by_peer: HashMap<Peer, Identity>,
    /// Numbers that were given back.
    free: BTreeSet<Peer>,
    /// The first number that nobody has had.
    next: Peer,
    /// The number of the last home.
    last_home: u32,
}

impl Acquaintances {
    /// Numbers from here on are for processes of other jobs.
    pub(super) fn begin(&mut self, first: Peer) {
        self.next = first;
    }

    /// The identity of a process of another job.
    pub(super) fn identity(&self, peer: Peer) -> Option<Identity> {
        self.by_peer.get(&peer).copied()
    }

    /// The process with this identity, if it is known.
    pub(super) fn known(&self, identity: &Identity) -> Option<Known> {
        self.by_identity.get(identity).cloned()
    }

    /// Gives each of these processes a number; returns the number of their home, and theirs. A
    /// process that was known before, and is met anew since the other side has forgotten it or it
    /// was lost, is known by the new number from now on.
    pub(super) fn admit(&mut self, identities: &[Identity], cores: Vec<Option<Vec<u8>>>) -> (u32, Vec<Peer>) {
        self.last_home = (self.last_home + 1..u32::MAX)
            .chain(1..)
            .find(|home| !self.homes.contains_key(home))
            .expect("fewer homes than numbers");
        let peers: Vec<Peer> = identities.iter().map(|_| self.number()).collect();
        let members: Vec<(Peer, Identity)> = peers.iter().copied().zip(identities.iter().copied()).collect();
        self.by_peer.extend(members.iter().copied());
        self.homes.insert(self.last_home, Home { members, cores });
        (self.last_home, peers)
    }

    fn number(&mut self) -> Peer {
        self.free.pop_first().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// Lets the processes of a home be found for as long as this tie is held.
    pub(super) fn tie(&mut self, home: u32, tie: &Arc<Tie>) {
        for (peer, identity) in self.homes.get(&home).into_iter().flat_map(|home| &home.members) {
            self.by_identity.insert(*identity, Known { peer: *peer, tie: Arc::downgrade(tie) });
        }
    }

    /// Forgets the processes of a home.
    pub(super) fn dismiss(&mut self, home: u32) {
        for (peer, identity) in self.homes.remove(&home).unwrap_or_default().members {
            self.by_peer.remove(&peer);
            self.free.insert(peer);
            if self.by_identity.get(&identity).is_some_and(|known| known.peer == peer) {
                self.by_identity.remove(&identity);
            }
        }
    }

    /// The parts about cores of the cards of all that are known.
    pub(super) fn cores(&self) -> Vec<Option<Vec<u8>>> {
        self.homes.values().flat_map(|home| home.cores.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tie::Loosened;

    fn of_job(job: u128, ranks: std::ops::Range<u32>) -> Vec<Identity> {
        ranks.map(|rank| Identity { job, rank }).collect()
    }

    #[test]
    fn numbers_come_back_and_stay_few() {
        let mut table = Acquaintances::default();
        table.begin(4);
        for _ in 0..1000 {
            let (a, first) = table.admit(&of_job(1, 0..3), vec![None; 3]);
            let (b, second) = table.admit(&of_job(2, 0..2), vec![None; 2]);
            assert_eq!((first, second), (vec![4, 5, 6], vec![7, 8]));
            assert_eq!(table.cores().len(), 5);
            table.dismiss(a);
            table.dismiss(b);
        }
        assert!(table.by_peer.is_empty() && table.by_identity.is_empty() && table.homes.is_empty());
    }

    #[test]
    fn who_is_met_anew_has_the_new_number_and_keeps_it() {
        let mut table = Acquaintances::default();
        let identity = of_job(1, 0..1);
        let tie = |number| Arc::new(Tie::new(number, Loosened::default()));
        let (old, peers) = table.admit(&identity, vec![None]);
        table.tie(old, &tie(old));
        assert_eq!(table.known(&identity[0]).map(|known| known.peer), Some(peers[0]));
        assert!(table.known(&identity[0]).is_some_and(|known| known.tie.upgrade().is_none()));
        let (new, again) = table.admit(&identity, vec![None]);
        let held = tie(new);
        table.tie(new, &held);
        table.dismiss(old);
        let known = table.known(&identity[0]).expect("known");
        assert_eq!(known.peer, again[0]);
        assert!(known.tie.upgrade().is_some() && table.identity(again[0]) == Some(identity[0]));
    }
}
