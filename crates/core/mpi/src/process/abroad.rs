//! The processes of other jobs, watched for their ends: no launcher tells this process of them.
//! Those of this machine can be watched, others cannot.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use verbena_channel::Peer;
use verbena_machine::alive::WatchedProcess;
use verbena_wires::foreign::Ends;

/// The time between two looks at the processes that are watched.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The way in which the end of a process of another job is seen.
enum Sight {
    /// The process is watched.
    Watched(WatchedProcess),
    /// The process has ended.
    Ended,
    /// The process is of another machine, or of other process numbers.
    Elsewhere,
    /// The end should be seen, but the system refuses that for this reason.
    Refused(String),
}

/// The processes of one introduction.
struct Home {
    processes: Vec<(Peer, Sight)>,
    ends: Arc<Ends>,
}

#[derive(Default)]
struct Homes {
    of: BTreeMap<u32, Home>,
    looked: Option<Instant>,
}

static HOMES: Mutex<Homes> = Mutex::new(Homes { of: BTreeMap::new(), looked: None });
/// True while any process is watched.
static IS_WATCHING: AtomicBool = AtomicBool::new(false);

fn homes() -> MutexGuard<'static, Homes> {
    HOMES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Home {
    /// Notes who has ended since the last look.
    fn look(&mut self) {
        let watched = self.processes.iter().filter_map(|(_, sight)| match sight {
            Sight::Watched(process) => Some(process),
            _ => None,
        });
        let mut ended = WatchedProcess::which_have_ended(watched).into_iter();
        for (peer, sight) in &mut self.processes {
            if matches!(sight, Sight::Watched(_)) && ended.next() == Some(true) {
                *sight = Sight::Ended;
                self.ends.add(*peer);
            }
        }
    }
}

impl Homes {
    fn note_whether_watching(&self) {
        let is_watched = |(_, sight): &(Peer, Sight)| matches!(sight, Sight::Watched(_));
        let any = self.of.values().any(|home| home.processes.iter().any(is_watched));
        IS_WATCHING.store(any, Ordering::Relaxed);
    }

    fn look(&mut self) {
        self.looked = Some(Instant::now());
        self.of.values_mut().for_each(Home::look);
        self.note_whether_watching();
    }
}

/// Watches the processes of a new home, by the system's numbers of those that are of this machine.
/// Their ends are told to the channels that lead there.
pub(super) fn watch(home: u32, processes: impl Iterator<Item = (Peer, Option<u32>)>) -> Arc<Ends> {
    let sight = |pid: Option<u32>| match pid.map(WatchedProcess::new) {
        None => Sight::Elsewhere,
        Some(Ok(process)) => Sight::Watched(process),
        Some(Err(error)) => Sight::Refused(error.to_string()),
    };
    let ends = Arc::new(Ends::default());
    let processes = processes.map(|(peer, pid)| (peer, sight(pid))).collect();
    let mut homes = homes();
    homes.of.insert(home, Home { processes, ends: ends.clone() });
    homes.note_whether_watching();
    ends
}

/// Watches the processes of a home no more.
pub(super) fn forget(home: u32) {
    let mut homes = homes();
    homes.of.remove(&home);
    homes.note_whether_watching();
}

/// Returns whether any process is watched.
pub(super) fn is_watching() -> bool {
    IS_WATCHING.load(Ordering::Relaxed)
}

/// Looks who has ended, if the last look was a moment ago.
#[cold]
pub(super) fn look_in_turn() {
    let mut homes = homes();
    if homes.looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY) {
        homes.look();
    }
}

/// Looks who has ended.
#[cold]
pub(super) fn look() {
    homes().look();
}

/// The processes that have ended, as far as was looked.
pub(super) fn ended() -> Vec<Peer> {
    let homes = homes();
    let all = homes.of.values().flat_map(|home| &home.processes);
    all.filter(|(_, sight)| matches!(sight, Sight::Ended)).map(|(peer, _)| *peer).collect()
}

/// The reason why the end of a process of another job would not be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blindness {
    /// A process is of another machine, or of a container with process numbers of its own.
    Elsewhere(Peer),
    /// A process could be watched if the system let it, which says why not.
    Refused(Peer, String),
}

/// Returns why the end of some process of another job would not be seen; `None` if all would.
pub(super) fn blindness() -> Option<Blindness> {
    let homes = homes();
    let reason = |(peer, sight): &(Peer, Sight)| match sight {
        Sight::Watched(_) | Sight::Ended => None,
        Sight::Elsewhere => Some(Blindness::Elsewhere(*peer)),
        Sight::Refused(why) => Some(Blindness::Refused(*peer, why.clone())),
    };
    homes.of.values().flat_map(|home| &home.processes).find_map(reason)
}

/// Returns whether this is a process of another job that is seen to have ended.
#[cold]
pub(super) fn has_ended(peer: Peer) -> bool {
    sees_end(peer) == Some(true)
}

/// Returns whether this process, which a channel has lost, has ended, or does so until then; `None`
/// if it is not watched.
pub(super) fn ends_until(peer: Peer, until: Instant) -> Option<bool> {
    loop {
        let ended = sees_end(peer)?;
        if ended || Instant::now() >= until {
            return Some(ended);
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn sees_end(peer: Peer) -> Option<bool> {
    let homes = homes();
    let mut all = homes.of.values().flat_map(|home| &home.processes);
    match &all.find(|(known, _)| *known == peer)?.1 {
        Sight::Watched(process) => Some(process.has_ended()),
        Sight::Ended => Some(true),
        Sight::Elsewhere | Sight::Refused(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_end_of_a_process_is_seen_as_long_as_its_home_is_known() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        watch(7, [(900, Some(child.id()))].into_iter());
        look();
        assert!(blindness().is_none() && is_watching());
        assert_eq!(ends_until(900, Instant::now()), Some(false));
        child.kill().expect("our child");
        assert_eq!(ends_until(900, Instant::now() + Duration::from_secs(60)), Some(true));
        child.wait().expect("our child");
        // Nothing is left to look at, and the end is known.
        look();
        assert!(!is_watching());
        assert!(has_ended(900));
        // One of another machine.
        watch(8, [(901, None)].into_iter());
        assert_eq!(blindness(), Some(Blindness::Elsewhere(901)));
        assert_eq!(ends_until(901, Instant::now()), None);
        forget(8);
        // One that has ended already.
        watch(9, [(902, Some(u32::MAX / 2))].into_iter());
        assert!(is_watching());
        look();
        assert!(!is_watching() && blindness().is_none());
        forget(9);
        forget(7);
        assert!(blindness().is_none() && !is_watching());
        assert_eq!(ends_until(900, Instant::now()), None);
    }
}
