//! The request of an origin to a target, as bytes.
//!
//! | bytes | meaning |
//! | --- | --- |
//! | 0 | what is asked for |
//! | 1 | the operation: its place among those of the standard; or the kind of the lock |
//! | 2 | 1 if the payload lies within the request |
//! | 3 | the number, from 1 on, under which the target keeps the datatype; 0 if it does not |
//! | 4 to 7 | the number of the request; the payload and the answer carry it in their tag |
//! | 8 to 15 | the displacement |
//! | 16 to 23 | the number of elements |
//! | 24 to 31 | bytes of the payload, or of the answer if there is no payload |
//! | 32 to 39 | bytes of a piece, if the payload or the answer comes in several messages, else 0 |
//! | 40 to 43 | bytes of the datatype |
//! | then | the datatype, zeros up to a multiple of 8, the payload |
//!
//! Requests that access no memory end after byte 7. All numbers are little-endian. The datatype is
//! as long as it is, so a request has no greatest length but [`BYTES_MAX`]. It has no bytes if the
//! origin has told it before under the same number (`kept.rs`).

use super::error;
use super::kept::KEPT_MAX;
use crate::datatype::wire;
use crate::error::Result;
use crate::op::{BUILTINS, Builtin};
use crate::window::lock;

/// The longest payload that lies within a request, in bytes.
pub const WITHIN_BYTES_MAX: usize = 4096;
/// The longest request, in bytes. Only a very long description of a datatype comes near it.
pub const BYTES_MAX: usize = wire::BYTES_MAX + (64 << 10);
/// Numbers of requests lie below this, so that there are two tags for each.
pub const NUMBERS: u32 = 1 << 29;

/// Bytes of a request that accesses no memory.
const SHORT_BYTES: usize = 8;
/// Bytes before the datatype of one that does.
const HEAD_BYTES: usize = 44;
/// The payload begins at a multiple of this.
const ALIGNMENT: usize = 8;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Tells it from others that its origin has under way.
    pub number: u32,
    /// The thing that is asked for.
    pub action: Action<'a>,
}

/// The things that an origin asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// To store the payload.
    Put(Elements<'a>),
    /// To answer with what is there.
    Get(Elements<'a>),
    /// To combine the payload into what is there.
    Accumulate {
        /// The place of the operation in [`BUILTINS`].
        op: usize,
        /// The elements.
        elements: Elements<'a>,
    },
    /// Like `Accumulate`, and to answer with what was there before. There is no payload for
    /// `MPI_NO_OP`.
    GetAccumulate {
        /// The place of the operation in [`BUILTINS`].
        op: usize,
        /// The elements.
        elements: Elements<'a>,
    },
    /// To store the first half of the payload if the second half is there, and to answer with what
    /// was there.
    CompareAndSwap(Elements<'a>),
    /// To take the lock, and to answer when it is taken.
    Lock(lock::Kind),
    /// To finish everything before this, give the lock back, and answer.
    Unlock,
    /// To finish everything before this, and answer.
    Flush,
    /// To show the memory, so that the origin can read and write it by itself, and to answer what
    /// it needs for that (`service/shows.rs`).
    Show,
}

/// Elements at the target, and the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements<'a> {
    /// The displacement of the first element, as the program gave it.
    pub displacement: i64,
    /// Number of elements.
    pub count: usize,
    /// Bytes of the payload, or of the answer if there is no payload.
    pub bytes: usize,
    /// Bytes of a piece; 0 if all comes in one message, or lies within.
    pub piece: usize,
    /// True if the payload lies within the request.
    pub is_within: bool,
    /// The number under which the target keeps the datatype from now on, or has kept it if there is
    /// no description; 0 if it is not to be kept.
    pub kept: u8,
    /// The description of the datatype.
    pub datatype: &'a [u8],
}

impl<'a> Request<'a> {
    /// The bytes of the request, without a payload within it, which follows them.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, detail, elements) = self.action.parts();
        let is_within = elements.is_some_and(|elements| elements.is_within);
        let kept = elements.map_or(0, |elements| elements.kept);
        let mut bytes = vec![kind, detail, u8::from(is_within), kept];
        bytes.extend(self.number.to_le_bytes());
        let Some(elements) = elements else { return bytes };
        bytes.extend(elements.displacement.to_le_bytes());
        for number in [elements.count, elements.bytes, elements.piece] {
            bytes.extend((number as u64).to_le_bytes());
        }
        bytes.extend((elements.datatype.len() as u32).to_le_bytes());
        bytes.extend(elements.datatype);
        bytes.resize(elements.payload_at(), 0);
        bytes
    }

    /// Reads a request of this many bytes in all. Every field that is read is checked for itself;
    /// the datatype is only cut out.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` for bytes that no origin sends.
    pub fn decode(bytes: &'a [u8]) -> Result<Request<'a>> {
        Request::read(bytes).ok_or_else(|| error::garbled(bytes.len()))
    }

    fn read(bytes: &'a [u8]) -> Option<Request<'a>> {
        let &[kind, detail, within, kept, ref rest @ ..] = bytes else { return None };
        let (number, rest) =
            rest.split_first_chunk().map(|(word, rest)| (u32::from_le_bytes(*word), rest))?;
        if number >= NUMBERS || within > 1 {
            return None;
        }
        let elements = if rest.is_empty() { None } else { Some(Elements::read(bytes, within == 1, kept)?) };
        let action = Action::of(kind, detail, elements)?;
        (elements.is_some() || (within == 0 && kept == 0)).then_some(Request { number, action })
    }
}

const PUT: u8 = 0;
const GET: u8 = 1;
const ACCUMULATE: u8 = 2;
const GET_ACCUMULATE: u8 = 3;
const COMPARE_AND_SWAP: u8 = 4;
const LOCK: u8 = 5;
const UNLOCK: u8 = 6;
const FLUSH: u8 = 7;
const SHOW: u8 = 8;

impl<'a> Action<'a> {
    /// The first two bytes of the request, and the elements that it is about.
    fn parts(&self) -> (u8, u8, Option<&Elements<'a>>) {
        match self {
            Action::Put(elements) => (PUT, 0, Some(elements)),
            Action::Get(elements) => (GET, 0, Some(elements)),
            Action::Accumulate { op, elements } => (ACCUMULATE, *op as u8, Some(elements)),
            Action::GetAccumulate { op, elements } => (GET_ACCUMULATE, *op as u8, Some(elements)),
            Action::CompareAndSwap(elements) => (COMPARE_AND_SWAP, 0, Some(elements)),
            Action::Lock(lock::Kind::Reader) => (LOCK, 0, None),
            Action::Lock(lock::Kind::Writer) => (LOCK, 1, None),
            Action::Unlock => (UNLOCK, 0, None),
            Action::Flush => (FLUSH, 0, None),
            Action::Show => (SHOW, 0, None),
        }
    }

    /// The action of these parts; `None` if they do not go together.
    fn of(kind: u8, detail: u8, elements: Option<Elements<'a>>) -> Option<Action<'a>> {
        let op = usize::from(detail);
        Some(match (kind, detail, elements) {
            (PUT, 0, Some(elements)) => Action::Put(elements),
            (GET, 0, Some(elements)) if !elements.is_within => Action::Get(elements),
            (ACCUMULATE, _, Some(elements)) if combines(op)? => Action::Accumulate { op, elements },
            (GET_ACCUMULATE, _, Some(elements)) if combines(op)? || !elements.is_within => {
                Action::GetAccumulate { op, elements }
            }
            (COMPARE_AND_SWAP, 0, Some(elements)) if elements.is_within => Action::CompareAndSwap(elements),
            (LOCK, 0, None) => Action::Lock(lock::Kind::Reader),
            (LOCK, 1, None) => Action::Lock(lock::Kind::Writer),
            (UNLOCK, 0, None) => Action::Unlock,
            (FLUSH, 0, None) => Action::Flush,
            (SHOW, 0, None) => Action::Show,
            _ => return None,
        })
    }

    /// The access to memory, if it is one.
    pub fn elements(&self) -> Option<&Elements<'a>> {
        self.parts().2
    }

    /// Like [`Action::elements`], to change it.
    pub(super) fn elements_mut(&mut self) -> Option<&mut Elements<'a>> {
        match self {
            Action::Put(elements) | Action::Get(elements) | Action::CompareAndSwap(elements) => {
                Some(elements)
            }
            Action::Accumulate { elements, .. } | Action::GetAccumulate { elements, .. } => Some(elements),
            Action::Lock(_) | Action::Unlock | Action::Flush | Action::Show => None,
        }
    }
}

/// Returns whether an operation has a payload, which `MPI_NO_OP` has not. `None` if there is no
/// such operation.
pub(super) fn combines(op: usize) -> Option<bool> {
    BUILTINS.get(op).map(|builtin| builtin.0 != Builtin::NoOp)
}

impl<'a> Elements<'a> {
    /// The place of a payload within the request.
    pub fn payload_at(&self) -> usize {
        (HEAD_BYTES + self.datatype.len()).next_multiple_of(ALIGNMENT)
    }

    /// Number of messages that the payload or the answer comes in.
    pub fn pieces(&self) -> usize {
        if self.piece == 0 { 1 } else { self.bytes.div_ceil(self.piece) }
    }

    fn read(bytes: &'a [u8], is_within: bool, kept: u8) -> Option<Elements<'a>> {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
        let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        let number = |at| usize::try_from(word(at)).ok().filter(|&number| isize::try_from(number).is_ok());
        let [count, payload, piece] = [number(16)?, number(24)?, number(32)?];
        let described = u32::from_le_bytes(head[40..].try_into().expect("four bytes")) as usize;
        let (datatype, rest) = rest.split_at_checked(described)?;
        let displacement = word(SHORT_BYTES) as i64;
        let elements = Elements { displacement, count, bytes: payload, piece, is_within, kept, datatype };
        let (gap, rest) = rest.split_at_checked(elements.payload_at() - HEAD_BYTES - described)?;
        let is_sound = count > 0
            && payload > 0
            && gap.iter().all(|&byte| byte == 0)
            && piece < payload
            && usize::from(kept) <= KEPT_MAX
            && rest.len() == if is_within { payload } else { 0 }
            && (!is_within || payload <= WITHIN_BYTES_MAX && piece == 0);
        is_sound.then_some(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(is_within: bool, datatype: &[u8]) -> Elements<'_> {
        let (bytes, piece) = if is_within { (24, 0) } else { (100_000, 65_536) };
        Elements { displacement: -5, count: 3, bytes, piece, is_within, kept: 0, datatype }
    }

    fn all() -> Vec<Request<'static>> {
        let long = elements(false, b"a datatype of some length");
        let kept = Elements { kept: KEPT_MAX as u8, ..elements(false, b"") };
        let actions = [
            Action::Put(elements(true, b"")),
            Action::Put(long),
            Action::Get(long),
            Action::Get(kept),
            Action::Accumulate { op: 2, elements: elements(true, b"12345678") },
            Action::GetAccumulate { op: 13, elements: long },
            Action::CompareAndSwap(elements(true, b"abc")),
            Action::Lock(lock::Kind::Reader),
            Action::Lock(lock::Kind::Writer),
            Action::Unlock,
            Action::Flush,
            Action::Show,
        ];
        (0..).zip(actions).map(|(number, action)| Request { number: number * 7, action }).collect()
    }

    fn message(request: &Request) -> Vec<u8> {
        let mut bytes = request.encode();
        let within = request.action.elements().filter(|elements| elements.is_within);
        bytes.resize(bytes.len() + within.map_or(0, |elements| elements.bytes), 0xab);
        bytes
    }

    #[test]
    fn a_request_survives() {
        for request in all() {
            assert_eq!(Request::decode(&message(&request)), Ok(request));
        }
    }

    #[test]
    fn no_part_of_a_request_is_a_request() {
        for request in all() {
            let bytes = message(&request);
            for len in 0..bytes.len() {
                // An access without its payload is none.
                assert!(Request::decode(&bytes[..len]).is_err(), "{request:?} cut to {len}");
            }
            assert!(Request::decode(&[&bytes[..], &[0]].concat()).is_err(), "{request:?} with more");
        }
    }

    #[test]
    fn fields_without_meaning_are_refused() {
        let put = message(&all()[1]);
        // Unknown action, operation of a put, flags, kept, number, count, bytes, piece, gap.
        let spoilt =
            [(0, 9), (1, 1), (2, 2), (3, 5), (7, 0x40), (23, 0x80), (31, 0x80), (38, 1), (put.len() - 1, 1)];
        for (at, value) in spoilt {
            let mut bytes = put.clone();
            bytes[at] = value;
            assert!(Request::decode(&bytes).is_err(), "{value} at {at}");
        }
    }

    #[test]
    fn pieces_cover_the_payload() {
        assert_eq!(elements(false, b"").pieces(), 2);
        assert_eq!(elements(true, b"").pieces(), 1);
    }
}
