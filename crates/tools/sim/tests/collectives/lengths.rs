//! Canaries: ranks whose lengths differ so that they go different ways over a board are found out,
//! also when one of them has gone on.

use crate::in_place;
use crate::run;
use verbena_channel::board::{ANY_BYTES, Board, Packing, Shape, Way};
use verbena_channel::mark::Mark;
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Owned, Region};
use verbena_mpi::coll::board::exchanges::{Barrier, Bcast, Fold};
use verbena_mpi::coll::board::long_bcast::LongBcast;
use verbena_mpi::coll::board::long_exchange;
use verbena_mpi::coll::board::results::Results;
use verbena_mpi::coll::board::short::Short;
use verbena_mpi::coll::{Call, Kind, Reduction};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Datatype, Op};
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
                let call = (number, mark(Kind::Bcast));
                LongBcast::new(&*boards[me], call, &buffers[me], 0, 50).advance(&mut *boards[me])
            };
            assert_eq!(run(0), Ok(true));
            let ended = run(1).map_err(|error| error.class);
            assert_eq!(ended, if number == 1 { Err(class) } else { Ok(true) });
            let common = lengths[0].min(lengths[1]);
            assert_eq!(regions[1].to_vec()[..common], vec![number as u8; common]);
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
