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
//! | `pieces` | the cut into those pieces |
//! | `kept`, `known` | datatypes that a target keeps for its origins |
//! | `locks` | origins that hold the lock or wait for it |
//! | `lost` | members that have died, with the lock perhaps |
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
//! [`Traffic::Partitioned`]. A step of a target does a bounded amount of work, origin after origin,
//! whatever has come. A target takes no more requests from the engine while those that it
//! cannot begin yet hold much memory, so that the engine throttles their senders.
//!
//! Locks are taken in the order of origin, operation, engine. Those of the target are held while
//! the window is asked ([`Exposed`]), and never while the engine is.

mod accumulating;
mod calls;
mod error;
mod explanation;
mod kept;
mod known;
mod line;
mod locks;
mod lost;
mod notes;
pub mod operation;
mod order;
pub mod origin;
mod outbox;
mod pieces;
pub mod request;
pub mod shows;
mod target;

pub(super) use error::dead_ahead;
pub(super) use error::garbled_answer;
pub use operation::Operation;
pub use origin::{Moment, Origin};
pub use pieces::PIECE_BYTES;
pub use verbena_machine::touch::Touch;

use crate::comm::{Comm, Traffic};
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::group::Group;
use crate::op::Op;
use crate::process::{Access, Process};
use crate::task::{News, Round, Task};
use crate::window::lock;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target::Target;
use verbena_channel::mark::Mark;
use verbena_engine::{LASTING_TAG, Mode, ReceiveRequest, SendRequest};
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Region};
use verbena_waiting::lock::Lock;

/// The tag of requests. All tags of the service lie below [`LASTING_TAG`]: where the window is
/// revoked, what was called on a member that lives is done all the same.
pub const REQUEST_TAG: i32 = i32::MIN;

/// The window as its service sees it: the memory that this process exposes.
pub trait Exposed: Send + Sync {
    /// Finds elements, a number of them and the datatype of each, at the displacement that an
    /// origin gave. `MPI_ERR_RMA_RANGE` if they are not all exposed, or if the program has taken
    /// memory back that would be touched in this way.
    fn place(&self, displacement: i64, elements: (usize, &Arc<Datatype>), touch: Touch) -> Result<Place>;

    /// Does what accumulate calls do to some of `count` elements: to those in this range of their
    /// packed bytes, which begins and ends where predefined elements do. See `window/apply.rs`.
    /// `source` and `former` are packed bytes, as many as the range has.
    fn accumulate(
        &self,
        place: Place,
        op: &Op,
        elements: (usize, &Arc<Datatype>),
        range: Range<usize>,
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

    /// Checks that an origin may ask for the lock. `MPI_ERR_RMA_SYNC` if not.
    fn check_lock(&self) -> Result<()>;

    /// Notes how many tickets of the lock the service has, so that those who take it by themselves
    /// know it when this process has died.
    fn note_served(&self, tickets: usize);

    /// The claim on the lock of a member that takes it by itself, in mapped memory.
    fn claim_of(&self, _member: i32) -> Option<lock::Claim> {
        None
    }

    /// Notes that this member has died with this claim on the lock, for those who wait outside of
    /// the service.
    fn note_dead(&self, member: i32, claim: lock::Claim);

    /// Wakes the one outside of the service who waits for the lock with this ticket; all that wait,
    /// if nobody is known to.
    fn wake_waiting(&self, next: lock::Ticket);

    /// All the memory, if origins may read and write it by themselves until the window is freed.
    fn whole(&self) -> Option<shows::Whole> {
        None
    }
}

/// A place in exposed memory: an element's origin, `at` bytes behind the region's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Memory that is exposed: all of the elements, or a part of it, where they lie in several
    /// pieces.
    pub region: Region,
    /// Bytes from its beginning; the origin itself need not lie within.
    pub at: i64,
}

impl Place {
    /// The bytes of `count` elements from here on.
    pub fn buffer(&self, count: usize, datatype: &Datatype) -> Buffer {
        Elements::at_origins(self.region, datatype.layout()).displaced(self.at as isize).buffer(0, count)
    }

    /// The address of the origin.
    pub(super) fn address(&self) -> u64 {
        self.region.address().wrapping_add_signed(self.at)
    }

    /// Returns whether the bytes within `span` of the origin lie in the region.
    pub(super) fn holds(&self, (low, high): (i64, i64)) -> bool {
        let end = self.at.checked_add(high);
        self.at.checked_add(low).is_some_and(|first| first >= 0)
            && end.is_some_and(|end| end <= self.region.len() as i64)
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
pub fn payload_tag(number: u32) -> i32 {
    i32::MIN + (number * 2) as i32
}

/// The tag of the answer to a request.
pub fn answer_tag(number: u32) -> i32 {
    i32::MIN + (number * 2 + 1) as i32
}

const _: () = assert!(i32::MIN + (request::NUMBERS as i32 * 2 - 1) < LASTING_TAG);

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

    /// Makes a bounded step on both sides. Returns whether anything happened; if not, nothing is
    /// left to do before something comes.
    pub fn advance(&self, access: &mut impl Access, exposed: &dyn Exposed) -> bool {
        let ended = self.origin.advance(access);
        let served = self.target.lock().advance(access, exposed);
        ended | served
    }

    /// Returns whether a step may find anything to do though no request has come.
    #[inline]
    fn is_busy(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
            || self.origin.is_busy()
            || self.target.try_lock().is_none_or(|target| target.is_busy())
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
    /// Derived datatypes that were made of their descriptions.
    pub datatypes: u64,
}

/// The steps of a service in a round of progress. Then the caller may look for what it waits for.
const STEPS_MAX: u32 = 4;

/// The task that drives a service.
pub struct Serving {
    service: Arc<Service>,
    exposed: Arc<dyn Exposed>,
    /// The news when requests were last looked for. Requests are always among the messages that
    /// came before their receive.
    seen: Option<News>,
    /// True if the last round did not come to an end.
    has_more: bool,
}

impl Serving {
    /// The task of this service and this memory.
    pub fn new(service: Arc<Service>, exposed: Arc<dyn Exposed>) -> Serving {
        Serving { service, exposed, seen: None, has_more: false }
    }
}

impl Task for Serving {
    fn advance(&mut self, mut process: &Process) -> Result<bool> {
        // Counted first: what comes from now on is looked for again.
        self.seen = Some(News::of(process));
        let mut steps = 0;
        // The caller may sleep next: nothing that came already may be left, unless it is told.
        while steps < STEPS_MAX && self.service.advance(&mut process, &*self.exposed) {
            steps += 1;
        }
        self.has_more = steps == STEPS_MAX;
        if steps > 0 {
            process.notify();
        }
        Ok(self.service.is_closed.load(Ordering::Acquire) && self.service.is_idle())
    }

    #[inline]
    fn is_due(&self, round: &Round<'_>) -> bool {
        self.has_more || self.service.is_busy() || self.seen != Some(round.news())
    }

    fn has_more(&self) -> bool {
        self.has_more
    }
}
