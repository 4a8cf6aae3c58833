//! The progress thread keeps off the core on which the program computes.
//!
//! The scheduler may put a thread that wakes beside the computation even if another rank only waits
//! on the next core, and waiting ranks yield while a computation does not. So the thread looks now
//! and then where the program's first thread is, and may run on all cores but that one.

use std::time::{Duration, Instant};
use verbena_machine::cores;
use verbena_machine::first_thread::FirstThread;

/// The time from one move to the next look: the scheduler moves a computation less often.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The cores on which this thread may run.
#[derive(Debug)]
pub struct ThreadPlacement {
    first: Option<FirstThread>,
    /// The cores that the process may use.
    allowed: Vec<u8>,
    /// True if these are more than one.
    several: bool,
    /// The core that is left alone.
    left: Option<u32>,
    looked: Option<Instant>,
}

impl ThreadPlacement {
    /// Begins for the calling thread. It may use all cores of the process that were noted with the
    /// first thread, also if the program has that one bound by now; where nothing is known of the
    /// first thread, it stays where it is for ever.
    pub fn new(noted: Option<(FirstThread, &[u8])>) -> ThreadPlacement {
        let (first, allowed) = noted.unzip();
        let allowed = allowed.map_or_else(cores::affinity, <[u8]>::to_vec);
        let several = cores::count_union(std::iter::once(&*allowed)) > 1;
        ThreadPlacement { first, allowed, several, left: None, looked: None }
    }

    /// Moves the woken thread to where the program's first thread is not.
    pub fn keep(&mut self) {
        if !self.several || self.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
            return;
        }
        self.looked = Some(Instant::now());
        let core = self.first.and_then(FirstThread::core);
        if let Some(core) = core.filter(|core| self.left != Some(*core)) {
            self.leave(core);
        }
    }

    /// Moves the thread off this core.
    fn leave(&mut self, core: u32) {
        self.left = Some(core);
        cores::confine(&without(&self.allowed, core));
    }
}

/// The mask without that core; the whole mask if that would be empty.
fn without(allowed: &[u8], core: u32) -> Vec<u8> {
    let mask = cores::only(allowed, |other| other != core);
    if mask.iter().all(|&bits| bits == 0) { allowed.to_vec() } else { mask }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_core_is_left_out_unless_it_is_the_last() {
        assert_eq!(without(&[0b11], 0), [0b10]);
        assert_eq!(without(&[0b11, 1], 8), [0b11, 0]);
        assert_eq!(without(&[0b10], 1), [0b10]);
        assert_eq!(without(&[0b10], 70), [0b10]);
    }

    #[test]
    fn a_thread_keeps_off_the_core_of_the_first_one() {
        let allowed = cores::affinity();
        std::thread::spawn(move || {
            let mut placement = ThreadPlacement::new(None);
            placement.keep();
            assert_eq!(cores::affinity(), allowed, "nothing is known");
            placement.leave(0);
            assert_eq!(cores::affinity(), trimmed(without(&allowed, 0)));
        })
        .join()
        .expect("it is where it may be");
    }

    fn trimmed(mut mask: Vec<u8>) -> Vec<u8> {
        mask.truncate(mask.iter().rposition(|&bits| bits != 0).map_or(0, |last| last + 1));
        mask
    }
}
