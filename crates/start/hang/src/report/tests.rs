//! Tests of whole reports.

use super::*;
use crate::rank::{Place, RunState};
use crate::snapshot::{Awaited, Collective};
use crate::testing::{Cast, OTHER, WORLD, barrier, collective, held, lock, message, receive, send};

fn report(cast: &Cast) -> Report {
    explain(cast.ranks(), Some(60_000)).expect("a report")
}

#[track_caller]
fn says(cast: &Cast, words: &[&str]) {
    let text = report(cast).to_string();
    for word in words {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
}

#[test]
fn two_blocking_sends() {
    let cast = Cast::new(2).waits(0, send(1, 5)).waits(1, send(0, 5));
    let text = "No rank has got any further in MPI for 60 s (2 ranks):\n    \
        rank 0 waits in MPI_Send for rank 1 to receive 1 MiB with tag 5 on MPI_COMM_WORLD, since 60 s\n    \
        rank 1 waits in MPI_Send for rank 0 to receive 1 MiB with tag 5 on MPI_COMM_WORLD, since 60 s\n  \
        likely cause: ranks 0, 1 send to each other first, and each would receive only afterwards\n  \
        what to do: let one of them receive first, or use MPI_Sendrecv, or MPI_Isend and MPI_Wait: a long \
        send waits for its receive (MPI-5.0, 3.5)";
    assert_eq!(report(&cast).to_string(), text);
}

#[test]
fn two_blocking_receives() {
    let cast = Cast::new(2).waits(0, receive(1, 5)).waits(1, receive(0, 6));
    says(&cast, &["ranks 0, 1 each wait for a message from the next"]);
}

#[test]
fn full_room() {
    let mut cast = Cast::new(2).waits(0, held(1, 4)).waits(1, receive(0, 99));
    cast.snapshot(1).unexpected_bytes_max = 4 << 20;
    says(
        &cast.arrived(1, message(0, 0, 4)),
        &[
            "rank 0 waits in MPI_Send for room at rank 1, which has not received 4000 bytes with tag 4 on MPI",
            "likely cause: rank 1 has its room for messages of rank 0 that no receive asked for full \
             (VERBENA_UNEXPECTED_BYTES_MAX, 4 MiB)",
            "what to do: let rank 1 receive these messages earlier, or raise VERBENA_UNEXPECTED_BYTES_MAX",
        ],
    );
}

#[test]
fn a_wrong_tag() {
    let cast = Cast::new(4).waits(3, receive(2, 7)).arrived(3, message(0, 2, 8)).waits(2, barrier(1));
    let cast = cast.waits(0, barrier(1)).waits(1, barrier(1));
    says(
        &cast,
        &[
            "ranks 0-2 wait in MPI_Barrier (collective 1 on MPI_COMM_WORLD) for rank 3, since 60 s",
            "likely cause: rank 3 waits for tag 7 from rank 2, which sent tag 8\n",
        ],
    );
}

#[test]
fn a_wrong_communicator_and_a_wrong_sender() {
    let waits = || Cast::new(3).waits(0, receive(1, 7)).waits(1, barrier(1)).waits(2, barrier(1));
    let cast = waits().arrived(0, message(OTHER - WORLD, 1, 7));
    says(&cast, &["rank 0 waits for tag 7 from rank 1 on MPI_COMM_WORLD; rank 1 sent it on mine"]);
    let cast = waits().arrived(0, message(0, 2, 7));
    says(&cast, &["rank 0 waits for tag 7 from rank 1; rank 2 sent one with that tag"]);
}

#[test]
fn a_rank_missing_in_a_collective() {
    let cast = Cast::new(3).waits(0, barrier(4)).waits(1, barrier(4)).waits(2, receive(0, 9));
    says(
        &cast,
        &[
            "likely cause: rank 2 is not in MPI_Barrier (collective 4 on MPI_COMM_WORLD), in which the others \
         are; it waits in MPI_Recv for a message from rank 0 with tag 9",
        ],
    );
}

#[test]
fn several_ranks_missing_in_a_collective() {
    let cast = Cast::new(3).waits(0, barrier(4)).waits(1, receive(0, 9)).waits(2, receive(0, 9));
    says(
        &cast,
        &[
            "likely cause: ranks 1, 2 are not in MPI_Barrier",
            "in which rank 0 is; rank 1 waits in MPI_Recv for",
        ],
    );
}

#[test]
fn the_time_is_that_of_the_shortest_wait_where_all_wait() {
    let mut cast = Cast::new(2).waits(0, receive(1, 1)).waits(1, receive(0, 1));
    (cast.wait(0).began_ms, cast.wait(1).began_ms) = (57_000, 58_000);
    let still = |cast: &Cast| explain(cast.ranks(), Some(2400)).expect("a report").what;
    assert!(still(&cast).contains(" for 3.0 s (2 ranks)"), "{}", still(&cast));
    cast.snapshot(1).waits.clear();
    assert!(still(&cast).contains(" for 2.4 s (2 ranks)"), "{}", still(&cast));
}

#[test]
fn a_rank_that_computes_in_python_is_at_its_lines() {
    let mut cast = Cast::new(2).waits(0, barrier(1)).outside(1);
    cast.rank(1).python = vec!["spin (comp.py:5)".into(), "<module> (comp.py:8)".into()];
    says(
        &cast,
        &["rank 1 does not wait in MPI: it computes, at spin (comp.py:5), called from <module> (comp.py:8)"],
    );
}

#[test]
fn different_collectives() {
    let cast = Cast::new(2)
        .waits(0, collective(WORLD, "MPI_Barrier", 1))
        .waits(1, collective(OTHER, "MPI_Allreduce", 1));
    says(&cast, &["are in different collectives (MPI_Barrier on MPI_COMM_WORLD; MPI_Allreduce on mine)"]);
}

/// Accesses to a file are told by the call alone, and counted apart from its other collectives.
#[test]
fn different_calls_on_a_file() {
    let of = |number, nonblocking| {
        Awaited::Collective(Collective { context: OTHER, call: String::new(), number, nonblocking })
    };
    let cast =
        Cast::new(2).waits(0, ("MPI_File_close", of(2, false))).waits(1, ("MPI_File_write_all", of(1, true)));
    says(
        &cast,
        &[
            "rank 1 waits in MPI_File_write_all (collective 1 on mine) for rank 0",
            "are in different collectives (MPI_File_close on mine; MPI_File_write_all on mine)",
        ],
    );
}

#[test]
fn a_lock_never_freed() {
    let cast = Cast::new(3).waits(0, lock(1)).holds(2, 1).waits(2, barrier(1)).waits(1, barrier(1));
    says(&cast, &["rank 2 holds it and has not called MPI_Win_unlock", "MPI_Win_unlock_all"]);
}

#[test]
fn a_rank_that_computes_and_one_that_is_stopped() {
    let mut cast = Cast::new(3).waits(0, barrier(1)).waits(1, barrier(1)).outside(2);
    cast.rank(2).processor_percent = Some(99);
    says(
        &cast,
        &[
            "rank 2 does not wait in MPI: it computes (99% of a processor)",
            "the others wait for rank 2, which calls no MPI function",
        ],
    );
    cast.rank(2).state = RunState::Stopped;
    says(&cast, &["rank 2 is stopped by a signal (SIGSTOP", "kill -CONT 102 on node"]);
}

#[test]
fn a_job_in_which_nobody_waits_has_no_report() {
    assert_eq!(explain(Cast::new(2).outside(0).outside(1).ranks(), None), None);
    assert_eq!(explain(&[], None), None);
}

#[test]
fn ranks_that_poll_are_no_ranks_that_compute() {
    let at = |function: &str| Place { function: function.into(), line: None };
    let mut cast = Cast::new(2).waits(0, barrier(1)).outside(1);
    cast.rank(1).places = vec![vec![at("PMPI_Iprobe"), at("main")]];
    says(
        &cast,
        &[
            "rank 1 polls by MPI_Iprobe, at main",
            "which polls by MPI_Iprobe: what it polls for",
            "gdb -p 101 on node",
        ],
    );
    // Between two calls.
    cast.rank(1).places[0].remove(0);
    cast.rank(1).is_answered = true;
    let rank = cast.rank(1).snapshot.get_or_insert_default();
    rank.polled = Some(Awaited::Any(Vec::new()));
    says(&cast, &["rank 1 polls, at main", "the others wait for rank 1, which polls: what it polls for"]);
    let mut both = Cast::new(2).outside(0).outside(1);
    for rank in 0..2 {
        both.rank(rank).places = vec![vec![at("MPI_Test"), at("main")]];
    }
    let text = report(&both).to_string();
    assert!(
        text.starts_with("No rank waits in MPI (2 ranks):\n    ranks 0, 1 poll by MPI_Test, at main\n"),
        "{text}"
    );
    both.rank(0).places.clear();
    both.rank(1).places.clear();
    assert_eq!(explain(both.ranks(), None), None);
    both.rank(0).is_answered = true;
    says(&both, &["rank 0 calls MPI again and again without a wait there"]);
}

#[test]
fn a_rank_outside_is_named_with_its_process() {
    says(
        &Cast::new(2).waits(0, barrier(1)).outside(1),
        &["look at what it does (gdb -p 101 on node, py-spy dump)"],
    );
}

#[test]
fn many_ranks_take_few_lines() {
    let mut cast = Cast::new(200);
    for rank in 0..200 {
        cast = cast.waits(rank, receive((rank + 1) % 200, rank as i32));
    }
    let report = report(&cast);
    assert_eq!(report.lines.len(), LINES_MAX + 1);
    assert_eq!(report.lines[LINES_MAX], "and 176 more ranks, in 176 other places");
}

#[test]
fn a_name_does_not_break_the_lines() {
    let mut cast = Cast::new(2).waits(0, barrier(1)).outside(1);
    cast.snapshot(0).communicators[0].name = "evil\n\x1b[2J".into();
    assert!(report(&cast).lines.iter().all(|line| !line.contains(char::is_control)));
}

#[test]
fn thousands_of_ranks_are_explained_in_a_moment() {
    let size = 3000;
    let cast = (0..size - 1).fold(Cast::new(size), |cast, rank| cast.waits(rank, barrier(1)));
    says(&cast.outside(size - 1), &["ranks 0-2998 wait in MPI_Barrier", "wait for rank 2999"]);
}

#[test]
fn a_rank_that_never_begins() {
    let mut cast = Cast::new(3);
    cast.rank(0).stage = Stage::Starting;
    cast.rank(1).stage = Stage::Starting;
    cast.rank(2).stage = Stage::Fresh;
    says(
        &cast,
        &[
            "ranks 0, 1 wait in MPI_Init for all others",
            "rank 2 has not called MPI_Init, for which the others wait",
        ],
    );
}

#[test]
fn every_report_has_a_cause_and_a_remedy() {
    let calls = [send(1, 1), receive(1, 1), barrier(1), lock(1), ("MPI_Wait", crate::Awaited::Other)];
    for (call, awaited) in calls {
        let report = report(&Cast::new(2).waits(0, (call, awaited)).outside(1));
        assert!(!report.cause.is_empty() && !report.remedy.is_empty(), "{report}");
    }
}
