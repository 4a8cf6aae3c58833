//! Two ends in one process, over TCP on the loopback interface.

mod cuts;
mod foreign_senders;

use super::OfiChannel;
use super::card::{Contact, Notice};
use super::choose::Wish;
use super::interfaces;
use super::net::Net;
use super::open::offers;
use super::settings::Settings;
use std::time::{Duration, Instant};
use verbena_channel::conformance::{self, Ends};
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Access, Channel, Payload, Peer, Place, RemoteMemory, SendError, Sink, Transfer};
use verbena_fabric::Library;
use verbena_fault::Fault;
use verbena_machine::random;
use verbena_memory::{Buffer, Owned};
use verbena_testing::{Lack, skip};

/// The packets and transfers that arrived at one end.
#[derive(Default)]
struct Arrived {
    packets: Vec<(Peer, Header, Vec<u8>)>,
    ended: Vec<(u64, Result<(), Fault>)>,
    broken: Vec<(Peer, Fault)>,
}

impl Sink for Arrived {
    fn packet(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        self.packets.push((peer, *header, payload.to_vec()));
    }

    fn transferred(&mut self, token: u64, outcome: Result<(), Fault>) {
        self.ended.push((token, outcome));
    }

    fn broken(&mut self, peer: Peer, fault: Fault) {
        self.broken.push((peer, fault));
    }
}

struct End {
    channel: OfiChannel,
    arrived: Arrived,
}

impl End {
    fn poll(&mut self) {
        self.channel.poll(&mut self.arrived);
    }
}

/// Ends of a job over loopback, or none where there is no libfabric.
fn pair(change: fn(&mut Settings)) -> Option<[End; 2]> {
    let Ok(library) = Library::get() else {
        skip(Lack::Installed, "libfabric is not there (Debian: libfabric1)");
        return None;
    };
    let own = interfaces::own(&["lo".into()]).expect("interfaces");
    let notice = Notice { is_wanted: true, node: 1, network: 1, interfaces: own };
    let (lo, _) = interfaces::choose(0, &[Some(notice.clone()), Some(notice)]).expect("the loopback");
    let wish = Wish { ip: Some(lo.ip), ..Wish::default() };
    let offer = offers(library, &wish).expect("offers").into_iter().next().expect("TCP");
    let mut settings = Settings::current(&offer);
    change(&mut settings);
    let settings = settings.sound();
    let net = || Net::open(&offer, 2, settings.message_bytes, settings.sleeps).expect("an end");
    let nets = [net(), net()];
    let contacts: Vec<Option<Contact>> = nets
        .iter()
        .map(|net| {
            let address = net.endpoint.address().expect("an address");
            let (place, token) = ("lo 127.0.0.1".into(), random::word().expect("a token"));
            Some(Contact { provider: offer.provider(), place, address, token })
        })
        .collect();
    let mut me = 0;
    Some(nets.map(|net| {
        let place = Place { me, size: 2, job: "test".into(), engines: 0 };
        let mine = contacts[me as usize].clone().expect("own");
        me += 1;
        let channel = OfiChannel::new(&place, net, &mine, contacts.clone(), settings.clone(), Vec::new());
        End { channel: channel.expect("connected"), arrived: Arrived::default() }
    }))
}

/// Polls both until the condition holds.
fn until(ends: &mut [End; 2], what: &str, mut holds: impl FnMut(&mut [End; 2]) -> bool) {
    let begin = Instant::now();
    while !holds(ends) {
        ends.iter_mut().for_each(End::poll);
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} takes more than a minute");
    }
}

fn header(number: usize) -> Header {
    Header { sequence: number as u32, length: number as u64, ..Header::new(Kind::Eager) }
}

fn bytes(number: usize, count: usize) -> Vec<u8> {
    (0..count).map(|at| (number * 31 + at * 7) as u8).collect()
}

/// Sends a packet as soon as there is room.
fn send(ends: &mut [End; 2], from: usize, number: usize, payload: &[u8]) {
    until(ends, "sending", |ends| {
        let sent = ends[from].channel.send(1 - from as Peer, &header(number), Payload::Bytes(payload));
        match sent {
            Ok(()) => true,
            Err(SendError::Full) => false,
            Err(SendError::Broken(fault)) => panic!("{fault}"),
        }
    });
}

#[test]
fn packets_of_all_lengths_arrive_once_both_ways() {
    exchange(|settings| (settings.message_bytes, settings.window) = (16_384, 8));
}

/// Layered providers send long messages another way than short ones, which then overtake them.
#[test]
fn long_packets_arrive_once_both_ways() {
    exchange(|settings| settings.message_bytes = 100_000);
}

fn exchange(change: fn(&mut Settings)) {
    let Some(mut ends) = pair(change) else { return };
    let reach = ends[0].channel.reach(1).expect("reached");
    let most = reach.packet_bytes_max;
    let lengths = |number: usize| [0, 1, 16, most, 17, 100, 4000][number % 7];
    const COUNT: usize = 700;
    for number in 0..COUNT {
        for from in 0..2 {
            send(&mut ends, from, number, &bytes(number, lengths(number)));
        }
    }
    until(&mut ends, "arriving", |ends| ends.iter().all(|end| end.arrived.packets.len() == COUNT));
    for (me, end) in ends.iter_mut().enumerate() {
        if !reach.ordered {
            end.arrived.packets.sort_by_key(|(_, header, _)| header.sequence);
        }
        for (number, (peer, got, payload)) in end.arrived.packets.iter().enumerate() {
            assert_eq!((*peer, *got), (1 - me as Peer, header(number)));
            assert_eq!(*payload, bytes(number, lengths(number)));
        }
    }
    until(&mut ends, "leaving", |ends| {
        let quiet = [ends[0].channel.is_quiet(), ends[1].channel.is_quiet()];
        quiet == [true; 2]
    });
}

#[test]
fn a_window_that_nobody_empties_fills() {
    let Some(mut ends) = pair(|settings| settings.window = 4) else { return };
    for number in 0..4 {
        send(&mut ends, 0, number, b"to one who does not look");
    }
    // Only the sender polls from here on.
    for _ in 0..10_000 {
        ends[0].poll();
        let more = ends[0].channel.send(1, &header(9), Payload::Bytes(b"no room"));
        if ends[1].arrived.packets.is_empty() {
            assert!(matches!(more, Err(SendError::Full)));
        }
    }
    assert!(!ends[0].channel.is_quiet());
    until(&mut ends, "leaving", |ends| ends[0].channel.is_quiet());
    assert_eq!(ends[1].arrived.packets.len(), 4);
}

#[test]
fn memory_is_read_and_written_where_it_lies() {
    let Some(mut ends) = pair(|settings| settings.piece_bytes = 64 << 10) else { return };
    const BYTES: usize = 3 << 20;
    let (theirs, mine) = (Owned::from(&bytes(1, BYTES)[..]), Owned::zeroed(BYTES));
    let (remote, local) = (theirs.lend(), mine.lend());
    let key = ends[1].channel.expose(0, remote, Access::READ_WRITE).expect("exposed");
    let begun = ends[0].channel.get(1, &key, 0, local, 7).expect("begun");
    assert_eq!(begun, Transfer::Pending);
    until(&mut ends, "reading", |ends| !ends[0].arrived.ended.is_empty());
    assert!(matches!(ends[0].arrived.ended[..], [(7, Ok(()))]), "{:?}", ends[0].arrived.ended);
    assert!(local.to_vec() == remote.to_vec());
    local.write(0, &bytes(2, 1000));
    ends[0].channel.put(1, &key, 5000, local.part(0, 1000), 8).expect("begun");
    until(&mut ends, "writing", |ends| ends[0].arrived.ended.len() == 2);
    assert_eq!(remote.part(5000, 1000).to_vec(), bytes(2, 1000));
    assert!(ends[0].channel.get(1, &key, BYTES as u64 - 1, local.part(0, 2), 9).is_err());
    ends[1].channel.conceal(0, &key);
    // Memory that is concealed cannot be reached any more.
    let _ = ends[0].channel.get(1, &key, 0, local.part(0, 4096), 10);
    until(&mut ends, "refusing", |ends| ends[0].arrived.ended.len() == 3);
    assert!(ends[0].arrived.ended[2].1.is_err());
}

#[test]
fn scattered_memory_is_packed() {
    let Some(mut ends) = pair(|_| {}) else { return };
    let owned = Owned::from(&bytes(3, 300)[..]);
    let buffer = Buffer::Contiguous(owned.lend());
    let payload = || Payload::Buffer { buffer: &buffer, offset: 50, len: 200 };
    until(&mut ends, "sending", |ends| ends[0].channel.send(1, &header(1), payload()).is_ok());
    until(&mut ends, "arriving", |ends| !ends[1].arrived.packets.is_empty());
    assert_eq!(ends[1].arrived.packets[0].2, bytes(3, 300)[50..250]);
}

#[test]
fn a_peer_that_is_gone_is_reported_with_what_it_may_not_have_taken() {
    let Some(mut ends) = pair(|_| {}) else { return };
    for number in 0..3 {
        send(&mut ends, 0, number, &bytes(number, 50));
    }
    until(&mut ends, "arriving", |ends| ends[1].arrived.packets.len() == 3);
    let [mut alone, gone] = ends;
    drop(gone);
    let begin = Instant::now();
    let mut sent = 3;
    while alone.arrived.broken.is_empty() {
        if alone.channel.send(1, &header(sent), Payload::Bytes(&bytes(sent, 50))).is_ok() {
            sent += 1;
        }
        alone.poll();
        assert!(begin.elapsed() < Duration::from_secs(60), "the end is not noticed");
    }
    let (peer, fault) = &alone.arrived.broken[0];
    let words = fault.to_string();
    assert_eq!(*peer, 1);
    assert!(words.contains("from rank 0 (lo 127.0.0.1) to rank 1 (lo 127.0.0.1) over "), "{words}");
    assert!(words.contains("likely cause") && words.contains("what to do"), "{words}");
    assert!(alone.channel.reach(1).is_none());
    let kept = std::mem::take(&mut alone.channel.links.get(1).expect("met").undelivered);
    let numbers: Vec<usize> = kept.iter().map(|(header, _)| header.sequence as usize).collect();
    let expected: Vec<usize> = (sent - numbers.len()..sent).collect();
    assert_eq!(numbers, expected, "the last packets, none left out");
    assert!(kept.iter().all(|(header, payload)| *payload == bytes(header.sequence as usize, 50)));
    assert!(alone.channel.is_quiet(), "nobody waits for a peer that is gone");
}

#[test]
fn a_sleeper_is_woken_by_the_descriptor() {
    let Some(mut ends) = pair(|settings| settings.sleeps = true) else { return };
    let [descriptor] = ends[1].channel.descriptors()[..] else { panic!("TCP has a descriptor") };
    send(&mut ends, 0, 0, b"first");
    until(&mut ends, "arriving", |ends| ends[1].arrived.packets.len() == 1);
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    for number in 1..20 {
        send(&mut ends, 0, number, b"next");
        let begin = Instant::now();
        while ends[1].arrived.packets.len() == number {
            if ends[1].channel.arm() == verbena_waiting::SLEEP_MAX {
                // SAFETY: one structure of ours.
                let woken = unsafe { libc::poll(&mut poll, 1, 5000) };
                assert_eq!(woken, 1, "message {number} wakes nobody");
            }
            ends[1].poll();
            assert!(begin.elapsed() < Duration::from_secs(20));
        }
        ends[0].poll();
    }
}

/// The two ends; the second may go.
struct Both {
    first: OfiChannel,
    second: Option<OfiChannel>,
}

impl Ends for Both {
    fn channel(&mut self, end: usize) -> (&mut dyn Channel, Peer) {
        match end {
            0 => (&mut self.first, 1),
            _ => (self.second.as_mut().expect("it lives"), 0),
        }
    }

    fn kill(&mut self) {
        self.second = None;
    }
}

#[test]
fn it_keeps_the_promises_of_a_channel() {
    let checks: [fn(&mut dyn Ends); 5] = [
        conformance::every_packet_arrives_once,
        conformance::full_does_nothing,
        conformance::memory_is_read,
        conformance::memory_is_written,
        conformance::a_break_is_told,
    ];
    for check in checks {
        let Some([first, second]) = pair(|_| {}) else { return };
        check(&mut Both { first: first.channel, second: Some(second.channel) });
    }
}
