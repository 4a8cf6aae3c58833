//! Errors end a collective on the rank that sees them, and nothing hangs or writes where it must
//! not.

use crate::run;
use verbena_fault::Fault;
use verbena_memory::elements::Elements;
use verbena_mpi::coll::{Blocks, Collective, operations};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Datatype, Error};
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
