//! Processes that are watched under a limit on descriptors, in a process of its own.

use std::process::Command;
use verbena_machine::alive::WatchedProcess;

/// More than a limit on descriptors allows are looked at all the same, and pidfds leave most of
/// it to the program.
#[test]
fn the_limit_on_descriptors_hides_no_end() {
    const LIMIT: libc::rlim_t = 64;
    let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
    let watched = WatchedProcess::new(child.id()).expect("a pidfd");
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure lives.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut before) }, 0);
    let limit = |most: libc::rlim_t| {
        let limit = libc::rlimit { rlim_cur: most, ..before };
        // SAFETY: the structure lives.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
    };
    limit(LIMIT);
    let all: Vec<_> = (0..2 * LIMIT).map(|_| WatchedProcess::new(child.id()).expect("watched")).collect();
    let taken = all.iter().filter(|process| format!("{process:?}").contains("Descriptor")).count();
    let ends = |ended: bool| {
        let many = std::iter::repeat_n(&watched, 4 * LIMIT as usize).chain(&all);
        WatchedProcess::which_have_ended(many).into_iter().all(|one| one == ended)
    };
    let all_live = ends(false);
    child.kill().expect("our child");
    child.wait().expect("our child");
    let all_are_over = ends(true);
    // No descriptor at all.
    limit(0);
    let all_are_seen = ends(true);
    limit(before.rlim_cur);
    assert!(taken > 0 && taken <= LIMIT as usize / 4, "{taken} pidfds");
    assert!(all_live && all_are_over && all_are_seen);
}
