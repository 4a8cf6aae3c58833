//! Programs of several nodes over the designs of papers 1 and 2: messages of the shapes that the
//! kernels have. What the kernels themselves send is played by a test of `verbena-papers`, which
//! knows them.

use verbena_sim::Rank;
use verbena_sim::figures::replay::{Outcome, Part, ROUNDS, Step, replay, replay_from};
use verbena_sim::figures::{Design, Rung};
use verbena_sim::verbs::Costs;

const PIPELINE: Rung = Rung::AfterMatch(Design::Pipeline(16 << 10));
const READ: Rung = Rung::AfterMatch(Design::ZeroCopyRead);
const WRITE: Rung = Rung::AfterMatch(Design::ZeroCopyWrite);

fn played(scripts: &[Vec<Step>], rung: Rung) -> Outcome {
    let costs = if matches!(rung, Rung::Pipe(..)) { Costs::PAPER_2 } else { Costs::PAPER_1 };
    replay(scripts, rung, costs).unwrap_or_else(|reason| panic!("{rung:?}: {reason}"))
}

fn send(to: Rank, bytes: usize) -> Step {
    Step::Exchange { sends: vec![(to, bytes)], receives: Vec::new() }
}

fn receive(from: Rank, bytes: usize) -> Step {
    Step::Exchange { sends: Vec::new(), receives: vec![(from, bytes)] }
}

/// A wave through a line of ranks and back, as in LU: a message from each rank to the next in each
/// plane.
fn wave(nodes: Rank, planes: usize, bytes: usize) -> Vec<Vec<Step>> {
    let plane = |before: Option<Rank>, after: Option<Rank>| {
        let receives = before.map(|rank| receive(rank, bytes));
        receives.into_iter().chain(after.map(|rank| send(rank, bytes))).collect::<Vec<_>>()
    };
    let of = |rank: Rank| {
        let (low, high) = (rank.checked_sub(1), (rank + 1 < nodes).then_some(rank + 1));
        let sweep = |plane: Vec<Step>| vec![plane; planes].concat();
        [sweep(plane(low, high)), sweep(plane(high, low))].concat()
    };
    (0..nodes).map(of).collect()
}

/// Faces to both neighbours on a circle, all at once, as in MG and SP.
fn faces(nodes: Rank, times: usize, bytes: usize) -> Vec<Vec<Step>> {
    let of = |rank: Rank| {
        let (next, previous) = ((rank + 1) % nodes, (rank + nodes - 1) % nodes);
        let sends: Vec<Part> = vec![(previous, bytes), (next, bytes)];
        let receives = vec![(next, bytes), (previous, bytes)];
        vec![Step::Exchange { sends, receives }; times]
    };
    (0..nodes).map(of).collect()
}

/// Collectives of all kinds, as in IS and FT: the blocks of each pair have a length of their own.
fn turns(nodes: Rank, bytes: usize) -> Vec<Vec<Step>> {
    let block = |from: Rank, to: Rank| bytes + 8 * (from * nodes + to) as usize;
    let of = |rank: Rank| {
        let sends = (0..nodes).map(|to| block(rank, to)).collect();
        let receives = (0..nodes).map(|from| block(from, rank)).collect();
        vec![Step::Sum(2048), Step::Alltoall(8), Step::Alltoallv { sends, receives }, Step::Alltoall(bytes)]
    };
    (0..nodes).map(of).collect()
}

fn messages(scripts: &[Vec<Step>]) -> u64 {
    let sent = |step: &Step| if let Step::Exchange { sends, .. } = step { sends.len() } else { 0 };
    scripts.iter().flatten().map(sent).sum::<usize>() as u64
}

#[test]
fn a_wave_of_short_messages_is_quicker_by_rdma_and_has_as_many() {
    for nodes in [2, 4, 8] {
        for bytes in [40, 640, 1280] {
            let scripts = wave(nodes, 16, bytes);
            let [plain, rdma] = [Design::SendReceive, Design::RdmaEager]
                .map(|design| played(&scripts, Rung::AfterMatch(design)));
            println!("{nodes} nodes, {bytes} B: {} us, {} us by RDMA", plain.time_us, rdma.time_us);
            assert!(rdma.time_us < plain.time_us, "{nodes} nodes, {bytes} B");
            assert_eq!([plain.messages, rdma.messages], [messages(&scripts); 2]);
            assert_eq!(plain.devices.writes, 0, "sends only");
        }
    }
}

#[test]
fn long_faces_move_in_more_packets_by_the_pipeline_than_without_a_copy() {
    for nodes in [2, 4, 8] {
        let scripts = faces(nodes, 4, 64 << 10);
        let [pipeline, read, write] = [PIPELINE, READ, WRITE].map(|rung| played(&scripts, rung));
        for outcome in [pipeline, read, write] {
            assert_eq!(outcome.messages, messages(&scripts));
        }
        assert!(pipeline.packets > read.packets + 2 * read.messages, "{pipeline:?} {read:?}");
        assert!(pipeline.packets > write.packets + 2 * write.messages, "{pipeline:?} {write:?}");
        assert_eq!(read.devices.reads, ROUNDS as u64 * messages(&scripts));
        assert_eq!([pipeline.devices.reads, write.devices.reads], [0, 0]);
        assert!(read.time_us < pipeline.time_us && write.time_us < pipeline.time_us, "{nodes} nodes");
    }
}

#[test]
fn collectives_bring_each_block_and_each_sum_in_every_design() {
    let designs = [Design::SendReceive, Design::RdmaEager].map(Rung::AfterMatch);
    for rung in designs.into_iter().chain([PIPELINE]).chain(Rung::ALL) {
        for nodes in [2, 4, 8] {
            for bytes in [64, 40_000] {
                let outcome = played(&turns(nodes, bytes), rung);
                assert!(outcome.messages > 0 && outcome.time_us > 0.0, "{rung:?}: {outcome:?}");
            }
        }
    }
}

/// Each rank of a wave computes before it sends, so all of that time is on the way.
#[test]
fn computing_takes_its_time_and_changes_no_message() {
    let alone = wave(4, 8, 1280);
    let before = |step: &Step| vec![Step::Compute(5000), step.clone()];
    let computing: Vec<Vec<Step>> =
        alone.iter().map(|steps| steps.iter().flat_map(before).collect()).collect();
    let [alone, computing] = [alone, computing].map(|scripts| played(&scripts, WRITE));
    let most_us = 32.0 * 5.0;
    assert!(computing.time_us > most_us && computing.time_us > alone.time_us, "{computing:?}");
    assert_eq!(computing.messages, alone.messages);
}

/// Whatever addresses the memory of collectives has, and whatever lies in the heap beside it.
#[test]
fn the_same_steps_take_the_same_time() {
    for nodes in [4, 8] {
        let scripts = turns(nodes, 50_000);
        for rung in [READ, WRITE, PIPELINE] {
            let outcomes: Vec<(Outcome, Vec<u8>)> =
                (0..5).map(|run| (played(&scripts, rung), vec![7; 1000 + 3000 * run])).collect();
            assert!(outcomes.iter().all(|(outcome, _)| *outcome == outcomes[0].0), "{rung:?} on {nodes}");
        }
    }
}

/// The blocks of an exchange among all pass each other in another order then, and no message is
/// lost.
#[test]
fn starts_apart_are_waited_for() {
    let scripts = turns(4, 50_000);
    let from = |starts_ns: &[u64]| replay_from(&scripts, READ, Costs::PAPER_2, starts_ns).expect("it ends");
    let (at_once, apart) = (from(&[0; 4]), from(&[0, 4_000, 1_000, 2_500]));
    assert_eq!(at_once, replay(&scripts, READ, Costs::PAPER_2).expect("it ends"));
    assert_eq!(apart.messages, at_once.messages);
    assert_ne!(apart.time_us, at_once.time_us);
}

#[test]
fn a_script_that_does_not_fit_together_is_noticed() {
    let lone = vec![vec![send(1, 8)], vec![receive(0, 8), receive(0, 8)]];
    assert!(replay(&lone, WRITE, Costs::PAPER_2).is_err_and(|reason| reason.contains("nothing moves")));
    // The second of two sums has more words on one rank than on the other.
    let unlike = vec![vec![Step::Sum(8)], vec![Step::Sum(16)]];
    assert!(replay(&unlike, WRITE, Costs::PAPER_2).is_err());
}
