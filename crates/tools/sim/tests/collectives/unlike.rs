//! Canaries: ranks that call what does not match are found out, in schedules and on boards.

use crate::errors::outcomes;
use crate::run;
use verbena_channel::board::{ANY_BYTES, Board, Way};
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Region};
use verbena_mpi::coll::board::exchanges::{Barrier, Bcast};
use verbena_mpi::coll::board::long_bcast::LongBcast;
use verbena_mpi::coll::board::short::Short;
use verbena_mpi::coll::{Call, Collective, Kind, operations};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Datatype, Op};
use verbena_node::board::heap;
use verbena_sim::Random;

/// The call of a rank, and what another one does instead; and the class of the error.
fn pairs(comm: &Comm) -> [(Call<'_>, Call<'_>, i32); 4] {
    let datatype = |handle| Datatype::predefined(handle).map(|datatype| &**datatype);
    let op = |handle| Op::predefined(handle).map(|op| &**op);
    let bcast = |root| Call::new(Kind::Bcast, comm).root(root);
    let reduce = |handle| Call::new(Kind::Reduce, comm).op(op(handle));
    [
        (bcast(0), Call::new(Kind::Barrier, comm), mpi::MPI_ERR_OTHER),
        (bcast(0), bcast(5), mpi::MPI_ERR_ROOT),
        (reduce(mpi::MPI_SUM), reduce(mpi::MPI_MAX), mpi::MPI_ERR_OP),
        (
            bcast(0).elements(datatype(mpi::MPI_INT), 1),
            bcast(0).elements(datatype(mpi::MPI_DOUBLE), 1),
            mpi::MPI_ERR_TYPE,
        ),
    ]
}

/// Uses short and long messages. Rank 5 of 6 is a leaf of the tree, so nobody waits for it.
#[test]
fn a_rank_that_calls_something_else_is_found_out_by_messages() {
    let byte = Datatype::predefined(mpi::MPI_BYTE).expect("predefined").layout();
    for bytes in [0, 100, 100_000] {
        for case in 0..4 {
            let mut memory = vec![vec![7u8; bytes + 1].into_boxed_slice(); 6];
            memory[5].fill(1);
            let starts: Vec<*mut u8> = memory.iter_mut().map(|m| m.as_mut_ptr()).collect();
            let fill = |collective: &mut Collective, comm: &Comm| {
                let (usual, other, _) = pairs(comm)[case];
                collective.set_call(if comm.rank() == 5 { other } else { usual }.mark());
                // SAFETY: `memory` outlives the run, in which nothing else touches it.
                let elements = unsafe { Elements::new(starts[comm.rank() as usize], byte) };
                operations::bcast(collective.schedule(), comm, elements.buffer(0, bytes), 0);
            };
            let comms = run::intra(&mut Random::new(3), 6);
            let ranks: Vec<i32> = comms.iter().map(|(comm, _)| comm.rank()).collect();
            let class = pairs(&comms[0].0)[case].2;
            for (outcome, rank) in outcomes(comms, fill, |_| ()).iter().zip(ranks) {
                let expected = (rank == 5 && bytes > 0).then_some(class);
                assert_eq!(outcome.as_ref().err().map(|error| error.class), expected, "rank {rank}, {bytes}");
                if let Err(error) = outcome {
                    assert!(error.fault.on.contains("collective number 1"), "{error}");
                }
            }
            assert_eq!(memory[5][0], 1, "nothing was received");
        }
    }
}

/// Opens both sides of a board, in collective `number`, in which they call this.
fn open(boards: &mut [Box<dyn Board>], number: u32, calls: [Call; 2]) {
    for (board, call) in boards.iter_mut().zip(calls) {
        board.open(number);
        board.tell_call(call.mark(), ANY_BYTES, Way::Records);
    }
}

#[test]
fn a_rank_that_calls_something_else_is_found_out_on_a_board() {
    let comm = &run::intra(&mut Random::new(3), 6)[0].0;
    for (usual, other, class) in pairs(comm) {
        let mut boards = heap::usual_sides(2);
        open(&mut boards, 7, [usual, other]);
        assert_eq!(boards[0].clash().map(|clash| (clash.rank, clash.number)), Some((1, 7)));
        let mut first = Short::new(Barrier);
        assert_eq!(first.advance(&mut *boards[0]), Ok(false));
        let error = Short::new(Barrier).advance(&mut *boards[1]).expect_err("it sees the other's record");
        assert_eq!(error.class, class);
        assert!(error.fault.on.contains("collective number 7"), "{error}");
        let error = first.advance(&mut *boards[0]).expect_err("the other one published before it read");
        assert_eq!(error.class, class);
    }
}

/// Each is its own root: nobody reads, and the next collective finds what was not read.
#[test]
fn a_record_that_was_never_read_is_found_by_the_next_collective() {
    let comm = &run::intra(&mut Random::new(3), 2)[0].0;
    let mut boards = heap::usual_sides(2);
    let call = |root| Call::new(Kind::Bcast, comm).root(root);
    open(&mut boards, 1, [call(0), call(1)]);
    let mut byte = [5u8];
    // SAFETY: the byte outlives all collectives, which only read it.
    let buffer = Buffer::Contiguous(unsafe { Region::new(byte.as_mut_ptr(), 1) });
    for (me, board) in boards.iter_mut().enumerate() {
        assert_eq!(Short::new(Bcast { buffer: &buffer, root: me, me }).advance(&mut **board), Ok(true));
    }
    let barrier = Call::new(Kind::Barrier, comm);
    open(&mut boards, 2, [barrier; 2]);
    let mut collectives = [Short::new(Barrier), Short::new(Barrier)];
    let error = collectives[0].advance(&mut *boards[0]).expect_err("rank 1's record of the first one");
    assert_eq!(error.class, mpi::MPI_ERR_ROOT);
    assert!(
        error.fault.on.contains("rank 1 called MPI_Bcast with root 1, rank 0 MPI_Bcast with root 0"),
        "{error}"
    );
}

#[test]
fn a_long_broadcast_of_something_else_is_found_out() {
    let comm = &run::intra(&mut Random::new(3), 6)[0].0;
    for (usual, other, class) in pairs(comm) {
        let mut boards = heap::usual_sides(2);
        open(&mut boards, 1, [usual, other]);
        let mut memory = [[3u8; 100], [4u8; 100]];
        // SAFETY: the memory outlives both collectives, and nothing else uses it meanwhile.
        let regions = memory.each_mut().map(|m| unsafe { Region::new(m.as_mut_ptr(), m.len()) });
        let buffers = regions.map(Buffer::Contiguous);
        let mut run = |me: usize, call: Call| {
            LongBcast::new(&*boards[me], call.mark(), &buffers[me], 0, 50).advance(&mut *boards[me])
        };
        assert_eq!(run(0, usual), Ok(true));
        assert_eq!(run(1, other).map_err(|error| error.class), Err(class));
        assert_eq!(memory[1], [4; 100], "nothing was received");
    }
}
