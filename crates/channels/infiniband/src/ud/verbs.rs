//! The real device under the channel: [`Datagrams`] over libibverbs, on the port that `rc` would
//! choose.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`handles`] | address handles |

mod handles;

use super::Settings;
use super::adapter::{Aim, BATCH_MAX, Datagram, Datagrams, Ended, GLOBAL_BYTES, Limits, Memory};
use crate::device::clock::Clock;
use crate::device::completions::{Taken, failed};
use crate::device::encoding::DatagramAddress;
use crate::device::neighbors::Neighbors;
use crate::device::options::Options;
use crate::device::port::OpenPort;
use crate::device::survey::Survey;
use crate::device::{Address, Refused, Trouble, draw_psn, draw_q_key, unlike};
use handles::Handles;
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::Arc;
use verbena_channel::look;
use verbena_fault::Fault;
use verbena_memory::Owned;
use verbena_verbs::device::mtu_bytes;
use verbena_verbs::domain::Access;
use verbena_verbs::explain::fault;
use verbena_verbs::pair::{Plan, Service};
use verbena_verbs::queues::ReceiveBuffer;
use verbena_verbs::raw::{IBV_SEND_INLINE, IBV_SEND_SIGNALED, IBV_WC_RECV, IBV_WC_SUCCESS, ibv_sge, ibv_wc};
use verbena_verbs::{
    AddressHandle, CompletionQueue, Context, DatagramRun, EventChannel, GidEntry, MemoryRegion, Port,
    QueuePair,
};

/// Work numbers above this are those of sending queue pairs.
const SENDER: u64 = 1 << 32;
/// The most address handles: one for each port of each node, so enough for a job that is not very
/// large.
const HANDLES_MAX: usize = 1024;

/// The time in nanoseconds within which a host that was asked for answers; before that a handle
/// would block for a second.
const ANSWER_NS: u64 = 3_000_000;

/// A sending queue pair.
struct Sender {
    queue: QueuePair,
    run: DatagramRun,
    posted: u64,
    done: u64,
    /// The value of `posted` with each signalled post that is under way.
    signalled: VecDeque<u64>,
}

/// The device. Fields are dropped in this order: queue pairs before their memory.
pub struct Device {
    senders: Vec<Sender>,
    receiver: QueuePair,
    completions: Arc<CompletionQueue>,
    /// The channel to which the completion queue reports events; `None` if the device cannot.
    events: Option<Arc<EventChannel>>,
    memory: Vec<(MemoryRegion, Owned)>,
    handles: Handles,
    neighbors: Neighbors,
    taken: Taken,
    limits: Limits,
    q_key: u32,
    broken: Option<Fault>,
    clock: Clock,
    /// The time of a look at the empty completion queue.
    look_ns: Option<u32>,
    /// The time when a host was last asked for; 0 for never.
    asked_ns: u64,
    port: OpenPort,
}

impl Device {
    /// Looks at all ports, and opens the best that works.
    pub fn survey(options: &Options, settings: &Settings) -> (Survey, Option<Device>) {
        let options = Options { rails_max: Some(1), ..options.clone() };
        let (survey, devices) = Survey::take(&options, &|context, port, entry, options| {
            let device = Device::open(context, port, entry, options, settings)?;
            let place = device.port.place();
            Ok((device, place))
        });
        (survey, devices.into_iter().next())
    }

    /// Opens one port by one GID.
    fn open(
        context: &Arc<Context>,
        port: &Port,
        entry: &GidEntry,
        options: &Options,
        settings: &Settings,
    ) -> Result<Device, Fault> {
        let device = context.attributes()?;
        let within = |wanted: u32, most: i32| wanted.min(u32::try_from(most).unwrap_or(0).max(1));
        let port = OpenPort::new(context, port, entry, options)?;
        let datagram_bytes_max = mtu_bytes(port.mtu);
        let work_max = within(options.work_max, device.max_qp_wr);
        let receives_max = within(u32::MAX, device.max_qp_wr);
        let receives = settings.receives(datagram_bytes_max, receives_max) as u32;
        let entries = receives + settings.senders as u32 * work_max;
        // Without events a process that waits takes naps.
        let events = EventChannel::new(context).ok();
        let completions = CompletionQueue::reporting(port.domain.context(), entries, events.clone())?;
        let plan = |sends: u32, receives: u32| Plan {
            service: Service::Datagram,
            completions: Arc::clone(&completions),
            shared: None,
            work_max: sends,
            receives_max: receives,
            inline_bytes_max: if sends > 1 { settings.inline_bytes_max as u32 } else { 0 },
            segments_max: 1,
        };
        let q_key = draw_q_key()?;
        let (receiver, _) = start(&port, plan(1, receives), q_key)?;
        let mut inline = settings.inline_bytes_max as u32;
        let mut senders = Vec::new();
        for _ in 0..settings.senders {
            let (queue, taken) = start(&port, Plan { inline_bytes_max: inline, ..plan(work_max, 1) }, q_key)?;
            inline = taken;
            let run = DatagramRun::new(BATCH_MAX);
            senders.push(Sender { queue, run, posted: 0, done: 0, signalled: VecDeque::new() });
        }
        let limits = Limits {
            datagram_bytes_max,
            inline_bytes_max: inline as usize,
            work_max,
            receives_max: receives,
            senders: senders.len(),
        };
        let mut taken = Taken::new();
        let look_ns = look::empty_look_ns(|| matches!(taken.next(&completions), Ok(None)));
        let mut device = Device {
            senders,
            receiver,
            completions,
            events,
            memory: Vec::new(),
            handles: Handles::new(HANDLES_MAX),
            neighbors: Neighbors::default(),
            taken,
            limits,
            q_key,
            broken: None,
            clock: Clock::new(),
            look_ns,
            asked_ns: 0,
            port,
        };
        // Only now is it known whether the port's own address leads anywhere.
        device.aim_at(&device.datagram_address())?;
        Ok(device)
    }

    fn datagram_address(&self) -> DatagramAddress {
        DatagramAddress { site: self.port.site, pair: self.receiver.number(), q_key: self.q_key }
    }

    /// Returns the aim at a port, with a handle made if there is none.
    fn aim_at(&mut self, to: &DatagramAddress) -> Result<Aim, Fault> {
        if let Some(aim) = self.handles.find(&to.site) {
            return Ok(aim);
        }
        let handle = AddressHandle::new(&self.port.domain, &self.port.path(&to.site)?)?;
        let senders = &self.senders;
        Ok(self.handles.keep(to.site, handle, || senders.iter().map(|sender| sender.posted).collect()))
    }

    /// Returns the aim at an address that was not aimed at before, or whose handle has gone. `None`
    /// if the kernel asks for the way there just now.
    #[cold]
    fn take_aim(&mut self, to: &Address) -> Result<Option<Aim>, Refused> {
        let to = DatagramAddress::parse(to).ok_or_else(|| Refused::Broken(unlike("an address")))?;
        if self.neighbors.ask(&self.port.site, &to.site) {
            self.asked_ns = self.now_ns();
            return Ok(None);
        }
        // Another process of a host that was asked for just now.
        let soon = self.now_ns().saturating_sub(self.asked_ns) < ANSWER_NS && self.asked_ns > 0;
        if soon && self.handles.find(&to.site).is_none() {
            return Ok(None);
        }
        self.aim_at(&to).map(Some).map_err(Refused::Broken)
    }

    /// Returns what has ended, other than by a datagram that came.
    #[inline(never)]
    fn ended(&mut self, wc: &ibv_wc) -> Ended {
        let failed = (wc.status != IBV_WC_SUCCESS).then(|| failed(wc.status));
        if wc.wr_id >= SENDER {
            let at = (wc.wr_id - SENDER) as usize;
            let sender = &mut self.senders[at];
            if let Some(upto) = sender.signalled.pop_front() {
                sender.done = upto;
            }
            if self.handles.has_retired() {
                let done: Vec<u64> = self.senders.iter().map(|sender| sender.done).collect();
                self.handles.tidy(&done);
            }
            return failed.map_or(Ended::Sent(at), |failed| Ended::SendFailed(at, failed));
        }
        let id = wc.wr_id as u32;
        match failed {
            None => Ended::Received(id, 0),
            Some(failed) => Ended::ReceiveFailed(id, failed),
        }
    }

    #[cold]
    fn refused(&self, number: i32) -> Refused {
        match number {
            libc::ENOMEM => Refused::Full,
            number => {
                let what = "a queue pair for datagrams does not take work";
                Refused::Broken(fault(what, self.port.place(), number))
            }
        }
    }
}

/// Makes a queue pair of this plan, ready to use. Returns also how much it takes inline: the device
/// does not say that, but makes one or not.
fn start(port: &OpenPort, mut plan: Plan, q_key: u32) -> Result<(QueuePair, u32), Fault> {
    let queue = loop {
        match QueuePair::new(&port.domain, &plan) {
            Ok(queue) => break queue,
            Err(libc::EINVAL | libc::ENOMEM) if plan.inline_bytes_max > 0 => plan.inline_bytes_max /= 2,
            Err(number) => return Err(QueuePair::refusal(&port.domain, &plan, number)),
        }
    };
    queue.start_datagrams(port.number, port.options.partition, q_key, draw_psn()?)?;
    Ok((queue, plan.inline_bytes_max))
}

impl Datagrams for Device {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn look_ns(&self) -> Option<u32> {
        self.look_ns
    }

    fn address(&self) -> Address {
        self.datagram_address().emit()
    }

    fn place(&self) -> String {
        self.port.place()
    }

    fn describe(&self, address: &Address) -> String {
        match DatagramAddress::parse(address) {
            Some(to) if to.site.ethernet => format!("GID {}, queue pair {}", to.site.gid, to.pair),
            Some(to) => format!("GID {}, LID {}, queue pair {}", to.site.gid, to.site.lid, to.pair),
            None => "an address of another version of Verbena".into(),
        }
    }

    fn allocate(&mut self, bytes: usize) -> Result<Memory, Fault> {
        let owner = Owned::zeroed(bytes);
        let region = owner.lend();
        let registered = self.port.register(region, Access::LOCAL)?;
        let key = registered.local_key();
        self.memory.push((registered, owner));
        Ok(Memory { region, key })
    }

    fn post_receive(&mut self, id: u32, into: Memory) -> Result<(), Refused> {
        let region = into.region;
        debug_assert!(region.len() > GLOBAL_BYTES);
        let buffer = ReceiveBuffer {
            id: u64::from(id),
            address: region.address(),
            bytes: region.len() as u32,
            local_key: into.key,
        };
        // SAFETY: the memory is this object's, which outlives the queue pair, and is read only
        // after the completion.
        unsafe { self.receiver.post_receive(&buffer) }.map_err(|number| self.refused(number))
    }

    #[inline]
    fn knows_way(&mut self, to: &Address, aim: &mut Aim) -> Result<bool, Refused> {
        if self.handles.get(*aim).is_some() {
            return Ok(true);
        }
        let found = self.take_aim(to)?;
        *aim = found.unwrap_or(*aim);
        Ok(found.is_some())
    }

    fn post(
        &mut self,
        queue: usize,
        to: &Address,
        aim: &mut Aim,
        run: &[Datagram],
    ) -> Result<(), (usize, Refused)> {
        self.finds_way(to, aim).map_err(|refused| (0, refused))?;
        let to = DatagramAddress::parse(to).ok_or_else(|| (0, Refused::Broken(unlike("an address"))))?;
        let handle = self.handles.get(*aim).expect("aimed just now");
        let sender = &mut self.senders[queue];
        for (at, Datagram { from, how }) in run.iter().enumerate() {
            let segment =
                ibv_sge { addr: from.region.address(), length: from.region.len() as u32, lkey: from.key };
            let flags = if how.signalled { IBV_SEND_SIGNALED } else { 0 }
                | if how.inline { IBV_SEND_INLINE } else { 0 };
            sender.run.set(at, SENDER + queue as u64, segment, handle, (to.pair, to.q_key), flags);
        }
        // SAFETY: the memory is this object's, and the channel changes it only after the
        // completion; a handle is kept until everything posted with it is done.
        let posted = unsafe { sender.run.post(&sender.queue, run.len()) };
        let taken = posted.map_or_else(|(taken, _)| taken, |()| run.len());
        for Datagram { how, .. } in &run[..taken] {
            sender.posted += 1;
            if how.signalled {
                sender.signalled.push_back(sender.posted);
            }
        }
        posted.map_err(|(taken, number)| (taken, self.refused(number)))
    }

    #[inline]
    fn poll(&mut self) -> Option<Ended> {
        let wc = match self.taken.next(&self.completions) {
            Ok(wc) => wc?,
            Err(number) => {
                let what = "the completion queue cannot be polled";
                self.broken.get_or_insert(fault(what, self.port.place(), number.abs()));
                return None;
            }
        };
        // Arrivals are waited for, everything else is not.
        if wc.wr_id < SENDER && wc.status == IBV_WC_SUCCESS && wc.opcode & IBV_WC_RECV != 0 {
            return Some(Ended::Received(wc.wr_id as u32, wc.byte_len));
        }
        let wc = *wc;
        Some(self.ended(&wc))
    }

    fn arm(&mut self) -> bool {
        let Some(events) = &self.events else { return false };
        events.drain();
        self.completions.ask_for_event().is_ok() && self.taken.is_empty()
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.port.descriptors(self.events.as_deref())
    }

    fn trouble(&mut self) -> Option<Trouble> {
        self.port.trouble(&mut self.broken)
    }
}
