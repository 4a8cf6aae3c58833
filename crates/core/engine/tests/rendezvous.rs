//! Long messages between two engines: streamed, pulled, copied by both, and every way for that to
//! fail.

mod pair;

use pair::wire::{Abilities, Memory, Wire};
use pair::*;
use verbena_channel::Cost;
use verbena_channel::packet::Kind;
use verbena_engine::{Failure, Large, Mode, Settings};

/// Pieces of the settings that [`Pair::new`] uses.
const PIECE: usize = 1024;

/// Sends one message both ways of meeting (receive first, message first) and checks it on both
/// sides.
fn exchange(wire: impl Fn() -> Wire, bytes: usize) -> Vec<Pair> {
    [true, false].map(|receive_first| exchange_one(Pair::new(wire()), bytes, receive_first)).into()
}

fn exchange_one(mut pair: Pair, bytes: usize, receive_first: bool) -> Pair {
    let (data, room) = (Bytes::pattern(bytes, 9), Bytes::zero(bytes));
    let early = receive_first.then(|| pair.receive_any(1, room.buffer()));
    let send = pair.send(0, 5, data.buffer());
    if !receive_first {
        pair.settle();
        assert!(pair.engines[0].is_pending(pending(&send)), "complete without a receive");
    }
    let receive = early.unwrap_or_else(|| pair.receive_any(1, room.buffer()));
    assert!(is_good(&pair.end(1, receive), bytes));
    assert!(is_good(&pair.end(0, send), bytes));
    assert!(room.get() == data.get(), "wrong bytes");
    assert_eq!(pair.wire.exposed(), 0, "memory left exposed");
    assert_eq!(pair.wire.divisions(), 0, "a division left open");
    assert!(pair.is_quiet());
    pair
}

#[test]
fn streamed_through_packets() {
    for bytes in [257, 512, 513, 100_000] {
        for pair in exchange(Wire::packets, bytes) {
            assert_eq!(pair.wire.count(Kind::Data), bytes.div_ceil(512));
        }
    }
}

#[test]
fn streamed_through_a_narrow_channel() {
    exchange(|| Wire::new(Abilities { room: 1, ..Abilities::default() }), 50_000);
}

#[test]
fn pulled_at_once_or_in_the_background() {
    for get in [Memory::AtOnce, Memory::Later] {
        for bytes in [300, PIECE, PIECE + 1, 100_000] {
            for pair in exchange(|| Wire::memory(get, Memory::None), bytes) {
                assert_eq!(pair.wire.count(Kind::Data), 0);
                assert_eq!(pair.wire.transfers().0, bytes.div_ceil(PIECE));
                assert_eq!(pair.engines[1].counters().channels[0].get_bytes, bytes as u64);
            }
        }
    }
}

#[test]
fn copied_by_both_sides() {
    for get in [Memory::AtOnce, Memory::Later] {
        for put in [Memory::AtOnce, Memory::Later] {
            for pair in exchange(|| Wire::memory(get, put), 64 * PIECE + 5) {
                let (gets, puts) = pair.wire.transfers();
                assert!(gets > 8 && puts > 8, "{gets} reads, {puts} writes");
                assert_eq!(gets + puts, 65);
            }
        }
    }
}

#[test]
fn the_receiver_does_not_wait_for_an_absent_sender() {
    let mut pair = Pair::new(Wire::memory(Memory::AtOnce, Memory::AtOnce));
    let (data, room) = (Bytes::pattern(20 * PIECE, 9), Bytes::zero(20 * PIECE));
    pair.send(0, 5, data.buffer());
    let receive = pending(&pair.receive_any(1, room.buffer()));
    (0..30).for_each(|_| _ = pair.engines[1].progress());
    assert!(!pair.engines[1].is_pending(receive));
    assert!(room.get() == data.get());
}

#[test]
fn the_receiver_waits_for_what_the_sender_is_writing_just_then() {
    let mut pair = Pair::new(Wire::memory(Memory::AtOnce, Memory::Later));
    let (data, room) = (Bytes::pattern(20 * PIECE, 9), Bytes::zero(20 * PIECE));
    let send = pair.send(0, 5, data.buffer());
    let receive = pending(&pair.receive_any(1, room.buffer()));
    pair.engines[1].progress();
    // The sender hears the invitation and begins to write; the receiver reads all the rest.
    pair.engines[0].progress();
    (0..30).for_each(|_| _ = pair.engines[1].progress());
    assert!(pair.engines[1].is_pending(receive), "complete while the sender still writes");
    pair.settle();
    assert!(is_good(&pair.engines[1].take(receive).unwrap(), 20 * PIECE));
    assert!(room.get() == data.get());
    assert!(pair.wire.transfers().1 > 0);
    room.fill(0);
    pair.settle();
    assert!(room.get().iter().all(|b| *b == 0));
    assert!(is_good(&pair.end(0, send), 20 * PIECE));
}

#[test]
fn a_sender_that_goes_away_with_an_invitation_holds_nothing_up() {
    let mut pair = Pair::new(Wire::memory(Memory::AtOnce, Memory::AtOnce));
    let (data, room) = (Bytes::pattern(20 * PIECE, 9), Bytes::zero(20 * PIECE));
    pair.send(0, 5, data.buffer());
    let receive = pending(&pair.receive_any(1, room.buffer()));
    pair.engines[1].progress();
    // It writes some parts, and then the program computes.
    pair.engines[0].progress();
    assert!(pair.wire.transfers().1 > 0);
    (0..30).for_each(|_| _ = pair.engines[1].progress());
    assert!(!pair.engines[1].is_pending(receive));
    assert!(room.get() == data.get());
}

#[test]
fn who_has_much_to_read_does_not_write_for_others() {
    let mut pair = Pair::new(Wire::memory(Memory::AtOnce, Memory::AtOnce));
    let (data, rooms) = (Bytes::pattern(20 * PIECE, 9), [0, 1].map(|_| Bytes::zero(20 * PIECE)));
    let receives = [0, 1].map(|at| pair.receive_any(at, rooms[at].buffer()));
    let sends = [0, 1].map(|from| pair.send(from, 5, data.buffer()));
    for (at, (send, receive)) in sends.into_iter().zip(receives).enumerate() {
        assert!(is_good(&pair.end(at, receive), 20 * PIECE) && is_good(&pair.end(at, send), 20 * PIECE));
        assert!(rooms[at].get() == data.get());
    }
    let (gets, puts) = pair.wire.transfers();
    assert!(gets >= 8 * puts, "{gets} reads, {puts} writes");
}

#[test]
fn reading_fails_at_any_time() {
    for failing in [Memory::RefusedAfter as fn(usize) -> Memory, Memory::FailsLater] {
        for after in [0, 1, 5, 19] {
            for put in [Memory::None, Memory::AtOnce, Memory::Later] {
                for pair in exchange(|| Wire::memory(failing(after), put), 40 * PIECE) {
                    let counters = pair.engines[1].counters();
                    assert!(pair.wire.count(Kind::Data) > 0, "no packets after {after} reads");
                    assert!(counters.fallbacks > 0);
                }
            }
        }
    }
}

#[test]
fn writing_fails_at_any_time() {
    for failing in [Memory::RefusedAfter as fn(usize) -> Memory, Memory::FailsLater] {
        for after in [0, 1, 5] {
            for pair in exchange(|| Wire::memory(Memory::AtOnce, failing(after)), 40 * PIECE) {
                assert_eq!(pair.wire.count(Kind::Data), 0, "the receiver reads what was not written");
                assert_eq!(pair.wire.transfers().1, after);
            }
        }
    }
}

#[test]
fn both_fail_at_any_time() {
    for after in 0..12 {
        exchange(|| Wire::memory(Memory::RefusedAfter(after), Memory::FailsLater(after / 2)), 40 * PIECE);
        exchange(|| Wire::memory(Memory::FailsLater(after), Memory::RefusedAfter(after / 2)), 40 * PIECE);
    }
}

/// A wire whose memory can be written, and on which writing is quicker.
fn writable(get: Memory, put: Memory) -> Wire {
    let get_cost = Cost { start_ns: 1000, byte_ps: 1000 };
    Wire::new(Abilities { get, put, get_cost, ..Abilities::default() })
}

#[test]
fn written_where_that_is_quicker() {
    for put in [Memory::AtOnce, Memory::Later] {
        for bytes in [300, PIECE, PIECE + 1, 100_000] {
            for pair in exchange(|| writable(Memory::AtOnce, put), bytes) {
                assert_eq!(pair.wire.count(Kind::Data) + pair.wire.count(Kind::Finish), 0);
                assert_eq!(pair.wire.transfers(), (0, bytes.div_ceil(PIECE)));
                assert_eq!(pair.wire.count(Kind::Copied), 1);
                assert_eq!(pair.engines[0].counters().channels[0].put_bytes, bytes as u64);
                assert_eq!(pair.engines[1].counters().written, 1);
            }
        }
    }
}

#[test]
fn writing_is_the_only_way_of_some_memory() {
    for pair in exchange(|| Wire::memory(Memory::None, Memory::Later), 10 * PIECE) {
        assert_eq!(pair.wire.transfers(), (0, 10));
    }
}

#[test]
fn a_failed_write_is_read_or_streamed() {
    for failing in [Memory::RefusedAfter as fn(usize) -> Memory, Memory::FailsLater] {
        for after in [0, 1, 5, 39] {
            for pair in exchange(|| writable(Memory::Later, failing(after)), 40 * PIECE) {
                assert_eq!(pair.wire.count(Kind::Data), 0, "what was not written is read");
                assert!(pair.wire.transfers().0 > 0);
                assert_eq!(pair.engines[1].counters().fallbacks, 1);
            }
            for pair in exchange(|| Wire::memory(Memory::None, failing(after)), 40 * PIECE) {
                assert!(pair.wire.count(Kind::Data) > 0, "what was not written is streamed");
            }
            for get in [Memory::RefusedAfter(after / 2), Memory::FailsLater(after)] {
                exchange(|| writable(get, failing(after)), 40 * PIECE);
            }
        }
    }
}

#[test]
fn a_channel_that_works_in_the_background_gets_whole_messages() {
    for (put, gets) in [(Memory::Later, 0), (Memory::None, 1)] {
        let mut abilities = Abilities { get: Memory::Later, put, ..Abilities::default() };
        abilities.reach.in_background = true;
        abilities.get_cost.start_ns = 1000;
        for pair in exchange(|| Wire::new(abilities), 100_000) {
            assert_eq!(pair.wire.transfers(), (gets, 1 - gets));
        }
    }
}

#[test]
fn every_way_can_be_forced() {
    for large in Large::ALL {
        for bytes in [300, 50_000] {
            let settings =
                Settings { large, claim_bytes: 1 << 20, copy_by_both: false, ..Settings::default() };
            for receive_first in [true, false] {
                let wire = Wire::memory(Memory::AtOnce, Memory::AtOnce);
                let pair = exchange_one(Pair::with(wire, settings), bytes, receive_first);
                let went = match (pair.wire.transfers(), pair.wire.count(Kind::Data)) {
                    ((1, 0), 0) => vec![Large::Auto, Large::Read],
                    ((0, 1), 0) => vec![Large::Write],
                    ((0, 0), _) => vec![Large::Copy, Large::Pipeline],
                    other => panic!("{other:?}"),
                };
                assert!(went.contains(&large), "{large:?} went by {went:?}");
                assert_eq!(pair.wire.holds() > 0, large == Large::Copy);
            }
        }
    }
}

#[test]
fn what_is_copied_before_it_is_transferred_waits_for_its_release() {
    let settings = Settings { large: Large::Copy, ..Settings::default() };
    let wire = Wire::new(Abilities { room: 8, ..Abilities::default() });
    let pair = exchange_one(Pair::with(wire, settings), 20_000, true);
    // Room for eight packets, 40 packets to go.
    assert_eq!((pair.wire.holds(), pair.wire.count(Kind::Data)), (5, 40));
}

#[test]
fn chunks_are_as_long_as_is_set() {
    let settings = Settings { chunk_bytes_max: 100, ..Settings::default() };
    let pair = exchange_one(Pair::with(Wire::packets(), settings), 20_000, true);
    assert_eq!(pair.wire.count(Kind::Data), 200);
}

#[test]
fn a_peer_that_dies_while_it_is_written_to_fails_both() {
    for failing in [Memory::Later, Memory::FailsLater(1)] {
        let mut pair = Pair::new(writable(Memory::None, failing));
        let (data, room) = (Bytes::pattern(20 * PIECE, 9), Bytes::zero(20 * PIECE));
        let receive = pair.receive_any(1, room.buffer());
        let send = pair.send(0, 5, data.buffer());
        pair.engines[1].progress();
        pair.engines[0].progress();
        assert!(pair.wire.transfers().1 > 0, "no write is under way");
        pair.wire.cut();
        pair.wire.corrupt(0);
        pair.wire.corrupt(1);
        assert!(is_channel_failure(&pair.end(0, send)) && is_channel_failure(&pair.end(1, receive)));
        assert_eq!(pair.wire.exposed(), 0);
    }
}

#[test]
fn scattered_on_either_side() {
    for (send_strided, receive_strided) in [(true, false), (false, true), (true, true)] {
        let mut pair = Pair::new(Wire::memory(Memory::AtOnce, Memory::AtOnce));
        let (data, room) = (Bytes::pattern(50_000, 9), Bytes::zero(50_000));
        let pick = |bytes: &Bytes, strided| if strided { bytes.strided() } else { bytes.buffer() };
        let sent = pick(&data, send_strided);
        let len = if send_strided || receive_strided { 30_000 } else { 50_000 };
        let sent = match sent.region() {
            Some(region) => verbena_memory::Buffer::Contiguous(region.part(0, len)),
            None => sent,
        };
        let receive = pair.receive_any(1, pick(&room, receive_strided));
        let send = pair.send(0, 1, sent.clone());
        assert!(is_good(&pair.end(1, receive), len));
        assert!(is_good(&pair.end(0, send), len));
        assert!(packed(&pick(&room, receive_strided))[..len] == packed(&sent));
        assert_eq!(pair.wire.transfers(), (0, 0));
    }
}

#[test]
fn too_long_for_the_receive() {
    for wire in [Wire::packets(), Wire::memory(Memory::AtOnce, Memory::AtOnce)] {
        for room_bytes in [0, 10, 5 * PIECE + 3] {
            let mut pair = Pair::new(wire.clone());
            let (data, room) = (Bytes::pattern(9 * PIECE, 9), Bytes::zero(room_bytes));
            let receive = pair.receive_any(1, room.buffer());
            let send = pair.send(0, 5, data.buffer());
            let completion = pair.end(1, receive);
            let failure = Failure::Truncated { sent: 9 * PIECE as u64, room: room_bytes as u64 };
            assert_eq!(completion.failure, Some(failure));
            assert!(is_good(&pair.end(0, send), 9 * PIECE));
            assert!(room.get() == data.get()[..room_bytes]);
        }
    }
}

#[test]
fn other_traffic_flows_past_a_long_message() {
    let mut pair = Pair::new(Wire::memory(Memory::AtOnce, Memory::None));
    let (data, room) = (Bytes::pattern(1000 * PIECE, 9), Bytes::zero(1000 * PIECE));
    let long = pending(&pair.receive(1, 0, 1, room.buffer()));
    let small = Bytes::zero(8);
    let short = pending(&pair.receive(1, 0, 2, small.buffer()));
    pair.send(0, 1, data.buffer());
    pair.send(0, 2, Bytes::pattern(8, 1).buffer());
    (0..5).for_each(|_| _ = pair.engines[1].progress());
    assert!(!pair.engines[1].is_pending(short));
    assert!(pair.engines[1].is_pending(long));
    pair.settle();
    assert!(!pair.engines[1].is_pending(long));
}

#[test]
fn many_at_once_in_both_directions() {
    for wire in [Wire::packets(), Wire::memory(Memory::Later, Memory::Later)] {
        let mut pair = Pair::with(wire, Settings { claim_bytes: 700, ..Settings::default() });
        let mut all = Vec::new();
        for i in 0..20usize {
            let (from, bytes) = (i % 2, 1000 * i + 300);
            let (data, room) = (Bytes::pattern(bytes, i as u8), Bytes::zero(bytes));
            let mode = if i % 3 == 0 { Mode::Synchronous } else { Mode::Standard };
            let send = pair.send_in_mode(from, i as i32, data.buffer(), mode);
            let receive = pair.receive(1 - from, from as i32, i as i32, room.buffer());
            all.push((from, bytes, data, room, send, receive));
        }
        for (from, bytes, data, room, send, receive) in all {
            assert!(is_good(&pair.end(from, send), bytes));
            assert!(is_good(&pair.end(1 - from, receive), bytes));
            assert!(room.get() == data.get());
        }
        assert!(pair.is_quiet());
        assert_eq!(pair.wire.exposed(), 0);
    }
}
