//! Foreign senders that reach the port of an end over TCP: their messages move a counter, and
//! guessed keys open nothing.

use super::*;
use crate::frame::{Frame, Kind as FrameKind};
use std::ptr::null_mut;
use verbena_channel::key::ExposedMemory;
use verbena_fabric::{Offer, raw};

/// Keys that a foreign sender guesses: those that counting from 1 would give.
const GUESSES: std::ops::RangeInclusive<u64> = 1..=100;
const BYTES: usize = 64 << 10;

/// A foreign sender that knows the address of an end, and nothing else.
struct ForeignSender {
    net: Net,
    to: u64,
}

impl ForeignSender {
    fn of(victim: &End) -> ForeignSender {
        let offer: &Offer = victim.channel.net.offer();
        let mut net = Net::open(offer, 1, 4096, false).expect("an end");
        let address = victim.channel.net.endpoint.address().expect("an address");
        let to = net.addresses.insert(&address).expect("taken");
        ForeignSender { net, to }
    }

    /// Makes progress; returns, of each completion, whether it was a success.
    fn poll(&mut self) -> Vec<bool> {
        let mut completed = Vec::new();
        let read = self.net.queue.read(&mut completed);
        completed.iter().map(|_| true).chain(read.err().map(|_| false)).collect()
    }

    fn send(&mut self, ends: &mut [End; 2], message: &[u8]) {
        until(ends, "sending as a foreign sender", |_| {
            self.poll();
            self.net.endpoint.inject(self.to, message).is_ok()
        });
    }

    /// Reads or writes by a guessed key; returns whether that worked.
    fn moves(
        &mut self,
        ends: &mut [End; 2],
        is_read: bool,
        key: u64,
        remote: u64,
        memory: &mut [u8],
    ) -> bool {
        let context = self.net.contexts.take(1);
        let remote = raw::fi_rma_iov { addr: remote, len: memory.len(), key };
        let (memory, to) = (memory.as_mut_ptr(), self.to);
        let mut outcome = None;
        until(ends, "a guess", |_| {
            outcome = self.poll().first().copied();
            // SAFETY: the memory lives until the operation has ended, which is waited for; the
            // context was taken for this.
            let posted = outcome.is_none().then(|| unsafe {
                self.net.endpoint.transfer(is_read, to, memory, null_mut(), &remote, context)
            });
            matches!(posted, Some(Ok(())))
        });
        until(ends, "the end of a guess", |_| {
            outcome = outcome.or_else(|| self.poll().first().copied());
            outcome.is_some()
        });
        outcome == Some(true)
    }
}

/// Frames that the receiver must not believe: each lies in its own way, and one is torn.
fn forged(token: u64) -> Vec<Vec<u8>> {
    let frame = Frame { token, source: 1, heard: 0, number: 1, kind: FrameKind::Packet };
    let packet = |frame: &Frame| [&frame.emit()[..], &header(0).emit(), b"forged"].concat();
    let other = |kind| Frame { number: 0, kind, ..frame }.emit().to_vec();
    vec![
        packet(&frame),
        packet(&Frame { number: 77, ..frame }),
        packet(&Frame { source: u32::MAX, ..frame }),
        other(FrameKind::Ack),
        other(FrameKind::AckWanted),
        other(FrameKind::GivenUp),
        frame.emit()[..7].to_vec(),
    ]
}

#[test]
fn a_frame_with_a_wrong_token_moves_a_counter_and_nothing_else() {
    let Some(mut ends) = pair(|_| {}) else { return };
    let token = ends[0].channel.token;
    let mut foreign = ForeignSender::of(&ends[0]);
    let wrong = [0, !token, token ^ 1, token ^ 1 << 63];
    let messages: Vec<Vec<u8>> = wrong.into_iter().flat_map(forged).collect();
    messages.iter().for_each(|message| foreign.send(&mut ends, message));
    let count = messages.len() as u64;
    until(&mut ends, "counting", |ends| ends[0].channel.counts().strange_messages == count);
    assert!(ends[0].channel.links.look(1).is_none(), "rank 1 was not met");
    for number in 0..3 {
        send(&mut ends, 0, number, b"from rank 0");
        send(&mut ends, 1, number, b"from rank 1");
    }
    until(&mut ends, "arriving", |ends| ends.iter().all(|end| end.arrived.packets.len() == 3));
    messages.iter().for_each(|message| foreign.send(&mut ends, message));
    until(&mut ends, "counting", |ends| ends[0].channel.counts().strange_messages == 2 * count);
    send(&mut ends, 1, 3, b"from rank 1");
    until(&mut ends, "arriving", |ends| ends[0].arrived.packets.len() == 4);
    let arrived = &ends[0].arrived;
    assert!(arrived.packets.iter().all(|(peer, _, bytes)| *peer == 1 && bytes == b"from rank 1"));
    assert!(arrived.broken.is_empty(), "{:?}", arrived.broken);
}

#[test]
fn nobody_speaks_for_another_end_if_the_provider_tells_the_source() {
    let Some(mut ends) = pair(|_| {}) else { return };
    let tells_source = ends[0].channel.net.offer().capabilities() & raw::FI_SOURCE != 0;
    assert!(tells_source, "TCP does");
    let mut other = ForeignSender::of(&ends[0]);
    // A process of the job: its address and the token are known.
    let address = other.net.endpoint.address().expect("an address");
    ends[0].channel.net.addresses.insert(&address).expect("taken");
    send(&mut ends, 1, 0, b"from rank 1");
    until(&mut ends, "arriving", |ends| ends[0].arrived.packets.len() == 1);
    let frame =
        Frame { token: ends[0].channel.token, source: 1, heard: 0, number: 2, kind: FrameKind::Packet };
    other.send(&mut ends, &[&frame.emit()[..], &header(1).emit(), b"forged"].concat());
    until(&mut ends, "counting", |ends| ends[0].channel.counts().strange_messages == 1);
    send(&mut ends, 1, 1, b"from rank 1");
    until(&mut ends, "arriving", |ends| ends[0].arrived.packets.len() == 2);
    assert_eq!(ends[0].arrived.packets[1].2, b"from rank 1");
}

#[test]
fn guessed_keys_open_no_memory() {
    let Some(mut ends) = pair(|_| {}) else { return };
    let owner = Owned::from(&bytes(5, BYTES)[..]);
    let region = owner.lend();
    for access in [Access::READ, Access::WRITE, Access::READ_WRITE] {
        ends[0].channel.expose(1, region, access).expect("exposed");
    }
    let mut foreign = ForeignSender::of(&ends[0]);
    let mut memory = [0; 100];
    for key in GUESSES {
        // Over TCP a write has ended here when its bytes have left; the read follows it.
        foreign.moves(&mut ends, false, key, 0, &mut memory);
        assert!(!foreign.moves(&mut ends, true, key, 0, &mut memory), "key {key} reads");
        assert_eq!(memory, [0; 100]);
    }
    assert!(region.to_vec() == bytes(5, BYTES));
    send(&mut ends, 1, 0, b"unharmed");
    until(&mut ends, "arriving", |ends| ends[0].arrived.packets.len() == 1);
}

#[test]
fn keys_are_as_wide_as_they_can_be_and_no_two_are_near() {
    let Some(mut ends) = pair(|_| {}) else { return };
    let owner = Owned::zeroed(BYTES);
    let region = owner.lend();
    let mut draw =
        || ExposedMemory::of(&ends[0].channel.expose(1, region, Access::READ).expect("exposed")).key;
    let mut keys: Vec<u64> = (0..64).map(|_| draw()).collect();
    let ones = keys.iter().fold(0, |ones, key| ones | key);
    keys.sort_unstable();
    assert!(keys.windows(2).all(|pair| pair[1] - pair[0] > 1 << 20), "{keys:x?}");
    assert_eq!(ones, u64::MAX, "64 keys of 64 bits: each bit is set in some");
}

/// Tries one direction on memory that was exposed for another.
fn misuse(access: Access) {
    let Some(mut ends) = pair(|_| {}) else { return };
    let (theirs, mine) = (Owned::from(&bytes(1, BYTES)[..]), Owned::from(&bytes(2, BYTES)[..]));
    let (remote, local) = (theirs.lend(), mine.lend());
    let key = ends[1].channel.expose(0, remote, access).expect("exposed");
    let begun = match access.read {
        true => ends[0].channel.put(1, &key, 0, local, 7),
        false => ends[0].channel.get(1, &key, 0, local, 7),
    };
    assert_eq!(begun.expect("begun"), Transfer::Pending);
    until(&mut ends, "the end", |ends| !ends[0].arrived.ended.is_empty());
    // A write may have ended here when its bytes have left. What follows it comes after, or the
    // connection was cut for it.
    let failed = ends[0].arrived.ended[0].1.is_err();
    let is_lost = !ends[0].arrived.broken.is_empty();
    assert!(!access.read || is_lost == failed, "a write that failed loses the peer, and no other");
    if !is_lost {
        send(&mut ends, 0, 0, b"behind it");
    }
    until(&mut ends, "what follows", |ends| {
        !ends[1].arrived.packets.is_empty() || ends.iter().any(|end| !end.arrived.broken.is_empty())
    });
    assert!(remote.to_vec() == bytes(1, BYTES) && local.to_vec() == bytes(2, BYTES), "something was moved");
    assert!(access.read || ends[0].arrived.ended[0].1.is_err(), "a read that was refused has not succeeded");
}

#[test]
fn memory_is_open_in_the_direction_of_its_message_only() {
    misuse(Access::READ);
    misuse(Access::WRITE);
}
