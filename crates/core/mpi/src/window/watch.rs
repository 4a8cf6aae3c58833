//! A window's waits and locks in words for others: for reports of programs that hang.

use super::Win;
use super::lock::Kind;
use crate::comm::Traffic;
use verbena_hang::snapshot::AwaitedLock;
use verbena_hang::{Awaited, Communicator, HeldLock, words};

impl Win {
    /// The wait for the lock of a member.
    #[cold]
    pub(super) fn awaited_lock(&self, rank: usize, kind: Kind) -> Awaited {
        Awaited::Lock(AwaitedLock {
            context: self.comm.context(Traffic::Point),
            window: self.words_for_name(),
            owner: self.group().peer(rank as i32),
            exclusive: kind == Kind::Writer,
        })
    }

    /// The wait for members that have to open or close an epoch.
    #[cold]
    pub(super) fn awaited_epoch(&self, ranks: &[i32]) -> Awaited {
        let processes = ranks.iter().map(|&rank| self.group().peer(rank)).collect();
        Awaited::Epoch { window: self.words_for_name(), processes }
    }

    /// The wait for operations that these members have to carry out, or the device there.
    #[cold]
    pub(super) fn awaited_operations(&self, ranks: &[i32]) -> Awaited {
        let processes = ranks.iter().map(|&rank| self.group().peer(rank)).collect();
        Awaited::OneSided { window: self.words_for_name(), processes }
    }

    fn words_for_name(&self) -> String {
        String::from_utf8_lossy(&self.name()).into_owned()
    }

    /// The window's own communicator under its name, as the report of a hang has it.
    pub fn told(&self) -> Communicator {
        self.comm.told(words::window(&self.words_for_name()))
    }

    /// The locks that this process holds; none if a thread is just changing them.
    pub fn held_locks(&self) -> Vec<HeldLock> {
        let context = self.comm.context(Traffic::Point);
        let held = self.epochs.try_lock().map_or(Vec::new(), |epochs| epochs.held());
        let lock = |(rank, kind): (i32, Kind)| HeldLock {
            context,
            owner: self.group().peer(rank),
            exclusive: kind == Kind::Writer,
        };
        held.into_iter().map(lock).collect()
    }
}
