//! The progress thread keeps off the core on which the program computes.
//!
//! The scheduler may put a thread that wakes beside the computation even if another rank only waits
//! on the next core, and waiting ranks yield while a computation does not. So the thread looks now
//! and then where the program's first thread is, and may run on all cores but that one.

use std::time::{Duration, Instant};
use verbena_machine::cores;

/// The time from one look to the next. A look costs some microseconds, opening the file included (a
/// number that is kept might come to mean the program's file); the scheduler moves a computation
/// less often than this.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The kernel's description of a process: its first thread's core is the 37th word behind the name
/// (proc(5)).
const STAT: &str = "/proc/self/stat";
const CORE_WORD: usize = 36;

/// The cores on which this thread may run.
#[derive(Debug)]
pub struct ThreadPlacement {
    /// The cores that the process may use.
    allowed: Vec<u8>,
    /// True if these are more than one.
    several: bool,
    /// The core that is left alone.
    left: Option<u32>,
    looked: Option<Instant>,
}

impl ThreadPlacement {
    /// Begins for the calling thread, which may run on all cores of the process so far.
    pub fn new() -> ThreadPlacement {
        let allowed = cores::affinity();
        let several = cores::count_union(std::iter::once(&*allowed)) > 1;
        ThreadPlacement { allowed, several, left: None, looked: None }
    }

    /// Moves the woken thread to where the program's first thread is not.
    pub fn keep(&mut self) {
        if !self.several || self.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
            return;
        }
        self.looked = Some(Instant::now());
        let core = std::fs::read(STAT).ok().and_then(|text| core_in(&text));
        if let Some(core) = core.filter(|core| self.left != Some(*core)) {
            self.left = Some(core);
            cores::confine(&without(&self.allowed, core));
        }
    }
}

impl Default for ThreadPlacement {
    fn default() -> ThreadPlacement {
        ThreadPlacement::new()
    }
}

/// The core in the kernel's description of a process. Its name may hold anything but ends with the
/// last parenthesis.
fn core_in(stat: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(&stat[stat.iter().rposition(|&byte| byte == b')')? + 1..]).ok()?;
    text.split_ascii_whitespace().nth(CORE_WORD)?.parse().ok()
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
    fn the_core_is_found_behind_any_name() {
        let words = (0..50).map(|word| word.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(core_in(format!("12 (a) b) {words}").as_bytes()), Some(36));
        assert_eq!(core_in(b"12 (short) R 1 2"), None);
        assert_eq!(core_in(b""), None);
        let own = std::fs::read(STAT).expect("proc is there");
        assert!(core_in(&own).is_some());
    }

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
            let mut placement = ThreadPlacement::new();
            placement.keep();
            match placement.left {
                Some(core) => assert_eq!(cores::affinity(), trimmed(without(&allowed, core))),
                None => assert_eq!(cores::affinity(), allowed),
            }
        })
        .join()
        .expect("it is where it may be");
    }

    fn trimmed(mut mask: Vec<u8>) -> Vec<u8> {
        mask.truncate(mask.iter().rposition(|&bits| bits != 0).map_or(0, |last| last + 1));
        mask
    }
}
