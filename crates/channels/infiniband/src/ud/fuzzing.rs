//! The properties that hold for any datagram and card of `ud`: the fuzz targets of this channel
//! (see `fuzz/`).

use super::card::Card;
use super::frame::{Frame, NOTE_BYTES_MAX, PREFIX_BYTES, read_bits, write_bits};
use super::header::EncodedHeader;

/// Checks a datagram: what is read is encoded the same way again. The first byte says whether
/// checksums are on.
pub fn frame(data: &[u8]) {
    let Some((first, datagram)) = data.split_first() else { return };
    let checksum = first & 1 == 1;
    let mut own = datagram.to_vec();
    if first & 2 == 2 && own.len() >= PREFIX_BYTES {
        // The datagram is made as it would come over a wire that garbles nothing; else nearly all
        // is refused by the checksum.
        match Frame::parse(&with_magic(datagram), false) {
            Some(frame) => frame.emit(&mut own, checksum),
            None => return,
        }
    }
    let Some(frame) = Frame::parse(&own, checksum) else { return };
    let mut again = own.clone();
    frame.emit(&mut again, checksum);
    assert_eq!(Frame::parse(&again, checksum), Some(frame));
    assert_eq!(again[PREFIX_BYTES..], own[PREFIX_BYTES..]);
    bits(&own[PREFIX_BYTES..]);
}

fn with_magic(datagram: &[u8]) -> Vec<u8> {
    let mut bytes = datagram.to_vec();
    bytes[PREFIX_BYTES - 4..PREFIX_BYTES].copy_from_slice(b"vUD2");
    bytes
}

/// Checks that a bitmap survives, however long it is.
fn bits(body: &[u8]) {
    let bits = read_bits(body);
    let mut note = [0; NOTE_BYTES_MAX];
    let bytes = write_bits(&mut note, &bits);
    assert_eq!(read_bits(&note[PREFIX_BYTES..bytes]), bits);
}

/// Checks the header before a packet's payload: what is read is written as short as it can be, and
/// read again.
pub fn header(data: &[u8]) {
    let Ok((header, payload)) = EncodedHeader::parse(data) else { return };
    let head = EncodedHeader::of(&header, payload.len());
    let bytes = match &head {
        EncodedHeader::Compact(bytes) => &bytes[..],
        EncodedHeader::Whole(bytes) => &bytes[..],
    };
    assert!(bytes.len() == head.len() && bytes.len() + payload.len() <= data.len());
    assert_eq!(EncodedHeader::parse(&[bytes, payload].concat()), Ok((header, payload)));
}

/// Checks a card.
pub fn card(data: &[u8]) {
    if let Some(card) = Card::parse(data) {
        assert_eq!(card.emit(), data);
    }
}
