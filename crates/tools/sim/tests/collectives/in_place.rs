//! Reductions in place on a board: who gets what, and members whose lengths differ.

use crate::run;
use crate::waiting::{Next, drive};
use std::sync::Arc;
use verbena_channel::board::{ANY_BYTES, Board, Way};
use verbena_memory::elements::Elements;
use verbena_memory::{Owned, Region};
use verbena_mpi::coll::algorithms::reduce_scatter::BlockCounts;
use verbena_mpi::coll::board::SharedBoard;
use verbena_mpi::coll::board::in_place::{Area, InPlace};
use verbena_mpi::coll::board::results::Results;
use verbena_mpi::coll::operations::Operands;
use verbena_mpi::coll::{Call, Counts, Kind, Reduction};
use verbena_mpi::datatype::predefined::BASICS;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::op::BUILTINS;
use verbena_mpi::{Datatype, Op, Result};
use verbena_node::board::heap;
use verbena_sim::Random;

/// The results that ranks get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Giving {
    All,
    ToRoot,
    /// The root's block has half of the elements, and the others have the rest.
    Blocks,
}

impl Giving {
    /// The range of elements of the vector that this rank gets.
    pub(crate) fn result(self, (me, ranks, root): (usize, usize, usize), count: usize) -> (usize, usize) {
        match self {
            Giving::All => (0, count),
            Giving::ToRoot => (0, if me == root { count } else { 0 }),
            Giving::Blocks => {
                let counts = blocks(ranks, root, count);
                (counts[..me].iter().sum::<i64>() as usize, counts[me] as usize)
            }
        }
    }

    pub(crate) fn results(self, ranks: usize, root: usize, count: usize) -> Results<'static> {
        match self {
            Giving::All => Results::All,
            Giving::ToRoot => Results::Root(root),
            Giving::Blocks => {
                let counts = Counts::Large(Box::leak(blocks(ranks, root, count).into_boxed_slice()));
                Results::Blocks(BlockCounts { even: 0, counts: Some(counts) })
            }
        }
    }
}

fn blocks(ranks: usize, root: usize, count: usize) -> Vec<i64> {
    let (half, rest) = (count / 2, count - count / 2);
    let of = |rank: usize| rest / ranks + usize::from(rank < rest % ranks);
    (0..ranks).map(|rank| (of(rank) + if rank == root { half } else { 0 }) as i64).collect()
}

/// Begins a reduction of `count` elements in pieces of `piece` bytes, on a board that is open for
/// it; the next action. `over`: a rank that gets results gives its operand in their place.
pub(crate) fn begin(
    board: &SharedBoard,
    (send, out): (Region, Region),
    count: usize,
    reduction: Reduction<'static>,
    (giving, root, over): (Giving, usize, bool),
    piece: usize,
) -> Next {
    let locked = board.lock();
    let has_result = giving != Giving::ToRoot || locked.me() == root;
    let over = over && has_result;
    if over {
        out.copy_from(send);
    }
    let elements = |region| Elements::at_origins(region, reduction.datatype.layout());
    let operands = Operands {
        send: (!over).then(|| elements(send)),
        recv: has_result.then(|| elements(out)),
        count,
        commutative: true,
    };
    let area = Area::new(&**locked, piece, reduction.datatype.size()).expect("room for an element");
    let results = giving.results(locked.ranks(), root, operands.count);
    let collective = InPlace::new(&**locked, operands, reduction, results, area, 0);
    drop(locked);
    drive(board, collective)
}

/// A reduction of one side, of its own memory.
pub(crate) fn side(
    board: &dyn Board,
    datatype: usize,
    results: Results<'static>,
    count: usize,
) -> InPlace<'static> {
    side_in_pieces(board, datatype, results, count, 64)
}

/// Like [`side`], in pieces of `piece` bytes.
pub(crate) fn side_in_pieces(
    board: &dyn Board,
    datatype: usize,
    results: Results<'static>,
    count: usize,
    piece: usize,
) -> InPlace<'static> {
    let datatype = Datatype::predefined(datatype).expect("predefined");
    let memory = Box::leak(vec![1u8; 2 * count * datatype.size()].into_boxed_slice());
    // SAFETY: nothing else uses the memory, which is never freed.
    let [send, recv] = [0, count * datatype.size()]
        .map(|at| unsafe { Elements::new(memory[at..].as_mut_ptr(), datatype.layout()) });
    let op = Op::predefined(mpi::MPI_SUM).expect("predefined");
    let operands = Operands { send: Some(send), recv: Some(recv), count, commutative: true };
    let area = Area::new(board, piece, datatype.size()).expect("room");
    InPlace::new(board, operands, Reduction { op, datatype }, results, area, 0)
}

/// Lets each member go on in turn, so many times at most; returns the class with which each ended.
pub(crate) fn ends_in_turn<const N: usize>(
    turns: usize,
    mut advance: impl FnMut(usize) -> Result<bool>,
) -> [Option<i32>; N] {
    let mut ended = [None; N];
    for me in (0..turns).flat_map(|_| 0..N) {
        if ended[me].is_none() {
            ended[me] = match advance(me) {
                Ok(false) => None,
                Ok(true) => Some(mpi::MPI_SUCCESS),
                Err(error) => Some(error.class),
            };
        }
    }
    ended
}

/// Nobody makes a post before the members have met: so they are in step for the next collective.
#[test]
fn lengths_that_differ_are_found_out_and_the_next_reduction_works() {
    let comm = &run::intra(&mut Random::new(3), 2)[0].0;
    let call = Call::new(Kind::Allreduce, comm).op(Op::predefined(mpi::MPI_SUM).map(|op| &**op)).mark();
    let blocks = |counts: &'static [i64]| {
        Results::Blocks(BlockCounts { even: 0, counts: Some(Counts::Large(counts)) })
    };
    let cases = [
        ([Results::All; 2], [100, 50], [mpi::MPI_ERR_COUNT, mpi::MPI_ERR_TRUNCATE]),
        ([blocks(&[50, 50]), blocks(&[90, 10])], [100, 100], [mpi::MPI_ERR_COUNT; 2]),
        ([blocks(&[60, 40]), blocks(&[40, 60])], [100, 100], [mpi::MPI_ERR_COUNT; 2]),
    ];
    for (results, counts, classes) in cases {
        let mut boards = heap::sides(2, 512, 4, 128);
        for number in 1..=3 {
            for board in &mut boards {
                board.open(number);
                board.tell_call(call, ANY_BYTES, Way::Records);
            }
            let differ = number == 2;
            let count = |me: usize| if differ { counts[me] } else { 100 };
            let given = |me: usize| if differ { results[me] } else { Results::All };
            let mut sides: Vec<InPlace> =
                (0..2).map(|me| side(&*boards[me], mpi::MPI_INT, given(me), count(me))).collect();
            let ended: [_; 2] = ends_in_turn(100, |me| sides[me].advance(&mut *boards[me]));
            let expected = if differ { classes } else { [mpi::MPI_SUCCESS; 2] };
            assert_eq!(ended, expected.map(Some), "collective {number}");
        }
    }
}

/// The operand of a rank: bytes that make small numbers of any type.
pub(crate) fn operand(rank: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| 0x30 + ((i / 3 * 7 + rank * 5 + i) % 13) as u8).collect()
}

/// The reduction of all operands in rank order, one element after the other.
pub(crate) fn plainly(op: &Op, datatype: &Arc<Datatype>, ranks: usize, count: usize) -> Vec<u8> {
    let size = datatype.size();
    let mut result = operand(0, count * size);
    for rank in 1..ranks {
        let mut right = operand(rank, count * size);
        for (left, right) in result.chunks_mut(size).zip(right.chunks_mut(size)) {
            // SAFETY: both vectors outlive the call.
            let (a, b) = unsafe { (Region::of(left), Region::of(right)) };
            op.apply(a, b, 1, datatype).expect("defined");
            left.copy_from_slice(right);
        }
    }
    result
}

/// Runs an allreduce of all members of new boards, whose vectors lie at `skew` bytes beyond a line;
/// their results.
fn allreduce(
    (op, datatype): (&Arc<Op>, &'static Arc<Datatype>),
    (ranks, count): (usize, usize),
    (skew, over): (usize, bool),
) -> Vec<Vec<u8>> {
    let bytes = count * datatype.size();
    let memory: Vec<[Owned; 2]> =
        (0..ranks).map(|_| [bytes, bytes].map(|bytes| Owned::zeroed(skew + bytes))).collect();
    let vectors = |me: usize| {
        let [send, recv] = [0, 1].map(|i| memory[me][i].lend().part(skew, bytes));
        (if over { recv } else { send }, recv)
    };
    let mut boards = heap::sides(ranks, 1024, 4, 1024);
    let mut running: Vec<InPlace> = Vec::new();
    for (me, board) in boards.iter_mut().enumerate() {
        board.open(1);
        let (send, recv) = vectors(me);
        send.write(0, &operand(me, bytes));
        let [send, recv] = [send, recv].map(|region| Elements::at_origins(region, datatype.layout()));
        let operands = Operands { send: Some(send), recv: Some(recv), count, commutative: true };
        let area = Area::new(&**board, 200, datatype.size()).expect("room");
        running.push(InPlace::new(&**board, operands, Reduction { op, datatype }, Results::All, area, 0));
    }
    let mut ended = vec![false; ranks];
    for step in 0.. {
        let me = step % ranks;
        assert!(step < 10_000, "stuck");
        ended[me] = ended[me] || running[me].advance(&mut *boards[me]).expect("no error");
        if ended.iter().all(|&ended| ended) {
            break;
        }
    }
    (0..ranks).map(|me| vectors(me).1.to_vec()).collect()
}

/// Odd counts, from one element on, at any address.
#[test]
fn every_operation_on_every_type_gives_what_a_plain_loop_gives() {
    let mut tried = 0;
    for (builtin, ..) in BUILTINS {
        let op = Arc::new(Op::of(builtin));
        for basic in &BASICS {
            let datatype = Datatype::predefined(basic.handle).expect("predefined");
            if op.check(datatype).is_err() || !op.is_commutative() {
                continue;
            }
            for (ranks, count) in [(2, 1), (2, 2), (2, 333), (3, 101), (5, 64)] {
                let expected = plainly(&op, datatype, ranks, count);
                for place in [(0, false), (3, true)] {
                    let results = allreduce((&op, datatype), (ranks, count), place);
                    for result in results {
                        assert!(result == expected, "{builtin:?} on {count} {}, {ranks} ranks", basic.name);
                    }
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 2000, "{tried}");
}
