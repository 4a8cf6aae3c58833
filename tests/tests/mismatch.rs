//! Wrong answers that are none: a result that did not happen, or cannot be right, is an error.

use verbena_tests::{job, program};

/// The calls that do not match (mismatch.c), and the words that the message must name.
const WAYS: &[(&str, &[&str])] = &[
    ("bcast-allreduce", &["MPI_Bcast", "MPI_Allreduce"]),
    ("allreduce-bcast", &["MPI_Bcast", "MPI_Allreduce"]),
    ("barrier-allreduce", &["MPI_Barrier", "MPI_Allreduce"]),
    ("barrier-reduce", &["MPI_Barrier", "MPI_Reduce"]),
    ("scatter-alltoall", &["MPI_Scatter", "MPI_Alltoall"]),
    ("dup", &["rank 0 called", "MPI_Allreduce"]),
    ("finalize", &["MPI_Finalize", "MPI_Allreduce"]),
    ("ops", &["MPI_SUM", "MPI_MAX"]),
    ("long-ops", &["MPI_SUM", "MPI_MAX"]),
    ("reduce-ops", &["MPI_SUM", "MPI_MIN"]),
    ("types", &["signed integers", "floating-point numbers"]),
    ("long-types", &["signed integers", "floating-point numbers"]),
    ("reduced-types", &["signed integers", "floating-point numbers"]),
    ("longer", &["80 bytes", "40"]),
    ("shorter", &["40 bytes", "80"]),
    ("much-longer", &["40000", "24"]),
    ("much-shorter", &["40000", "24"]),
    ("much-longer-vector", &["24", "bytes"]),
    ("nonblocking", &["MPI_Bcast", "MPI_Allreduce"]),
    ("persistent", &["MPI_SUM", "MPI_MAX"]),
    ("roots", &["rank "]),
    ("sizes", &["floating-point numbers of 8 bytes", "floating-point numbers of 4 bytes"]),
    ("long-sizes", &["floating-point numbers of 8 bytes", "floating-point numbers of 4 bytes"]),
    ("reduced-sizes", &["signed integers of 8 bytes", "signed integers of 4 bytes"]),
    ("bcast-sizes", &["elements of 4 bytes", "elements of 2 bytes"]),
    ("alltoallv", &["MPI_Alltoallv of signed integers", "MPI_Alltoallv of floating-point numbers"]),
    ("alltoallw", &["MPI_Alltoallw of signed integers", "MPI_Alltoallw of floating-point numbers"]),
    ("ialltoallv", &["MPI_Alltoallv of signed integers", "MPI_Alltoallv of floating-point numbers"]),
    ("no-elements", &["16 bytes"]),
    ("pair-ops", &["MPI_MAXLOC", "MPI_MINLOC"]),
    ("user-ops", &["the program that commutes", "the program that does not commute"]),
    ("dup-split", &["MPI_Comm_dup", "MPI_Comm_split"]),
    ("grids", &["different topologies"]),
    ("graphs", &["different topologies"]),
];

/// The calls on communicators of their own, and the words that the message must name.
const WAYS_ELSEWHERE: &[(&str, &[&str])] = &[
    ("between-types", &["of the other group called MPI_Allreduce of", "rank 0 of this group"]),
    ("between-bcast-types", &["rank 0 of the other group called MPI_Bcast of signed integers of 4 bytes"]),
    ("between-allgather-types", &["of the other group called MPI_Allgather of", "floating-point numbers"]),
    ("between-alltoallv", &["of the other group called MPI_Alltoallv of", "floating-point numbers"]),
    ("between-roots", &["of the other group sent 4 bytes to this rank"]),
    ("between-kinds", &["rank 0 of the other group called MPI_", "MPI_Barrier", "MPI_Allreduce"]),
    ("neighbor-alltoallv", &["MPI_Neighbor_alltoallv of signed", "MPI_Neighbor_alltoallv of floating"]),
    ("neighbor-alltoallw", &["MPI_Neighbor_alltoallw of signed", "MPI_Neighbor_alltoallw of floating"]),
    ("neighbor-allgather", &["MPI_Neighbor_allgather of signed", "MPI_Neighbor_allgather of floating"]),
];

/// Returns whether a way differs in the sort of elements that have one size and are only moved:
/// that is told with `VERBENA_CHECK_TYPES` alone.
fn is_of_moved_sorts(way: &str) -> bool {
    let others = ["types", "long-types", "between-bcast-types", "neighbor-allgather"];
    others.contains(&way)
        || way.contains("alltoall") && !way.starts_with("scatter")
        || way.contains("-allgather")
}

/// Runs every way after this many collectives that do match. The job must end with an error that
/// names the calls.
#[track_caller]
fn mismatches(ranks: u32, warm: u32, channels: Option<&str>) {
    let program = program("mismatch");
    for (way, names) in WAYS {
        let mut job = job(ranks, &program).args([way, warm.to_string().as_str()]);
        if is_of_moved_sorts(way) {
            job = job.env("VERBENA_CHECK_TYPES", "1");
        }
        if let Some(channels) = channels {
            job = job.env("VERBENA_CHANNELS", channels);
        }
        let ended = job.run();
        assert!(ended.code != 0 && !ended.hung, "{way}, {warm} before: {ended:?}");
        for name in *names {
            assert!(ended.stderr.contains(name), "{way}, {warm} before, no {name:?}: {ended:?}");
        }
        assert!(ended.stderr.contains("MPI_COMM_WORLD (rank "), "{way}, {warm} before: {ended:?}");
        assert!(ended.stderr.contains("collective"), "{way}, {warm} before: {ended:?}");
        assert!(ended.stderr.contains("  in the program: at "), "{way}, {warm} before: {ended:?}");
        assert!(ended.stderr.contains("(mismatch.c:"), "{way}, {warm} before: {ended:?}");
        assert!(!ended.stderr.contains("MPI_Probe"), "{way}, {warm} before: {ended:?}");
    }
}

/// Collectives between the groups of an intercommunicator, and with neighbours.
#[test]
fn collectives_that_do_not_match_are_named_on_other_communicators() {
    let program = program("mismatch");
    for (ranks, (way, names)) in
        [2, 4].into_iter().flat_map(|n| WAYS_ELSEWHERE.iter().map(move |way| (n, way)))
    {
        let checked = if is_of_moved_sorts(way) { "1" } else { "0" };
        let ended = job(ranks, &program).arg(way).env("VERBENA_CHECK_TYPES", checked).run();
        assert!(ended.code != 0 && !ended.hung, "{way}: {ended:?}");
        for name in *names {
            assert!(ended.stderr.contains(name), "{way}, no {name:?}: {ended:?}");
        }
    }
}

/// The ranks exchange messages, as in a communicator's first collectives.
#[test]
fn collectives_that_do_not_match_are_named() {
    mismatches(2, 0, None);
    mismatches(4, 0, None);
}

/// The ranks meet over a board.
#[test]
fn collectives_that_do_not_match_are_named_on_a_board() {
    mismatches(2, 6, None);
    mismatches(4, 6, None);
}

/// Lengths that differ so that ranks go different ways: by records, slots, rounds or messages. All
/// that need the others get an error, and nobody waits long, whatever ranks do next.
#[test]
fn ranks_that_give_other_lengths_get_errors_and_do_not_wait() {
    let program = program("lengths");
    let check = |ranks: u32, arguments: [&str; 4]| {
        let ended = job(ranks, &program).args(arguments).run().ok();
        assert!(
            ended.stdout.contains(&format!("lengths: ok with {ranks} ranks")),
            "{arguments:?}: {ended:?}"
        );
    };
    let moving = ["allgather", "alltoall", "bcast", "gather", "scatter"];
    let reducing = ["allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan"];
    for ranks in [2, 4] {
        for collective in moving.into_iter().chain(reducing) {
            check(ranks, [collective, "first", "0", "1"]);
            check(ranks, [collective, "last", "1", "1"]);
            check(ranks, [collective, "first", "2", "1"]);
        }
        // Operations of the program go through slots by posts alone.
        check(ranks, ["allreduce", "last", "0", "0"]);
    }
}

/// A rank whose arguments are wrong takes no part: the others get an error, and whatever succeeds
/// later is right.
#[test]
fn a_collective_that_a_rank_skipped_is_an_error_of_those_that_need_it() {
    let program = program("skipped");
    for ranks in [2, 3, 4] {
        for way in ["goes", "stays"] {
            let ended = job(ranks, &program).arg(way).run().ok();
            assert!(ended.stdout.contains(&format!("skipped: ok with {ranks} ranks")), "{way}: {ended:?}");
        }
    }
}

/// The ranks exchange messages, as between nodes.
#[test]
fn collectives_that_do_not_match_are_named_between_nodes() {
    mismatches(2, 0, Some("loopback,ofi"));
}

#[test]
fn collectives_that_match_in_other_words_are_none_of_those() {
    let program = program("mismatch");
    for ranks in [1, 2, 4] {
        let ended = job(ranks, &program).arg("fine").run().ok();
        assert!(ended.stdout.contains(&format!("mismatch: ok with {ranks} ranks")), "{ended:?}");
    }
}

#[test]
fn one_buffer_for_both_directions_is_refused() {
    let program = program("alias");
    for ranks in [1, 2, 4] {
        let ended = job(ranks, &program).run().ok();
        assert!(ended.stdout.contains(&format!("alias: ok with {ranks} ranks")), "{ended:?}");
    }
}

/// With the setting, types are compared on every way that a message takes; without it they are not.
#[test]
fn types_of_messages_are_compared_where_that_is_asked_for() {
    let program = program("checked_types");
    for channels in ["loopback,shm,cma", "loopback,shm", "loopback,ofi"] {
        for ranks in [1, 2] {
            let with = job(ranks, &program).env("VERBENA_CHECK_TYPES", "1");
            let ended = with.env("VERBENA_CHANNELS", channels).run().ok();
            assert!(
                ended.stdout.contains(&format!("checked_types: ok with {ranks} ranks")),
                "{channels}: {ended:?}"
            );
        }
    }
    job(2, &program).arg("off").run().ok();
}

/// A message that is too long says whose it is.
#[test]
fn a_truncated_message_is_named() {
    let ended = job(2, program("truncated")).run();
    assert_ne!(ended.code, 0);
    let names = ["400 bytes", "200", "from rank 0 with tag 5", "a name of its own (rank 1 of 2)"];
    for name in names {
        assert!(ended.stderr.contains(name), "no {name:?}: {ended:?}");
    }
}
