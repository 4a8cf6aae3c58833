//! Operations by messages: for targets whose memory this process cannot reach by itself.
//!
//! | file | what it does |
//! | --- | --- |
//! | [`request`] | a request as bytes |
//! | [`origin`] | the origin's side: what it began, and what is not known to be finished |
//! | [`operation`] | an operation under way there |
//! | `calls` | the origin's side as the window's calls use it, which wait |
//! | `target` | the target's side: requests that have come, origin by origin |
//! | `line` | the requests of an origin, in order |
//! | `accumulating` | an accumulate whose data come in pieces |
//! | `known` | the datatype that a request named last |
//! | `locks` | origins that hold the lock or wait for it |
//! | `order` | what an origin must not overtake |
//! | [`shows`] | memory that origins read and write by themselves |
//! | `outbox` | answers |
//! | `notes` | errors that nobody was told yet, and counts |
//! | `explanation` | errors as bytes |
//! | `error` | errors in words |
//!
//! An origin sends a *request*, which holds a short payload. A longer payload follows as a message
//! of its own that the target receives straight into its memory; an answer comes straight into the
//! origin's memory. Only accumulates go through memory of the library, a piece at a time.
//!
//! The requests of an origin are looked at in the order in which it made them. Puts and gets may
//! overtake each other from there on; an accumulate, a lock, an unlock and a flush hold up what
//! comes after them. A flush is answered when everything before it is done. Other origins go on
//! meanwhile.
//!
//! What fails at the target is told: by the answer, if the operation has one, else by the next
//! flush or unlock. An answer that is an error consists of two messages: one without bytes, then
//! the error in words.
//!
//! The messages go in two contexts of the window's own communicator, in which nobody else
//! communicates: requests in [`Traffic::Exchange`], payloads and answers in
//! [`Traffic::Partitioned`]. A target takes no more requests from the engine while those that it
//! cannot begin yet hold much memory, so that the engine throttles their senders.
//!
//! Locks are taken in the order of origin, operation, engine. Those of the target are held while
//! the window is asked ([`Exposed`]), and never while the engine is.

mod accumulating;
mod calls;
mod error;
mod explanation;
mod known;
mod line;
mod locks;
mod notes;
pub mod operation;
mod order;
pub mod origin;
mod outbox;
pub mod request;
pub mod shows;
mod target;

pub(super) use error::garbled_answer;
pub use operation::Operation;
pub use origin::{Moment, Origin};

use crate::comm::{Comm, Traffic};
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::generated::constants::MPI_BYTE;
use crate::group::Group;
use crate::op::Op;
use crate::process::{Access, Process};
use crate::task::Task;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target::Target;
use verbena_channel::mark::Mark;
use verbena_engine::{Mode, ReceiveRequest, SendRequest};
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Region};
use verbena_waiting::lock::Lock;

/// The tag of requests.
const REQUEST_TAG: i32 = 0;
/// The longest piece of an accumulate's data, in bytes.
pub const PIECE_BYTES: usize = 64 << 10;

/// The window as its service sees it: the memory that this process exposes.
pub trait Exposed: Send + Sync {
    /// Finds elements whose bytes lie within `span`, relative to the displacement that an origin
    /// gave. `MPI_ERR_RMA_RANGE` if they are not all exposed.
    fn place(&self, displacement: i64, span: (i64, i64)) -> Result<Place>;

    /// Does what accumulate calls do to `count` elements: see `window/apply.rs`. `source` and
    /// `former` are packed bytes.
    fn accumulate(
        &self,
        place: Place,
        op: &Op,
        elements: (usize, &Arc<Datatype>),
        source: Option<Region>,
        former: Option<Region>,
    ) -> Result<()>;

    /// Stores the first operand in an element if the second is there. The former value goes to
    /// `former`.
    fn compare_and_swap(
        &self,
        place: Place,
        datatype: &Arc<Datatype>,
        operands: [&[u8]; 2],
        former: &mut [u8],
    ) -> Result<()>;

    /// The word of the window's lock at this process ([`crate::window::lock`]).
    fn lock(&self) -> Region;

    /// Wakes those outside of the service who wait for the lock.
    fn wake_waiting(&self);

    /// All the memory, if origins may read and write it by themselves until the window is freed.
    fn whole(&self) -> Option<shows::Whole> {
        None
    }
}

/// A place in exposed memory: an element's origin, `at` bytes behind the region's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Memory that is exposed.
    pub region: Region,
    /// Bytes from its beginning; the origin itself need not lie within.
    pub at: i64,
}

impl Place {
    /// The bytes of `count` elements from here on.
    pub fn buffer(&self, count: usize, datatype: &Datatype) -> Buffer {
        Elements::at_origins(self.region, datatype.layout()).displaced(self.at as isize).buffer(0, count)
    }

    /// The place some bytes further on.
    fn displaced(self, bytes: isize) -> Place {
        Place { at: self.at + bytes as i64, ..self }
    }
}

/// The addresses of a window's members and messages.
pub(crate) struct Addresses {
    requests: u64,
    data: u64,
    rank: i32,
    group: Arc<Group>,
}

impl Addresses {
    fn of(comm: &Comm) -> Addresses {
        Addresses {
            requests: comm.context(Traffic::Exchange),
            data: comm.context(Traffic::Partitioned),
            rank: comm.rank(),
            group: comm.group().clone(),
        }
    }

    /// The send of a request.
    fn request(&self, target: i32, buffer: Buffer) -> SendRequest {
        SendRequest { context: self.requests, ..self.data(target, REQUEST_TAG, buffer) }
    }

    /// The send of a payload or an answer.
    fn data(&self, rank: i32, tag: i32, buffer: Buffer) -> SendRequest {
        SendRequest {
            peer: self.group.peer(rank),
            context: self.data,
            source: self.rank,
            tag,
            buffer,
            mark: Mark::NONE,
            mode: Mode::Standard,
        }
    }

    /// The receive of a payload or an answer.
    fn receive(&self, rank: i32, tag: i32, buffer: Buffer) -> ReceiveRequest {
        let receive = ReceiveRequest::new(self.data, rank, tag, buffer);
        ReceiveRequest { peer: Some(self.group.peer(rank)), ..receive }
    }
}

/// The tag of the payload of a request.
fn payload_tag(number: u32) -> i32 {
    (number * 2) as i32
}

/// The tag of the answer to a request.
fn answer_tag(number: u32) -> i32 {
    (number * 2 + 1) as i32
}

/// The length of the pieces in which elements of a datatype are accumulated: whole elements, or at
/// least whole basic ones.
fn piece_bytes(datatype: &Datatype) -> usize {
    let unit = if datatype.size() <= PIECE_BYTES { datatype.size() } else { basic_type(datatype).size() };
    PIECE_BYTES / unit.max(1) * unit.max(1)
}

/// The predefined type of which a datatype's elements are: bytes, if they are of several.
fn basic_type(datatype: &Datatype) -> &'static Arc<Datatype> {
    let handle = datatype.basic().map_or(MPI_BYTE, |basic| basic.handle);
    Datatype::predefined(handle).expect("the table of predefined types has it")
}

/// The messages of a window at one of its processes.
pub struct Service {
    origin: Origin,
    target: Lock<Target>,
    is_closed: AtomicBool,
}

impl Service {
    /// The service of a window whose communicator, a private one, is `comm`.
    pub fn new(comm: &Comm) -> Service {
        let addresses = Arc::new(Addresses::of(comm));
        let origin = Origin::new(addresses.clone());
        Service { origin, target: Lock::new(Target::new(addresses)), is_closed: AtomicBool::new(false) }
    }

    /// The origin's side.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Makes a bounded step on both sides. Returns whether anything happened.
    pub fn advance(&self, access: &mut impl Access, exposed: &dyn Exposed) -> bool {
        let ended = self.origin.advance(access);
        // Another thread that is at it does the same.
        let served = self.target.try_lock().is_some_and(|mut target| target.advance(access, exposed));
        ended | served
    }

    /// Takes the first fault of another process that nobody could be told.
    pub fn take_fault(&self) -> Option<Error> {
        self.target.lock().take_fault()
    }

    /// Returns counts of what this process did as a target.
    pub fn counts(&self) -> Counts {
        self.target.lock().counts()
    }

    /// Returns whether nothing is under way, on either side. What an origin has finished may still
    /// be under way at the target for a moment.
    pub fn is_idle(&self) -> bool {
        self.origin.is_idle() && self.target.lock().is_idle()
    }

    /// Ends the service: its task ends when nothing is under way. All members have finished their
    /// operations.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Hides the memory from all origins that it was shown to: they have finished their operations.
    pub fn hide(&self, access: &mut impl Access) {
        self.target.lock().hide(access);
    }

    /// Drops requests that came although all members had finished. `MPI_ERR_RMA_SYNC` if there were
    /// any.
    pub fn refuse_rest(&self, access: &mut impl Access) -> Result<()> {
        match self.target.lock().refuse_rest(access) {
            0 => Ok(()),
            requests => Err(error::freed(requests)),
        }
    }
}

/// Counts of what a target did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that came.
    pub requests: u64,
    /// Payloads and answers that went straight between the memories of both sides.
    pub straight: u64,
    /// Pieces of accumulates.
    pub pieces: u64,
    /// Locks that had to wait.
    pub queued_locks: u64,
    /// Flushes and unlocks that had to wait for something before them.
    pub held_flushes: u64,
    /// Operations that failed.
    pub failures: u64,
    /// Times that no requests were taken, since too many waited.
    pub pauses: u64,
}

/// The task that drives a service.
pub struct Serving {
    /// The service.
    pub service: Arc<Service>,
    /// The memory.
    pub exposed: Arc<dyn Exposed>,
}

impl Task for Serving {
    fn advance(&mut self, mut process: &Process) -> Result<bool> {
        // The caller may sleep next: nothing that came already may be left. Nothing new comes here,
        // since the engine makes no progress meanwhile.
        let mut moved = false;
        while self.service.advance(&mut process, &*self.exposed) {
            moved = true;
        }
        if moved {
            process.notify();
        }
        Ok(self.service.is_closed.load(Ordering::Acquire) && self.service.is_idle())
    }
}
