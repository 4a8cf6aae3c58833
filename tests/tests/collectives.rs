//! Collectives whole: every one of them, in every form, on one group and between two, and among
//! neighbours.

use verbena_tests::{job, program};

fn passes(name: &str, ranks: &[u32]) {
    let program = program(name);
    for &n in ranks {
        let ended = job(n, &program).run().ok();
        assert!(ended.stdout.contains(&format!("{name}: ok with {n} ranks")), "{ended:?}");
    }
}

#[test]
fn every_collective_in_every_form() {
    passes("every_collective", &[1, 2, 4, 7]);
}

#[test]
fn reductions_in_every_form() {
    passes("reductions", &[1, 2, 4, 7]);
}

/// In place, in each other's memory, in rounds and by messages.
#[test]
fn long_reductions_give_what_a_plain_loop_gives() {
    passes("long_reductions", &[1, 2, 3, 4, 5, 8]);
    let program = program("long_reductions");
    for (name, value) in [
        ("VERBENA_COLL_IN_PLACE_BYTES_MIN", "1"),
        ("VERBENA_COLL_IN_PLACE_BYTES_MIN", "1G"),
        ("VERBENA_COLL_IN_PLACE_PIECE_BYTES", "192"),
        ("VERBENA_BOARDS", "0"),
    ] {
        job(2, &program).env(name, value).run().ok();
    }
    for (name, value) in
        [("VERBENA_COLL_ROUND_PIECE_BYTES_MAX", "1K"), ("VERBENA_COLL_DIRECT_SHARE_BYTES_MIN", "1G")]
    {
        job(3, &program).env(name, value).run().ok();
    }
}

/// NaN, and zeros with unlike signs: over the board, in place, in rounds and in each other's
/// memory, where places are alike too, and by messages.
#[test]
fn extremes_of_numbers_without_an_order_are_the_same_on_all_ranks() {
    let program = program("extremes");
    for ranks in [2, 3, 4] {
        for (alike, name, value) in
            [("1", "BOARDS", "1"), ("1", "CHANNELS", "loopback,shm"), ("0", "BOARDS", "0")]
        {
            let job = job(ranks, &program).arg(alike).env(&format!("VERBENA_{name}"), value);
            let ended = job.run().ok();
            assert!(ended.stdout.contains(&format!("extremes: ok with {ranks} ranks")), "{name}: {ended:?}");
        }
    }
}

#[test]
fn a_rank_that_is_killed_in_a_long_reduction_ends_the_job() {
    for ranks in [2, 4] {
        let ended = job(ranks, program("long_reductions")).arg("die").run();
        assert!(ended.code != 0 && !ended.hung, "{ended:?}");
        assert!(ended.stderr.contains("signal 14"), "{ended:?}");
    }
}

#[test]
fn persistent_collectives() {
    passes("persistent", &[1, 2, 4, 7]);
}

#[test]
fn neighbourhood_collectives() {
    passes("neighbor", &[1, 2, 4, 7]);
}

#[test]
fn a_mistake_on_one_rank_leaves_the_others_in_step() {
    passes("collective_errors", &[2, 4]);
}
