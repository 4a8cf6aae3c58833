//! A channel whose messages are traced.

use super::messages::{arrived, departed, is_message};
use super::{Way, clock, delivered, looking, posted, posting, sent};
use crate::packet::{Header, Kind};
use crate::wrapper::Tap;
use crate::{Channel, Payload, Peer, SendError, Sink};

/// A tap that stamps the messages that pass.
pub struct Traced {
    way: Way,
}

impl Traced {
    /// A tap for the channel of this name.
    pub fn new(channel: &str) -> Traced {
        let way = match channel {
            "shm" => Way::Shm,
            "loopback" => Way::Loopback,
            _ => Way::Other,
        };
        Traced { way }
    }
}

impl Tap for Traced {
    fn send(
        &mut self,
        inner: &mut dyn Channel,
        peer: Peer,
        header: &Header,
        payload: Payload<'_>,
    ) -> Result<(), SendError> {
        // Before the send: the receiver may have the packet when that returns.
        let handed = clock::ticks();
        posting(self.way);
        let payload_bytes = payload.len();
        let answer = inner.send(peer, header, payload);
        if super::NOW.get().posted == 0 {
            posted();
        }
        if answer.is_ok() && header.kind == Kind::Eager {
            sent(peer, header);
        }
        if answer.is_ok() && is_message(header.kind) {
            departed(peer, header, payload_bytes, handed);
        }
        answer
    }

    fn polling(&mut self) {
        looking(self.way);
    }

    fn packet(&mut self, sink: &mut dyn Sink, peer: Peer, header: &Header, payload: &[u8]) {
        if is_message(header.kind) {
            arrived(peer, header, payload.len(), sink.receive_for(peer, header));
        }
        let handed = clock::ticks();
        sink.packet(peer, header, payload);
        if header.kind == Kind::Eager {
            delivered(peer, header, handed);
        }
    }
}
