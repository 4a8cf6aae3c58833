//! Packets that were sent and may not have been taken. They are handed back when a connection
//! breaks, so that they can go another way.
//!
//! An acknowledgement by the peer's device says only that it has the bytes; whether the peer's
//! process ever looks at them is another matter once the connection is broken. Its credits tell
//! what it has taken. Packets in a ring stay in their slots until their credits come, so nothing
//! need be done for them. A buffer of the send/receive path serves others as soon as the device has
//! read it. So these packets are copied here, if another channel could take this one's place.

use std::collections::VecDeque;
use verbena_channel::Payload;
use verbena_channel::packet::Header;

/// The packets of the send/receive path for which credits are still out, as far back as packets are
/// kept.
#[derive(Debug, Default)]
pub(super) struct Uncredited {
    /// Oldest first; `None` for packets between the channels themselves.
    packets: VecDeque<Option<(Header, Vec<u8>)>>,
    /// Memory for the next ones.
    spare: Vec<Vec<u8>>,
}

impl Uncredited {
    /// Keeps a packet that was sent just now. Credits are out for `uncredited` packets, this one
    /// among them.
    pub(super) fn keep(&mut self, header: Option<&Header>, payload: &Payload<'_>, uncredited: usize) {
        let spare = &mut self.spare;
        let copy = |header: &Header| {
            let mut bytes = spare.pop().unwrap_or_default();
            bytes.resize(payload.len(), 0);
            payload.copy_to(&mut bytes);
            (*header, bytes)
        };
        self.packets.push_back(header.map(copy));
        self.trim(uncredited);
    }

    /// Forgets those whose credits have come.
    fn trim(&mut self, uncredited: usize) {
        while self.packets.len() > uncredited {
            self.spare.extend(self.packets.pop_front().flatten().map(|(_, bytes)| bytes));
        }
    }

    /// Hands back all for which credits are out.
    pub(super) fn take(&mut self, uncredited: usize) -> impl Iterator<Item = (Header, Vec<u8>)> {
        self.trim(uncredited);
        std::mem::take(&mut self.packets).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_channel::packet::Kind;

    #[test]
    fn what_has_no_credit_yet_is_handed_back() {
        let mut packets = Uncredited::default();
        for sequence in 0..10u8 {
            let header = Header { sequence: sequence.into(), ..Header::new(Kind::Eager) };
            // Every third packet is the channel's own.
            let header = (sequence % 3 != 0).then_some(&header);
            packets.keep(header, &Payload::Bytes(&[sequence; 5]), 4);
        }
        let back: Vec<_> = packets.take(4).map(|(header, bytes)| (header.sequence, bytes)).collect();
        assert_eq!(back, [(7, vec![7; 5]), (8, vec![8; 5])]);
        assert_eq!(packets.take(4).count(), 0);
    }
}
