//! The common state of all devices: virtual time, the coming events, and the ranks that have
//! something to look at.

use super::costs::Costs;
use super::counts::Counts;
use super::device::Device;
use super::faults::DeviceFaults;
use crate::Rank;
use crate::random::{Random, mix};
use crate::world::fault;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};
use verbena_channel::Access;
use verbena_infiniband::device::{Failed, Trouble};
use verbena_memory::Region;

/// Names posted work: whose it is, on which queue pair, and its number there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub rank: Rank,
    pub pair: u32,
    pub serial: u64,
}

/// Something that will happen.
#[derive(Debug)]
pub(super) enum Event {
    /// Work comes a step on.
    Move(Posted),
    /// Work is acknowledged, or given up.
    End(Posted, Result<(), Failed>),
    /// A datagram arrives.
    Datagram { to: Rank, bytes: Vec<u8> },
    /// A sending queue pair of the channel `ud` sends its next datagram.
    Post { rank: Rank, queue: usize },
    /// A datagram of the channel `ud` arrives.
    Letter { to: Rank, bytes: Vec<u8> },
    /// The rank's port is up again.
    PortUp(Rank),
    /// A device fails.
    Cut(Rank, Cut),
}

/// A permanent failure of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nothing gets in or out.
    Down,
    /// Nothing gets out: what arrives is taken, and its acknowledgement is lost.
    Mute,
    /// Nothing gets in.
    Deaf,
    /// The device is unusable, and says so to its user.
    Broken,
}

/// The state.
pub(super) struct Inner {
    pub now_ns: u64,
    pub random: Random,
    pub costs: Costs,
    pub faults: DeviceFaults,
    pub devices: Vec<Device>,
    /// A hash of all that happened.
    pub trace: u64,
    /// Rules that the devices' users broke.
    pub violations: Vec<String>,
    pub counts: Counts,
    /// Queue pair numbers given.
    numbers: u32,
    /// Keys and handles of memory given.
    keys: u32,
    /// The coming events, by time, then by age.
    events: BTreeMap<(u64, u64), Event>,
    scheduled: u64,
    /// Ranks for which something came, and when.
    woken: Vec<(Rank, u64)>,
}

impl Inner {
    /// Lets it happen at that time.
    pub(super) fn schedule(&mut self, at_ns: u64, event: Event) {
        self.scheduled += 1;
        self.events.insert((at_ns.max(self.now_ns), self.scheduled), event);
    }

    /// The rank has something to look at.
    pub(super) fn wake(&mut self, rank: Rank) {
        self.woken.push((rank, self.now_ns));
    }

    /// Adds words to the trace.
    pub(super) fn note(&mut self, words: &[u64]) {
        self.trace = words.iter().fold(self.trace, |trace, word| mix(trace ^ *word).wrapping_add(1));
    }

    /// A number of a queue pair that was not given before.
    pub(super) fn number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    /// Returns a key of registered memory that was not given before. Keys have a count of their
    /// own: how many there are depends on which buffers share a page, and so on addresses, which no
    /// seed decides.
    pub(super) fn key(&mut self) -> u32 {
        self.keys += 1;
        self.keys
    }

    /// A rank's device.
    pub(super) fn device(&mut self, rank: Rank) -> &mut Device {
        &mut self.devices[rank as usize]
    }

    /// The time at a rank, which its CPU's work takes ahead of the subnet's.
    pub(super) fn time_ns(&self, rank: Rank) -> u64 {
        self.now_ns.max(self.devices[rank as usize].clock_ns)
    }

    /// Charges the rank's CPU with work of this time.
    pub(super) fn charge(&mut self, rank: Rank, ns: u64) {
        let then_ns = self.time_ns(rank) + ns;
        self.device(rank).clock_ns = then_ns;
    }

    /// Time of the rank's CPU to copy this many bytes now. The device moves bytes of the same host
    /// over the same memory bus: while it does, the copy goes on at a part of its speed.
    fn copy_ns(&mut self, rank: Rank, bytes: usize) -> u64 {
        let (alone_ns, from_ns) = (self.costs.copy_ns(bytes), self.time_ns(rank));
        let percent = self.costs.copy_beside_device_percent;
        let longest_ns = alone_ns * 100 / percent;
        let busy_ns = self.device(rank).busy_within(from_ns, from_ns + longest_ns);
        (alone_ns + busy_ns * (100 - percent) / 100).min(longest_ns)
    }

    fn set_port(&mut self, rank: Rank, up: bool) {
        let device = self.device(rank);
        device.port_down = !up;
        if !up {
            device.troubles.push_back(Trouble::Port(fault("the simulated port is down", rank)));
        }
        self.counts.ports_down += u64::from(!up);
        self.wake(rank);
    }

    /// Takes a port down now and then for a while, though not for longer than the retries last.
    pub(super) fn blink(&mut self, rank: Rank) {
        let one_in = self.faults.port_down_one_in;
        if one_in > 0
            && self.random.below(one_in) == 0
            && !self.device(rank).port_down
            && !self.device(rank).safe
        {
            self.set_port(rank, false);
            self.device(rank).blinks += 1;
            let up_ns = self.now_ns + self.random.between(1, self.faults.retry_ns / 4);
            self.schedule(up_ns, Event::PortUp(rank));
        }
    }

    fn cut(&mut self, rank: Rank, how: Cut) {
        self.counts.cut += 1;
        let device = self.device(rank);
        match how {
            Cut::Down => self.set_port(rank, false),
            Cut::Mute => device.mute = true,
            Cut::Deaf => device.deaf = true,
            Cut::Broken => self.break_device(rank),
        }
    }

    fn break_device(&mut self, rank: Rank) {
        let device = self.device(rank);
        device.broken = true;
        device.completions.clear();
        device.post.forget();
        device.troubles.push_back(Trouble::Device(fault("the simulated device is gone", rank)));
        self.wake(rank);
    }

    fn run_until(&mut self, until_ns: u64) {
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= until_ns) {
            let ((at_ns, _), event) = entry.remove_entry();
            self.now_ns = self.now_ns.max(at_ns);
            self.happen(event);
        }
        self.now_ns = self.now_ns.max(until_ns);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Move(posted) => self.move_on(posted),
            Event::End(posted, outcome) => self.end(posted, outcome),
            Event::Datagram { to, bytes } => self.deliver_datagram(to, bytes),
            Event::Post { rank, queue } => self.send_posted(rank, queue),
            Event::Letter { to, bytes } => self.deliver_letter(to, bytes),
            Event::PortUp(rank) => self.set_port(rank, true),
            Event::Cut(rank, how) => self.cut(rank, how),
        }
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The state, as long as somebody works on it.
pub(super) struct Inside<'a>(MutexGuard<'a, Inner>);

impl Deref for Inside<'_> {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl DerefMut for Inside<'_> {
    fn deref_mut(&mut self) -> &mut Inner {
        &mut self.0
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

/// The devices of all ranks and what is on its way between them. A handle: clones name the same
/// subnet.
#[derive(Clone)]
pub struct Subnet {
    inner: Arc<Mutex<Inner>>,
    ranks: Rank,
    /// Devices of each rank. Those of a rank have the numbers rank, rank + ranks, and so on.
    rails: Rank,
}

impl Subnet {
    /// A subnet of `ranks`, one device each, whose every event follows from `seed`.
    pub fn new(seed: u64, ranks: Rank, costs: Costs, faults: DeviceFaults) -> Subnet {
        Subnet::of_rails(seed, ranks, 1, costs, faults)
    }

    /// A subnet of `ranks` with `rails` devices each; each has its own way to the same device of
    /// the other ranks.
    pub fn of_rails(seed: u64, ranks: Rank, rails: Rank, costs: Costs, faults: DeviceFaults) -> Subnet {
        let inner = Inner {
            now_ns: 0,
            random: Random::new(seed),
            costs,
            faults,
            devices: (0..ranks * rails).map(|_| Device::default()).collect(),
            trace: 0,
            violations: Vec::new(),
            counts: Counts::default(),
            numbers: 0,
            keys: 0,
            events: BTreeMap::new(),
            scheduled: 0,
            woken: Vec::new(),
        };
        Subnet { inner: Arc::new(Mutex::new(inner)), ranks, rails }
    }

    /// Returns all devices of a rank.
    fn devices_of(&self, rank: Rank) -> impl Iterator<Item = Rank> + use<> {
        let ranks = self.ranks;
        (0..self.rails).map(move |rail| rank + rail * ranks)
    }

    /// Returns the number of one of a rank's devices.
    pub(super) fn device_of(&self, rank: Rank, rail: Rank) -> Rank {
        rank + rail * self.ranks
    }

    /// Lets one of a rank's devices fail at that time, for ever.
    pub fn cut(&self, rank: Rank, rail: Rank, at_ns: u64, how: Cut) {
        self.lock().schedule(at_ns, Event::Cut(self.device_of(rank, rail), how));
    }

    /// Spares the devices of this rail: nothing that happens by chance makes them fail.
    pub fn spare(&self, rail: Rank) {
        let mut inner = self.lock();
        (0..self.ranks).for_each(|rank| inner.device(self.device_of(rank, rail)).safe = true);
    }

    /// Makes the devices of a rail move bytes `times` times slower than the costs say.
    pub fn slow_down(&self, rail: Rank, times: u64) {
        let mut inner = self.lock();
        (0..self.ranks).for_each(|rank| inner.device(self.device_of(rank, rail)).slower = times);
    }

    pub(super) fn lock(&self) -> Inside<'_> {
        INSIDE.set(true);
        Inside(self.inner.lock().expect("no thread panicked with the subnet"))
    }

    /// Returns whether this thread is at work inside the devices now, so that the memory it
    /// allocates is the simulator's and not its user's.
    pub fn is_inside() -> bool {
        INSIDE.get()
    }

    /// Virtual time in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.lock().now_ns
    }

    /// The time at a rank: that of the subnet, or later by the work that its CPU has done.
    pub fn time_ns(&self, rank: Rank) -> u64 {
        let inner = self.lock();
        self.devices_of(rank).map(|device| inner.time_ns(device)).max().unwrap_or(0)
    }

    /// The time at one of a rank's devices.
    pub(super) fn time_at_ns(&self, device: Rank) -> u64 {
        self.lock().time_ns(device)
    }

    /// Returns when the next thing happens, if anything will.
    pub fn next_ns(&self) -> Option<u64> {
        self.lock().events.first_key_value().map(|((at_ns, _), _)| *at_ns)
    }

    /// Lets everything happen that is due until then.
    pub fn run_until(&self, until_ns: u64) {
        self.lock().run_until(until_ns);
    }

    /// The ranks for which something came since somebody asked, and when.
    pub fn take_woken(&self) -> Vec<(Rank, u64)> {
        let woken = std::mem::take(&mut self.lock().woken);
        woken.into_iter().map(|(device, at_ns)| (device % self.ranks, at_ns)).collect()
    }

    /// Returns whether the rank's device holds anything that the rank has not seen: a rank that
    /// waits goes on to look.
    pub fn has_unseen(&self, rank: Rank) -> bool {
        let mut inner = self.lock();
        self.devices_of(rank).any(|device| inner.device(device).has_unseen())
    }

    /// Returns whether the rank's device made the event that the rank asked for; takes it.
    pub fn take_event(&self, rank: Rank) -> bool {
        let mut inner = self.lock();
        // Of all devices, also after the first that has one.
        self.devices_of(rank).filter(|&device| std::mem::take(&mut inner.device(device).event)).count() > 0
    }

    /// Returns whether nothing is on its way and no device holds anything that its rank has not
    /// seen.
    pub fn is_silent(&self) -> bool {
        let inner = self.lock();
        inner.events.is_empty() && !inner.devices.iter().any(Device::has_untold)
    }

    /// Charges the rank's CPU with work of this time.
    pub fn charge(&self, rank: Rank, ns: u64) {
        self.lock().charge(rank, ns);
    }

    /// The rank's CPU handles a packet and copies its bytes.
    pub fn charge_packet(&self, rank: Rank, bytes: usize) {
        let mut inner = self.lock();
        let packet_ns = inner.costs.packet_ns;
        inner.charge(rank, packet_ns);
        let copy_ns = inner.copy_ns(rank, bytes);
        inner.charge(rank, copy_ns);
    }

    /// The rank's CPU copies bytes.
    pub(super) fn charge_copy(&self, rank: Rank, bytes: usize) {
        let mut inner = self.lock();
        let copy_ns = inner.copy_ns(rank, bytes);
        inner.charge(rank, copy_ns);
    }

    /// Returns the time that the work of the rank's CPU has reached, to be taken back with
    /// [`Subnet::set_clock_ns`].
    pub fn clock_ns(&self, rank: Rank) -> u64 {
        self.lock().device(rank).clock_ns
    }

    /// Sets what [`Subnet::clock_ns`] gave: the work since then was not done.
    pub fn set_clock_ns(&self, rank: Rank, ns: u64) {
        self.lock().device(rank).clock_ns = ns;
    }

    /// Kills the rank: its device neither sends nor answers any more.
    pub fn kill(&self, rank: Rank) {
        let mut inner = self.lock();
        self.devices_of(rank).for_each(|device| inner.device(device).dead = true);
    }

    /// The rank's devices become unusable, and their user is told.
    pub fn break_device(&self, rank: Rank) {
        let mut inner = self.lock();
        self.devices_of(rank).for_each(|device| inner.break_device(device));
    }

    /// Makes the rank's device take work and never end it, as one that was removed while its driver
    /// waits for its users.
    pub fn hang_device(&self, rank: Rank) {
        let mut inner = self.lock();
        for device in self.devices_of(rank) {
            let device = inner.device(device);
            device.hung = true;
            device.completions.clear();
            device.datagrams.clear();
        }
    }

    /// Takes the rank's port down or up. While it is down nothing gets through; work that waits too
    /// long fails.
    pub fn set_port(&self, rank: Rank, up: bool) {
        self.lock().set_port(rank, up);
    }

    /// A hash of everything that happened: equal for two runs that were the same.
    pub fn trace(&self) -> u64 {
        self.lock().trace
    }

    /// Returns the rules that the devices' users broke, such as naming memory that is not
    /// registered.
    pub fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    /// Returns what the devices did so far.
    pub fn counts(&self) -> Counts {
        let inner = self.lock();
        let few_receives = inner.devices.iter().map(|device| device.few_receives).sum();
        Counts { few_receives, ..inner.counts }
    }

    /// Bytes that the rank has registered, now and at most.
    pub fn registered_bytes(&self, rank: Rank) -> (u64, u64) {
        let inner = self.lock();
        let sum = |bytes: fn(&Device) -> u64| {
            self.devices_of(rank).map(|at| bytes(&inner.devices[at as usize])).sum()
        };
        (sum(|device| device.registered_bytes), sum(|device| device.registered_bytes_high))
    }

    /// The rights under which the rank's first device has registered memory that holds this region.
    pub fn rights(&self, rank: Rank, region: Region) -> Vec<Access> {
        let inner = self.lock();
        let all = inner.devices[rank as usize].by_remote_key.values();
        let holds = |whole: &Region| {
            let (from, to) = (whole.address(), whole.address() + whole.len() as u64);
            (from..=to).contains(&region.address()) && region.address() + region.len() as u64 <= to
        };
        all.filter(|(whole, _)| holds(whole)).map(|(_, access)| *access).collect()
    }

    /// The most queue pairs that the rank's first device had at a time.
    pub fn pairs_most(&self, rank: Rank) -> usize {
        self.lock().devices[rank as usize].pairs_most
    }

    /// The queue pairs that the rank has.
    pub fn pairs(&self, rank: Rank) -> usize {
        self.lock().devices[rank as usize].pairs.len()
    }
}
