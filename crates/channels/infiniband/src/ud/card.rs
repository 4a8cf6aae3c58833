//! The card that the others need of this process: its address, and what it can receive. Nothing
//! else is ever exchanged (paper 4, section 4).
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 32 | address, as the adapter encodes it |
//! | 32 | 4 | the longest datagram |
//! | 36 | 4 | receive buffers |

use crate::device::Address;

/// Bytes of a card.
const BYTES: usize = 40;

/// The card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// The address to which its datagrams go.
    pub address: Address,
    /// The longest datagram in bytes.
    pub datagram_bytes_max: u32,
    /// The number of its receive buffers.
    pub receives: u32,
}

impl Card {
    /// Encodes it as it travels.
    pub fn emit(&self) -> Vec<u8> {
        let (bytes, receives) = (self.datagram_bytes_max.to_le_bytes(), self.receives.to_le_bytes());
        [&self.address.0[..], &bytes, &receives].concat()
    }

    /// Decodes it; `None` if another version wrote it.
    pub fn parse(bytes: &[u8]) -> Option<Card> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let address = Address(*bytes.first_chunk()?);
        Some(Card { address, datagram_bytes_max: word(32), receives: word(36) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_survives_the_wire() {
        let card = Card { address: Address([7; 32]), datagram_bytes_max: 4096, receives: 300 };
        assert_eq!(Card::parse(&card.emit()), Some(card));
        assert_eq!(Card::parse(&card.emit()[1..]), None);
    }
}
