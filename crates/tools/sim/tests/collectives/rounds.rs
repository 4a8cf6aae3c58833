//! Reductions in rounds on a board: every operation and type, and members whose lengths differ.

use crate::in_place::{Giving, ends_in_turn, operand, plainly};
use crate::run;
use crate::waiting::{Next, drive};
use std::sync::Arc;
use verbena_channel::board::{ANY_BYTES, Board, Way};
use verbena_memory::elements::Elements;
use verbena_memory::{Owned, Region};
use verbena_mpi::coll::algorithms::reduce_scatter::BlockCounts;
use verbena_mpi::coll::board::SharedBoard;
use verbena_mpi::coll::board::results::Results;
use verbena_mpi::coll::board::rounds::{InRounds, Outcome, RoundSlots};
use verbena_mpi::coll::operations::Operands;
use verbena_mpi::coll::{Call, Counts, Kind, Reduction};
use verbena_mpi::datatype::predefined::BASICS;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::op::BUILTINS;
use verbena_mpi::{Datatype, Op};
use verbena_node::board::heap;
use verbena_sim::Random;

/// A reduction of one member, of these vectors, in parts of `piece` bytes.
fn member<'a>(
    board: &mut dyn Board,
    (send, recv): (Option<Region>, Option<Region>),
    count: usize,
    reduction: Reduction<'a>,
    outcome: Outcome<'a>,
    piece: usize,
) -> InRounds<'a> {
    let elements = |region| Elements::at_origins(region, reduction.datatype.layout());
    let operands = Operands { send: send.map(elements), recv: recv.map(elements), count, commutative: true };
    let size = reduction.datatype.size();
    let slots = RoundSlots::of_any_length(board, count * size, piece, size).expect("room for an element");
    InRounds::new(board, operands, reduction, outcome, slots)
}

/// A sum of `count` integers to all members, each of which this member gives as `value`, and the
/// place of the result.
pub(crate) fn side(board: &mut dyn Board, count: usize, value: i32) -> (InRounds<'static>, Region) {
    side_in_pieces(board, count, value, 64)
}

/// Like [`side`], in parts of `piece` bytes.
pub(crate) fn side_in_pieces(
    board: &mut dyn Board,
    count: usize,
    value: i32,
    piece: usize,
) -> (InRounds<'static>, Region) {
    let datatype = Datatype::predefined(mpi::MPI_INT).expect("predefined");
    let op = Op::predefined(mpi::MPI_SUM).expect("predefined");
    let [send, recv] = [(); 2].map(|()| Box::leak(Box::new(Owned::zeroed(4 * count))).lend());
    send.write(0, &value.to_le_bytes().repeat(count));
    let (vectors, outcome) = ((Some(send), Some(recv)), Outcome::Of(Results::All));
    (member(board, vectors, count, Reduction { op, datatype }, outcome, piece), recv)
}

/// Begins a reduction of `count` elements in parts of `piece` bytes, on a board that is open for
/// it; the next action. `over`: a rank that gets results gives its operand in their place.
pub(crate) fn begin(
    board: &SharedBoard,
    (send, out): (Region, Region),
    count: usize,
    reduction: Reduction<'static>,
    (giving, root, over): (Giving, usize, bool),
    piece: usize,
) -> Next {
    let mut locked = board.lock();
    let has_result = giving != Giving::ToRoot || locked.me() == root;
    let over = over && has_result;
    if over {
        out.copy_from(send);
    }
    let vectors = ((!over).then_some(send), has_result.then_some(out));
    let results = Outcome::Of(giving.results(locked.ranks(), root, count));
    let collective = member(&mut **locked, vectors, count, reduction, results, piece);
    drop(locked);
    drive(board, collective)
}

/// Begins a scan, as [`begin`] begins a reduction.
pub(crate) fn begin_scan(
    board: &SharedBoard,
    (send, out): (Region, Region),
    count: usize,
    reduction: Reduction<'static>,
    (is_inclusive, over): (bool, bool),
    piece: usize,
) -> Next {
    let mut locked = board.lock();
    if over {
        out.copy_from(send);
    }
    let vectors = ((!over).then_some(send), Some(out));
    let outcome = if is_inclusive { Outcome::Scan } else { Outcome::Exscan };
    let collective = member(&mut **locked, vectors, count, reduction, outcome, piece);
    drop(locked);
    drive(board, collective)
}

/// Runs a reduction of all members of new boards, whose vectors lie at `skew` bytes beyond a line;
/// their results.
fn run_all(
    outcome: Outcome<'static>,
    (op, datatype): (&Arc<Op>, &'static Arc<Datatype>),
    (ranks, count): (usize, usize),
    (skew, over): (usize, bool),
) -> Vec<Vec<u8>> {
    let bytes = count * datatype.size();
    let memory: Vec<[Owned; 2]> =
        (0..ranks).map(|_| [bytes, bytes].map(|bytes| Owned::zeroed(skew + bytes))).collect();
    let vectors = |me: usize| [0, 1].map(|i| memory[me][i].lend().part(skew, bytes));
    let mut boards = heap::sides(ranks, 1024, 4, 256);
    let mut running: Vec<InRounds> = Vec::new();
    for (me, board) in boards.iter_mut().enumerate() {
        board.open(1);
        let [send, recv] = vectors(me);
        (if over { recv } else { send }).write(0, &operand(me, bytes));
        let given = ((!over).then_some(send), Some(recv));
        running.push(member(&mut **board, given, count, Reduction { op, datatype }, outcome, 100));
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
    (0..ranks).map(|me| vectors(me)[1].to_vec()).collect()
}

/// Odd counts, from one element on, at any address, in one round and in several.
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
            for (ranks, count) in [(3, 1), (3, 1001), (4, 333), (5, 64), (8, 201)] {
                // The result of the first so many members.
                let expected = |first: usize| plainly(&op, datatype, first, count);
                for (place, outcome) in [
                    ((0, false), Outcome::Of(Results::All)),
                    ((3, true), Outcome::Of(Results::All)),
                    ((0, true), Outcome::Scan),
                    ((3, false), Outcome::Exscan),
                ] {
                    let results = run_all(outcome, (&op, datatype), (ranks, count), place);
                    for (me, result) in results.into_iter().enumerate() {
                        let right = match outcome {
                            Outcome::Exscan if me == 0 => continue,
                            Outcome::Exscan => expected(me),
                            Outcome::Scan => expected(me + 1),
                            Outcome::Of(_) => expected(ranks),
                        };
                        assert!(result == right, "{builtin:?} on {count} {}, {ranks} ranks", basic.name);
                    }
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 2000, "{tried}");
}

/// Nobody makes a post before the members have met: so they are in step for the next collective.
#[test]
fn lengths_that_differ_are_found_out_and_the_next_reduction_works() {
    let comm = &run::intra(&mut Random::new(3), 3)[0].0;
    let call = Call::new(Kind::Allreduce, comm).op(Op::predefined(mpi::MPI_SUM).map(|op| &**op)).mark();
    let blocks = |counts: &'static [i64]| {
        Results::Blocks(BlockCounts { even: 0, counts: Some(Counts::Large(counts)) })
    };
    let (count, truncate) = (mpi::MPI_ERR_COUNT, mpi::MPI_ERR_TRUNCATE);
    let cases = [
        ([Results::All; 3], [300, 150, 300], [count, truncate, count]),
        ([Results::All; 3], [300, 10, 300], [count, truncate, count]),
        ([blocks(&[100, 100, 100]), blocks(&[100, 100, 100]), blocks(&[150, 50, 100])], [300; 3], [count; 3]),
    ];
    let datatype = Datatype::predefined(mpi::MPI_INT).expect("predefined");
    let op = Op::predefined(mpi::MPI_SUM).expect("predefined");
    for (results, counts, classes) in cases {
        let mut boards = heap::sides(3, 512, 4, 128);
        for number in 1..=3 {
            let differ = number == 2;
            let memory: Vec<[Owned; 2]> = (0..3).map(|_| [(); 2].map(|()| Owned::zeroed(1200))).collect();
            let mut sides: Vec<InRounds> = Vec::new();
            for (me, board) in boards.iter_mut().enumerate() {
                board.open(number);
                board.tell_call(call, ANY_BYTES, Way::Records);
                let (given, count) = if differ { (results[me], counts[me]) } else { (Results::All, 300) };
                let vectors = (Some(memory[me][0].lend()), Some(memory[me][1].lend()));
                sides.push(member(
                    &mut **board,
                    vectors,
                    count,
                    Reduction { op, datatype },
                    Outcome::Of(given),
                    64,
                ));
            }
            let ended: [_; 3] = ends_in_turn(200, |me| sides[me].advance(&mut *boards[me]));
            let expected = if differ { classes } else { [mpi::MPI_SUCCESS; 3] };
            assert_eq!(ended, expected.map(Some), "collective {number}");
        }
    }
}

/// A vector that does not fit would take many rounds where many members share a board.
#[test]
fn short_slots_take_a_vector_that_fits_and_no_longer_one() {
    let suits = |slot_bytes: usize, bytes: usize| {
        RoundSlots::new(&*heap::sides(3, 512, 8, slot_bytes)[0], bytes, 16 << 10, 8).is_some()
    };
    assert!(suits(8 << 10, 32 << 10) && !suits(8 << 10, 33 << 10));
    assert!(suits(64 << 10, 64 << 20) && suits(16 << 10, 64 << 20));
    let whole = |size: usize| RoundSlots::new(&*heap::sides(3, 512, 8, 64)[0], 256, 256, size);
    assert!(whole(64).is_some() && whole(128).is_none());
}
