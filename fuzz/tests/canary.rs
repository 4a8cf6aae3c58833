//! A planted fault is found, made small and written where the tests replay it: the driver sees
//! something.

use verbena_fuzz::driver::{Until, breaks, drive, drive_and_keep};
use verbena_fuzz::{Target, corpus};

/// Breaks on any input that holds the two words in this order, which random bytes hardly ever do.
fn planted(data: &[u8]) {
    let at = |word: &[u8]| data.windows(word.len()).position(|window| window == word);
    let is_found = at(b"open").zip(at(b"shut")).is_some_and(|(open, shut)| open < shut);
    assert!(!is_found, "the planted fault");
}

const CANARY: Target = Target {
    name: "canary",
    about: "a planted fault",
    inputs: 1,
    words: &[b"open", b"shut", b"ajar"],
    run: planted,
};

#[test]
fn a_planted_fault_is_found_made_small_and_kept() {
    let folder = std::env::temp_dir().join(format!("verbena-fuzz-canary-{}", std::process::id()));
    let (report, file) =
        drive_and_keep(&CANARY, &folder, 7, Until::Inputs(20_000)).expect("a folder to write to");
    let (broken, file) = (report.broken.expect("the fault is found"), file.expect("and kept"));
    assert_eq!(broken, b"openshut", "nothing can be left out");
    assert_eq!(corpus::read(&folder, "canary").expect("the folder").len(), 1);
    // From now on the kept input is the first that is tried.
    let again = drive(&CANARY, &folder, 1, Until::Inputs(1)).expect("the folder");
    assert_eq!((again.inputs, again.broken.as_deref()), (1, Some(&broken[..])));
    assert!(breaks(&CANARY, &std::fs::read(file).expect("the kept input")));
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn the_same_seed_tries_the_same_inputs() {
    let nowhere = std::env::temp_dir().join("verbena-fuzz-no-such-folder");
    let found =
        |seed| drive(&CANARY, &nowhere, seed, Until::Inputs(20_000)).expect("no inputs are fine").inputs;
    assert_eq!(found(7), found(7));
    assert!(found(7) > 1);
}
