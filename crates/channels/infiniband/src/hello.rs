//! The datagrams by which two processes agree on a connection, and when each is sent: for every
//! channel of connections (paper 1, 4.6).
//!
//! A datagram may be lost, doubled or late, so hellos are said again until all is known, at first
//! after 2 ms and then at twice the distance each time.

use crate::device::{Address, Endpoint};
use verbena_channel::Peer;

/// Time until the first hello is resent, in nanoseconds.
const RESEND_NS_MIN: u64 = 2_000_000;
/// The longest time between two hellos.
const RESEND_NS_MAX: u64 = 250_000_000;

/// The state while the other side has not said that it is ready.
#[derive(Debug)]
pub(crate) struct Asking {
    since_ns: u64,
    /// The time to wait for the other side.
    pub limit_ns: u64,
    /// The time of the next hello.
    at_ns: u64,
    interval_ns: u64,
}

/// The next act towards a side that has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Wait.
    Wait,
    /// Say hello.
    Greet,
    /// Give the peer up: it did not answer for this long, in nanoseconds.
    GiveUp(u64),
}

impl Asking {
    /// Begins to ask now: the first hello is due.
    pub(crate) fn new(now_ns: u64, limit_ns: u64) -> Asking {
        Asking { since_ns: now_ns, limit_ns, at_ns: now_ns, interval_ns: RESEND_NS_MIN }
    }

    /// Returns what is to be done at this time, and counts on it that it is.
    pub(crate) fn act(&mut self, now_ns: u64) -> Act {
        if now_ns.saturating_sub(self.since_ns) > self.limit_ns {
            return Act::GiveUp(self.limit_ns);
        }
        if now_ns < self.at_ns {
            return Act::Wait;
        }
        self.at_ns = now_ns + self.interval_ns;
        self.interval_ns = (self.interval_ns * 2).min(RESEND_NS_MAX);
        Act::Greet
    }
}

/// A hello.
///
/// | offset | bytes | field |
/// | --- | --- | --- |
/// | 0 | 4 | the channel's magic |
/// | 4 | 4 | the sender's rank |
/// | 8 | 1 | bit 0: your end was seen; bit 1: an answer is wanted; bit 2: the connection is declined; bit 3: there is no other way |
/// | 10 | 2 | receive buffers posted for the other |
/// | 12 | 4 | their size in bytes |
/// | 16 | 32 | the sender's address, as proof that it is of this job |
/// | 48 | 32 | its end of the connection; if that is declined, the other's |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// The sender.
    pub from: Peer,
    /// True if it has seen the other's end.
    pub seen: bool,
    /// True if it wants an answer.
    pub wanted: bool,
    /// True if it declines the connection.
    pub declined: bool,
    /// True if there is no other way to the other.
    pub needed: bool,
    /// The receive buffers that it has posted for the other.
    pub credits: u16,
    /// The bytes of each.
    pub buffer_bytes: u32,
    /// The sender's address.
    pub address: Address,
    /// The sender's end of the connection.
    pub endpoint: Endpoint,
}

/// Bytes of a hello; a channel may add its own behind them.
pub(crate) const HELLO_BYTES: usize = 80;

/// The mark of a channel's datagrams.
pub(crate) type Magic = [u8; 4];

impl Hello {
    /// Encodes it for the channel of this magic.
    pub(crate) fn emit(&self, magic: Magic) -> [u8; HELLO_BYTES] {
        let mut out = [0; HELLO_BYTES];
        out[..4].copy_from_slice(&magic);
        out[4..8].copy_from_slice(&self.from.to_le_bytes());
        let flags = [self.seen, self.wanted, self.declined, self.needed];
        out[8] = (0..).zip(flags).map(|(bit, flag)| u8::from(flag) << bit).sum();
        out[10..12].copy_from_slice(&self.credits.to_le_bytes());
        out[12..16].copy_from_slice(&self.buffer_bytes.to_le_bytes());
        out[16..48].copy_from_slice(&self.address.0);
        out[48..80].copy_from_slice(&self.endpoint.0);
        out
    }

    /// Decodes the front of a datagram; `None` if it is no hello of this magic.
    pub(crate) fn parse(bytes: &[u8], magic: Magic) -> Option<Hello> {
        let bytes: &[u8; HELLO_BYTES] = bytes.get(..HELLO_BYTES)?.try_into().ok()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        (bytes[..4] == magic).then(|| Hello {
            from: word(4),
            seen: bytes[8] & 1 != 0,
            wanted: bytes[8] & 2 != 0,
            declined: bytes[8] & 4 != 0,
            needed: bytes[8] & 8 != 0,
            credits: u16::from_le_bytes([bytes[10], bytes[11]]),
            buffer_bytes: word(12),
            address: Address(bytes[16..48].try_into().expect("32 bytes")),
            endpoint: Endpoint(bytes[48..80].try_into().expect("32 bytes")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_survives_the_wire_and_is_of_one_channel() {
        let hello = Hello {
            from: 1023,
            seen: true,
            wanted: false,
            declined: true,
            needed: true,
            credits: 300,
            buffer_bytes: 2048,
            address: Address([3; 32]),
            endpoint: Endpoint([9; 32]),
        };
        let bytes = hello.emit(*b"vAB1");
        assert_eq!(Hello::parse(&bytes, *b"vAB1"), Some(hello));
        assert_eq!(Hello::parse(&bytes, *b"vAB2"), None);
        assert_eq!(Hello::parse(&bytes[..79], *b"vAB1"), None);
        assert_eq!(Hello::parse(&[0; 80], *b"vAB1"), None);
    }

    #[test]
    fn hellos_come_at_growing_distances_until_the_limit() {
        let mut asking = Asking::new(100, 1_000_000_000);
        let greeted: Vec<u64> =
            (0..=1000).map(|ms| 100 + ms * 1_000_000).filter(|at| asking.act(*at) == Act::Greet).collect();
        assert_eq!(greeted[..4], [100, 2_000_100, 6_000_100, 14_000_100]);
        assert_eq!(asking.act(1_000_000_101), Act::GiveUp(1_000_000_000));
    }
}
