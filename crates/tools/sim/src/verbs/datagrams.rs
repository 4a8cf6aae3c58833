//! A rank's simulated device as the channel `ud` sees it: datagrams that are lost, doubled, garbled
//! and late by seed, and sending queue pairs that hang for a while.
//!
//! Bytes that are not inline are read from the sender's memory when the device sends them, so a
//! buffer that is touched before shows as wrong bytes at the receiver.

use super::post_office::{Outbound, PostOffice, Sender};
use super::subnet::{Event, Inner, Subnet};
use crate::Rank;
use crate::world::fault;
use verbena_fault::Fault;
use verbena_infiniband::device::{Address, Post, Refused, Trouble};
use verbena_infiniband::ud::adapter::{
    Aim, BATCH_MAX, Datagram, Datagrams, Ended, GLOBAL_BYTES, Limits, Memory,
};
use verbena_memory::Owned;

/// The device of a rank. Dropping it takes the rank off the subnet: its memory is about to go.
pub struct SimDatagrams {
    rank: Rank,
    subnet: Subnet,
    limits: Limits,
    owners: Vec<Owned>,
}

impl SimDatagrams {
    fn new(rank: Rank, subnet: Subnet, limits: Limits) -> SimDatagrams {
        let mut inner = subnet.lock();
        let senders = std::iter::repeat_with(Sender::default).take(limits.senders);
        inner.device(rank).post.senders = senders.collect();
        drop(inner);
        SimDatagrams { rank, subnet, limits, owners: Vec::new() }
    }
}

impl Subnet {
    /// The device of a rank for the channel `ud`, in place of [`Subnet::adapter`].
    pub fn datagrams(&self, rank: Rank, limits: Limits) -> SimDatagrams {
        SimDatagrams::new(rank, self.clone(), limits)
    }

    /// Returns one of a rank's devices for the channel `ud`, in place of [`Subnet::rail`].
    pub fn rail_datagrams(&self, rank: Rank, rail: Rank, limits: Limits) -> SimDatagrams {
        SimDatagrams::new(self.device_of(rank, rail), self.clone(), limits)
    }
}

impl Drop for SimDatagrams {
    fn drop(&mut self) {
        let mut inner = self.subnet.lock();
        let device = inner.device(self.rank);
        device.dead = true;
        device.post = PostOffice::default();
        device.by_local_key.clear();
    }
}

fn rank_of(address: &Address) -> Rank {
    u32::from_le_bytes(address.0[..4].try_into().expect("four bytes"))
}

impl Datagrams for SimDatagrams {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn now_ns(&self) -> u64 {
        self.subnet.time_at_ns(self.rank)
    }

    fn look_ns(&self) -> Option<u32> {
        Some(self.subnet.lock().costs.poll_ns as u32)
    }

    fn address(&self) -> Address {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&self.rank.to_le_bytes());
        Address(bytes)
    }

    fn place(&self) -> String {
        format!("simulated device of rank {}", self.rank)
    }

    fn describe(&self, address: &Address) -> String {
        format!("datagrams of rank {}", rank_of(address))
    }

    fn allocate(&mut self, bytes: usize) -> Result<Memory, Fault> {
        let owner = Owned::zeroed(bytes);
        let region = owner.lend();
        self.owners.push(owner);
        let mut inner = self.subnet.lock();
        let key = inner.key();
        let device = inner.device(self.rank);
        device.registered_bytes += bytes as u64;
        device.registered_bytes_high = device.registered_bytes_high.max(device.registered_bytes);
        device.by_local_key.insert(key, region);
        Ok(Memory { region, key })
    }

    fn post_receive(&mut self, id: u32, into: Memory) -> Result<(), Refused> {
        let mut inner = self.subnet.lock();
        let cost_ns = inner.costs.post_receive_ns;
        inner.charge(self.rank, cost_ns);
        let device = inner.device(self.rank);
        if !device.may_use(into.key, into.region) {
            inner
                .violations
                .push(format!("rank {} posts a receive buffer that is not registered", self.rank));
            return Ok(());
        }
        device.post.receives.push_back((id, into));
        Ok(())
    }

    fn knows_way(&mut self, _to: &Address, aim: &mut Aim) -> Result<bool, Refused> {
        let known = aim.generation == self.subnet.lock().faults.way_looks;
        aim.generation += u32::from(!known);
        Ok(known)
    }

    fn post(
        &mut self,
        queue: usize,
        to: &Address,
        aim: &mut Aim,
        run: &[Datagram],
    ) -> Result<(), (usize, Refused)> {
        self.finds_way(to, aim).map_err(|refused| (0, refused))?;
        let mut inner = self.subnet.lock();
        if !(1..=BATCH_MAX).contains(&run.len()) {
            inner.violations.push(format!("rank {} posts a run of {} datagrams", self.rank, run.len()));
        }
        let most = inner.takes_of(run.len());
        for (taken, Datagram { from, how }) in run.iter().enumerate() {
            if taken == most {
                return Err((taken, Refused::Full));
            }
            inner
                .post_datagram(self.rank, queue, rank_of(to), *from, *how, &self.limits)
                .map_err(|refused| (taken, refused))?;
        }
        Ok(())
    }

    fn poll(&mut self) -> Option<Ended> {
        let mut inner = self.subnet.lock();
        let costs = inner.costs;
        let next = inner.device(self.rank).post.ended.pop_front();
        inner.charge(self.rank, if next.is_some() { costs.completion_ns } else { costs.poll_ns });
        let (ended, done) = next?;
        if let Ended::Sent(queue) = ended {
            inner.device(self.rank).post.senders[queue].done = done;
        }
        Some(ended)
    }

    fn arm(&mut self) -> bool {
        self.subnet.lock().device(self.rank).arm();
        true
    }

    fn trouble(&mut self) -> Option<Trouble> {
        self.subnet.lock().device(self.rank).troubles.pop_front()
    }
}

impl Inner {
    /// Returns how many datagrams of a run are taken.
    fn takes_of(&mut self, count: usize) -> usize {
        match self.faults.runs_cut_one_in {
            many if many > 0 && count > 1 && self.random.below(many) == 0 => {
                self.counts.full += 1;
                self.random.below(count as u64) as usize
            }
            _ => count,
        }
    }

    fn post_datagram(
        &mut self,
        rank: Rank,
        queue: usize,
        to: Rank,
        from: Memory,
        how: Post,
        limits: &Limits,
    ) -> Result<(), Refused> {
        if !self.device(rank).is_up() {
            return Err(Refused::Broken(fault("the simulated device is gone", rank)));
        }
        let bytes = from.region.len();
        if bytes > limits.datagram_bytes_max || (how.inline && bytes > limits.inline_bytes_max) {
            self.violations.push(format!("rank {rank} posts a datagram of {bytes} bytes, {how:?}"));
        }
        let sender = &self.device(rank).post.senders[queue];
        if sender.posted - sender.done >= u64::from(limits.work_max) {
            self.counts.full += 1;
            return Err(Refused::Full);
        }
        self.charge(rank, self.costs.post_ns);
        let hangs_ns = match self.faults.sender_hangs_one_in {
            0 => 0,
            many if self.random.below(many) > 0 => 0,
            _ => self.random.between(1, self.faults.sender_hangs_ns_max),
        };
        self.counts.hung += u64::from(hangs_ns > 0);
        let issue_ns = self.start_datagram(rank, queue, bytes);
        let at_ns = issue_ns + self.random.between(1, self.faults.delay_ns_max + 1) + hangs_ns;
        let inline = how.inline.then(|| from.region.to_vec());
        self.counts.inline += u64::from(how.inline);
        self.counts.signalled += u64::from(how.signalled);
        let sender = &mut self.device(rank).post.senders[queue];
        sender.posted += 1;
        sender.last_ns = at_ns.max(sender.last_ns + 1);
        let at_ns = sender.last_ns;
        sender.outbound.push_back(Outbound { to, from, inline, signalled: how.signalled });
        self.schedule(at_ns, Event::Post { rank, queue });
        Ok(())
    }

    /// Returns when the device starts a datagram: after the one before it on its queue pair, and
    /// when the device itself is ready for another pair's (paper 4, section 4).
    fn start_datagram(&mut self, rank: Rank, queue: usize, bytes: usize) -> u64 {
        let (now_ns, stage) = (self.time_ns(rank), self.costs.send);
        let (wire_ns, between_ns) = (self.costs.wire_ns(bytes), self.costs.between_pairs_ns(stage));
        let device = self.device(rank);
        let sender = &mut device.post.senders[queue];
        let issue_ns = now_ns.max(device.out_free_ns).max(sender.out_free_ns);
        sender.out_free_ns = issue_ns + wire_ns.max(stage.issue_ns);
        device.out_free_ns = issue_ns + wire_ns.max(between_ns);
        issue_ns
    }

    /// The device sends the next datagram of a queue pair.
    pub(super) fn send_posted(&mut self, rank: Rank, queue: usize) {
        let device = self.device(rank);
        if !device.is_up() {
            return;
        }
        let Some(outbound) = device.post.senders[queue].outbound.pop_front() else { return };
        let may = outbound.inline.is_some() || device.may_use(outbound.from.key, outbound.from.region);
        let down = device.port_down || device.mute;
        let sender = &mut device.post.senders[queue];
        sender.sent += 1;
        let sent = sender.sent;
        if outbound.signalled {
            device.post.ended.push_back((Ended::Sent(queue), sent));
            device.tell();
            self.wake(rank);
        }
        if !may {
            return self.violations.push(format!("rank {rank} sends memory that is not registered"));
        }
        let bytes = outbound.inline.unwrap_or_else(|| outbound.from.region.to_vec());
        self.counts.datagrams += 1;
        if down {
            self.counts.lost += 1;
            return;
        }
        self.carry_datagram(outbound.to, bytes);
    }

    /// Carries a datagram over the network, with its faults.
    fn carry_datagram(&mut self, to: Rank, bytes: Vec<u8>) {
        let faults = self.faults;
        let doubled = self.random.percent(faults.datagrams_doubled_percent);
        self.counts.doubled += u64::from(doubled);
        for _ in 0..1 + u32::from(doubled) {
            let mut bytes = bytes.clone();
            let late_ns = self.random.between(0, faults.datagrams_late_ns_max);
            let at_ns = self.now_ns + self.costs.datagram_ns + self.costs.wire_ns(bytes.len()) + late_ns;
            if self.random.percent(faults.datagrams_lost_percent) {
                self.counts.lost += 1;
                continue;
            }
            if self.random.percent(faults.datagrams_garbled_percent) {
                let bit = self.random.below(8 * bytes.len() as u64) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
                self.counts.garbled += 1;
            }
            self.schedule(at_ns, Event::Letter { to, bytes });
        }
    }

    /// Takes in a datagram that arrives; if no receive buffer is posted, nobody hears of it.
    pub(super) fn deliver_letter(&mut self, to: Rank, bytes: Vec<u8>) {
        self.note(&[self.now_ns, u64::from(to), bytes.len() as u64]);
        let device = self.device(to);
        if !device.is_up() || device.port_down || device.deaf {
            return;
        }
        let Some((id, into)) = device.post.receives.pop_front() else {
            self.counts.unposted += 1;
            return;
        };
        if into.region.len() < GLOBAL_BYTES + bytes.len() || !device.may_use(into.key, into.region) {
            let what = format!("a datagram of {} bytes does not fit rank {to}'s receive buffer", bytes.len());
            return self.violations.push(what);
        }
        into.region.write(GLOBAL_BYTES, &bytes);
        device.post.ended.push_back((Ended::Received(id, (GLOBAL_BYTES + bytes.len()) as u32), 0));
        device.tell();
        self.wake(to);
    }
}
