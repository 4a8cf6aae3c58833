//! The properties that hold for anything that a peer of `pipe` writes: the fuzz targets of this
//! channel (see `fuzz/`). What a whole inbox full of strange bytes does is tried over the simulated
//! device (`fuzz/src/targets/pipe.rs`).

use super::layout::{Head, Kind, Offer, RECORD_BYTES, parse_record, record};
use super::meeting::{INBOX_BYTES, Inbox};

/// Checks heads of chunks, offers, records and inboxes: what is read lies within bounds, and is
/// encoded the same way again.
pub fn talk(data: &[u8]) {
    if let Some((word, rest)) = data.split_first_chunk() {
        let (word, room) = (u64::from_le_bytes(*word), 64 * rest.len());
        if let Some(head) = Head::of_word(word, room) {
            assert_eq!(head.word(), word);
            assert!(head.kind != Kind::Data || head.bytes <= room);
        }
    }
    if let Some(offer) = data.first_chunk().and_then(Offer::parse) {
        assert!(data.starts_with(&offer.emit()) && offer.address.checked_add(offer.bytes).is_some());
    }
    if let Some((header, bytes)) = data.first_chunk::<RECORD_BYTES>().and_then(parse_record) {
        assert!(data.starts_with(&record(&header, bytes as usize)));
    }
    if let Some(inbox) = Inbox::parse(data) {
        assert!(data[..INBOX_BYTES] == inbox.emit());
    }
}
