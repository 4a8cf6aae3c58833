//! Canaries: ranks whose lengths differ so that they go different ways over a board are found out,
//! also when one of them has gone on.

use crate::in_place::{self, ends_in_turn};
use crate::{rounds, run};
use verbena_channel::board::{ANY_BYTES, Board, Packing, Shape, Way};
use verbena_channel::mark::Mark;
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Owned, Region};
use verbena_mpi::coll::board::differing::{differing_ways, left_behind, sign};
use verbena_mpi::coll::board::exchanges::{Barrier, Bcast, Fold};
use verbena_mpi::coll::board::long_bcast::LongBcast;
use verbena_mpi::coll::board::long_exchange;
use verbena_mpi::coll::board::results::Results;
use verbena_mpi::coll::board::short::{Exchange, Short};
use verbena_mpi::coll::{Call, Kind, Reduction};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, Op, Result};
use verbena_node::board::heap;
use verbena_sim::Random;

fn mark(kind: Kind) -> Mark {
    let comm = &run::intra(&mut Random::new(3), 2)[0].0;
    let op = Op::predefined(mpi::MPI_SUM).map(|op| &**op);
    let call = Call::new(kind, comm);
    if kind == Kind::Bcast { call.root(0) } else { call.op(op) }.mark()
}

/// Opens a side for collective `number`.
fn open(board: &mut dyn Board, number: u32, call: Mark, (bytes, way): (u64, Way)) {
    board.open(number);
    board.tell_call(call, bytes, way);
}

/// Lets both sides run a barrier as collective `number`.
fn meet(boards: &mut [Box<dyn Board>], number: u32) {
    let mut barriers = [Short::new(Barrier), Short::new(Barrier)];
    for board in boards.iter_mut() {
        open(&mut **board, number, Mark::NONE, (0, Way::Records));
    }
    assert_eq!(barriers[0].advance(&mut *boards[0]), Ok(false));
    assert_eq!(barriers[1].advance(&mut *boards[1]), Ok(true));
    assert_eq!(barriers[0].advance(&mut *boards[0]), Ok(true));
}

/// The records by which ranks meet in a reduction in place have 24 bytes: as many as three numbers
/// of a short reduction.
#[test]
fn numbers_are_never_taken_for_the_meeting_of_a_longer_reduction() {
    let (word, sum) = (Datatype::predefined(mpi::MPI_INT), Op::predefined(mpi::MPI_SUM));
    let reduction = Reduction { op: sum.expect("predefined"), datatype: word.expect("predefined") };
    let memory: [Owned; 2] = [24, 24].map(Owned::zeroed);
    let elements = |i: usize| Elements::at_origins(memory[i].lend(), reduction.datatype.layout());
    for first in 0..2 {
        let mut boards = heap::usual_sides(2);
        let fold = Fold {
            send: elements(0),
            count: 6,
            from: 0..2,
            part: (0, 6),
            recv: Some(elements(1)),
            reduction,
            first: None,
        };
        let mut short = Short::new(fold);
        open(&mut *boards[0], 1, mark(Kind::Allreduce), (24, Way::Records));
        open(&mut *boards[1], 1, mark(Kind::Allreduce), (4000, Way::Records));
        let mut in_place = in_place::side(&*boards[1], mpi::MPI_INT, Results::All, 1000);
        let mut classes = [None, None];
        for step in first..first + 6 {
            let me = step % 2;
            let ended = match me {
                0 => short.advance(&mut *boards[0]),
                _ => in_place.advance(&mut *boards[1]),
            };
            if classes[me].is_none()
                && let Err(error) = ended
            {
                assert!(error.fault.on.contains("4000") && error.fault.on.contains("24"), "{error}");
                classes[me] = Some(error.class);
            }
        }
        assert_eq!(classes, [Some(mpi::MPI_ERR_TRUNCATE), Some(mpi::MPI_ERR_COUNT)]);
        assert_eq!(memory[1].lend().to_vec(), [0; 24], "nothing was reduced");
    }
}

/// A rank that goes by messages finds the record of one that is several collectives ahead, however
/// long the record is, and wherever the log stands.
#[test]
fn a_record_in_a_collective_by_messages_is_a_sign() {
    for bytes in [0, 8, 100, 5000] {
        for before in 0..40 {
            let mut boards = heap::usual_sides(2);
            (1..=before).for_each(|number| meet(&mut boards, number));
            open(&mut *boards[0], before + 1, mark(Kind::Bcast), (1 << 20, Way::Messages));
            assert_eq!(boards[0].sign_of_other_way(), None);
            let memory = Owned::zeroed(bytes.max(1));
            let buffer = Buffer::Contiguous(memory.lend().part(0, bytes));
            for number in before + 1..before + 4 {
                open(&mut *boards[1], number, mark(Kind::Bcast), (bytes as u64, Way::Records));
                let bcast = Bcast { buffer: &buffer, root: 1, me: 1 };
                assert_eq!(Short::new(bcast).advance(&mut *boards[1]), Ok(true));
            }
            let clash = boards[0].sign_of_other_way().expect("the record");
            assert_eq!((clash.rank, clash.bytes), (1, [1 << 20, bytes as u64]));
        }
    }
}

/// Members that have met by records, and may not reach each other's memory, go on by messages.
#[test]
fn a_record_that_was_read_before_messages_is_no_sign() {
    let mut boards = heap::usual_sides(2);
    for number in 1..300 {
        meet(&mut boards, number);
        for board in &mut boards {
            open(&mut **board, number, Mark::NONE, (0, Way::Messages));
        }
        assert_eq!(boards[0].sign_of_other_way(), None, "{number}");
        assert_eq!(boards[1].sign_of_other_way(), None, "{number}");
    }
}

#[test]
fn a_slot_in_a_collective_by_records_is_a_sign_and_so_is_giving_up() {
    let mut boards = heap::usual_sides(2);
    open(&mut *boards[0], 1, mark(Kind::Bcast), (100, Way::Records));
    open(&mut *boards[1], 1, mark(Kind::Bcast), (70_000, Way::Slots));
    assert_eq!(boards[0].clash().map(|clash| clash.bytes), Some([100, 70_000]));
    assert_eq!(boards[0].sign_of_other_way(), None);
    let slot = boards[1].free_slot().expect("a free slot");
    boards[1].announce(slot);
    // It goes on, and says no more of this collective.
    (2..5).for_each(|number| open(&mut *boards[1], number, Mark::NONE, (ANY_BYTES, Way::Messages)));
    assert_eq!(boards[0].clash(), None);
    assert_eq!(boards[0].sign_of_other_way().map(|clash| clash.bytes), Some([100, 70_000]));
    let mut boards = heap::usual_sides(2);
    open(&mut *boards[0], 1, mark(Kind::Bcast), (100, Way::Records));
    open(&mut *boards[1], 1, mark(Kind::Bcast), (100, Way::Records));
    assert_eq!((boards[0].clash(), boards[0].sign_of_other_way()), (None, None));
    boards[1].give_up();
    assert_eq!(boards[0].sign_of_other_way().map(|clash| clash.rank), Some(1));
}

/// A member that has abandoned a collective, since another was lost, fills no slot any more.
#[test]
fn a_member_that_abandoned_a_collective_waits_before_it_fills_a_slot() {
    let mut boards = heap::usual_sides(2);
    open(&mut *boards[0], 1, mark(Kind::Allreduce), (70_000, Way::Records));
    assert!(boards[0].slots_are_read());
    boards[0].offer_parts();
    boards[0].abandon();
    assert!(!boards[0].slots_are_read());
    open(&mut *boards[1], 1, mark(Kind::Allreduce), (70_000, Way::Records));
    assert_eq!(boards[1].take_part(0, 5), None, "its memory may be gone");
    assert!(!boards[0].does_parts(1));
    boards[1].begin_parts();
    assert!(boards[0].does_parts(1));
    boards[1].end_parts();
    assert!(!boards[0].does_parts(1));
}

/// A rank that expects another length than the root gets an error, and is in step for the next one.
#[test]
fn a_long_broadcast_of_another_length_is_an_error_and_the_next_one_works() {
    for (sent, expected, class) in [(100, 240, mpi::MPI_ERR_COUNT), (240, 100, mpi::MPI_ERR_TRUNCATE)] {
        let mut boards = heap::usual_sides(2);
        for number in 1..=2 {
            let lengths = if number == 1 { [sent, expected] } else { [130, 130] };
            let memory = lengths.map(Owned::zeroed);
            let regions: [Region; 2] = [0, 1].map(|i| memory[i].lend());
            regions[0].write(0, &vec![number as u8; lengths[0]]);
            let buffers = regions.map(Buffer::Contiguous);
            for (board, bytes) in boards.iter_mut().zip(lengths) {
                open(&mut **board, number, mark(Kind::Bcast), (bytes as u64, Way::Slots));
            }
            let mut run = |me: usize| {
                let call = mark(Kind::Bcast);
                LongBcast::new(&*boards[me], call, &buffers[me], 0, 50).advance(&mut *boards[me])
            };
            assert_eq!(run(0), Ok(true));
            let ended = run(1).map_err(|error| error.class);
            assert_eq!(ended, if number == 1 { Err(class) } else { Ok(true) });
            let received = if number == 1 { 0 } else { 2 };
            assert_eq!(regions[1].to_vec(), vec![received; lengths[1]]);
        }
    }
}

/// The text of `VERBENA_COLL_BOARD_EXCHANGE_BYTES_MAX` says so.
#[test]
fn a_board_has_the_room_for_exchanges_that_the_setting_says() {
    let most = 256 << 10;
    let max = verbena_settings::all()
        .find(|setting| setting.about.name == "VERBENA_COLL_BOARD_EXCHANGE_BYTES_MAX")
        .map(|setting| setting.kind.clone());
    let Some(verbena_settings::Kind::Number { range, .. }) = max else { panic!("a number") };
    assert_eq!(*range.end(), most);
    for (ranks, room) in [(2, most), (8, most), (9, most / 2), (16, most / 2), (32, most / 4), (64, most / 8)]
    {
        assert_eq!(long_exchange::room(&*heap::usual_sides(ranks)[0]) as i64, room, "{ranks} ranks");
    }
}

/// A record of the longest payload is told apart by its head from every other.
#[test]
fn the_longest_record_keeps_its_length() {
    let mut boards = heap::usual_sides(2);
    let bytes = boards[0].record_bytes_max();
    let shape = |meets| Shape { bytes, packing: Packing::Tight, meets };
    open(&mut *boards[0], 1, Mark(u16::MAX), (ANY_BYTES, Way::Records));
    open(&mut *boards[1], 1, Mark(u16::MAX), (ANY_BYTES, Way::Records));
    boards[0].claim(shape(false)).expect("room");
    boards[0].publish();
    let found = boards[1].look(0, shape(false));
    assert!(
        matches!(found, verbena_channel::board::Look::Record(record) if record.len() == bytes),
        "{found:?}"
    );
    assert!(matches!(boards[1].look(0, shape(true)), verbena_channel::board::Look::Unlike(_)));
}

/// Lets a side wait for each of the others in turn, and look elsewhere for its record.
fn waits<E: Exchange>(short: &mut Short<E>, board: &mut dyn Board) -> Result<bool> {
    for _ in 0..board.ranks() {
        match short.advance(board) {
            Ok(false) => short.seek(board),
            ended => return ended,
        }
    }
    short.advance(board)
}

/// Rank 1 does not read what rank 2 gives to a reduction at rank 0. It passes it as if it had its
/// own length, and must find what rank 2 does next, although rank 2 is a collective ahead by then.
#[test]
fn a_record_behind_one_of_another_length_is_found_when_its_writer_has_gone_on() {
    let (word, sum) = (Datatype::predefined(mpi::MPI_INT), Op::predefined(mpi::MPI_SUM));
    let reduction = Reduction { op: sum.expect("predefined"), datatype: word.expect("predefined") };
    // Nothing, and what looks like heads of collectives before, now and later.
    for payload in [0, 1, 2, 3, 7] {
        for lengths in [[24, 24, 6000], [6000, 6000, 24]] {
            let memory = lengths.map(Owned::zeroed);
            let elements = |i: usize| Elements::at_origins(memory[i].lend(), reduction.datatype.layout());
            memory.iter().zip(lengths).for_each(|(memory, bytes)| {
                memory.lend().write(0, &[payload, 0, 0, 0].repeat(bytes / 4));
            });
            let mut boards = heap::usual_sides(3);
            for (me, ends) in [(1, Ok(true)), (2, Ok(true)), (0, Err(()))] {
                let count = lengths[me] / 4;
                let recv = (me == 0).then(|| elements(0));
                let (send, part) = (elements(me), (0, count));
                let fold = Fold { send, count, from: 0..3, part, recv, reduction, first: None };
                open(&mut *boards[me], 1, mark(Kind::Reduce), (lengths[me] as u64, Way::Records));
                assert_eq!(Short::new(fold).advance(&mut *boards[me]).map_err(drop), ends);
            }
            let mut barriers = [(); 3].map(|()| Short::new(Barrier));
            for me in [0, 1, 2] {
                open(&mut *boards[me], 2, Mark::NONE, (0, Way::Records));
            }
            for me in [0, 1] {
                assert_eq!(barriers[me].advance(&mut *boards[me]), Ok(false), "{payload}, {lengths:?}");
            }
            // The last one is in the next collective before the others look again.
            assert_eq!(waits(&mut barriers[2], &mut *boards[2]), Ok(true));
            open(&mut *boards[2], 3, Mark::NONE, (0, Way::Records));
            barriers[2] = Short::new(Barrier);
            assert_eq!(waits(&mut barriers[2], &mut *boards[2]), Ok(false));
            for me in [1, 0] {
                let ended = waits(&mut barriers[me], &mut *boards[me]);
                assert_eq!(ended, Ok(true), "rank {me}, {payload}, {lengths:?}");
                open(&mut *boards[me], 3, Mark::NONE, (0, Way::Records));
                barriers[me] = Short::new(Barrier);
                assert_eq!(waits(&mut barriers[me], &mut *boards[me]), Ok(me == 0));
            }
            for me in [1, 2] {
                assert_eq!(waits(&mut barriers[me], &mut *boards[me]), Ok(true));
            }
        }
    }
}

/// Nothing that a rank does later is a sign of what it did not do in an earlier collective: that it
/// has gone on is.
#[test]
fn a_rank_that_has_gone_on_without_its_record_is_not_waited_for() {
    let mut boards = heap::usual_sides(3);
    let mut barrier = Short::new(Barrier);
    open(&mut *boards[0], 1, Mark::NONE, (0, Way::Records));
    open(&mut *boards[1], 1, Mark::NONE, (0, Way::Records));
    assert_eq!(Short::new(Barrier).advance(&mut *boards[1]), Ok(false));
    assert_eq!(barrier.advance(&mut *boards[0]), Ok(false));
    let left = |barrier: &Short<Barrier>, boards: &[Box<dyn Board>]| {
        left_behind(&*boards[0], |rank| barrier.awaits(rank))
    };
    // It is not there yet, and then goes through four collectives by messages.
    assert_eq!(left(&barrier, &boards), None);
    for number in 1..5 {
        open(&mut *boards[2], number, Mark::NONE, (ANY_BYTES, Way::Messages));
    }
    assert_eq!((boards[0].clash(), boards[0].sign_of_other_way()), (None, None));
    assert_eq!(left(&barrier, &boards), Some(2));
    assert_eq!(waits(&mut barrier, &mut *boards[0]), Ok(false));
    assert_eq!(differing_ways(&*boards[0], 2).class, mpi::MPI_ERR_OTHER);
    // Rank 1 has left as well, but its record was read.
    open(&mut *boards[1], 2, Mark::NONE, (0, Way::Records));
    assert!(boards[0].has_left(1) && boards[0].has_left(2) && !boards[1].has_left(0));
    assert!(!barrier.awaits(1));
}

/// Rank 2 expects a record where the root announces slots: it makes none of the others' posts.
#[test]
fn a_long_reduction_after_a_broadcast_of_other_lengths_waits_for_nobody() {
    let mut boards = heap::sides(3, 512, 4, 128);
    let memory = [300, 300, 24].map(Owned::zeroed);
    let buffers = memory.each_ref().map(|memory| Buffer::Contiguous(memory.lend()));
    for me in [0, 1, 2] {
        let way = if me == 2 { Way::Records } else { Way::Slots };
        open(&mut *boards[me], 1, mark(Kind::Bcast), (buffers[me].len() as u64, way));
    }
    for me in [0, 1] {
        let mut bcast = LongBcast::new(&*boards[me], mark(Kind::Bcast), &buffers[me], 0, 100);
        assert_eq!(bcast.advance(&mut *boards[me]), Ok(true));
    }
    let mut short = Short::new(Bcast { buffer: &buffers[2], root: 0, me: 2 });
    assert_eq!(short.advance(&mut *boards[2]), Ok(false));
    let class = sign(&*boards[2]).map(|error| error.class);
    assert_eq!(class, Some(mpi::MPI_ERR_TRUNCATE));
    boards[2].give_up();
    for number in 2..5 {
        for board in &mut boards {
            open(&mut **board, number, mark(Kind::Allreduce), (1200, Way::Records));
        }
        let sides: Vec<_> = (0..3).map(|me| rounds::side(&mut *boards[me], 300, me as i32 + 1)).collect();
        let (mut sides, results): (Vec<_>, Vec<_>) = sides.into_iter().unzip();
        let ended: [_; 3] = ends_in_turn(200, |me| sides[me].advance(&mut *boards[me]));
        assert_eq!(ended, [Some(mpi::MPI_SUCCESS); 3], "collective {number}");
        for result in results {
            assert_eq!(result.to_vec(), 6_i32.to_le_bytes().repeat(300), "collective {number}");
        }
    }
}

/// Members whose settings differ would take each other's parts for others.
#[test]
fn other_pieces_are_told_in_words() {
    for ranks in [2, 3] {
        let mut boards = heap::sides(ranks, 512, 4, 128);
        for board in &mut boards {
            open(&mut **board, 1, mark(Kind::Allreduce), (1200, Way::Records));
        }
        let ended: Vec<_> = match ranks {
            2 => {
                let mut sides = [64, 32].map(|piece| {
                    let board = &*boards[usize::from(piece == 32)];
                    in_place::side_in_pieces(board, mpi::MPI_INT, Results::All, 300, piece)
                });
                ends_of(2, |me| sides[me].advance(&mut *boards[me]))
            }
            _ => {
                let mut sides: Vec<_> = (0..3)
                    .map(|me| rounds::side_in_pieces(&mut *boards[me], 300, 1, 64 >> (me / 2)).0)
                    .collect();
                ends_of(3, |me| sides[me].advance(&mut *boards[me]))
            }
        };
        for error in ended {
            assert_eq!(error.class, mpi::MPI_ERR_OTHER);
            assert!(error.fault.cause.contains("VERBENA_COLL_*_PIECE_BYTES"), "{error}");
        }
    }
}

/// The errors with which all sides end.
fn ends_of(ranks: usize, mut advance: impl FnMut(usize) -> Result<bool>) -> Vec<verbena_mpi::Error> {
    let mut ended = vec![None; ranks];
    for me in (0..20).flat_map(|_| 0..ranks) {
        if ended[me].is_none() {
            ended[me] = advance(me).err();
        }
    }
    ended.into_iter().map(|error| error.expect("an error")).collect()
}
