//! The processes of other jobs, watched for their ends: no launcher tells this process of them.
//! Those of this machine can be watched, others cannot.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use verbena_channel::Peer;
use verbena_machine::alive::WatchedProcess;

/// The time between two looks at a process that may be ending.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The processes of each home; `None` for one that cannot be watched.
type Homes = BTreeMap<u32, Vec<(Peer, Option<WatchedProcess>)>>;

static HOMES: Mutex<Homes> = Mutex::new(BTreeMap::new());

fn homes() -> MutexGuard<'static, Homes> {
    HOMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches the processes of a new home, by the system's numbers of those that are of this machine.
pub(super) fn watch(home: u32, processes: impl Iterator<Item = (Peer, Option<u32>)>) {
    let watched = |pid: Option<u32>| WatchedProcess::new(pid?).ok();
    homes().insert(home, processes.map(|(peer, pid)| (peer, watched(pid))).collect());
}

/// Watches the processes of a home no more.
pub(super) fn forget(home: u32) {
    homes().remove(&home);
}

/// Returns whether the end of every process of another job would be seen.
pub(super) fn are_all_watched() -> bool {
    homes().values().flatten().all(|(_, process)| process.is_some())
}

/// Returns whether this process, which a channel has lost, has ended, or does so until then; `None`
/// if it is not watched.
pub(super) fn has_ended(peer: Peer, until: Instant) -> Option<bool> {
    loop {
        let ended = look(peer)?;
        if ended || Instant::now() >= until {
            return Some(ended);
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn look(peer: Peer) -> Option<bool> {
    let homes = homes();
    let (_, process) = homes.values().flatten().find(|(known, _)| *known == peer)?;
    Some(process.as_ref()?.has_ended())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_end_of_a_process_is_seen_as_long_as_its_home_is_known() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        watch(7, [(900, Some(child.id()))].into_iter());
        assert!(are_all_watched());
        assert_eq!(has_ended(900, Instant::now()), Some(false));
        child.kill().expect("our child");
        assert_eq!(has_ended(900, Instant::now() + Duration::from_secs(60)), Some(true));
        child.wait().expect("our child");
        // One of another machine.
        watch(8, [(901, None)].into_iter());
        assert!(!are_all_watched());
        assert_eq!(has_ended(901, Instant::now()), None);
        forget(8);
        forget(7);
        assert!(are_all_watched());
        assert_eq!(has_ended(900, Instant::now()), None);
    }
}
