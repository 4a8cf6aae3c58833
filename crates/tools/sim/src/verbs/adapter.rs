//! A rank's simulated device, as the channel `rc` sees it.

use super::pair::{Pair, Receive, State, Work};
use super::subnet::{Event, Inner, Subnet};
use crate::Rank;
use crate::world::fault;
use verbena_channel::{ATOMIC_BYTES, Access};
use verbena_fault::Fault;
use verbena_infiniband::device::{
    Address, Completion, Endpoint, Failed, Post, QueuePair, Refused, Registration, Trouble,
};
use verbena_infiniband::rc::adapter as rc;
use verbena_infiniband::rc::adapter::{Adapter, Limits, Operation};
use verbena_memory::Region;

/// The offset of the kind in a packet of `rc`.
const PACKET_KIND_AT: usize = 7;

/// The device of a rank. Dropping it takes the rank off the subnet: its memory is about to go.
pub struct SimAdapter {
    rank: Rank,
    subnet: Subnet,
}

impl Subnet {
    /// The device of a rank. Dropping it takes the rank off the subnet.
    pub fn adapter(&self, rank: Rank) -> SimAdapter {
        SimAdapter { rank, subnet: self.clone() }
    }

    /// Returns one of a rank's devices.
    pub fn rail(&self, rank: Rank, rail: Rank) -> SimAdapter {
        SimAdapter { rank: self.device_of(rank, rail), subnet: self.clone() }
    }
}

impl Drop for SimAdapter {
    fn drop(&mut self) {
        let mut inner = self.subnet.lock();
        let device = inner.device(self.rank);
        device.dead = true;
        device.pairs.clear();
        device.by_local_key.clear();
        device.by_remote_key.clear();
    }
}

/// An end of a connection: the rank and the number of the queue pair.
fn endpoint(rank: Rank, pair: u32) -> Endpoint {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&rank.to_le_bytes());
    bytes[4..8].copy_from_slice(&pair.to_le_bytes());
    Endpoint(bytes)
}

/// Returns the arguments from which [`endpoint`] made this.
fn parse_endpoint(endpoint: &Endpoint) -> (Rank, u32) {
    let number = |at: usize| u32::from_le_bytes(endpoint.0[at..at + 4].try_into().expect("four bytes"));
    (number(0), number(4))
}

impl Adapter for SimAdapter {
    type Descriptor = rc::Work;

    fn limits(&self) -> Limits {
        self.subnet.lock().faults.limits
    }

    fn now_ns(&self) -> u64 {
        self.subnet.time_at_ns(self.rank)
    }

    fn look_ns(&self) -> Option<u32> {
        Some(self.subnet.lock().costs.poll_ns as u32)
    }

    fn address(&self) -> Address {
        Address(endpoint(self.rank, 0).0)
    }

    fn place(&self) -> String {
        format!("simulated device of rank {}", self.rank)
    }

    fn describe_endpoint(&self, endpoint: &Endpoint) -> String {
        let (rank, pair) = parse_endpoint(endpoint);
        format!("queue pair {pair} of rank {rank}")
    }

    fn register(&mut self, region: Region, access: Access) -> Result<Registration, Fault> {
        self.subnet.lock().register(self.rank, region, access)
    }

    fn deregister(&mut self, registration: Registration) {
        self.subnet.lock().deregister(self.rank, registration);
    }

    fn open_pair(&mut self, shared: bool) -> Result<(QueuePair, Endpoint), Fault> {
        let mut inner = self.subnet.lock();
        inner.check_up(self.rank)?;
        if shared && !inner.faults.limits.shared_receives {
            return Err(fault("the simulated device has no shared receive queue", self.rank));
        }
        let cost_ns = inner.costs.open_pair_ns;
        inner.charge(self.rank, cost_ns);
        let number = inner.number();
        let device = inner.device(self.rank);
        device.pairs.insert(number, Pair::new(shared));
        device.pairs_most = device.pairs_most.max(device.pairs.len());
        Ok((QueuePair(number), endpoint(self.rank, number)))
    }

    fn connect_pair(&mut self, pair: QueuePair, remote: &Endpoint) -> Result<(), Fault> {
        let mut inner = self.subnet.lock();
        inner.check_up(self.rank)?;
        let cost_ns = inner.costs.connect_pair_ns;
        inner.charge(self.rank, cost_ns);
        let (rank, number) = parse_endpoint(remote);
        match inner.device(self.rank).pairs.get_mut(&pair.0) {
            Some(pair) if pair.state == State::Fresh => pair.state = State::Ready(rank, number),
            found => {
                let what = format!("rank {} connects a queue pair that is {found:?}", self.rank);
                inner.violations.push(what);
                return Err(fault("the queue pair cannot be connected", self.rank));
            }
        }
        Ok(())
    }

    fn close_pair(&mut self, pair: QueuePair) {
        let mut inner = self.subnet.lock();
        let device = inner.device(self.rank);
        let shared = device.pairs.get(&pair.0).is_some_and(|pair| pair.shared);
        device.completions.retain_mut(|queued| queued.survives_closing(pair, shared));
        if device.pairs.remove(&pair.0).is_none() {
            let what = format!("rank {} closes a queue pair that it does not have", self.rank);
            inner.violations.push(what);
        }
    }

    fn describe(&self, work: &rc::Work) -> rc::Work {
        *work
    }

    fn post(&mut self, pair: QueuePair, work: &mut rc::Work, bytes: usize, how: Post) -> Result<(), Refused> {
        self.subnet.lock().post(self.rank, pair.0, work, bytes, how)
    }

    fn post_receive(
        &mut self,
        pair: Option<QueuePair>,
        id: u64,
        into: Region,
        local_key: u32,
    ) -> Result<(), Refused> {
        self.subnet.lock().post_receive(self.rank, pair, Receive { id, into, local_key })
    }

    fn tell_below(&mut self, buffers: u32) -> bool {
        let mut inner = self.subnet.lock();
        let tells = inner.faults.tells_few_receives;
        inner.device(self.rank).shared_low = if tells { buffers as usize } else { 0 };
        tells
    }

    fn poll(&mut self) -> Option<Completion> {
        let mut inner = self.subnet.lock();
        let costs = inner.costs;
        let queued = inner.device(self.rank).completions.pop_front();
        inner.charge(self.rank, if queued.is_some() { costs.completion_ns } else { costs.poll_ns });
        let queued = queued?;
        let pair = queued.completion.pair.0;
        if let (Some(serial), Some(pair)) = (queued.retires, inner.device(self.rank).pairs.get_mut(&pair)) {
            pair.retire(serial);
        }
        Some(queued.completion)
    }

    fn send_datagram(&mut self, to: &Address, bytes: &[u8]) -> Result<(), Refused> {
        let mut inner = self.subnet.lock();
        inner.check_up(self.rank).map_err(Refused::Broken)?;
        let (to, _) = parse_endpoint(&Endpoint(to.0));
        inner.send_datagram(self.rank, to, bytes);
        Ok(())
    }

    fn receive_datagram(&mut self) -> Option<Vec<u8>> {
        self.subnet.lock().device(self.rank).datagrams.pop_front()
    }

    fn arm(&mut self) -> bool {
        self.subnet.lock().device(self.rank).arm();
        true
    }

    fn copied(&mut self, bytes: usize) {
        self.subnet.charge_copy(self.rank, bytes);
    }

    fn trouble(&mut self) -> Option<Trouble> {
        self.subnet.lock().device(self.rank).troubles.pop_front()
    }
}

impl Inner {
    fn check_up(&mut self, rank: Rank) -> Result<(), Fault> {
        let device = self.device(rank);
        match device.dead || device.broken {
            false => Ok(()),
            true => Err(fault("the simulated device is gone", rank)),
        }
    }

    fn register(&mut self, rank: Rank, region: Region, access: Access) -> Result<Registration, Fault> {
        self.check_up(rank)?;
        let bytes = region.len() as u64;
        if self.device(rank).registered_bytes + bytes > self.faults.limits.register_bytes_max {
            return Err(fault("the simulated limit of locked memory is reached", rank));
        }
        self.charge(rank, self.costs.registration_ns(region.len()));
        let (handle, local_key, remote_key) = (self.key(), self.key(), self.key());
        let device = self.device(rank);
        device.registered_bytes += bytes;
        device.registered_bytes_high = device.registered_bytes_high.max(device.registered_bytes);
        device.by_local_key.insert(local_key, region);
        device.by_remote_key.insert(remote_key, (region, access));
        Ok(Registration { region, local_key, remote_key, handle })
    }

    fn deregister(&mut self, rank: Rank, registration: Registration) {
        self.charge(rank, self.costs.deregister_ns);
        let device = self.device(rank);
        device.by_remote_key.remove(&registration.remote_key);
        if device.by_local_key.remove(&registration.local_key).is_some() {
            device.registered_bytes -= registration.region.len() as u64;
        } else {
            self.violations.push(format!("rank {rank} ends a registration twice"));
        }
    }

    fn post(
        &mut self,
        rank: Rank,
        number: u32,
        work: &rc::Work,
        bytes: usize,
        how: Post,
    ) -> Result<(), Refused> {
        self.check_up(rank).map_err(Refused::Broken)?;
        let limits = self.faults.limits;
        let is_read = work.operation.is_answered();
        let refuses = self.faults.refuses_in_error;
        let broken = |what: &str| Err(Refused::Broken(fault(what, rank)));
        let Some(pair) = self.device(rank).pairs.get_mut(&number) else {
            self.violations.push(format!("rank {rank} posts on a queue pair that it does not have"));
            return broken("there is no such queue pair");
        };
        if pair.state == State::Error && refuses {
            return broken("the queue pair is in error");
        }
        if pair.taken(is_read) >= if is_read { limits.reads_max } else { limits.work_max } {
            self.counts.full += 1;
            return Err(Refused::Full);
        }
        let (serial, state) = (pair.posted, pair.state);
        if let Some(wrong) = wrong_post(state, work, bytes, how, &limits) {
            self.violations.push(format!("rank {rank} posts {wrong}"));
            return broken("the post is not allowed");
        }
        pair.posted += 1;
        pair.unretired.push_back((serial, is_read));
        self.charge(rank, self.costs.post_ns);
        if state == State::Error {
            self.device(rank).complete(number, work.id, Err(Failed::Flushed), Some(serial));
            self.wake(rank);
            return Ok(());
        }
        let local = work.local.part(0, bytes);
        self.count_post(work.operation, local, how);
        let inline = how.inline.then(|| local.to_vec());
        self.launch(rank, number, Work::new(serial, work, local, inline, how.signalled || is_read));
        let after_ns = self.costs.after_post_ns(if is_read { 0 } else { bytes });
        self.charge(rank, after_ns);
        Ok(())
    }

    fn count_post(&mut self, operation: Operation, local: Region, how: Post) {
        let counts = &mut self.counts;
        match operation {
            Operation::Send => {
                counts.sends += 1;
                let kind = local.to_vec().get(PACKET_KIND_AT).copied().unwrap_or(0);
                counts.packets.get_mut(usize::from(kind)).into_iter().for_each(|count| *count += 1);
            }
            Operation::Write(_) => counts.writes += 1,
            Operation::Read(_) => counts.reads += 1,
            Operation::Atomic(..) => counts.atomics += 1,
        }
        counts.signalled += u64::from(how.signalled);
        counts.inline += u64::from(how.inline);
    }

    fn post_receive(&mut self, rank: Rank, pair: Option<QueuePair>, receive: Receive) -> Result<(), Refused> {
        self.check_up(rank).map_err(Refused::Broken)?;
        let most = self.faults.limits.receives_max as usize;
        let has_shared = self.faults.limits.shared_receives;
        self.charge(rank, self.costs.post_receive_ns);
        let device = self.device(rank);
        let queue = match pair {
            None if has_shared => &mut device.shared,
            None => return Err(Refused::Broken(fault("there is no shared receive queue", rank))),
            Some(pair) => match device.pairs.get_mut(&pair.0).filter(|pair| !pair.shared) {
                Some(found) if found.state == State::Error => {
                    device.complete(pair.0, receive.id, Err(Failed::Flushed), None);
                    self.wake(rank);
                    return Ok(());
                }
                Some(found) => &mut found.receives,
                None => return Err(Refused::Broken(fault("the queue pair has no receive queue", rank))),
            },
        };
        if queue.len() >= most {
            return Err(Refused::Full);
        }
        queue.push_back(receive);
        Ok(())
    }

    fn send_datagram(&mut self, rank: Rank, to: Rank, bytes: &[u8]) {
        self.charge(rank, self.costs.post_ns);
        let faults = self.faults;
        if bytes.len() > faults.limits.datagram_bytes_max || to as usize >= self.devices.len() {
            return;
        }
        self.counts.datagrams += 1;
        let copies = 1 + u32::from(self.random.percent(faults.datagrams_doubled_percent));
        for _ in 0..copies {
            let late_ns = self.random.between(0, faults.datagrams_late_ns_max);
            let at_ns = self.time_ns(rank) + self.costs.datagram_ns + late_ns;
            if self.random.percent(faults.datagrams_lost_percent) || self.device(rank).mute {
                self.counts.lost += 1;
            } else if !self.device(to).dead {
                self.schedule(at_ns, Event::Datagram { to, bytes: bytes.to_vec() });
            }
        }
    }
}

/// Returns the fault of a post, if there is one.
fn wrong_post(state: State, work: &rc::Work, bytes: usize, how: Post, limits: &Limits) -> Option<String> {
    if state == State::Fresh {
        return Some("on a queue pair that is not connected".into());
    }
    if bytes > work.local.len() {
        return Some(format!("{bytes} bytes of memory of {}", work.local.len()));
    }
    if let Operation::Atomic(remote, _) = work.operation {
        if bytes != ATOMIC_BYTES || !remote.address.is_multiple_of(ATOMIC_BYTES as u64) {
            return Some(format!("an atomic operation on {bytes} bytes at {:#x}", remote.address));
        }
        if limits.atomics.is_none() {
            return Some("an atomic operation, which the device does not have".into());
        }
    }
    (how.inline && bytes > limits.inline_bytes_max).then(|| format!("{bytes} bytes inline"))
}
