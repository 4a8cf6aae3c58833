//! Opening the channel on a real device, and meeting the others.

use super::card::Card;
use super::verbs::Device;
use super::{Settings, UdChannel};
use crate::device::options::Options;
use verbena_channel::{Opening, Peer, Place};
use verbena_fault::Fault;
use verbena_machine::cores::Load;

/// Opens the channel on this side where it is named, and in large jobs by itself; not where there
/// is no device that works. If the user names the channel, there must be one.
///
/// # Errors
/// The reason why what was named does not work.
pub fn open(place: &Place) -> Result<Option<UdOpening>, Fault> {
    if !is_wanted(place.size) {
        return Ok(None);
    }
    let settings = Settings::current();
    let options = Options::of_datagrams();
    let (survey, device) = Device::survey(&options, &settings);
    match device {
        Some(device) => Ok(Some(UdOpening { me: place.me, device, settings })),
        None if is_named() => Err(survey.refusal(&options)),
        None => Ok(None),
    }
}

/// Returns whether a job of this many ranks opens the channel where a device works: if it is named,
/// or the job is large (`UD_RANKS_MIN`; paper 4, 2.2).
pub fn is_wanted(ranks: Peer) -> bool {
    let large = ranks as usize > verbena_settings::UD_RANKS_MIN.get();
    ranks >= 2 && (is_named() || large)
}

/// Returns whether the user asks for this very channel.
fn is_named() -> bool {
    let named = verbena_settings::CHANNELS.get();
    named.is_some_and(|names| names.split(',').any(|name| name.trim() == "ud"))
}

/// The channel on this side: an open device.
pub struct UdOpening {
    me: Peer,
    device: Device,
    settings: Settings,
}

impl Opening for UdOpening {
    type Channel = UdChannel<Device>;

    fn card(&self) -> Vec<u8> {
        UdChannel::card(&self.device, &self.settings).emit()
    }

    fn connect(self, cards: &[Option<Vec<u8>>], _load: &Load) -> Result<UdChannel<Device>, Fault> {
        let cards = cards.iter().map(|card| Card::parse(card.as_deref()?)).collect();
        UdChannel::new(self.me, self.device, cards, self.settings)
    }
}
