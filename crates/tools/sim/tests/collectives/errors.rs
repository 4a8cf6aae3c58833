//! Errors end a collective on the rank that sees them, and nothing hangs or writes where it must
//! not.

use crate::run;
use std::sync::Arc;
use verbena_fault::Fault;
use verbena_memory::elements::Elements;
use verbena_mpi::coll::{Blocks, Call, Collective, Kind, operations};
use verbena_mpi::comm::Traffic;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Datatype, Error, Group};
use verbena_sim::{Cluster, Faults, Random};

/// Steps after which a run counts as stuck.
const STEPS_MAX: u64 = 2_000_000;

/// Runs one collective until it has ended on every process; `before` runs between the start and the
/// end.
pub(crate) fn outcomes(
    comms: Vec<(Comm, usize)>,
    fill: impl Fn(&mut Collective, &Comm),
    meanwhile: impl FnOnce(&mut Cluster),
) -> Vec<Result<(), Error>> {
    let mut cluster = Cluster::new(1, comms.len() as u32, Faults::none());
    let mut running: Vec<Option<Box<Collective>>> = Vec::new();
    for (comm, _) in &comms {
        let mut collective = Collective::of(comm, comm.next_collective_tag());
        fill(&mut collective, comm);
        running.push(Some(collective));
    }
    let mut outcomes = vec![None; comms.len()];
    let advance = |cluster: &mut Cluster, process: u32, running: &mut Vec<Option<Box<Collective>>>| {
        let collective = running[process as usize].as_mut()?;
        match collective.advance(&mut cluster.engine(process), None) {
            Ok(false) => None,
            ended => {
                running[process as usize] = None;
                Some(ended.map(drop))
            }
        }
    };
    for process in 0..comms.len() as u32 {
        outcomes[process as usize] = advance(&mut cluster, process, &mut running);
    }
    meanwhile(&mut cluster);
    while running.iter().any(Option::is_some) {
        assert!(cluster.steps() < STEPS_MAX, "stuck:\n{}", cluster.describe());
        let process = cluster.step();
        if let Some(outcome) = advance(&mut cluster, process, &mut running) {
            outcomes[process as usize] = Some(outcome);
        }
    }
    outcomes.into_iter().map(|outcome| outcome.expect("all have ended")).collect()
}

fn byte() -> &'static std::sync::Arc<verbena_memory::layout::Layout> {
    Datatype::predefined(mpi::MPI_BYTE).expect("a predefined datatype").layout()
}

#[test]
fn a_message_that_is_too_long_is_an_error_and_no_more() {
    for bytes in [100, 100_000] {
        let mut memory = vec![vec![7u8; bytes].into_boxed_slice(); 6];
        let starts: Vec<*mut u8> = memory.iter_mut().map(|m| m.as_mut_ptr()).collect();
        let fill = |collective: &mut Collective, comm: &Comm| {
            // SAFETY: `memory` outlives the run, in which nothing else touches it.
            let elements = unsafe { Elements::new(starts[comm.rank() as usize], byte()) };
            let count = if comm.rank() == 0 { bytes } else { bytes / 2 };
            operations::bcast(collective.schedule(), comm, elements.buffer(0, count), 0);
        };
        let comms = run::intra(&mut Random::new(3), 6);
        let ranks: Vec<i32> = comms.iter().map(|(comm, _)| comm.rank()).collect();
        for (outcome, rank) in outcomes(comms, fill, |_| ()).iter().zip(ranks) {
            // The root's children in the tree see it; they pass on what they have, so that nobody
            // hangs.
            let class = outcome.as_ref().err().map(|error| error.class);
            assert_eq!(class, [1, 2, 4].contains(&rank).then_some(mpi::MPI_ERR_TRUNCATE), "rank {rank}");
        }
        drop(memory);
    }
}

#[test]
fn a_copy_to_oneself_that_does_not_fit_is_an_error() {
    let mut memory = [7u8; 30];
    let start = memory.as_mut_ptr();
    let fill = |collective: &mut Collective, comm: &Comm| {
        // SAFETY: `memory` outlives the run, in which nothing else touches it.
        let elements = unsafe { Elements::new(start, byte()) };
        let recv = Blocks::Even { elements: elements.from(20), count: 10 };
        operations::allgather(collective.schedule(), comm, Some(elements.buffer(0, 20)), recv);
    };
    let ended = outcomes(run::intra(&mut Random::new(3), 1), fill, |_| ());
    assert_eq!(ended[0].as_ref().map_err(|error| error.class), Err(mpi::MPI_ERR_TRUNCATE));
}

#[test]
fn a_process_that_is_gone_ends_the_collective_where_it_is_noticed() {
    let fault = Fault { what: "gone".into(), on: "3".into(), cause: "killed".into(), remedy: "none".into() };
    let comms = run::intra(&mut Random::new(5), 4);
    let process_of = |rank| comms[0].0.group().peer(rank);
    let (sender, absent) = (process_of(2), process_of(3));
    let mut memory = vec![vec![7u8; 100_000].into_boxed_slice(); 4];
    let starts: Vec<*mut u8> = memory.iter_mut().map(|m| m.as_mut_ptr()).collect();
    let fill = |collective: &mut Collective, comm: &Comm| {
        // In the tree from rank 0, rank 3 is a child of rank 2. It is gone: its schedule stays
        // empty.
        if comm.rank() != 3 {
            // SAFETY: `memory` outlives the run, in which nothing else touches it.
            let elements = unsafe { Elements::new(starts[comm.rank() as usize], byte()) };
            operations::bcast(collective.schedule(), comm, elements.buffer(0, 100_000), 0);
        }
    };
    let ended = outcomes(comms, fill, |cluster| cluster.engine(sender).give_up(absent, fault));
    for (process, outcome) in ended.iter().enumerate() {
        assert_eq!(outcome.is_err(), process == sender as usize, "process {process}: {outcome:?}");
    }
    drop(memory);
}

/// A lost link is known at its ends only. Who leaves because of it tells those that wait for it.
#[test]
fn a_lost_link_ends_the_collective_for_all_behind_it() {
    let fault = Fault { what: "lost".into(), on: "0".into(), cause: "a cable".into(), remedy: "none".into() };
    let comms = run::intra(&mut Random::new(6), 8);
    let process_of = |rank| comms[0].0.group().peer(rank);
    let ranks: Vec<i32> = comms.iter().map(|(comm, _)| comm.rank()).collect();
    let (root, cut_off) = (process_of(0), process_of(4));
    let mut memory = vec![vec![7u8; 100].into_boxed_slice(); 8];
    let starts: Vec<*mut u8> = memory.iter_mut().map(|m| m.as_mut_ptr()).collect();
    let fill = |collective: &mut Collective, comm: &Comm| {
        // SAFETY: `memory` outlives the run, in which nothing else touches it.
        let elements = unsafe { Elements::new(starts[comm.rank() as usize], byte()) };
        collective.set_call(Call::new(Kind::Bcast, comm).root(0).mark());
        operations::bcast(collective.schedule(), comm, elements.buffer(0, 100), 0);
    };
    let ended = outcomes(comms, fill, |cluster| cluster.engine(cut_off).give_up(root, fault));
    // In the tree from rank 0, the ranks from 5 on are behind rank 4.
    for (outcome, rank) in ended.iter().zip(ranks) {
        let class = outcome.as_ref().err().map(|error| error.class);
        assert_eq!(class, (rank >= 4).then_some(mpi::MPI_ERR_OTHER), "rank {rank}: {outcome:?}");
    }
    drop(memory);
}

/// A rank that leaves takes its messages back. One that comes for such a message later hears of it.
#[test]
fn who_comes_late_for_a_message_that_was_taken_back_hears_why() {
    root_leaves(Kind::Scatter);
}

/// A long message is sent once it is matched, which a rank that leaves does not do any more.
#[test]
fn who_sends_a_long_message_to_one_that_leaves_hears_why() {
    root_leaves(Kind::Gather);
}

/// Rank 0 sends to ranks 1 and 2, or receives from both, and loses rank 2.
#[track_caller]
fn root_leaves(kind: Kind) {
    const BYTES: usize = 1_000_000;
    let fault = Fault { what: "lost".into(), on: "2".into(), cause: "a cable".into(), remedy: "none".into() };
    let comm = |me| Comm::new(8, Arc::new(Group::new(vec![0, 1, 2], me)), None);
    let (root, late) = (comm(0), comm(1));
    let begun = |comm: &Comm| {
        let mut collective = Collective::of(comm, comm.next_collective_tag());
        collective.set_call(Call::new(kind, comm).root(0).mark());
        collective
    };
    let (mut first, mut second) = (begun(&root), begun(&late));
    let mut memory = [vec![7u8; BYTES], vec![0u8; BYTES], vec![0u8; BYTES]];
    // SAFETY: `memory` outlives the run, in which nothing else touches it.
    let [data, room, more] =
        memory.each_mut().map(|m| unsafe { Elements::new(m.as_mut_ptr(), byte()) }.buffer(0, BYTES));
    if kind == Kind::Scatter {
        first.schedule().send(1, 0, data.clone());
        first.schedule().send(2, 0, data);
        second.schedule().receive(0, 0, room);
    } else {
        first.schedule().receive(1, 1, room);
        first.schedule().receive(2, 2, more);
        second.schedule().send(0, 1, data);
    }
    first.schedule().fence();
    second.schedule().fence();
    let mut cluster = Cluster::new(1, 3, Faults::none());
    assert_eq!(first.advance(&mut cluster.engine(0), None), Ok(false));
    assert!(cluster.settle(STEPS_MAX), "rank 1 has the offer, if there is one");
    cluster.engine(0).give_up(2, fault);
    for (rank, collective) in [(0, &mut first), (1, &mut second)] {
        gives_up(&mut cluster, rank, collective);
        cluster.settle(STEPS_MAX);
    }
    drop(memory);
}

/// Advances a rank's collective until it gives up, without the data that it waits for.
#[track_caller]
fn gives_up(cluster: &mut Cluster, rank: u32, collective: &mut Collective) {
    let error = loop {
        assert!(cluster.steps() < STEPS_MAX, "rank {rank} is stuck:\n{}", cluster.describe());
        match collective.advance(&mut cluster.engine(rank), None) {
            Ok(ended) => assert!(!ended, "rank {rank} has what was not sent"),
            Err(error) => break error,
        }
        cluster.step();
    };
    assert_eq!(error.class, mpi::MPI_ERR_OTHER, "rank {rank}: {error}");
}

/// A call that runs several schedules may be left in one by a rank for which another one waits in
/// the next.
#[test]
fn who_is_in_a_later_schedule_of_the_call_hears_that_another_left_an_earlier_one() {
    let fault = Fault { what: "lost".into(), on: "2".into(), cause: "a cable".into(), remedy: "none".into() };
    let comm = |me| Comm::new(8, Arc::new(Group::new(vec![0, 1, 2], me)), None);
    let comms = [comm(0), comm(1)];
    let (first, later) = (comms[0].next_collective_tag(), comms[0].next_collective_tag());
    let mut both = [first, later].map(|tag| Collective::of(&comms[0], tag));
    for (collective, comm) in both.iter_mut().zip(&comms) {
        collective.set_call(Call::new(Kind::CommDup, comm).mark());
    }
    let [left, waiting] = &mut both;
    let mut memory = [[0u8; 8], [0u8; 8], [0u8; 8]];
    // SAFETY: `memory` outlives the run, in which nothing else touches it.
    let [from_dead, to_other, room] =
        memory.each_mut().map(|m| unsafe { Elements::new(m.as_mut_ptr(), byte()) }.buffer(0, 8));
    left.schedule().receive(2, 2, from_dead);
    left.schedule().fence();
    left.schedule().send(1, 0, to_other);
    waiting.set_earlier(&[(comms[1].context(Traffic::Collective), first)]);
    waiting.schedule().receive(0, 0, room);
    let mut cluster = Cluster::new(1, 3, Faults::none());
    cluster.engine(0).give_up(2, fault);
    for (rank, collective) in [(0, left), (1, waiting)] {
        gives_up(&mut cluster, rank, collective);
    }
}
