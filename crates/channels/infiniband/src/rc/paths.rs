//! The path of a stream of small messages, learnt from what they took: rings, or send and receive
//! (paper 1, 3.1 and 4).
//!
//! A lone packet goes by the ring, where the receiver finds it without a completion. But when
//! packets wait for room, the number that the devices and both processes get through a second
//! counts, and that differs: paper 1's adapter wrote quicker than it sent, while Soft-RoCE gets a
//! quarter more packets through by send and receive (measured with `verbena-papers rc`).
//!
//! So packets are counted in series. A series in which the channel had no room for some packet, or
//! heard little while it sent much, was a stream; its packets' mean time is the cost of its path.
//! At first the paths take turns, then streams take the cheaper one, and now and then the other, so
//! that a change is noticed. Any other series goes by the ring.

use verbena_channel::learner::{REMEMBERED, Recent};

/// After this many series of a stream one takes the path that costs more.
const REVIEW_EVERY: u32 = 32;

/// A process that sends this many packets for each that comes does not wait for an answer to each.
const STREAM_RATIO: u32 = 4;

/// The two ways of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// RDMA write into the ring, and send and receive where that is full.
    Ring,
    /// Send and receive.
    Buffer,
}

/// The knowledge of both paths.
#[derive(Debug)]
pub(super) struct Paths {
    /// The number of packets in a series.
    series: u32,
    /// The path of the series that goes on.
    path: Path,
    /// The packets that it still has.
    left: u32,
    /// The time when it began; `None` before the first.
    began_ns: Option<u64>,
    /// The packets that the channel had heard by then.
    heard: u32,
    /// True if some packet of it had to wait.
    is_stream: bool,
    /// The number of series of streams so far.
    streams: u32,
    costs: [Recent; 2],
}

impl Paths {
    /// Makes one that knows nothing; a series has `series` packets, one at least.
    pub(super) fn new(series: u32) -> Paths {
        Paths {
            series,
            path: Path::Ring,
            left: 0,
            began_ns: None,
            heard: 0,
            is_stream: false,
            streams: 0,
            costs: Default::default(),
        }
    }

    /// Returns the path of the next packet, if it has both. The channel has heard `heard` packets,
    /// a number that may begin anew.
    #[inline]
    pub(super) fn next(&mut self, heard: u32, now_ns: impl FnOnce() -> u64) -> Path {
        if self.left == 0 {
            self.begin(heard, now_ns());
        }
        self.left -= 1;
        self.path
    }

    /// Notes that a packet found no room.
    #[inline]
    pub(super) fn full(&mut self) {
        self.is_stream = true;
    }

    #[cold]
    fn begin(&mut self, heard: u32, now_ns: u64) {
        let began_ns = self.began_ns.replace(now_ns);
        self.left = self.series;
        let answers = heard.wrapping_sub(std::mem::replace(&mut self.heard, heard));
        let was_stream = std::mem::take(&mut self.is_stream) || answers <= self.series / STREAM_RATIO;
        self.path = match began_ns.filter(|_| was_stream) {
            Some(began_ns) => {
                self.costs[self.path as usize].add(now_ns.saturating_sub(began_ns) / u64::from(self.series));
                self.streams = self.streams.wrapping_add(1);
                self.of_stream()
            }
            None => Path::Ring,
        };
    }

    /// Returns the path of the next series of a stream.
    fn of_stream(&self) -> Path {
        let goes_by_ring = match self.costs.map(|cost| cost.middle()) {
            [None, _] => true,
            [_, None] => false,
            _ if self.streams < 2 * REMEMBERED as u32 => self.streams.is_multiple_of(2),
            [ring, buffer] => (ring <= buffer) != self.streams.is_multiple_of(REVIEW_EVERY),
        };
        if goes_by_ring { Path::Ring } else { Path::Buffer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: u32 = 64;

    /// Sends this many packets, each of which takes the given time of its path; returns how many
    /// went by the ring.
    fn send(
        paths: &mut Paths,
        now_ns: &mut u64,
        packets: u32,
        is_stream: bool,
        took: impl Fn(Path) -> u64,
    ) -> u32 {
        let by_ring = |_: &u32| {
            // Packets outside a stream are answered one by one; the time goes on with each, so that
            // it counts them.
            let heard = if is_stream { 0 } else { *now_ns as u32 };
            let path = paths.next(heard, || *now_ns);
            *now_ns += took(path);
            path == Path::Ring
        };
        (0..packets).filter(by_ring).count() as u32
    }

    #[test]
    fn a_stream_takes_the_cheaper_path() {
        for (ring, buffer) in [(100, 80), (80, 100)] {
            let (mut paths, mut now_ns) = (Paths::new(SERIES), 0);
            let took = |path| if path == Path::Ring { ring } else { buffer };
            send(&mut paths, &mut now_ns, 10 * SERIES, true, took);
            let by_ring = send(&mut paths, &mut now_ns, 6400, true, took);
            if ring < buffer {
                assert!(by_ring >= 6100, "{by_ring}");
            } else {
                assert!(by_ring <= 300, "{by_ring}");
            }
        }
    }

    #[test]
    fn what_is_no_stream_goes_by_the_ring() {
        let (mut paths, mut now_ns) = (Paths::new(SERIES), 0);
        let took = |path| if path == Path::Ring { 100 } else { 80 };
        assert_eq!(send(&mut paths, &mut now_ns, 6400, false, took), 6400);
        send(&mut paths, &mut now_ns, 6400, true, took);
        // The series that goes on ends, and one more is still thought to be a stream.
        send(&mut paths, &mut now_ns, 2 * SERIES, false, took);
        assert_eq!(send(&mut paths, &mut now_ns, 6400, false, took), 6400);
    }

    #[test]
    fn a_packet_that_waited_makes_a_stream_though_answers_come() {
        let mut paths = Paths::new(SERIES);
        let by_ring = (0..6400).filter(|&at: &u32| {
            paths.full();
            paths.next(at, || 0) == Path::Ring
        });
        assert!(by_ring.count() < 6400);
    }

    #[test]
    fn a_change_is_noticed() {
        let (mut paths, mut now_ns) = (Paths::new(SERIES), 0);
        send(&mut paths, &mut now_ns, 64_000, true, |path| if path == Path::Ring { 80 } else { 100 });
        let later = |path| if path == Path::Ring { 150 } else { 100 };
        send(&mut paths, &mut now_ns, 64_000, true, later);
        assert!(send(&mut paths, &mut now_ns, 6400, true, later) <= 300);
    }
}
