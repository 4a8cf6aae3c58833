//! The real device under the channel: [`Adapter`] over libibverbs.
//!
//! There is one device, one port, one protection domain; a completion queue for all connections
//! and, when first asked for, a shared receive queue; another queue pair for datagrams. Nothing
//! here decides how messages go.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`pairs`] | queue pairs by number |
//! | [`work`] | prepared descriptors |
//! | [`datagrams`] | the datagram side |

mod datagrams;
mod pairs;
mod work;

use super::adapter::{Adapter, Limits, Work};
use crate::device::clock::Clock;
use crate::device::completions::Batch;
use crate::device::encoding::{DatagramAddress, PairAddress};
use crate::device::options::Options;
use crate::device::port::OpenPort;
use crate::device::survey::Survey;
use crate::device::{
    Address, Completion, Endpoint, Post, QueuePair, Refused, Registration, Trouble, draw_psn, unlike,
    unreadable,
};
use datagrams::Datagrams;
use pairs::{Pairs, Sizes};
use std::os::fd::RawFd;
use std::sync::Arc;
use verbena_channel::{Access, AtomicScope, look};
use verbena_fault::Fault;
use verbena_memory::Region;
use verbena_verbs::GidEntry;
use verbena_verbs::domain as verbs;
use verbena_verbs::explain::fault;
use verbena_verbs::memlock::Locked;
use verbena_verbs::pair::Connection;
use verbena_verbs::queues::ReceiveBuffer;
use verbena_verbs::raw::{IBV_ATOMIC_GLOB, IBV_ATOMIC_HCA};
use verbena_verbs::{Context, EventChannel, MemoryRegion, Port};
use work::Descriptor;

/// The reads under way on one queue pair, unless the user says otherwise.
const READS_MAX: u8 = 16;

/// A verbs device. Fields are dropped in this order.
pub struct Verbs {
    pairs: Pairs,
    datagrams: Datagrams,
    registrations: Vec<Option<MemoryRegion>>,
    /// Places in `registrations` that are free.
    vacant: Vec<u32>,
    batch: Batch,
    limits: Limits,
    reads_max: u8,
    answers_max: u8,
    /// The reason why the device is of no use any more, until that is reported.
    broken: Option<Fault>,
    clock: Clock,
    /// The time of a look at the empty completion queue.
    look_ns: Option<u32>,
    /// The channel to which both completion queues report events; `None` if the device cannot.
    events: Option<Arc<EventChannel>>,
    port: OpenPort,
}

/// The vendor that the kernel's software device (rxe) names. Suppose one end of a connection reads
/// long messages of the other, which writes others there. If the device must then repeat a packet,
/// it may take what follows for an invalid request, and the connection breaks (measured: 8 of 12
/// runs of 16 MiB under way, and none of 8 with only reads or only writes).
const SOFT_ROCE: u32 = 0x00ff_ffff;

impl Verbs {
    /// Opens the best port that works by the options. `Ok(None)` if libibverbs or a usable port is
    /// missing and the user named none; [`Survey`] says why.
    ///
    /// # Errors
    /// The reason why what the user named does not work.
    pub fn open(options: &Options) -> Result<Option<Verbs>, Fault> {
        let (survey, verbs) = Verbs::survey(options);
        match verbs {
            None if !options.devices.is_empty() => Err(survey.refusal(options)),
            verbs => Ok(verbs),
        }
    }

    /// Looks at all ports, and opens the best that works.
    pub fn survey(options: &Options) -> (Survey, Option<Verbs>) {
        let (survey, rails) = Verbs::survey_rails(&Options { rails_max: Some(1), ..options.clone() });
        (survey, rails.into_iter().next())
    }

    /// Looks at all ports, and opens every one that is to be used, the best first.
    pub fn survey_rails(options: &Options) -> (Survey, Vec<Verbs>) {
        Survey::take(options, &|context, port, entry, options| {
            let verbs = Verbs::open_port(context, port, entry, options)?;
            let place = verbs.port.place();
            Ok((verbs, place))
        })
    }

    /// Opens one port by one GID.
    fn open_port(
        context: &Arc<Context>,
        port: &Port,
        entry: &GidEntry,
        options: &Options,
    ) -> Result<Verbs, Fault> {
        let device = context.attributes()?;
        let wanted = options.reads_max.unwrap_or(READS_MAX);
        let reads = |most: i32| u8::try_from(most.clamp(1, i32::from(wanted))).unwrap_or(1);
        let reads_max = reads(device.max_qp_init_rd_atom);
        let sizes = Sizes::within(options, u32::from(reads_max), &device);
        let port = OpenPort::new(context, port, entry, options)?;
        // Without events a process that waits takes naps.
        let events = EventChannel::new(context).ok();
        let datagrams = Datagrams::open(&port, events.clone())?;
        let pairs = Pairs::new(&port.domain, sizes, events.clone())?;
        let locked = Locked::read().map_err(|error| unreadable(&error))?;
        let limits = Limits {
            inline_bytes_max: pairs.sizes().inline_bytes as usize,
            work_max: sizes.sends.saturating_sub(u32::from(reads_max)).max(1),
            reads_max: u32::from(reads_max),
            receives_max: sizes.receives,
            datagram_bytes_max: datagrams::BYTES_MAX,
            register_bytes_max: locked.left(),
            shared_receives: device.max_srq > 0,
            mixes: device.vendor_id != SOFT_ROCE,
            atomics: match device.atomic_cap {
                IBV_ATOMIC_HCA => Some(AtomicScope::Device),
                IBV_ATOMIC_GLOB => Some(AtomicScope::Host),
                _ => None,
            },
        };
        let mut batch = Batch::new();
        let look_ns = look::empty_look_ns(|| matches!(batch.next(pairs.completions()), Ok(None)));
        Ok(Verbs {
            pairs,
            datagrams,
            registrations: Vec::new(),
            vacant: Vec::new(),
            batch,
            limits,
            reads_max,
            answers_max: reads(device.max_qp_rd_atom),
            broken: None,
            clock: Clock::new(),
            look_ns,
            events,
            port,
        })
    }

    fn pair_address(&self, number: u32, psn: u32) -> PairAddress {
        let OpenPort { site, mtu, .. } = self.port;
        PairAddress { site, pair: number, psn, mtu, answers_max: self.answers_max }
    }

    /// Returns what this end of a connection will have, given the other.
    fn connection(&self, psn: u32, to: &PairAddress) -> Result<Connection, Fault> {
        let options = &self.port.options;
        Ok(Connection {
            path: self.port.path(&to.site)?,
            remote_pair: to.pair,
            mtu: self.port.mtu.min(to.mtu),
            local_psn: psn,
            remote_psn: to.psn,
            reads_max: self.reads_max.min(to.answers_max),
            answers_max: self.answers_max,
            ack_timeout: options.ack_timeout,
            retries: options.retries,
            receiver_retries: options.receiver_retries,
            receiver_timer: options.receiver_timer,
        })
    }

    fn keep(&mut self, registered: MemoryRegion) -> u32 {
        match self.vacant.pop() {
            Some(place) => {
                self.registrations[place as usize] = Some(registered);
                place
            }
            None => {
                self.registrations.push(Some(registered));
                self.registrations.len() as u32 - 1
            }
        }
    }

    /// Explains why the device did not take work. A full queue is no fault.
    #[cold]
    fn refused(&self, pair: Option<QueuePair>, number: i32) -> Refused {
        if number == libc::ENOMEM {
            return Refused::Full;
        }
        let Some(pair) = pair else {
            let on = format!("{}, shared receive queue", self.port.place());
            return Refused::Broken(fault("the device takes no receive buffer", on, number));
        };
        let on = format!("{}, queue pair {}", self.port.place(), pair.0);
        // Some devices refuse what others take and flush.
        Refused::Broken(match number {
            libc::EINVAL => in_error(on),
            number => fault("the device does not take work", on, number),
        })
    }

    #[cold]
    fn unknown(&self, pair: QueuePair) -> Fault {
        Fault::new(
            "there is no such queue pair",
            format!("{}, queue pair {}", self.port.place(), pair.0),
            "it was closed: a defect of Verbena",
            "please report it",
        )
    }

    #[cold]
    fn breaks(&mut self, number: i32) {
        let fault = fault("the completion queue cannot be polled", self.port.place(), number.abs());
        self.broken.get_or_insert(fault);
    }
}

fn in_error(on: String) -> Fault {
    Fault::new(
        "a queue pair does not take work",
        on,
        "it is in error, since earlier work on it failed, or it is not connected",
        "look for the first failure on this connection",
    )
}

impl Adapter for Verbs {
    type Descriptor = Descriptor;

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
        self.datagrams.datagram_address(&self.port).emit()
    }

    fn place(&self) -> String {
        self.port.place()
    }

    fn describe_endpoint(&self, endpoint: &Endpoint) -> String {
        match PairAddress::parse(endpoint) {
            Some(pair) if pair.site.ethernet => format!("GID {}, queue pair {}", pair.site.gid, pair.pair),
            Some(pair) => {
                format!("GID {}, LID {}, queue pair {}", pair.site.gid, pair.site.lid, pair.pair)
            }
            None => "an endpoint of another version of Verbena".into(),
        }
    }

    fn register(&mut self, region: Region, access: Access) -> Result<Registration, Fault> {
        let Access { read: remote_read, write: remote_write, atomic: remote_atomic } = access;
        let wanted = verbs::Access { local_write: true, remote_read, remote_write, remote_atomic };
        let registered = match self.port.try_register(region, wanted) {
            // A program may send from memory that it cannot write.
            Err(libc::EFAULT) if !remote_write && !remote_atomic => {
                self.port.try_register(region, verbs::Access { local_write: false, ..wanted })
            }
            outcome => outcome,
        };
        let registered = registered.map_err(|number| self.port.unregistered(region, number))?;
        let (local_key, remote_key) = (registered.local_key(), registered.remote_key());
        Ok(Registration { region, local_key, remote_key, handle: self.keep(registered) })
    }

    fn deregister(&mut self, registration: Registration) {
        let place = self.registrations.get_mut(registration.handle as usize);
        if place.and_then(Option::take).is_some() {
            self.vacant.push(registration.handle);
        }
    }

    fn open_pair(&mut self, shared: bool) -> Result<(QueuePair, Endpoint), Fault> {
        let psn = draw_psn()?;
        let opened = self.pairs.open(shared, psn)?;
        let number = opened.queue.number();
        if let Err(fault) = opened.queue.initialise(self.port.number, self.port.options.partition) {
            self.close_pair(QueuePair(number));
            return Err(fault);
        }
        Ok((QueuePair(number), self.pair_address(number, psn).emit()))
    }

    fn connect_pair(&mut self, pair: QueuePair, remote: &Endpoint) -> Result<(), Fault> {
        let to = PairAddress::parse(remote).ok_or_else(|| unlike("an endpoint"))?;
        let Some(mine) = self.pairs.get(pair) else { return Err(self.unknown(pair)) };
        mine.queue.connect(&self.connection(mine.psn, &to)?)
    }

    fn close_pair(&mut self, pair: QueuePair) {
        let Some(shared) = self.pairs.close(pair) else { return };
        if let Err(number) = self.batch.forget(pair, shared, self.pairs.completions()) {
            self.breaks(number);
        }
    }

    fn describe(&self, work: &Work) -> Descriptor {
        Descriptor::new(work)
    }

    #[inline]
    fn post(
        &mut self,
        pair: QueuePair,
        work: &mut Descriptor,
        bytes: usize,
        how: Post,
    ) -> Result<(), Refused> {
        let Some(on) = self.pairs.get(pair) else { return Err(Refused::Broken(self.unknown(pair))) };
        work.post(&on.queue, bytes, how, self.limits.inline_bytes_max)
            .map_err(|number| self.refused(Some(pair), number))
    }

    fn post_receive(
        &mut self,
        pair: Option<QueuePair>,
        id: u64,
        into: Region,
        local_key: u32,
    ) -> Result<(), Refused> {
        let buffer = ReceiveBuffer { id, address: into.address(), bytes: into.len() as u32, local_key };
        let posted = match pair {
            // SAFETY: a region stays valid until the operation on it has ended, as its creator
            // promised.
            None => unsafe { self.pairs.shared().map_err(Refused::Broken)?.post(&buffer) },
            Some(pair) => match self.pairs.get(pair) {
                None => return Err(Refused::Broken(self.unknown(pair))),
                // SAFETY: as above.
                Some(on) => unsafe { on.queue.post_receive(&buffer) },
            },
        };
        posted.map_err(|number| self.refused(pair, number))
    }

    fn tell_below(&mut self, buffers: u32) -> bool {
        // A device without the event works as well: then the pool stays as large as it began.
        self.pairs.shared().is_ok_and(|queue| queue.set_limit(buffers).is_ok())
    }

    #[inline]
    fn poll(&mut self) -> Option<Completion> {
        match self.batch.next(self.pairs.completions()) {
            Ok(completion) => completion,
            Err(number) => {
                self.breaks(number);
                None
            }
        }
    }

    fn send_datagram(&mut self, to: &Address, bytes: &[u8]) -> Result<(), Refused> {
        let to = DatagramAddress::parse(to).ok_or_else(|| Refused::Broken(unlike("an address")))?;
        self.datagrams.send(&self.port, &to, bytes)
    }

    fn receive_datagram(&mut self) -> Option<Vec<u8>> {
        self.datagrams.receive(&self.port)
    }

    fn arm(&mut self) -> bool {
        let Some(events) = &self.events else { return false };
        events.drain();
        let asked = |queue: &verbena_verbs::CompletionQueue| queue.ask_for_event().is_ok();
        // Completions that were taken in a batch and not handed out make no event.
        asked(self.pairs.completions()) && asked(self.datagrams.completions()) && self.batch.is_empty()
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.port.descriptors(self.events.as_deref())
    }

    fn trouble(&mut self) -> Option<Trouble> {
        self.port.trouble(&mut self.broken)
    }
}
