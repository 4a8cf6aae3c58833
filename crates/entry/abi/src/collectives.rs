//! The arguments of collectives, from C to what the algorithms take. A collective has one body for
//! its blocking, nonblocking and persistent calls, which differ only in how they [`Run`].
//!
//! Arguments that are significant only at the root come empty elsewhere (see the API table); what
//! remains to be checked here is `MPI_IN_PLACE` and that buffers lie in the program's memory.

use crate::args::{self, Address, Counts, Out};
use crate::generated::types::MPI_Request;
use crate::handles::REQUESTS;
use crate::process;
use crate::requests::handle_of_object;
use std::slice;
use std::sync::Arc;
use verbena_channel::mark::Mark;
use verbena_memory::elements::Elements;
use verbena_memory::layout::Layout;
pub use verbena_mpi::coll::board::blocking;
use verbena_mpi::coll::schedule::Schedule;
use verbena_mpi::coll::{Blocks, Reduction, forms};
use verbena_mpi::datatype::sort;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::request::Request;
use verbena_mpi::{Comm, Datatype, Error, Op, Result};

/// The way a collective runs (MPI-5.0, 6.12 and 6.13), and the tag of its messages. The tag is its
/// turn among the communicator's collectives, taken before other arguments are checked.
#[derive(Clone, Copy)]
pub enum Run<'a> {
    /// The collective ends before the call returns.
    Blocking(i32),
    /// The collective runs in the background; sets the request.
    Nonblocking(i32, Out<'a, MPI_Request>),
    /// The collective runs whenever the request is started; sets the request.
    Persistent(i32, Out<'a, MPI_Request>),
}

/// The operation and datatype of a reduction.
pub type Reducing<'a> = Option<(&'a Arc<Op>, &'a Arc<Datatype>)>;

/// A datatype that is significant on some ranks only.
pub type Type<'a> = Option<&'a Arc<Datatype>>;

/// Runs a blocking call over a board, if it goes that way, and returns its outcome.
macro_rules! try_board {
    ($run:expr, $call:path, $($argument:expr),*) => {
        if let $crate::collectives::Run::Blocking(_) = $run
            && let Some(outcome) = $call($crate::process(), $($argument),*)
        {
            return outcome;
        }
    };
}
pub(crate) use try_board;

impl Run<'_> {
    /// Runs the schedule that `fill` writes; `call` says what is called
    /// ([`verbena_mpi::coll::call`]).
    #[inline]
    pub fn run(
        self,
        comm: &Arc<Comm>,
        call: Mark,
        reducing: Reducing,
        fill: impl FnOnce(&mut Schedule),
    ) -> Result<()> {
        let kept = || reducing.map(|(op, datatype)| (op.clone(), datatype.clone()));
        match self {
            Run::Blocking(tag) => {
                let reduction = reducing.map(|(op, datatype)| Reduction { op, datatype });
                return forms::blocking(process(), comm, (tag, call), reduction, fill);
            }
            Run::Nonblocking(tag, request) => {
                let active = forms::nonblocking(process(), comm, (tag, call), kept(), fill);
                request.set(handle_of_object(Some(comm), active));
            }
            Run::Persistent(tag, request) => {
                let starter = forms::persistent(comm, (tag, call), kept(), fill);
                request.set(REQUESTS.insert(Arc::new(Request::persistent(comm.clone(), starter))));
            }
        }
        Ok(())
    }

    /// Runs a schedule as [`Run::run`] does, for a collective that reduces nothing.
    #[inline]
    pub fn moving(self, comm: &Arc<Comm>, call: Mark, fill: impl FnOnce(&mut Schedule)) -> Result<()> {
        self.run(comm, call, None, fill)
    }
}

/// The address of a buffer's first byte: `count` elements that begin `bytes` bytes behind
/// `address`. `None` if the buffer has no bytes, or is in place.
#[inline]
pub fn first_byte(address: Address, bytes: i64, count: i64, datatype: &Datatype) -> Option<usize> {
    if count <= 0 || datatype.size() == 0 || address.is_in_place() {
        return None;
    }
    let start = address.pointer() as usize;
    Some(start.wrapping_add(bytes as usize).wrapping_add(datatype.true_extent().0 as usize))
}

impl Run<'_> {
    /// Refuses a send and a receive buffer that begin at the same byte (MPI-5.0, 6.2 and 6.9: they
    /// must not overlap). A refused call has not taken part: a correct one may take its turn, as in
    /// other libraries.
    #[inline]
    pub fn check_distinct(&self, comm: &Comm, send: Option<usize>, recv: Option<usize>) -> Result<()> {
        match send.is_some() && send == recv && !comm.is_inter() {
            true => Err(self.refuse_overlap(comm)),
            false => Ok(()),
        }
    }

    #[cold]
    fn refuse_overlap(&self, comm: &Comm) -> Error {
        match self {
            Run::Blocking(_) => comm.give_back_collective_tag(),
            Run::Nonblocking(..) | Run::Persistent(..) => comm.give_back_nonblocking_tag(),
        }
        Error::new(
            mpi::MPI_ERR_BUFFER,
            "the send and the receive buffer of a collective overlap",
            "both begin at the same address on this rank",
            "one buffer was passed twice",
            "pass two buffers, or MPI_IN_PLACE as the send buffer where the call allows it",
        )
    }
}

/// The elements at `address`; the call uses `count` of them.
#[inline]
pub fn elements<'a>(address: Address, count: i64, datatype: &'a Arc<Datatype>) -> Result<Elements<'a>> {
    args::buffer(address, count, datatype)?;
    // SAFETY: the program promises (MPI-5.0, 3.2.2 and 6.12) that the elements that its counts and
    // displacements name are its memory until the operation completes.
    Ok(unsafe { Elements::new(address.pointer().cast(), datatype.layout()) })
}

/// The datatype, which the API table delivers wherever it is significant.
#[inline]
pub fn significant(datatype: Option<&Arc<Datatype>>) -> Result<&Arc<Datatype>> {
    datatype.ok_or_else(misplaced)
}

/// Blocks of `count` elements for each of `ranks`.
pub fn even<'a>(address: Address, count: i64, datatype: &'a Arc<Datatype>, ranks: i64) -> Result<Blocks<'a>> {
    let total = count.saturating_mul(ranks);
    Ok(Blocks::Even { elements: elements(address, total, datatype)?, count: count as usize })
}

/// Blocks of different sizes.
pub fn varied<'a>(
    address: Address,
    counts: Counts<'a>,
    displacements: Counts<'a>,
    datatype: &'a Arc<Datatype>,
) -> Result<Blocks<'a>> {
    let some = counts.iter().any(|count| count > 0);
    let elements = elements(address, some.into(), datatype)?;
    Ok(Blocks::Varied { elements, counts: counts.into(), displacements: displacements.into() })
}

/// The layouts of datatypes.
pub fn layouts(datatypes: &[Arc<Datatype>]) -> Vec<Arc<Layout>> {
    datatypes.iter().map(|datatype| datatype.layout().clone()).collect()
}

/// Tells a schedule what the blocks are, one datatype for each or one for all. If nothing is
/// `given`, what is sent is in the receive buffer.
pub fn tell_blocks(schedule: &mut Schedule, given: bool, sent: &[Arc<Datatype>], received: &[Arc<Datatype>]) {
    let sorts = |datatypes: &[Arc<Datatype>]| -> Vec<u16> {
        datatypes.iter().map(|datatype| sort::of_moved(datatype)).collect()
    };
    schedule.tell_elements(sorts(if given { sent } else { received }), sorts(received));
}

/// The datatype as one for all blocks.
pub fn of_all(datatype: Type<'_>) -> &[Arc<Datatype>] {
    datatype.map_or(&[], slice::from_ref)
}

/// Blocks with a datatype each. The layouts are those of the datatypes.
pub fn typed<'a>(
    address: Address,
    (counts, displacements): (Counts<'a>, Counts<'a>),
    datatypes: &[Arc<Datatype>],
    layouts: &'a [Arc<Layout>],
) -> Result<Blocks<'a>> {
    for (i, datatype) in datatypes.iter().enumerate().filter(|(i, _)| counts.get(*i) > 0) {
        let at = address.pointer().cast::<u8>().wrapping_offset(displacements.get(i) as isize);
        args::buffer(Address::new(at.cast()), counts.get(i), datatype)?;
    }
    let byte = Datatype::predefined(mpi::MPI_BYTE).expect("a predefined datatype");
    let base = elements(address, 0, byte)?;
    Ok(Blocks::Typed { base, counts: counts.into(), displacements: displacements.into(), layouts })
}

/// Returns whether the address is `MPI_IN_PLACE`; an error where that has no meaning.
#[inline]
pub fn in_place(address: Address, allowed: bool) -> Result<bool> {
    match address.is_in_place() {
        true if !allowed => Err(misplaced()),
        answer => Ok(answer),
    }
}

impl<'a> From<Counts<'a>> for verbena_mpi::coll::Counts<'a> {
    #[inline]
    fn from(counts: Counts<'a>) -> Self {
        match counts {
            Counts::Int(values) => Self::Int(values),
            Counts::Large(values) => Self::Large(values),
        }
    }
}

#[cold]
fn misplaced() -> Error {
    Error::new(
        mpi::MPI_ERR_BUFFER,
        "MPI_IN_PLACE has no meaning here",
        "the buffer of a collective",
        "it was passed on a rank other than the root, on an intercommunicator, or for the other buffer",
        "pass MPI_IN_PLACE only where the call's description allows it (MPI-5.0, chapter 6)",
    )
}
