//! Messages of collectives that nobody received. They are a sign that the ranks' calls did not
//! match, but none of them had to wait for it.

use super::call::{Members, is_left};
use super::tags::numbered;
use crate::comm::{Comm, Traffic};
use crate::error::Error;
use crate::generated::constants::MPI_ERR_OTHER;
use crate::process::Process;
use verbena_engine::{ANY_TAG, Engine};

/// The error of such a message, if there is one. To be asked only when no collective of the
/// communicator is under way.
pub fn mismatch_error(process: &Process, comm: &Comm) -> Option<Error> {
    process.progress();
    let context = comm.context(Traffic::Collective);
    // One that has left a collective tells also those that need nothing more of it.
    let find = |engine: &mut Engine| engine.find_marked(context, ANY_TAG, |mark| !is_left(mark));
    let (left, _) = process.look(find)?;
    Some(Error::new(
        MPI_ERR_OTHER,
        "the ranks of a communicator called different collectives",
        format!(
            "{} sent {} bytes to this rank in {}, which this rank never received",
            Members::of(comm).sender(left.source),
            left.bytes,
            numbered(left.tag)
        ),
        "a rank called a collective that this one did not call, or with another root",
        "make all ranks of the communicator call the same collectives in the same order, with the same roots",
    ))
}
