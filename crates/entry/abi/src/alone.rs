//! A process that nobody watches, as under launchers of others, looks at itself if the user wishes
//! it by `VERBENA_HANG_SECONDS`: when it has waited so long without getting any further, it says
//! for what. It cannot know what the others do, nor whether they are only slow; so without that
//! wish it says nothing.

use crate::watch;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use verbena_boot::status;
use verbena_fault::Fault;
use verbena_hang::waits::{Scene, collective_of};
use verbena_hang::{Rank, Snapshot, Stage, Wait, words};
use verbena_mpi::process::Watch;
use verbena_settings::{HANG_SECONDS, Origin};

/// The process's look at itself.
struct Alone {
    me: u32,
    size: u32,
    limit_ms: u64,
    /// The signs of life.
    beats: AtomicU64,
    still: Mutex<Still>,
}

/// The time for which there was no sign of life.
#[derive(Clone, Copy, Debug, Default)]
struct Still {
    beats: u64,
    since_ms: u64,
    is_told: bool,
    /// The number of silences that were told of.
    told: u64,
}

impl Still {
    /// Takes a look at this time. Returns the number of the silence if it is time to tell of it,
    /// which is once for each, and else 0. A wait answers each number once, and one wait may have
    /// several silences, with bytes that came between.
    fn look(&mut self, beats: u64, now_ms: u64, limit_ms: u64) -> u64 {
        if beats != self.beats || self.since_ms == 0 {
            *self = Still { beats, since_ms: now_ms.max(1), is_told: false, told: self.told };
        }
        let is_due = !self.is_told && now_ms.saturating_sub(self.since_ms) >= limit_ms;
        self.is_told |= is_due;
        self.told += u64::from(is_due);
        if is_due { self.told } else { 0 }
    }
}

/// The watch of the process `me` of `size` over itself; `None` if it is not wished.
pub(crate) fn watcher(me: u32, size: u32) -> Option<Arc<dyn Watch>> {
    let seconds = HANG_SECONDS.get() as u64;
    let is_wished = HANG_SECONDS.origin() != Origin::Default && seconds > 0;
    let limit_ms = seconds.saturating_mul(1000);
    let (beats, still) = (AtomicU64::new(0), Mutex::default());
    is_wished.then(|| Arc::new(Alone { me, size, limit_ms, beats, still }) as Arc<dyn Watch>)
}

impl Watch for Alone {
    fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    fn question(&self) -> u64 {
        let mut still = self.still.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let beats = self.beats.load(Ordering::Relaxed);
        still.look(beats, status::now_ms(), self.limit_ms)
    }

    /// A process speaks in a wait only, where its own clock asks.
    fn is_asked(&self) -> bool {
        false
    }

    fn now_ms(&self) -> u64 {
        status::now_ms()
    }

    fn set_waits(&self, _waits: u64) {}

    fn locate(&self, wait: &mut Wait) {
        watch::locate(wait);
    }

    fn complete(&self, snapshot: &mut Snapshot) {
        watch::complete(snapshot);
    }

    fn say(&self, snapshot: Snapshot, _question: u64) {
        if let Some(fault) = report(self.me, self.size, snapshot, status::now_ms()) {
            verbena_fault::complain(format!("verbena: {fault}"));
        }
    }
}

const OTHERS: &str =
    "another rank has not come so far, or waits too: under this launcher no rank knows what others do";
const COMPARE: &str =
    "compare what all ranks say, or start the job with Verbena's mpiexec, which finds who waits for whom";
const NO_PARTNER: &str = "look at the call: a message to oneself needs its receive, and a job of several \
                          ranks is started by mpiexec";

/// The words of the process `me` of `size` about itself; `None` if it does not wait.
fn report(me: u32, size: u32, snapshot: Snapshot, now_ms: u64) -> Option<Fault> {
    let mut ranks: Vec<Rank> = (0..size).map(|number| Rank::new(number, "", 0)).collect();
    let own = ranks.get_mut(me as usize)?;
    (own.stage, own.now_ms, own.snapshot) = (Stage::Initialised, now_ms, Some(snapshot));
    let scene = Scene::new(&ranks);
    let wait = scene.wait(me)?;
    let doing = match collective_of(wait) {
        // Which of the others are not there, nobody tells it.
        Some(collective) => format!("waits in {} for others", words::collective(&scene, collective)),
        None => words::wait(&scene, me, wait),
    };
    let places = words::places(&ranks[me as usize]);
    let waited = words::duration(now_ms.saturating_sub(wait.began_ms));
    let on = format!("rank {me} {doing}{places}, since {waited}").replace(char::is_control, " ");
    let (cause, remedy) = match size {
        1 => ("the program is alone and waits for itself, or for a process that it met", NO_PARTNER),
        _ => (OTHERS, COMPARE),
    };
    Some(Fault::new(format!("process {me} of {size} gets no further in MPI"), on, cause, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_hang::{Awaited, Collective, Message, Operation};

    #[test]
    fn each_silence_is_told_of_once() {
        let mut still = Still::default();
        assert_eq!(still.look(1, 100, 50), 0);
        assert_eq!(still.look(1, 149, 50), 0);
        assert_eq!(still.look(1, 150, 50), 1);
        assert_eq!(still.look(1, 400, 50), 0, "told already");
        assert_eq!(still.look(2, 410, 50), 0, "it got further");
        assert_eq!(still.look(2, 460, 50), 2, "a number that the same wait has not answered yet");
        assert_eq!(still.look(2, 900, 50), 0);
    }

    fn waiting(awaited: Awaited) -> Snapshot {
        let wait = Wait {
            call: "MPI_Recv".into(),
            began_ms: 1000,
            awaited,
            frames: Vec::new(),
            python: vec!["f (a.py:3)".into()],
        };
        Snapshot { waits: vec![wait], ..Snapshot::default() }
    }

    #[test]
    fn a_process_says_what_it_waits_for() {
        let message = Message { context: 0, process: Some(1), tag: Some(7), bytes: 4 };
        let awaited = Awaited::All(vec![Operation::Receive(message)]);
        let fault = report(0, 2, waiting(awaited), 61_000).expect("it waits").to_string();
        assert_eq!(fault.lines().count(), 4, "{fault}");
        let said = "on: rank 0 waits in MPI_Recv for a message from rank 1 with tag 7 on ";
        assert!(fault.contains(said) && fault.contains(", at f (a.py:3), since 60 s"), "{fault}");
        assert_eq!(report(0, 2, Snapshot::default(), 0), None);
    }

    /// Ranks of which nothing is known are not accused.
    #[test]
    fn a_collective_is_waited_in_for_others() {
        let collective = Collective { context: 0, call: "MPI_Barrier".into(), number: 3, nonblocking: false };
        let fault = report(1, 4, waiting(Awaited::Collective(collective)), 61_000).expect("it waits");
        assert!(fault.on.contains("waits in MPI_Barrier (collective 3 on "), "{fault}");
        assert!(fault.on.contains(" for others, "), "{fault}");
    }
}
