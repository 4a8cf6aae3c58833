//! Messages that go whole where the channel has room for so long a packet, and another way where it
//! has none.

mod pair;

use pair::wire::{Abilities, Wire};
use pair::*;
use verbena_channel::packet::Kind;
use verbena_engine::{Large, Mode, Settings};

const WHOLE: usize = 4096;

/// A wire that takes so many packets that are longer than usual.
fn wire(packets: usize) -> Wire {
    let mut abilities = Abilities { whole_room: packets, ..Abilities::default() };
    abilities.reach.whole_bytes_max = WHOLE;
    Wire::new(abilities)
}

#[test]
fn a_message_goes_whole_while_there_is_room_and_is_announced_then() {
    let wire = wire(2);
    let mut pair = Pair::new(wire.clone());
    let data: Vec<Bytes> = (0..4).map(|seed| Bytes::pattern(3000 + seed as usize, seed)).collect();
    let sends: Vec<_> = data.iter().map(|data| pair.send(0, 1, data.buffer())).collect();
    assert!(sends[..2].iter().all(|send| matches!(send, verbena_engine::Posted::Done(_))));
    assert_eq!((wire.count(Kind::Eager), wire.count(Kind::RequestToSend)), (2, 2));
    // They match in the order in which they were sent, whichever way they go.
    for data in &data {
        let room = Bytes::zero(WHOLE);
        let receive = pair.receive(1, 0, 1, room.buffer());
        let bytes = data.get().len();
        assert!(is_good(&pair.end(1, receive), bytes));
        assert_eq!(room.get()[..bytes], data.get());
    }
    for send in sends {
        let bytes = pair.end(0, send).bytes;
        assert!(bytes >= 3000);
    }
    // There is room again.
    wire.set_whole_room(1);
    assert!(is_good(done(&pair.send(0, 1, data[0].buffer())), 3000));
}

#[test]
fn what_is_longer_or_waits_behind_others_is_not_tried() {
    let wire = wire(10);
    let mut pair = Pair::new(wire.clone());
    let data = Bytes::pattern(WHOLE + 1, 1);
    let send = pair.send(0, 1, data.buffer());
    assert_eq!((wire.count(Kind::Eager), wire.count(Kind::RequestToSend)), (0, 1));
    let room = Bytes::zero(WHOLE + 1);
    let receive = pair.receive(1, 0, 1, room.buffer());
    assert!(is_good(&pair.end(1, receive), WHOLE + 1) && is_good(&pair.end(0, send), WHOLE + 1));
    assert_eq!(room.get(), data.get());
    // A full channel: the message waits, and goes whole when its turn comes.
    wire.set_room(0);
    let short = Bytes::pattern(8, 2);
    let waiting = [pair.send(0, 1, short.buffer()), pair.send(0, 2, Bytes::pattern(3000, 3).buffer())];
    wire.set_room(64);
    for send in waiting {
        pair.end(0, send);
    }
    assert_eq!((wire.count(Kind::Eager), wire.count(Kind::RequestToSend)), (2, 1));
}

#[test]
fn scattered_and_synchronous_messages_go_whole_too() {
    let wire = wire(2);
    let mut pair = Pair::new(wire.clone());
    let data = Bytes::pattern(2000, 1);
    let scattered = data.strided();
    let bytes = scattered.len();
    assert!(bytes > 512 && bytes <= WHOLE);
    pair.send(0, 1, scattered.clone());
    let synchronous = pair.send_in_mode(0, 1, data.buffer(), Mode::Synchronous);
    assert_eq!((wire.count(Kind::Eager), wire.count(Kind::EagerSync)), (1, 1));
    let rooms = [Bytes::zero(bytes), Bytes::zero(2000)];
    for room in &rooms {
        let receive = pair.receive(1, 0, 1, room.buffer());
        pair.end(1, receive);
    }
    assert!(is_good(&pair.end(0, synchronous), 2000));
    assert_eq!(rooms[0].get(), packed(&scattered));
    assert_eq!(rooms[1].get(), data.get());
}

#[test]
fn an_unexpected_one_is_held_and_counts_against_the_limit() {
    let wire = wire(100);
    let settings = Settings { unexpected_bytes_max: 10_000, ..Settings::default() };
    let mut pair = Pair::with(wire.clone(), settings);
    for seed in 0..20 {
        let data = Bytes::pattern(3000, seed);
        pair.send(0, 1, data.buffer());
        pair.settle();
    }
    let held = pair.engines[1].counters().unexpected_bytes;
    assert!((10_000..20_000).contains(&held), "{held}");
    assert!(wire.count(Kind::RequestToSend) > 10);
}

#[test]
fn settings_keep_messages_from_it() {
    let ways = [
        (Settings::default(), 1),
        (Settings { eager_bytes_max: 2999, ..Settings::default() }, 0),
        (Settings { eager_bytes_max: 3000, ..Settings::default() }, 1),
        (Settings { large: Large::Pipeline, ..Settings::default() }, 0),
    ];
    for (settings, whole) in ways {
        let wire = wire(10);
        let mut pair = Pair::with(wire.clone(), settings);
        pair.send(0, 1, Bytes::pattern(3000, 1).buffer());
        assert_eq!(wire.count(Kind::Eager), whole);
    }
}
