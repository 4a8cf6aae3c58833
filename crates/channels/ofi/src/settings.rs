//! The settings of one end of the channel.

use super::frame::PACKET_FRAME_BYTES;
use std::time::Duration;
use verbena_channel::{CONTROL_BYTES_MAX, Cost};
use verbena_fabric::Offer;
use verbena_settings as table;

/// The longest message that is copied: here over the Internet's protocols, where to ask first costs
/// more than to copy up to here (a longer one should be on the wire while it is copied, so it goes
/// in pieces); below over hardware that reads memory by itself.
const IP_COPIED_BYTES_MAX: usize = 64 << 10;
const HARDWARE_COPIED_BYTES_MAX: usize = 16 << 10;

/// All settings of the channel. The table of settings says what each is for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The largest message in bytes, with all headers.
    pub message_bytes: usize,
    /// The bytes of a buffer that takes several messages.
    pub receive_bytes: usize,
    /// The most buffers for sending, over all peers.
    pub send_buffers_max: usize,
    /// The most packets to one peer that it has not told to have taken.
    pub window: usize,
    /// The length in bytes from which messages are read or written rather than copied.
    pub memory_bytes_min: usize,
    /// The longest piece of a long message that is read or written at a time, in bytes.
    pub piece_bytes: usize,
    /// The cost of reading and writing.
    pub cost: Cost,
    /// The time after which a peer to which no connection can be made is given up.
    pub connect_max: Duration,
    /// True if a process that waits sleeps until the network wakes it.
    pub sleeps: bool,
}

impl Settings {
    /// The current settings for a provider that offers this.
    pub fn current(offer: &Offer) -> Settings {
        let copied = if offer.ip().is_some() { IP_COPIED_BYTES_MAX } else { HARDWARE_COPIED_BYTES_MAX };
        Settings {
            message_bytes: table::OFI_MESSAGE_BYTES.get().unwrap_or(PACKET_FRAME_BYTES + copied),
            receive_bytes: table::OFI_RECEIVE_BYTES.get(),
            send_buffers_max: table::OFI_SEND_BUFFERS_MAX.get(),
            window: table::OFI_WINDOW.get(),
            memory_bytes_min: table::OFI_MEMORY_BYTES_MIN.get().unwrap_or(copied + 1),
            piece_bytes: piece_bytes(table::OFI_PIECE_BYTES.get(), offer.transfer_bytes_max()),
            cost: Cost {
                start_ns: table::OFI_START_NS.get() as u32,
                byte_ps: table::OFI_BYTE_PS.get() as u32,
            },
            connect_max: Duration::from_secs(table::OFI_CONNECT_SECONDS_MAX.get() as u64),
            sleeps: table::OFI_SLEEP.get(),
        }
        .sound()
    }

    /// Brings the settings within the bounds that the channel needs.
    pub fn sound(mut self) -> Settings {
        self.message_bytes = self.message_bytes.max(PACKET_FRAME_BYTES + CONTROL_BYTES_MAX);
        self.receive_bytes = self.receive_bytes.max(4 * self.message_bytes);
        self.send_buffers_max = self.send_buffers_max.max(2);
        self.window = self.window.max(2);
        self
    }

    /// The longest payload of a packet.
    pub fn packet_bytes_max(&self) -> usize {
        self.message_bytes - PACKET_FRAME_BYTES
    }
}

/// The longest piece that is moved at a time: as wanted, if the provider can. One that names no
/// limit says 0.
fn piece_bytes(wanted: usize, provider_max: usize) -> usize {
    if provider_max == 0 { wanted } else { wanted.min(provider_max) }
}

/// The names in a list with commas.
pub(crate) fn names(list: Option<String>) -> Vec<String> {
    let list = list.unwrap_or_default();
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::piece_bytes;

    #[test]
    fn no_piece_is_longer_than_the_provider_takes() {
        assert_eq!([1 << 20, 1 << 10, 0].map(|most| piece_bytes(1 << 16, most)), [1 << 16, 1 << 10, 1 << 16]);
    }
}
