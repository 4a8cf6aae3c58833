//! Opening the channel on a real device, and meeting the others.

use super::rdma_channel::{Beginning, RdmaChannel};
use super::{PipeChannel, Pipes, Settings};
use crate::cache::watch::KernelWatch;
use crate::device::Address;
use crate::device::options::Options;
use crate::rc::adapter::Adapter;
use crate::rc::verbs::Verbs;
use verbena_channel::{Opening, Peer, Place};
use verbena_fault::Fault;
use verbena_machine::cores::Load;

/// Opens the channel on this side, if the user names it: it is there for comparison, and no
/// default. Not for a job of one.
///
/// # Errors
/// There is no device that works.
pub fn open(place: &Place) -> Result<Option<PipeOpening>, Fault> {
    if place.size < 2 || !is_named() {
        return Ok(None);
    }
    let options = Options::current();
    let (survey, rails) = Verbs::survey_rails(&options);
    match rails.into_iter().next() {
        Some(verbs) => Ok(Some(PipeOpening { me: place.me, verbs })),
        None => Err(survey.refusal(&options)),
    }
}

/// Returns whether the user asks for this very channel.
fn is_named() -> bool {
    let named = verbena_settings::CHANNELS.get();
    named.is_some_and(|names| names.split(',').any(|name| name.trim() == "pipe"))
}

/// The channel on this side: an open port.
pub struct PipeOpening {
    me: Peer,
    verbs: Verbs,
}

impl Opening for PipeOpening {
    type Channel = PipeChannel<Verbs>;

    fn card(&self) -> Vec<u8> {
        self.verbs.address().0.to_vec()
    }

    fn connect(self, cards: &[Option<Vec<u8>>], _load: &Load) -> Result<PipeChannel<Verbs>, Fault> {
        let address = |card: &Option<Vec<u8>>| Some(Address(card.as_deref()?.try_into().ok()?));
        let cards = cards.iter().map(address).collect();
        let beginning = Beginning { me: self.me, adapter: self.verbs, cards, settings: Settings::current() };
        let mut pipes = Pipes::initialize(beginning);
        if verbena_settings::RC_CACHE.get() {
            match KernelWatch::start() {
                Ok(watch) => pipes.keep_registrations(Box::new(watch)),
                Err(reason) => pipes.keep_no_registrations(reason),
            }
        }
        Ok(PipeChannel::new(pipes))
    }
}
