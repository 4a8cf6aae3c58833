//! Calls that make communicators and files, or wait for another job, while a process dies or the
//! communicator is revoked (ULFM).

use verbena_tests::{job, program, scratch};

/// The ranks of `ulfm_making` that are left find nothing wrong.
#[track_caller]
fn making_ends_well(ranks: u32, arguments: &[&str]) {
    let ended = job(ranks, program("ulfm_making")).args(arguments).run().ok();
    assert!(ended.stdout.contains("ulfm_making: ok"), "{arguments:?}: {ended:?}");
}

#[test]
fn a_file_that_is_being_opened_is_revoked_with_its_communicator() {
    let path = scratch("ulfm-opens").join("file");
    making_ends_well(4, &["opens", path.to_str().expect("a path of letters")]);
}

#[test]
fn a_death_ends_the_merge_of_those_that_hear_only_of_others() {
    making_ends_well(6, &["merges"]);
}

#[test]
fn some_members_make_a_communicator_without_those_that_are_dead() {
    making_ends_well(4, &["groups"]);
    making_ends_well(4, &["from_group"]);
    for _ in 0..3 {
        making_ends_well(4, &["retried"]);
    }
}

#[test]
fn who_waits_for_another_job_is_interrupted() {
    for call in ["accept", "connect", "spawn"] {
        // A rank dies, or revokes: outside the call, or in it by a thread.
        for how in ["0", "1", "2"] {
            making_ends_well(3, &["waits", call, how]);
        }
    }
}

#[test]
fn an_intercommunicator_of_whose_other_group_nobody_is_left_shrinks_to_none() {
    let ended = job(2, program("ulfm_making")).arg("shrinks").run();
    assert!(!ended.hung && ended.stdout.contains("ulfm_making: ok"), "{ended:?}");
    // The exit code is that of the children.
    assert_eq!(ended.code, 137, "{ended:?}");
}

#[test]
fn a_death_at_any_time_ends_what_is_being_made() {
    let path = scratch("ulfm-making").join("file");
    let path = path.to_str().expect("a path of letters");
    for number in 0..10 {
        for (ranks, way) in [(4, "file"), (6, "halves")] {
            making_ends_well(ranks, &[way, path, &number.to_string()]);
        }
    }
}
