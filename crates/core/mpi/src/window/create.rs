//! Making and freeing windows (MPI-5.0, 12.2). The members agree on the outcome: a window is there
//! for all of them or for none.

use super::attached::Attachments;
use super::control::Control;
use super::epoch::Epochs;
use super::far::{self, Far};
use super::local::Local;
use super::own::{Memory, no_memory};
use super::part::{Part, Said};
use super::parts::Parts;
use super::pscw::Meetings;
use super::service::{Service, Serving};
use super::{Facts, Flavor, Win, error, info};
use crate::attribute::Attributes;
use crate::comm::words::{pack, unpack};
use crate::comm::{Comm, Exchange};
use crate::errhandler::{Handling, predefined};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::info::Info;
use crate::process::Process;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock};
use verbena_channel::heap::Ticket;
use verbena_memory::Region;
use verbena_waiting::lock::Lock;

/// The wishes of a process for its part of a window: bytes, the unit of displacements in bytes,
/// hints.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Bytes.
    pub size: i64,
    /// Bytes of a unit of displacement.
    pub unit: i64,
    /// Hints.
    pub info: Option<&'a Info>,
}

impl Wanted<'_> {
    /// The size, once both numbers are checked: `MPI_ERR_SIZE`, `MPI_ERR_DISP`.
    fn checked(&self) -> Result<usize> {
        let (size, unit) = (self.size, self.unit);
        if unit <= 0 {
            let on = format!("a unit of {unit} bytes");
            let what = "the unit of displacements is not positive";
            return Err(error::argument(mpi::MPI_ERR_DISP, what, on, "pass 1, or the size of an element"));
        }
        usize::try_from(size).map_err(|_| {
            let on = format!("a size of {size} bytes");
            error::argument(mpi::MPI_ERR_SIZE, "the size of a window is negative", on, "pass 0 or more")
        })
    }
}

/// The thread of this process that serves windows while the program computes.
pub trait Server {
    /// Sees that the thread runs, for one window more.
    ///
    /// # Errors
    /// The process may have no more threads.
    fn require(&self) -> Result<()>;

    /// Says that a window does not need the thread any more.
    fn release(&self);
}

/// The means by which a window is made.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// The way to the other members.
    pub exchange: &'a dyn Exchange,
    /// The thread, for a window that needs it ([`Win::needs_progress`]).
    pub server: &'a dyn Server,
}

/// The agreement of the members.
#[derive(Clone, Copy)]
struct Agreed {
    /// The context of the window's messages.
    context: u64,
    /// Set if the kernel copies between all of them.
    copies: bool,
}

/// The parts of a window in the making.
struct Making<'a> {
    process: &'a Process,
    comm: &'a Comm,
    means: Means<'a>,
    flavor: Flavor,
    hints: Info,
}

impl Win {
    /// Makes a window over the program's memory, `region` (`MPI_Win_create`), whose address is told
    /// apart for a region without bytes. Collective, as all that make one. `MPI_ERR_COMM` for an
    /// intercommunicator, `MPI_ERR_DISP` and `MPI_ERR_SIZE` for impossible numbers.
    pub fn create(
        process: &Process,
        comm: &Comm,
        (base, region): (usize, Result<Region>),
        wanted: Wanted,
        means: Means<'_>,
    ) -> Result<Win> {
        let making = Making::new(process, comm, Flavor::Create, wanted.info, means)?;
        let memory = wanted.checked().and_then(|_| Ok(Memory::of_program(process, region?)));
        making.with_memory(memory, Some(base), wanted.unit)
    }

    /// Makes a window over new memory (`MPI_Win_allocate`). An error in the caller's other
    /// arguments, `checked`, is one of all members. `MPI_ERR_NO_MEM` if there is no memory.
    pub fn allocate(
        process: &Process,
        comm: &Comm,
        checked: Result<()>,
        wanted: Wanted,
        means: Means<'_>,
    ) -> Result<Win> {
        let making = Making::new(process, comm, Flavor::Allocate, wanted.info, means)?;
        let bytes = checked.and_then(|()| wanted.checked());
        let memory = bytes.and_then(|bytes| making.allocate(bytes));
        making.with_memory(memory, None, wanted.unit)
    }

    /// Makes a window without memory, for memory that is attached later
    /// (`MPI_Win_create_dynamic`).
    pub fn dynamic(process: &Process, comm: &Comm, info: Option<&Info>, means: Means<'_>) -> Result<Win> {
        let making = Making::new(process, comm, Flavor::Dynamic, info, means)?;
        making.with_memory(Ok(Memory::none()), None, 1)
    }

    /// Makes a window over new memory that all members can load and store
    /// (`MPI_Win_allocate_shared`): one piece, in the order of ranks, unless the hint
    /// `alloc_shared_noncontig` allows pieces. `checked` as in [`Win::allocate`].
    /// `MPI_ERR_RMA_SHARED` if the members share no memory.
    pub fn allocate_shared(
        process: &Process,
        comm: &Comm,
        checked: Result<()>,
        wanted: Wanted,
        means: Means<'_>,
    ) -> Result<Win> {
        let making = Making::new(process, comm, Flavor::Shared, wanted.info, means)?;
        let bytes = checked.and_then(|()| wanted.checked());
        let bytes = bytes.and_then(|bytes| making.check_united().map(|()| bytes));
        if info::is_set(&making.hints, info::APART) {
            let memory = bytes.and_then(|bytes| making.allocate(bytes));
            return making.with_memory(memory, None, wanted.unit);
        }
        making.in_one_piece(bytes, wanted.unit)
    }

    /// Frees the window once all members have come here (`MPI_Win_free`), after deleting its
    /// attributes. What is wrong at one member is an error at all, and the window stays for all:
    /// `MPI_ERR_RMA_SYNC` if an epoch is open, the error of an operation or of a callback. Returns
    /// an error that was found when the window was gone for the others already.
    pub fn free(&self, process: &Process, exchange: &dyn Exchange) -> Result<Option<Error>> {
        const CALL: &str = "MPI_Win_free";
        let own = self.epochs.lock().check_free().and_then(|()| self.finish_all(process));
        let has_attributes = u8::from(!self.attributes.is_empty());
        let told = agree(&self.comm, CALL, own.map(|()| vec![has_attributes]), exchange)?;
        if told.iter().any(|told| told[..] != [0]) {
            let cleared = self.attributes.clear(self.handle());
            agree(&self.comm, CALL, cleared.map(|()| Vec::new()), exchange)?;
        }
        self.forget_meetings(process);
        Ok(self.end_service(process).err())
    }

    /// Waits until the service has nothing to do any more: the memory may go then.
    fn end_service(&self, mut process: &Process) -> Result<()> {
        let Some(serving) = &self.serving else { return Ok(()) };
        self.service.close();
        process.wait(|_| serving.is_done().then_some(()));
        self.service.hide(&mut process);
        self.service.refuse_rest(&mut process)?;
        self.service.take_fault().map_or(Ok(()), Err)
    }
}

impl<'a> Making<'a> {
    fn new(
        process: &'a Process,
        comm: &'a Comm,
        flavor: Flavor,
        given: Option<&Info>,
        means: Means<'a>,
    ) -> Result<Making<'a>> {
        comm.check_intra()?;
        Ok(Making { process, comm, means, flavor, hints: info::in_use(given, flavor)? })
    }

    /// New memory for this process alone.
    fn allocate(&self, bytes: usize) -> Result<Memory> {
        Memory::allocate(self.process, bytes, info::alignment(&self.hints))
    }

    /// Checks that all members have the same heap mapped.
    fn check_united(&self) -> Result<()> {
        if self.comm.size() == 1 && self.process.heap().is_none() {
            return Ok(());
        }
        let cause = "the channel shm, which shares memory, is switched off or had no room";
        let Some(heap) = self.process.heap() else {
            return Err(error::not_shared("this process has no memory to share".into(), cause));
        };
        let members = self.comm.group().members();
        let apart = members.iter().position(|&peer| peer != self.process.me() && !heap.unites(peer));
        match apart {
            None => Ok(()),
            Some(rank) => {
                let cause = "the process runs on another node, or was started without shared memory";
                Err(error::not_shared(format!("rank {rank} of the communicator"), cause))
            }
        }
    }

    /// Tells the others of this process's part and makes the window of what they tell.
    fn with_memory(self, memory: Result<Memory>, base: Option<usize>, unit: i64) -> Result<Win> {
        let both = memory.and_then(|memory| Ok((memory, Control::new(self.process, self.comm.size())?)));
        let own = both.as_ref().map_err(Error::clone).map(|(memory, control)| {
            let address = if memory.region().is_empty() { 0 } else { memory.region().address() };
            let base = base.map_or(address, |base| base as u64);
            let size = memory.region().len() as u64;
            Part::new(base, size, unit, memory.ticket(), control.ticket())
        });
        let (agreed, parts) = self.tell(own)?;
        let (memory, control) = both?;
        self.window(agreed, parts, memory, control)
    }

    /// Makes a window over one piece of memory for all: the first rank claims it, and each touches
    /// its own part, which so lies near it.
    fn in_one_piece(self, bytes: Result<usize>, unit: i64) -> Result<Win> {
        let both = bytes.and_then(|bytes| Ok((bytes, Control::new(self.process, self.comm.size())?)));
        let own = both.as_ref().map_err(Error::clone);
        let own = own.map(|(bytes, control)| Part::new(0, *bytes as u64, unit, None, control.ticket()));
        let (agreed, mut parts) = self.tell(own)?;
        let (_, control) = both?;
        let total = parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.size));
        let total = total.and_then(|total| usize::try_from(total).ok());
        let (whole, ticket) = self.claim(total.unwrap_or(usize::MAX))?;
        let rank = self.comm.rank() as usize;
        let before: u64 = parts[..rank].iter().map(|part| part.size).sum();
        let own = ticket.and_then(|ticket| ticket.part(before, parts[rank].size));
        let own = self.touch(whole, own.filter(|own| own.bytes > 0));
        self.agree(own.as_ref().map(|_| Vec::new()).map_err(Error::clone))?;
        let mut start = 0;
        for part in &mut parts {
            let memory = ticket.and_then(|ticket| ticket.part(start, part.size));
            start += part.size;
            *part = part.moved(self.address(memory), memory);
        }
        let own = own?;
        if !own.region().is_empty() {
            parts[rank].base = own.region().address();
        }
        self.window(agreed, parts, own, control)
    }

    fn agree(&self, own: Result<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        agree(self.comm, self.call(), own, self.means.exchange)
    }

    /// Claims the memory of all at the first rank, which tells the others where it is. `None` if it
    /// has no bytes, or if there is neither a heap nor another rank.
    fn claim(&self, total: usize) -> Result<(Memory, Option<Ticket>)> {
        let whole = match self.comm.rank() {
            0 => Memory::claim(self.process, total, info::alignment(&self.hints)),
            _ => Ok(Memory::none()),
        };
        let offset = whole.as_ref().map(|whole| whole.ticket().map_or(0, |ticket| ticket.offset));
        let own = offset.map(|offset| pack(&[offset])).map_err(Error::clone);
        let told = self.agree(own)?;
        let ([offset], bytes) = (unpack(&told[0])?, total as u64);
        let is_there = total > 0 && self.process.heap().is_some();
        Ok((whole?, is_there.then_some(Ticket { offset, bytes })))
    }

    /// This process's part of the memory of all, with its pages.
    fn touch(&self, whole: Memory, part: Option<Ticket>) -> Result<Memory> {
        let Some((part, heap)) = part.zip(self.process.heap()) else {
            return Ok(if self.process.heap().is_some() { whole.shared_nothing() } else { whole });
        };
        Ok(whole.shared(heap.touch(part).map_err(no_memory)?, part))
    }

    /// The address here of memory in the heap, 0 for none.
    fn address(&self, ticket: Option<Ticket>) -> u64 {
        let at = |ticket: Ticket| self.process.heap()?.at(ticket);
        ticket.filter(|ticket| ticket.bytes > 0).and_then(at).map_or(0, |region| region.address())
    }

    /// Tells the others of this process's part. Returns what all agree on, and all parts.
    ///
    /// This is what grows with the number of members though no program asked for it: 64 bytes of
    /// each are here until the call returns. A window keeps 16 bytes of each for the way there, 8
    /// for its base, where bases differ, 4 or 8 for its size and its unit where they do (see
    /// [`Parts`]), and 4 bits in the control words. The ways themselves, keys and everything else
    /// come with the first access to a member.
    fn tell(&self, own: Result<Part>) -> Result<(Agreed, Box<[Part]>)> {
        let context = self.means.exchange.new_context();
        let alike = Said::alike(self.flavor, info::is_set(&self.hints, info::APART));
        let own = own.map(|part| Said { context, part, alike, copies: self.copies() }.pack());
        let told = self.agree(own)?;
        let told = told.iter().map(|bytes| Said::unpack(bytes)).collect::<Result<Vec<Said>>>()?;
        match told.iter().position(|said| said.alike != alike) {
            Some(rank) => Err(error::unlike(self.call(), rank)),
            None => {
                let agreed = Agreed { context: told[0].context, copies: told.iter().all(|said| said.copies) };
                Ok((agreed, told.iter().map(|said| said.part).collect()))
            }
        }
    }

    /// Returns whether the kernel copies between this process and all other members. Only windows
    /// over memory of the program ask.
    fn copies(&self) -> bool {
        let is_of_program = matches!(self.flavor, Flavor::Create | Flavor::Dynamic);
        let Some(neighbors) = self.process.neighbors().filter(|_| is_of_program) else { return false };
        let me = self.process.me();
        let mut others = self.comm.group().members().iter().filter(|&&peer| peer != me);
        others.all(|&peer| neighbors.neighbor(peer).is_some())
    }

    fn call(&self) -> &'static str {
        match self.flavor {
            Flavor::Create => "MPI_Win_create",
            Flavor::Allocate => "MPI_Win_allocate",
            Flavor::Dynamic => "MPI_Win_create_dynamic",
            Flavor::Shared => "MPI_Win_allocate_shared",
        }
    }

    /// Has the window served while the programs compute, if its members need that. All agree on
    /// whether that can be.
    fn serve(&self, needs_progress: bool) -> Result<()> {
        let server = self.means.server;
        let own = if needs_progress { server.require() } else { Ok(()) };
        let is_required = needs_progress && own.is_ok();
        let agreed = self.agree(own.map(|()| Vec::new()));
        if agreed.is_err() && is_required {
            server.release();
        }
        agreed.map(drop)
    }

    /// The window of these parts, which all members know alike.
    fn window(self, agreed: Agreed, parts: Box<[Part]>, own: Memory, control: Control) -> Result<Win> {
        let truths = info::Truths::of(&parts, &self.hints);
        info::decide(&self.hints, &parts, self.flavor, &truths)?;
        let is_reached = self.is_reached(agreed, &parts);
        let needs_messages = parts.len() > 1 && (!is_reached || self.flavor == Flavor::Dynamic);
        let allows_locks = !info::is_set(&self.hints, "no_locks");
        let needs_progress = needs_messages && !is_reached && allows_locks;
        if needs_messages && !is_reached {
            self.serve(needs_progress)?;
        }
        let comm = self.comm.private(agreed.context, self.means.exchange);
        let part = parts[comm.rank() as usize];
        let facts = Facts {
            size: part.size as isize,
            unit: i32::try_from(part.unit).unwrap_or(mpi::MPI_UNDEFINED),
            flavor: self.flavor as i32,
            model: mpi::MPI_WIN_UNIFIED,
        };
        let heap = self.process.heap();
        let is_near = |rank: usize| heap.is_some_and(|heap| heap.unites(comm.group().peer(rank as i32)));
        let local = Arc::new(Local {
            flavor: self.flavor,
            rank: comm.rank(),
            group: comm.group().clone(),
            part,
            parts: Parts::new(&parts, is_near),
            memory: own,
            control,
            attachments: Lock::new(Attachments::default()),
            heap: heap.cloned(),
        });
        let service = Arc::new(Service::new(&comm));
        let serve = || {
            let serving = Serving::new(service.clone(), local.clone());
            self.process.tasks().start(self.process, Box::new(serving))
        };
        let serving = needs_messages.then(serve);
        let far = || Far::new(service.clone(), &comm);
        let far = needs_messages
            .then(|| far::of_window(self.process, self.flavor, &self.hints, comm.group(), far))
            .flatten();
        Ok(Win {
            targets: parts.iter().map(|_| OnceLock::new()).collect(),
            comm,
            flavor: self.flavor,
            facts,
            local,
            service,
            serving,
            far,
            needs_progress,
            allows_locks: AtomicBool::new(allows_locks),
            is_shared_told: AtomicBool::new(false),
            epochs: Lock::new(Epochs::default()),
            meetings: Lock::new(Meetings::default()),
            hints: self.hints,
            truths,
            name: Mutex::default(),
            errhandling: Handling::new(predefined::are_fatal()),
            attributes: Attributes::default(),
            handle: AtomicUsize::new(0),
        })
    }

    /// Returns whether all members reach each other's lock and memory by themselves; that of a
    /// dynamic window may lie anywhere.
    fn is_reached(&self, agreed: Agreed, parts: &[Part]) -> bool {
        let is_mapped = self.flavor != Flavor::Dynamic && parts.iter().all(Part::is_mapped);
        self.is_united(parts) && (agreed.copies || is_mapped)
    }

    /// Returns whether all members have each other's control words mapped.
    fn is_united(&self, parts: &[Part]) -> bool {
        let Some(heap) = self.process.heap() else { return false };
        let members = self.comm.group().members();
        parts.iter().zip(members).all(|(part, &peer)| part.has_control() && heap.unites(peer))
    }
}

/// Gathers what the members say in rank order, or an error if one of them failed.
fn agree(comm: &Comm, call: &str, own: Result<Vec<u8>>, exchange: &dyn Exchange) -> Result<Vec<Vec<u8>>> {
    let class = own.as_ref().err().map_or(mpi::MPI_SUCCESS, |error| error.class);
    let mut said = pack(&[class as u32 as u64]);
    said.extend(own.as_deref().unwrap_or(&[]));
    let told = exchange.allgather(comm, &said)?;
    own?;
    let read = |(rank, bytes): (usize, &Vec<u8>)| {
        let (class, rest) = bytes.split_at_checked(8).unwrap_or((&[], bytes));
        let [class] = unpack(class)?;
        match class as u32 as i32 {
            mpi::MPI_SUCCESS => Ok(rest.to_vec()),
            class => Err(error::elsewhere(call, rank, class)),
        }
    };
    told.iter().enumerate().map(read).collect()
}
