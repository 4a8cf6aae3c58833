//! What must hold of any card of `shm`: the fuzz target of this channel (see `fuzz/`).

use super::card::Card;

/// A card.
pub fn card(data: &[u8]) {
    if let Some(card) = Card::parse(data) {
        assert!(data.starts_with(&card.emit()));
    }
}
