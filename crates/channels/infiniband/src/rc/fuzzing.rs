//! The properties that hold for anything that a peer of `rc` writes: the fuzz targets of this
//! channel (see `fuzz/`).

use super::connect::MAGIC;
use super::control::{offer_bytes, parse_offer, parse_remote, remote_bytes};
use super::elided_header::Last;
use super::frame::{Frame, Kind, packet_bytes};
use crate::hello::Hello;
use verbena_channel::packet::{HEADER_BYTES, Header};

/// Checks a prefix: what is read is encoded the same way again, and its length agrees with the
/// glance that rings take.
pub fn frame(data: &[u8]) {
    let Some((words, rest)) = data.split_first_chunk::<16>() else { return };
    let words = [0, 8].map(|at| u64::from_ne_bytes(words[at..at + 8].try_into().expect("eight bytes")));
    let expected = rest.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let Some(frame) = Frame::of_words(words, expected) else { return };
    assert_eq!(packet_bytes(u64::from_le(words[0])), frame.bytes());
    if frame.kind != Kind::ShortPrefix {
        assert_eq!(frame.words(), words);
        let mut short = frame;
        short.shorten();
        assert!(short == frame || short.bytes() < frame.bytes());
        return;
    }
    assert_eq!(frame.short_word(), words[0]);
    let ahead = frame.psn.wrapping_sub(expected) as i32;
    assert!((-256..256).contains(&ahead), "{ahead} packets from the next one");
}

/// Checks offers of rings, acceptances and hellos.
pub fn talk(data: &[u8]) {
    if let Some((remote, geometry)) = parse_offer(data) {
        assert!(geometry.is_sound());
        assert_eq!(parse_offer(&offer_bytes(remote, &geometry)), Some((remote, geometry)));
    }
    if let Some(remote) = parse_remote(data) {
        assert!(data.starts_with(&remote_bytes(remote)));
    }
    if let Some(hello) = Hello::parse(data, MAGIC) {
        assert_eq!(Hello::parse(&hello.emit(MAGIC), MAGIC), Some(hello));
    }
}

/// Checks headers that are left out: the receiver ends up with each header that was sent. A header
/// is `HEADER_BYTES` of the input; where that is none, the one before comes again with the next
/// number.
pub fn elided_header(data: &[u8]) {
    let (mut out, mut back, mut header) = (Last::default(), Last::default(), None);
    for chunk in data.chunks_exact(HEADER_BYTES) {
        let bytes = chunk.try_into().expect("a whole chunk");
        let next = |before: Header| Header { sequence: before.sequence.wrapping_add(1), ..before };
        let Some(sent) = Header::parse(bytes).or(header.map(next)) else { continue };
        let payload_bytes = if bytes[0] & 1 == 0 { sent.length as usize } else { 5 };
        let received = match out.kind_of(sent.words(), payload_bytes) {
            Kind::WithoutHeader => back.next(payload_bytes).expect("one came before"),
            _ => {
                back.set(sent.words());
                sent
            }
        };
        assert_eq!(received, sent);
        out.set(sent.words());
        header = Some(sent);
    }
}
