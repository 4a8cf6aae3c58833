//! Opening the channel on a real device, and meeting the others.

use super::adapter::Adapter;
use super::verbs::Verbs;
use super::{RcChannel, Settings};
use crate::cache::watch::KernelWatch;
use crate::device::Address;
use crate::device::options::{Options, RAILS_MAX};
use verbena_channel::{Opening, Peer, Place};
use verbena_fault::Fault;
use verbena_machine::cores::Load;

/// Opens the channel on this side; not for a job of one, nor where there is no device that works.
/// If the user names the channel or a device, there must be one.
///
/// # Errors
/// The reason why what was named does not work.
pub fn open(place: &Place) -> Result<Option<RcOpening>, Fault> {
    if place.size < 2 {
        return Ok(None);
    }
    let options = Options::current();
    let (survey, rails) = Verbs::survey_rails(&options);
    let mut ready = NAMES.iter().zip(rails).map(|(name, verbs)| RcOpening {
        me: place.me,
        name,
        verbs,
        others: Vec::new(),
    });
    match ready.next() {
        Some(first) => Ok(Some(RcOpening { others: ready.collect(), ..first })),
        None if !options.devices.is_empty() || is_named() => Err(survey.refusal(&options)),
        None => Ok(None),
    }
}

/// The names of the channels over each port: the first one's is that of all.
const NAMES: [&str; RAILS_MAX] = ["rc", "rc.1", "rc.2", "rc.3", "rc.4", "rc.5", "rc.6", "rc.7"];

/// Returns whether the user asks for this very channel.
fn is_named() -> bool {
    let named = verbena_settings::CHANNELS.get();
    named.is_some_and(|names| names.split(',').any(|name| name.trim() == "rc"))
}

/// The channel on this side: an open port.
pub struct RcOpening {
    me: Peer,
    name: &'static str,
    verbs: Verbs,
    /// The openings over other ports.
    others: Vec<RcOpening>,
}

impl Opening for RcOpening {
    type Channel = RcChannel<Verbs>;

    fn card(&self) -> Vec<u8> {
        self.verbs.address().0.to_vec()
    }

    fn rails(&mut self) -> Vec<(&'static str, RcOpening)> {
        std::mem::take(&mut self.others).into_iter().map(|ready| (ready.name, ready)).collect()
    }

    fn connect(self, cards: &[Option<Vec<u8>>], _load: &Load) -> Result<RcChannel<Verbs>, Fault> {
        let address = |card: &Option<Vec<u8>>| Some(Address(card.as_deref()?.try_into().ok()?));
        let size = cards.len() as u32;
        let cards = cards.iter().map(address).collect();
        let mut rc =
            RcChannel::new(self.me, size, self.verbs, cards, Settings::current(size)).named(self.name);
        if verbena_settings::RC_CACHE.get() {
            match KernelWatch::start() {
                Ok(watch) => rc.keep_registrations(Box::new(watch)),
                Err(reason) => rc.keep_no_registrations(reason),
            }
        }
        Ok(rc)
    }
}
