//! Datagrams, by which strangers agree on a connection. They have one queue pair of the Unreliable
//! Datagram service, with a completion queue of its own, so that a flood of datagrams cannot fill
//! that of the connections.

use crate::device::encoding::DatagramAddress;
use crate::device::neighbors::Neighbors;
use crate::device::port::OpenPort;
use crate::device::{Refused, draw_psn, draw_q_key};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use verbena_fault::Fault;
use verbena_memory::{Owned, Region};
use verbena_verbs::domain::Access;
use verbena_verbs::pair::{Plan, Service};
use verbena_verbs::queues::ReceiveBuffer;
use verbena_verbs::raw::{IBV_SEND_SIGNALED, IBV_WC_RECV, IBV_WC_SUCCESS, ibv_sge, ibv_wc};
use verbena_verbs::{AddressHandle, CompletionQueue, DatagramRun, EventChannel, MemoryRegion, QueuePair};

/// The longest datagram in bytes: what the smallest MTU carries.
pub(super) const BYTES_MAX: usize = 256;
/// The room for a global header before each datagram received, used or not (InfiniBand
/// specification, 11.4.1.2).
const HEADER_BYTES: usize = 40;
/// Bytes of a buffer; the same for both directions.
const BUFFER_BYTES: usize = HEADER_BYTES + BYTES_MAX;
/// The buffers posted for receiving: what comes when all are full is lost.
const RECEIVES: usize = 128;
/// The number of datagrams that may be on their way out.
const SENDS: usize = 16;
/// The number of address handles kept.
const HANDLES_MAX: usize = 256;

/// The datagram side of an adapter. Fields are dropped in this order: the queue pair before its
/// memory.
pub(super) struct Datagrams {
    queue: QueuePair,
    /// The run that is posted, one datagram at a time.
    run: DatagramRun,
    completions: Arc<CompletionQueue>,
    registered: MemoryRegion,
    memory: Region,
    _owner: Owned,
    q_key: u32,
    /// Buffers that nothing is being sent from, counted behind those for receiving.
    free: Vec<usize>,
    /// The handles of what is being sent, which the device may still need.
    sending: Vec<Option<Arc<AddressHandle>>>,
    handles: HashMap<DatagramAddress, Arc<AddressHandle>>,
    neighbors: Neighbors,
    arrived: VecDeque<Vec<u8>>,
    broken: Option<Fault>,
}

impl Datagrams {
    /// Returns the completion queue.
    pub(super) fn completions(&self) -> &CompletionQueue {
        &self.completions
    }

    /// Opens the datagram side, ready to receive and to send.
    ///
    /// # Errors
    /// The refusal of the device.
    pub(super) fn open(port: &OpenPort, events: Option<Arc<EventChannel>>) -> Result<Datagrams, Fault> {
        let entries = (RECEIVES + SENDS) as u32;
        let completions = CompletionQueue::reporting(port.domain.context(), entries, events)?;
        let plan = Plan {
            service: Service::Datagram,
            completions: Arc::clone(&completions),
            shared: None,
            work_max: SENDS as u32,
            receives_max: RECEIVES as u32,
            inline_bytes_max: 0,
            segments_max: 1,
        };
        let queue = QueuePair::new(&port.domain, &plan)
            .map_err(|error| QueuePair::refusal(&port.domain, &plan, error))?;
        let (q_key, psn) = (draw_q_key()?, draw_psn()?);
        queue.start_datagrams(port.number, port.options.partition, q_key, psn)?;
        let owner = Owned::zeroed((RECEIVES + SENDS) * BUFFER_BYTES);
        let memory = owner.lend();
        let registered = port.register(memory, Access::LOCAL)?;
        let mut datagrams = Datagrams {
            queue,
            run: DatagramRun::new(1),
            completions,
            registered,
            memory,
            _owner: owner,
            q_key,
            free: (0..SENDS).collect(),
            sending: vec![None; SENDS],
            handles: HashMap::new(),
            neighbors: Neighbors::default(),
            arrived: VecDeque::new(),
            broken: None,
        };
        (0..RECEIVES).try_for_each(|buffer| datagrams.post(buffer)).map_err(|error| broken(port, error))?;
        // Only now is it known whether the port's own address leads anywhere.
        datagrams.handle(port, &datagrams.datagram_address(port))?;
        Ok(datagrams)
    }

    /// Returns the address to which datagrams for this one go.
    pub(super) fn datagram_address(&self, port: &OpenPort) -> DatagramAddress {
        DatagramAddress { site: port.site, pair: self.queue.number(), q_key: self.q_key }
    }

    fn buffer(&self, index: usize) -> Region {
        self.memory.part(index * BUFFER_BYTES, BUFFER_BYTES)
    }

    fn post(&mut self, index: usize) -> Result<(), i32> {
        let buffer = ReceiveBuffer {
            id: index as u64,
            address: self.buffer(index).address(),
            bytes: BUFFER_BYTES as u32,
            local_key: self.registered.local_key(),
        };
        // SAFETY: the memory is this object's, which outlives the queue pair, and is read only
        // after the completion.
        unsafe { self.queue.post_receive(&buffer) }
    }

    /// Sends a datagram. The first to a host that is not known yet is lost, so that nobody has to
    /// wait for that.
    ///
    /// # Errors
    /// All buffers are in use, or the address leads nowhere.
    pub(super) fn send(
        &mut self,
        port: &OpenPort,
        to: &DatagramAddress,
        bytes: &[u8],
    ) -> Result<(), Refused> {
        self.collect(port);
        if let Some(fault) = &self.broken {
            return Err(Refused::Broken(fault.clone()));
        }
        if bytes.len() > BYTES_MAX || self.neighbors.ask(&port.site, &to.site) {
            return Ok(());
        }
        let handle = self.handle(port, to).map_err(Refused::Broken)?;
        let slot = self.free.pop().ok_or(Refused::Full)?;
        let id = RECEIVES + slot;
        let buffer = self.buffer(id);
        buffer.write(0, bytes);
        let segment =
            ibv_sge { addr: buffer.address(), length: bytes.len() as u32, lkey: self.registered.local_key() };
        self.run.set(0, id as u64, segment, &handle, (to.pair, to.q_key), IBV_SEND_SIGNALED);
        // SAFETY: buffer and handle are kept until the completion.
        let posted = unsafe { self.run.post(&self.queue, 1) };
        match posted {
            Ok(()) => self.sending[slot] = Some(handle),
            Err(_) => self.free.push(slot),
        }
        posted.map_err(|(_, number)| match number {
            libc::ENOMEM => Refused::Full,
            number => Refused::Broken(broken(port, number)),
        })
    }

    fn handle(&mut self, port: &OpenPort, to: &DatagramAddress) -> Result<Arc<AddressHandle>, Fault> {
        if let Some(handle) = self.handles.get(to) {
            return Ok(Arc::clone(handle));
        }
        let handle = Arc::new(AddressHandle::new(&port.domain, &port.path(&to.site)?)?);
        // Few are needed twice, since a connection is made once.
        if self.handles.len() >= HANDLES_MAX {
            self.handles.clear();
        }
        self.handles.insert(*to, Arc::clone(&handle));
        Ok(handle)
    }

    /// Returns the next datagram that has arrived.
    pub(super) fn receive(&mut self, port: &OpenPort) -> Option<Vec<u8>> {
        if self.arrived.is_empty() {
            self.collect(port);
        }
        self.arrived.pop_front()
    }

    fn collect(&mut self, port: &OpenPort) {
        let mut ended = [ibv_wc::zeroed(); 8];
        loop {
            match self.completions.poll(&mut ended) {
                Ok(0) => return,
                Ok(count) => ended[..count].iter().for_each(|wc| self.ended(port, wc)),
                Err(number) => return self.broken = Some(broken(port, number)),
            }
        }
    }

    fn ended(&mut self, port: &OpenPort, wc: &ibv_wc) {
        let index = wc.wr_id as usize;
        if wc.status != IBV_WC_SUCCESS {
            self.broken.get_or_insert_with(|| failed(port, wc.status));
        }
        if let Some(slot) = index.checked_sub(RECEIVES) {
            self.sending[slot] = None;
            return self.free.push(slot);
        }
        if wc.status == IBV_WC_SUCCESS && wc.opcode & IBV_WC_RECV != 0 {
            self.take(index, wc.byte_len as usize);
            if let Err(number) = self.post(index) {
                self.broken = Some(broken(port, number));
            }
        }
    }

    /// Takes a datagram in; the length counts the header's room.
    fn take(&mut self, index: usize, bytes: usize) {
        let mut datagram = vec![0; bytes.saturating_sub(HEADER_BYTES)];
        self.buffer(index).read(HEADER_BYTES, &mut datagram);
        self.arrived.push_back(datagram);
    }
}

fn broken(port: &OpenPort, number: i32) -> Fault {
    verbena_verbs::explain::fault("the queue pair for datagrams failed", port.place(), number)
}

fn failed(port: &OpenPort, status: u32) -> Fault {
    Fault::new(
        "the queue pair for datagrams failed",
        port.place(),
        format!("a datagram ended with the status {status} of ibv_wc_status: the device failed"),
        "look at the kernel's log (dmesg); choose another device with VERBENA_RC_DEVICE",
    )
}
