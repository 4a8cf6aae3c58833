//! The arguments of collectives, from C to what the algorithms take: shared by the blocking, nonblocking and
//! persistent calls, which differ only in their [`Form`].
//!
//! Arguments that are significant only at the root come empty elsewhere (see the API table); what remains to
//! be checked here is `MPI_IN_PLACE` and that buffers lie in the program's memory.

mod moving;
mod reducing;

pub use moving::*;
pub use reducing::*;

use crate::args::{self, Address, Counts, Out};
use crate::generated::types::MPI_Request;
use crate::handles::REQUESTS;
use crate::process;
use crate::requests::handle_of_object;
use std::sync::Arc;
use verbena_channel::elements::Elements;
pub use verbena_mpi::coll::board::blocking as over_board;
use verbena_mpi::coll::schedule::Schedule;
use verbena_mpi::coll::{Blocks, Reduction, forms};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::request::Request;
use verbena_mpi::{Comm, Datatype, Error, Op, Result};

/// How a collective runs (MPI-5.0, 6.12 and 6.13).
#[derive(Clone, Copy)]
pub enum Form<'a> {
    /// To its end, before the call returns.
    Blocking,
    /// In the background; sets the request.
    Nonblocking(Out<'a, MPI_Request>),
    /// Whenever the request is started; sets the request.
    Persistent(Out<'a, MPI_Request>),
}

/// The operation and datatype of a reduction.
type Reducing<'a> = Option<(&'a Arc<Op>, &'a Arc<Datatype>)>;

/// Returns what a blocking call does over a board, if it goes that way.
macro_rules! try_board {
    ($form:expr, $call:ident($($argument:expr),*)) => {
        if let Form::Blocking = $form
            && let Some(outcome) = $crate::collectives::over_board::$call($crate::process(), $($argument),*)
        {
            return outcome;
        }
    };
}
pub(crate) use try_board;

/// Runs the schedule that `fill` writes in the given form.
#[inline]
fn run(form: Form, comm: &Arc<Comm>, reducing: Reducing, fill: impl FnOnce(&mut Schedule)) -> Result<()> {
    let kept = || reducing.map(|(op, datatype)| (op.clone(), datatype.clone()));
    match form {
        Form::Blocking => {
            let reduction = reducing.map(|(op, datatype)| Reduction { op, datatype });
            return forms::blocking(process(), comm, reduction, fill);
        }
        Form::Nonblocking(request) => {
            let active = forms::nonblocking(process(), comm, kept(), fill);
            request.set(handle_of_object(Some(comm), active));
        }
        Form::Persistent(request) => {
            let starter = forms::persistent(comm, kept(), fill);
            request.set(REQUESTS.insert(Arc::new(Request::persistent(comm.clone(), starter))));
        }
    }
    Ok(())
}

/// The elements at `address`, of which the call uses `count`.
#[inline]
fn elements<'a>(address: Address, count: i64, datatype: &'a Arc<Datatype>) -> Result<Elements<'a>> {
    args::buffer(address, count, datatype)?;
    // SAFETY: the program promises (MPI-5.0, 3.2.2 and 6.12) that the elements that its counts and displacements
    // name are its memory until the operation completes.
    Ok(unsafe { Elements::new(address.pointer().cast(), datatype.layout()) })
}

/// A datatype that the API table delivers wherever it is significant.
#[inline]
fn significant(datatype: Option<&Arc<Datatype>>) -> Result<&Arc<Datatype>> {
    datatype.ok_or_else(misplaced)
}

/// Blocks of `count` elements for each of `ranks`.
fn even<'a>(address: Address, count: i64, datatype: &'a Arc<Datatype>, ranks: i32) -> Result<Blocks<'a>> {
    let total = count.saturating_mul(ranks.into());
    Ok(Blocks::Even { elements: elements(address, total, datatype)?, count: count as usize })
}

/// Blocks of different sizes.
fn varied<'a>(
    address: Address,
    counts: Counts<'a>,
    displacements: Counts<'a>,
    datatype: &'a Arc<Datatype>,
) -> Result<Blocks<'a>> {
    let some = counts.iter().any(|count| count > 0);
    let elements = elements(address, some.into(), datatype)?;
    Ok(Blocks::Varied { elements, counts: counts.into(), displacements: displacements.into() })
}

/// Whether the address is `MPI_IN_PLACE`; an error where that has no meaning.
#[inline]
fn in_place(address: Address, allowed: bool) -> Result<bool> {
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
