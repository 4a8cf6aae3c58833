//! Packets, frames and cards of the channels. Those of `rc`, `ud` and `shm` that nobody else may
//! see have their targets beside the code (`crates/channels/{node,infiniband}/src/*/fuzzing.rs`).

use verbena_channel::packet::{HEADER_BYTES, Header, Kind};
use verbena_ofi::card::{Contact, Notice};
use verbena_ofi::frame::Frame;

/// Tests the header of a packet: a header that was read is written the same way again, byte by
/// byte.
pub fn packet(data: &[u8]) {
    let Some(bytes) = data.first_chunk::<HEADER_BYTES>() else { return };
    let Some(header) = Header::parse(bytes) else {
        return assert!(Kind::from_code(bytes[0]).is_none());
    };
    assert_eq!(header.emit(), *bytes);
    assert_eq!(Header::of_words(header.words()), header);
    assert!(Header { length: !header.length, ..header }.is_in(bytes));
    assert!(!Header { tag: !header.tag, ..header }.is_in(bytes));
}

/// Tests the frame before a message of `ofi`.
pub fn ofi_frame(data: &[u8]) {
    let Some((frame, rest)) = Frame::parse(data) else { return };
    assert!(data.ends_with(rest));
    assert_eq!(Frame::parse(&[&frame.emit()[..], rest].concat()), Some((frame, rest)));
}

/// Tests both cards of `ofi`.
pub fn ofi_card(data: &[u8]) {
    if let Some(notice) = Notice::parse(data) {
        assert_eq!(Notice::parse(&notice.emit()), Some(notice));
    }
    if let Some(contact) = Contact::parse(data) {
        assert_eq!(Contact::parse(&contact.emit()), Some(contact));
    }
}
