//! The card of the shared-memory channel: what the others on the node need to know of a process.
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | version |
//! | 8 | node, see [`node`](super::node) |
//! | 8 | name of the socket that hands over the segment |
//! | 8 | secret: proves to the server that the client read this card, and to the client that it got the right memory |
//! | 1 | engines that the process wants beside its first one |
//!
//! Integers are little-endian.

const VERSION: u8 = 4;

/// Bytes of a card.
const BYTES: usize = 26;

/// A decoded card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) node: u64,
    pub(crate) socket: u64,
    pub(crate) secret: u64,
    pub(crate) engines: u8,
}

impl Card {
    /// The encoded form.
    pub(crate) fn emit(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        for word in [self.node, self.socket, self.secret] {
            out.extend(word.to_le_bytes());
        }
        out.push(self.engines);
        out
    }

    /// Decodes a card; `None` if it is of another version or too short.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Card> {
        let head = bytes.first_chunk::<BYTES>()?;
        let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap());
        let card = || Card { node: word(1), socket: word(9), secret: word(17), engines: head[BYTES - 1] };
        (head[0] == VERSION).then(card)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_survives_the_wire() {
        let card = Card { node: 1, socket: u64::MAX, secret: 3, engines: 4 };
        assert_eq!(Card::parse(&card.emit()), Some(card));
    }

    #[test]
    fn a_foreign_card_is_refused() {
        assert_eq!(Card::parse(&[VERSION; BYTES - 1]), None);
        assert_eq!(Card::parse(&[9; 40]), None);
    }
}
