//! Chooses the way of a long message (paper 2, 4 to 6): by a setting, or by the channels' costs.

use super::ways::NodeWay;
use crate::peer::Route;
use crate::{Large, Settings};
use verbena_channel::Direction;

impl Settings {
    /// The length from which memory is moved; `usize::MAX` if it is not. Moving it in the
    /// background is bulk transfer (paper 5, 4 and 5).
    pub(crate) fn memory_bytes_min(&self, route: &Route) -> usize {
        match self.large {
            _ if route.in_background && !self.bulk => usize::MAX,
            Large::Auto if route.in_background => self.bulk_bytes_min.unwrap_or(route.memory_bytes_min),
            Large::Auto => route.memory_bytes_min,
            _ => 1,
        }
    }

    /// Returns whether messages on this route may go several ways, of which one is learnt, and the
    /// clock for that.
    pub(super) fn learns(&self, route: &Route) -> Option<fn() -> u64> {
        let has_ways = route.get.is_some()
            && !route.in_background
            && route.memory.is_some_and(|channel| channel != route.packets);
        self.node_clock.filter(|_| has_ways && self.large == Large::Auto)
    }

    /// The way that counts until more is known. Packets that go in cells copy twice, but both sides
    /// copy at once, and what was written just now is read from a cache.
    pub(super) fn node_estimate(&self, route: &Route) -> NodeWay {
        if route.whole_bytes_max > 0 { NodeWay::Packets } else { NodeWay::Both }
    }
}

/// The way of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Read,
    Write,
    Packets,
}

/// Chooses the quicker possible way for a message of `bytes`. A write needs an answer before and a
/// report after it, where a read is over when the receiver has the bytes.
pub(crate) fn choose(route: &Route, readable: bool, writable: bool, bytes: u64) -> Way {
    let read_ns = route.get.filter(|_| readable).map(|cost| cost.ns(bytes));
    let write_ns =
        route.put.filter(|_| writable).map(|cost| cost.ns(bytes) + 2 * u64::from(route.latency_ns));
    match (read_ns, write_ns) {
        (None, None) => Way::Packets,
        (Some(read_ns), Some(write_ns)) if read_ns <= write_ns => Way::Read,
        (Some(_), None) => Way::Read,
        _ => Way::Write,
    }
}

impl Way {
    /// The direction of the transfer, if the message is not copied.
    pub(crate) fn direction(self) -> Option<Direction> {
        match self {
            Way::Read => Some(Direction::Read),
            Way::Write => Some(Direction::Write),
            Way::Packets => None,
        }
    }

    /// The way of a message that moves in this direction.
    pub(crate) fn of(direction: Direction) -> Way {
        match direction {
            Direction::Read => Way::Read,
            Direction::Write => Way::Write,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Rails;
    use verbena_channel::Cost;

    fn route(get: Option<Cost>, put: Option<Cost>) -> Route {
        Route {
            packets: 0,
            spare: false,
            packet_bytes_max: 1024,
            eager_bytes_max: 1024,
            eager_scattered_bytes_max: 1024,
            whole_bytes_max: 0,
            latency_ns: 10_000,
            memory: Some(0),
            rails: Rails::default(),
            get,
            put,
            in_background: true,
            memory_bytes_min: 4096,
        }
    }

    /// The cost measured on Soft-RoCE: 1 MiB takes 13.6 ms to read and 12.4 ms to write.
    const SLOW: Cost = Cost { start_ns: 40_000, byte_ps: 12_930 };
    const QUICK: Cost = Cost { start_ns: 20_000, byte_ps: 11_800 };

    #[test]
    fn the_quicker_direction_is_taken() {
        let by_write = route(Some(SLOW), Some(QUICK));
        assert_eq!(choose(&by_write, true, true, 1 << 20), Way::Write);
        let by_read = route(Some(QUICK), Some(SLOW));
        assert_eq!(choose(&by_read, true, true, 1 << 20), Way::Read);
    }

    #[test]
    fn the_handshake_of_a_write_counts() {
        // A KiB is quicker by 1.2 us, the handshake takes 20.
        let cost = |byte_ps| Some(Cost { start_ns: 0, byte_ps });
        let route = route(cost(2200), cost(1000));
        assert_eq!(choose(&route, true, true, 16 << 10), Way::Read);
        assert_eq!(choose(&route, true, true, 17 << 10), Way::Write);
    }

    #[test]
    fn bulk_transfer_can_be_left_out_or_begin_later() {
        let (bulk, copied) =
            (route(Some(QUICK), None), Route { in_background: false, ..route(Some(QUICK), None) });
        let settings = Settings { bulk_bytes_min: Some(150 << 10), ..Settings::default() };
        assert_eq!(settings.memory_bytes_min(&bulk), 150 << 10);
        assert_eq!(settings.memory_bytes_min(&copied), 4096);
        let off = Settings { bulk: false, ..settings };
        assert_eq!((off.memory_bytes_min(&bulk), off.memory_bytes_min(&copied)), (usize::MAX, 4096));
        let forced = Settings { large: Large::Read, ..settings };
        assert_eq!(forced.memory_bytes_min(&bulk), 1);
    }

    #[test]
    fn what_is_impossible_is_not_chosen() {
        let both = route(Some(QUICK), Some(SLOW));
        assert_eq!(choose(&both, false, true, 1 << 20), Way::Write);
        assert_eq!(choose(&both, true, false, 1 << 20), Way::Read);
        assert_eq!(choose(&both, false, false, 1 << 20), Way::Packets);
        assert_eq!(choose(&route(None, None), true, true, 1 << 20), Way::Packets);
    }

    #[test]
    fn only_what_the_kernel_copies_in_the_foreground_has_several_ways() {
        let clock = || 0;
        let settings = Settings { node_clock: Some(clock), ..Settings::default() };
        assert!(settings.learns(&on_node(Some(1), false)).is_some());
        assert!(settings.learns(&on_node(Some(0), false)).is_none(), "packets and memory by one channel");
        assert!(settings.learns(&on_node(Some(1), true)).is_none(), "a device moves them");
        assert!(Settings { large: Large::Read, ..settings }.learns(&on_node(Some(1), false)).is_none());
        assert!(Settings::default().learns(&on_node(Some(1), false)).is_none());
    }

    fn on_node(memory: Option<usize>, in_background: bool) -> Route {
        Route { memory, in_background, ..route(Some(QUICK), None) }
    }
}
