//! A check of peers that are silent while this process waits: are they still there?
//!
//! A process with nothing under way hears nothing from its device, whatever becomes of the other
//! side. So while it waits inside MPI, a connected peer that was silent for an interval gets an
//! RDMA write of no bytes, signalled. The peer's device answers it without its process (InfiniBand
//! specification, 9.4.3; C9-88: no key is checked where there are no bytes), so a process that
//! computes for long is not taken for a dead one. If nobody answers, the device's retries end in a
//! failed completion, which breaks the connection and names the peer; a device that ends nothing
//! any more is given up after a limit of its own.
//!
//! Nothing here is done while packets come: only polls that find nothing count, and one in several
//! reads the clock; more of them do if they are far apart.

use super::RcChannel;
use super::adapter::{Adapter, Operation, Remote, Work};
use super::failure;
use super::id::Id;
use super::peers::Connection;
use super::pulse::Care;
use super::settings::Settings;
use crate::device::{Post, Refused};
use verbena_channel::Peer;
use verbena_memory::Region;

/// The longest wanted time between two readings of the clock, in nanoseconds.
const LOOK_NS: u64 = 20_000_000;
/// The most looks between two readings. A process that spins may begin to sleep between polls at
/// any time, and must then not take long to learn it.
const LOOKS_MAX: u32 = 16;
/// The time between two questions about the device's trouble: each is a system call.
const TROUBLE_NS: u64 = 200_000_000;
/// The number of tours of the peers in an interval.
const TOURS: u64 = 4;

/// The time of the next look at the clock, and what is due then.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Looks left until the clock is read, and how many there are between two readings.
    left: u32,
    looks: u32,
    read_ns: u64,
    trouble_ns: u64,
    tour_ns: u64,
}

impl Pace {
    /// Begins when nothing is known of how often polls come.
    pub(crate) fn new() -> Pace {
        Pace { left: 1, looks: 1, read_ns: 0, trouble_ns: 0, tour_ns: 0 }
    }

    /// Counts a look; several idle polls make one look. Returns whether to read the clock now.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// Takes in a reading of the clock: learns how many looks go by in the wanted time, since they
    /// may be microseconds apart (a process that spins) or much longer (one that sleeps).
    pub(crate) fn read(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.read_ns);
        self.looks = match passed_ns {
            ..LOOK_NS => (self.looks * 2).min(LOOKS_MAX),
            _ => (u64::from(self.looks) * LOOK_NS / passed_ns).max(1) as u32,
        };
        (self.left, self.read_ns) = (self.looks, now_ns);
    }

    /// Returns whether the device is to be asked for its trouble now, and counts on it that it is.
    pub(crate) fn is_trouble_due(&mut self, now_ns: u64) -> bool {
        let is_due = now_ns >= self.trouble_ns;
        self.trouble_ns = if is_due { now_ns + TROUBLE_NS } else { self.trouble_ns };
        is_due
    }

    /// Returns whether the peers are to be looked after now, and counts on it that they are.
    pub(crate) fn is_tour_due(&mut self, now_ns: u64, interval_ns: u64) -> bool {
        let is_due = now_ns >= self.tour_ns;
        self.tour_ns = if is_due { now_ns + interval_ns / TOURS } else { self.tour_ns };
        is_due
    }
}

impl<A: Adapter> RcChannel<A> {
    /// Does what is due by time, at an idle poll whose turn it is to read the clock.
    #[cold]
    pub(super) fn look_at_clock(&mut self) {
        let now_ns = self.adapter.now_ns();
        self.pace.read(now_ns);
        if self.pace.is_trouble_due(now_ns) {
            self.look_for_trouble();
        }
        let interval_ns = self.settings.keepalive_ns;
        if interval_ns > 0 && self.pace.is_tour_due(now_ns, interval_ns) {
            self.tour(now_ns);
        }
    }

    /// Looks after every connected peer.
    fn tour(&mut self, now_ns: u64) {
        let interval_ns = self.settings.keepalive_ns;
        let (alone_ns_max, behind_ns_max) = (self.settings.keepalive_ns_max, self.behind_ns_max());
        let mut cares: Vec<(Peer, Care)> = Vec::new();
        self.peers.for_each_up(|peer, connection| {
            let limit_ns = if connection.pulse.alone { alone_ns_max } else { behind_ns_max };
            let care = connection.pulse.look(connection.signs(), now_ns, interval_ns, limit_ns);
            if care != Care::Rest {
                cares.push((peer, care));
            }
        });
        for (peer, care) in cares {
            match care {
                Care::GiveUp(silent_ns) => {
                    let fault = failure::silent(&self.ends(peer), silent_ns, self.port_trouble.as_ref());
                    self.break_connection(peer, fault);
                }
                _ => self.ask_for_life(peer),
            }
        }
    }

    /// Returns how long a question behind other work may stay unanswered. Where peers may lack
    /// receive buffers (`shared_pool.rs`), that work waits for their processes and not only for
    /// their devices, as a first hello does.
    fn behind_ns_max(&self) -> u64 {
        let Settings { shared_receives, pool_receives, credits, .. } = self.settings;
        let (speakers, buffers) = match shared_receives {
            true => (self.peers.len() as u64, pool_receives.min(self.limits.receives_max)),
            false => (1, self.limits.receives_max),
        };
        match u64::from(credits) * speakers > u64::from(buffers) {
            true => self.settings.keepalive_ns_max.max(self.settings.connect_ns_max),
            false => self.settings.keepalive_ns_max,
        }
    }

    /// Writes no bytes to the peer, if the queue has room.
    pub(super) fn ask_for_life(&mut self, peer: Peer) {
        let Some(connection) = self.peers.get(peer) else { return };
        let Some(pair) = connection.pair.filter(|_| connection.pulse.may_post(&connection.queue)) else {
            return;
        };
        let operation = Operation::Write(Remote { address: 0, key: 0 });
        let work = Work { id: Id::Ring(peer).word(), operation, local: Region::EMPTY, local_key: 0 };
        let mut descriptor = self.adapter.describe(&work);
        match self.adapter.post(pair, &mut descriptor, 0, Post { signalled: true, inline: false }) {
            Ok(()) => {
                if !connection.pulse.asked {
                    connection.pulse.alone = connection.queue.is_idle();
                }
                connection.queue.posted(true);
                connection.pulse.asked = true;
            }
            Err(Refused::Full) => {}
            Err(Refused::Broken(fault)) => {
                let fault = failure::refused(&self.ends(peer), fault);
                self.break_connection(peer, fault);
            }
        }
    }
}

impl<D> Connection<D> {
    /// Returns counts that change when the peer, or its device, says anything.
    fn signs(&self) -> (u32, u32) {
        (self.sequence.expected, self.queue.done())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts readings of the clock in the last of four seconds, with looks this far apart, after a
    /// time with many.
    fn readings(look_ns: u64) -> usize {
        let mut pace = Pace::new();
        for _ in 0..1000 {
            if pace.is_due() {
                pace.read(0);
            }
        }
        let mut count = 0;
        for now_ns in (0..4_000_000_000_u64).step_by(look_ns as usize) {
            if pace.is_due() {
                pace.read(now_ns);
                count += usize::from(now_ns >= 3_000_000_000);
            }
        }
        count
    }

    #[test]
    fn the_clock_is_read_seldom_by_who_spins_and_always_by_who_sleeps() {
        for (look_ns, least, most) in [(1000, 60_000, 65_000), (3_000_000, 25, 110), (100_000_000, 9, 11)] {
            let count = readings(look_ns);
            assert!((least..=most).contains(&count), "{count} with {look_ns} ns between looks");
        }
    }
}
