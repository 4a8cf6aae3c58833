//! The memory of a target that an origin reads and writes by itself, and how the origin learns of
//! it: at its first access it asks, and the target answers with 64 bytes.
//!
//! | bytes | meaning |
//! | --- | --- |
//! | 0 | 0: here it is; 1: not now, ask again later; 2: never |
//! | 1 to 3 | 0 |
//! | 4 to 39 | what the engine shows ([`Shown`]) |
//! | 40 to 47 | the address of the memory at the target |
//! | 48 to 55 | its length in bytes |
//! | 56 to 63 | bytes of a unit of displacement |
//!
//! All numbers are little-endian; without memory all bytes but the first are 0. Memory is shown to
//! each origin alone, once: whoever asks again gets the same answer as long as it holds.

use super::Exposed;
use crate::group::Group;
use crate::process::Access;
use std::collections::BTreeMap;
use verbena_channel::Peer;
use verbena_engine::Shown;
use verbena_memory::{Owned, Region};

/// Bytes of an answer.
pub const BYTES: usize = 64;
/// The place of what the engine shows, and of the numbers behind it.
const SHOWN_AT: usize = 4;
const NUMBERS_AT: usize = SHOWN_AT + Shown::BYTES;

const HERE: u8 = 0;
const LATER: u8 = 1;
const NEVER: u8 = 2;

/// All memory of a target.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    /// The memory.
    pub region: Region,
    /// The address by which the program knows it.
    pub base: u64,
    /// Bytes of a unit of displacement.
    pub unit: i64,
}

/// The memory of a target as its origin sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The way to it.
    pub shown: Shown,
    /// The address at the target.
    pub base: u64,
    /// Bytes.
    pub size: u64,
    /// Bytes of a unit of displacement.
    pub unit: i64,
}

/// The answer of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The memory is shown.
    Here(Facts),
    /// The memory cannot be shown now: there is no connection, or it cannot be registered.
    Later,
    /// The memory will not be shown.
    Never,
}

impl Answer {
    /// The bytes of the answer.
    pub fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let facts = match self {
            Answer::Here(facts) => facts,
            Answer::Later | Answer::Never => {
                bytes[0] = if *self == Answer::Later { LATER } else { NEVER };
                return bytes;
            }
        };
        bytes[SHOWN_AT..NUMBERS_AT].copy_from_slice(&facts.shown.emit());
        let numbers = [facts.base, facts.size, facts.unit as u64].map(u64::to_le_bytes);
        bytes[NUMBERS_AT..].copy_from_slice(numbers.as_flattened());
        bytes
    }

    /// Reads an answer; `None` for bytes that no target answers.
    pub fn decode(bytes: &[u8; BYTES]) -> Option<Answer> {
        let is_empty = || bytes[1..].iter().all(|&byte| byte == 0);
        match bytes[0] {
            HERE => Facts::read(bytes).map(Answer::Here),
            LATER if is_empty() => Some(Answer::Later),
            NEVER if is_empty() => Some(Answer::Never),
            _ => None,
        }
    }
}

impl Facts {
    fn read(bytes: &[u8; BYTES]) -> Option<Facts> {
        let (head, rest) = bytes.split_first_chunk::<SHOWN_AT>()?;
        let (shown, rest) = rest.split_first_chunk()?;
        let word = |at: usize| Some(u64::from_le_bytes(rest.get(at..at + 8)?.try_into().ok()?));
        let (base, size, unit) = (word(0)?, word(8)?, word(16)? as i64);
        let facts = Facts { shown: Shown::parse(shown), base, size, unit };
        let is_sound = head[1..].iter().all(|&byte| byte == 0)
            && size > 0
            && isize::try_from(size).is_ok()
            && unit > 0
            && base.checked_add(size).is_some();
        is_sound.then_some(facts)
    }
}

/// The origins to which the memory was shown.
#[derive(Default)]
pub(super) struct Shows(BTreeMap<i32, Shown>);

impl Shows {
    /// Shows the memory to an origin, a rank and its process, and returns the answer.
    pub(super) fn answer(
        &mut self,
        access: &mut impl Access,
        exposed: &dyn Exposed,
        origin: (i32, Peer),
    ) -> Owned {
        let answer = match exposed.whole() {
            None => Answer::Never,
            Some(Whole { region, base, unit }) => {
                let shown = self.show(access, origin, region);
                let facts = |shown| Answer::Here(Facts { shown, base, size: region.len() as u64, unit });
                shown.map_or(Answer::Later, facts)
            }
        };
        Owned::from(&answer.encode()[..])
    }

    fn show(
        &mut self,
        access: &mut impl Access,
        (origin, peer): (i32, Peer),
        region: Region,
    ) -> Option<Shown> {
        access.look(|engine| {
            if let Some(shown) = self.0.get(&origin) {
                match engine.still_shows(peer, shown) {
                    Some(is_usable) => return is_usable.then_some(*shown),
                    None => engine.hide(peer, shown),
                }
                self.0.remove(&origin);
            }
            let shown = engine.show(peer, region)?;
            self.0.insert(origin, shown);
            Some(shown)
        })
    }

    /// Hides the memory from all of them.
    pub(super) fn hide(&mut self, access: &mut impl Access, group: &Group) {
        access.look(|engine| {
            for (origin, shown) in std::mem::take(&mut self.0) {
                engine.hide(group.peer(origin), &shown);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> [u8; BYTES] {
        let shown = Shown::parse(&[9; Shown::BYTES]);
        Answer::Here(Facts { shown, base: 1 << 40, size: 1 << 20, unit: 8 }).encode()
    }

    #[test]
    fn an_answer_survives() {
        let all = [here(), Answer::Later.encode(), Answer::Never.encode()];
        for bytes in all {
            assert_eq!(Answer::decode(&bytes).expect("an answer").encode(), bytes);
        }
    }

    #[test]
    fn what_no_target_answers_is_refused() {
        // Unknown answer, gap, a base near the end of all addresses, sizes and units of no memory.
        let spoilt =
            [(0, 3), (0, NEVER), (1, 1), (3, 1), (47, 0xff), (50, 0), (55, 0x80), (56, 0), (63, 0x80)];
        for (at, value) in spoilt {
            let mut bytes = here();
            if at == 47 {
                bytes[40..48].fill(0xff);
            }
            bytes[at] = value;
            assert_eq!(Answer::decode(&bytes), None, "{value} at {at}");
        }
        let mut later = Answer::Later.encode();
        later[BYTES - 1] = 1;
        assert_eq!(Answer::decode(&later), None);
    }
}
