//! The fuzz target of `shm` (see `fuzz/`): what must hold of any card.

use super::card::Card;

/// Checks a card.
pub fn card(data: &[u8]) {
    if let Some(card) = Card::parse(data) {
        assert!(data.starts_with(&card.emit()));
    }
}
