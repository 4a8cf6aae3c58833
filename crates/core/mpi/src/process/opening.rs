//! The channels between this process and others, from their opening to their connection: with those
//! of its own job at the start, and with those of another job when it meets them.
//!
//! A card is what the process tells all others: its settings, then its channels. Settings that all
//! must have alike are compared.

use crate::error::{Error, Result};
use verbena_channel::{Peer, Place};
use verbena_machine::cores::Load;
use verbena_wires::{Wire, registry};

/// The channels of this process, before the others are known.
pub(crate) struct Opening {
    me: Peer,
    opened: registry::Opened,
}

impl Opening {
    /// Opens the channels that the settings allow.
    pub(crate) fn open(place: &Place) -> Result<Opening> {
        let wanted = verbena_settings::CHANNELS.get();
        let opened = registry::open(place, wanted.as_deref()).map_err(Error::channel)?;
        Ok(Opening { me: place.me, opened })
    }

    /// The card of this process.
    pub(crate) fn card(&self) -> Vec<u8> {
        join(&verbena_settings::card(), &self.opened.card())
    }

    /// The second card, given the channels' parts of all; `None` if one round is enough.
    pub(crate) fn second_card(&mut self, cards: &[Vec<u8>]) -> Result<Option<Vec<u8>>> {
        self.opened.second_card(cards).map_err(Error::channel)
    }

    /// Connects with all whose cards these are.
    pub(crate) fn connect(
        self,
        cards: &[Vec<u8>],
        second: Option<&[Vec<u8>]>,
        load: &Load,
    ) -> Result<Vec<Wire>> {
        self.opened.connect(cards, second, load).map_err(Error::channel)
    }

    /// The load of this process's cores by all cards.
    pub(crate) fn load(&self, cards: &[Vec<u8>]) -> Load {
        registry::load(self.me, cards)
    }
}

/// The channels' parts of all cards, once it is clear that the settings of all processes fit
/// together.
pub(crate) fn compared(mut cards: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
    let own = verbena_settings::card();
    for (rank, card) in cards.iter_mut().enumerate() {
        let (settings, channels) = split(card);
        // Whether and how they are unlike is found out only where they are not the same.
        if settings != own
            && let Some(fault) = verbena_settings::unlike(rank, settings)
        {
            return Err(Error::setting(fault));
        }
        let before = card.len() - channels.len();
        card.drain(..before);
    }
    Ok(cards)
}

/// Joins the length of the first part (4 bytes, little-endian), the first and the second part.
fn join(settings: &[u8], channels: &[u8]) -> Vec<u8> {
    [&(settings.len() as u32).to_le_bytes()[..], settings, channels].concat()
}

/// The two parts; a torn card has empty ones.
fn split(card: &[u8]) -> (&[u8], &[u8]) {
    let parts = card
        .split_first_chunk::<4>()
        .and_then(|(length, rest)| rest.split_at_checked(u32::from_le_bytes(*length) as usize));
    parts.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_comes_apart_and_a_torn_one_has_nothing() {
        assert_eq!(split(&join(b"settings", b"channels")), (&b"settings"[..], &b"channels"[..]));
        assert_eq!(split(&[9, 0, 0, 0, 1]), (&[][..], &[][..]));
        assert_eq!(split(&[1]), (&[][..], &[][..]));
    }
}
