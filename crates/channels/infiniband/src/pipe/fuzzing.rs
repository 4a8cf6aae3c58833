//! The properties that hold for anything that a peer of `pipe` writes: the fuzz targets of this
//! channel (see `fuzz/`). What a whole inbox full of strange bytes does is tried over the simulated
//! device (`fuzz/src/targets/pipe.rs`).

use super::PipeChannel;
use super::connection::Ends;
use super::layout::{CHUNK_HEAD_BYTES, Head, Kind, Offer, RECORD_BYTES, parse_record, record};
use super::meeting::{INBOX_BYTES, Inbox};
use crate::rc::adapter::Adapter;
use crate::rc::ring::flags::{FLAG_BYTES, tail_offset};
use verbena_channel::Peer;

/// The flag of a chunk that is made up.
const FLAG: u32 = 0x5eed_f1a6;

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

/// Writes these bytes into the inbox for this peer, as the peer's device could; those that reach
/// beyond it are left out. Nothing happens where no pipe is laid.
pub fn scribble<A: Adapter>(channel: &PipeChannel<A>, peer: Peer, offset: usize, bytes: &[u8]) {
    let Some(connection) = channel.pipes.look(peer) else { return };
    let inbox = connection.inbox.region();
    let offset = offset % inbox.len();
    let bytes = &bytes[..bytes.len().min(inbox.len() - offset)];
    inbox.write(offset, bytes);
}

/// Writes a chunk with right flags where this process looks next, or a number of chunks further
/// on. Its length may be told as another one than the body's, if its kind allows that.
pub fn scribble_chunk<A: Adapter>(
    channel: &PipeChannel<A>,
    peer: Peer,
    ahead: u64,
    kind: u8,
    tail: u64,
    body: &[u8],
) {
    let Some(connection) = channel.pipes.look(peer) else { return };
    let Some(Ends::Chunks(_, incoming)) = &connection.pipes else { return };
    let layout = channel.pipes.layout;
    let body = &body[..body.len().min(layout.body_bytes_max())];
    let head = u64::from(FLAG) | (body.len() as u64) << 32 | u64::from(kind) << 56;
    let end = tail_offset(CHUNK_HEAD_BYTES + body.len());
    let mut chunk = vec![0; end + FLAG_BYTES];
    chunk[..8].copy_from_slice(&head.to_le_bytes());
    chunk[8..16].copy_from_slice(&tail.to_le_bytes());
    chunk[CHUNK_HEAD_BYTES..CHUNK_HEAD_BYTES + body.len()].copy_from_slice(body);
    chunk[end..].copy_from_slice(&FLAG.to_le_bytes());
    scribble(channel, peer, layout.chunk_at(incoming.tail() + ahead), &chunk);
}
