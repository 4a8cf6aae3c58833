//! Opening the channel on a real device, and meeting the others.

use super::adapter::{Adapter, Address};
use super::cache::watch::KernelWatch;
use super::verbs::Verbs;
use super::verbs::options::{Options, RAILS_MAX};
use super::verbs::survey::Survey;
use super::{Rc, Settings};
use crate::{Opening, Peer, Place, Wire};
use verbena_fault::Fault;
use verbena_machine::cores::Load;

/// Opens the channel on this side; not for a job of one, nor where there is no device that works. If the user names
/// the channel or a device, there must be one.
///
/// # Errors
/// What was named does not work, with the reason.
pub fn open(place: &Place) -> Result<Option<Box<dyn Opening>>, Fault> {
    if place.size < 2 {
        return Ok(None);
    }
    let options = Options::current();
    let (survey, rails) = Survey::take_all(&options);
    let mut ready =
        NAMES.iter().zip(rails).map(|(name, verbs)| Ready { me: place.me, name, verbs, others: Vec::new() });
    match ready.next() {
        Some(first) => Ok(Some(Box::new(Ready { others: ready.collect(), ..first }))),
        None if !options.devices.is_empty() || is_named() => Err(survey.refusal(&options)),
        None => Ok(None),
    }
}

/// The names of the channels over each port: the first one's is that of all.
const NAMES: [&str; RAILS_MAX] = ["rc", "rc.1", "rc.2", "rc.3", "rc.4", "rc.5", "rc.6", "rc.7"];

/// Whether the user asks for this very channel.
fn is_named() -> bool {
    let named = verbena_settings::CHANNELS.get();
    named.is_some_and(|names| names.split(',').any(|name| name.trim() == "rc"))
}

struct Ready {
    me: Peer,
    name: &'static str,
    verbs: Verbs,
    /// Those over other ports.
    others: Vec<Ready>,
}

impl Opening for Ready {
    fn card(&self) -> Vec<u8> {
        self.verbs.address().0.to_vec()
    }

    fn rails(&mut self) -> Vec<(&'static str, Box<dyn Opening>)> {
        let others = std::mem::take(&mut self.others).into_iter();
        others.map(|ready| (ready.name, Box::new(ready) as Box<dyn Opening>)).collect()
    }

    fn connect(self: Box<Self>, cards: &[Option<Vec<u8>>], _load: &Load) -> Result<Wire, Fault> {
        let address = |card: &Option<Vec<u8>>| Some(Address(card.as_deref()?.try_into().ok()?));
        let size = cards.len() as u32;
        let cards = cards.iter().map(address).collect();
        let mut rc = Rc::new(self.me, size, self.verbs, cards, Settings::current(size)).named(self.name);
        if verbena_settings::RC_CACHE.get() {
            match KernelWatch::start() {
                Ok(watch) => rc.keep_registrations(Box::new(watch)),
                Err(reason) => rc.keep_no_registrations(reason),
            }
        }
        Ok(Wire::Rc(Box::new(rc)))
    }
}
