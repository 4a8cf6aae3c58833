//! The options of the device, from the table of settings.

use verbena_settings as table;

/// The options of a device; the table of settings explains each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Devices or ports by name, in order of preference; empty: any.
    pub devices: Vec<Named>,
    /// The most ports that are used, each as a channel of its own; `None`: all that are like the
    /// best.
    pub rails_max: Option<usize>,
    /// Entry of the GID table.
    pub gid_index: Option<u8>,
    /// Largest payload of a packet in bytes.
    pub mtu_bytes: Option<usize>,
    /// Entry of the table of partition keys.
    pub partition: u16,
    /// Service level.
    pub service_level: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// The number of bytes that a post shall be able to copy inline; the device may take less.
    pub inline_bytes_max: usize,
    /// The work under way on one queue pair, apart from reads.
    pub work_max: u32,
    /// The receive buffers in the shared receive queue, or for one queue pair.
    pub receives_max: u32,
    /// The reads under way on one queue pair.
    pub reads_max: Option<u8>,
    /// Code of the ACK timeout.
    pub ack_timeout: u8,
    /// Retries after the ACK timeout.
    pub retries: u8,
    /// Retries while the receiver is not ready.
    pub receiver_retries: u8,
    /// Code of the time between these retries.
    pub receiver_timer: u8,
}

/// A device, or one port of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The device's name.
    pub device: String,
    /// The port, if only one is meant.
    pub port: Option<u8>,
}

impl Named {
    fn parse(text: &str) -> Named {
        match text.rsplit_once(':').map(|(device, port)| (device, port.parse())) {
            Some((device, Ok(port))) => Named { device: device.into(), port: Some(port) },
            _ => Named { device: text.into(), port: None },
        }
    }

    /// Returns whether it means this port.
    pub fn means(&self, device: &str, port: u8) -> bool {
        self.device == device && self.port.is_none_or(|wanted| wanted == port)
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.device),
            None => f.write_str(&self.device),
        }
    }
}

/// The most ports that a process uses.
pub const RAILS_MAX: usize = 8;

/// The number of receive buffers in a shared queue.
const SHARED_RECEIVES_MAX: usize = 4096;
/// The number of receive buffers of one queue pair.
const PAIR_RECEIVES_MAX: usize = 128;

impl Options {
    /// Returns what the table says now.
    pub fn current() -> Options {
        Options::of_devices(table::RC_DEVICE.get())
    }

    /// Returns what the table says now for the channel `ud`.
    pub fn of_datagrams() -> Options {
        Options::of_devices(table::UD_DEVICE.get().or_else(|| table::RC_DEVICE.get()))
    }

    fn of_devices(list: Option<String>) -> Options {
        let list = list.unwrap_or_default();
        let receives = if table::RC_SHARED_RECEIVES.get() { SHARED_RECEIVES_MAX } else { PAIR_RECEIVES_MAX };
        // The table's ranges fit the types.
        Options {
            devices: list
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(Named::parse)
                .collect(),
            rails_max: table::RC_RAILS.get(),
            gid_index: table::RC_GID_INDEX.get().map(|index| index as u8),
            mtu_bytes: table::RC_MTU_BYTES.get(),
            partition: table::RC_PARTITION_INDEX.get() as u16,
            service_level: table::RC_SERVICE_LEVEL.get() as u8,
            traffic_class: table::RC_TRAFFIC_CLASS.get() as u8,
            inline_bytes_max: table::RC_INLINE_BYTES_MAX.get(),
            work_max: table::RC_WORK_MAX.get() as u32,
            receives_max: table::RC_RECEIVES_MAX.get().unwrap_or(receives) as u32,
            reads_max: table::RC_READS_MAX.get().map(|reads| reads as u8),
            ack_timeout: table::RC_ACK_TIMEOUT.get() as u8,
            retries: table::RC_RETRIES.get() as u8,
            receiver_retries: table::RC_RECEIVER_RETRIES.get() as u8,
            receiver_timer: table::RC_RECEIVER_TIMER.get() as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_port() {
        let whole = Named::parse("mlx5_0");
        assert!(whole.means("mlx5_0", 2) && !whole.means("mlx5_1", 1));
        let port = Named::parse("rxe0:1");
        assert!(port.means("rxe0", 1) && !port.means("rxe0", 2) && port.to_string() == "rxe0:1");
        assert_eq!(Named::parse("a:b"), Named { device: "a:b".into(), port: None });
    }

    #[test]
    fn the_table_as_it_is() {
        let options = Options::current();
        assert_eq!((options.ack_timeout, options.retries, options.receives_max), (14, 6, 4096));
    }
}
