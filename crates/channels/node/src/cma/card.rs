//! The card of the cross-memory channel: what a peer needs to try it.
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | version |
//! | 8 | node, see [`node`](verbena_machine::node) |
//! | 8 | inode of the pid namespace |
//! | 4 | process id |
//! | 8 | address of the known word |
//! | 8 | address of the word that others may write |
//! | 8 | the known word |
//!
//! Integers are little-endian.

const VERSION: u8 = 1;
const CARD_BYTES: usize = 45;

/// A decoded card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Card {
    pub(super) node: u64,
    pub(super) pid_namespace: u64,
    pub(super) pid: u32,
    pub(super) known_at: u64,
    pub(super) scratch_at: u64,
    pub(super) word: u64,
}

impl Card {
    /// The encoded form.
    pub(super) fn emit(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend(self.node.to_le_bytes());
        out.extend(self.pid_namespace.to_le_bytes());
        out.extend(self.pid.to_le_bytes());
        for word in [self.known_at, self.scratch_at, self.word] {
            out.extend(word.to_le_bytes());
        }
        out
    }

    /// Decodes a card; `None` if it is of another version or length.
    pub(super) fn parse(bytes: &[u8]) -> Option<Card> {
        if bytes.len() != CARD_BYTES || bytes[0] != VERSION {
            return None;
        }
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Some(Card {
            node: word(1),
            pid_namespace: word(9),
            pid: u32::from_le_bytes(bytes[17..21].try_into().expect("four bytes")),
            known_at: word(21),
            scratch_at: word(29),
            word: word(37),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_survives_the_wire() {
        let card = Card { node: 1, pid_namespace: 2, pid: 3, known_at: 4, scratch_at: 5, word: u64::MAX };
        assert_eq!(Card::parse(&card.emit()), Some(card));
        assert_eq!(Card::parse(&[VERSION; 44]), None);
        assert_eq!(Card::parse(&[9; CARD_BYTES]), None);
    }
}
