//! Looks at requests that leave them as they are (MPI-5.0, 3.7.6).

use super::completion::{Outcomes, all_ready, doubt, doubts, look_twice, resolve_all};
use crate::args::{Out, OutFlag, StatusOut, StatusesOut};
use crate::generated::types::MPI_Request;
use crate::process;
use crate::requests::{Pending, State, resolve, status_of};
use crate::status::Status;
use std::ffi::c_int;
use verbena_mpi::generated::constants as mpi;

/// `MPI_Request_get_status` (3.7.6): a test that leaves the request as it is.
pub fn request_get_status(request: MPI_Request, flag: OutFlag, status: StatusOut) -> Outcomes {
    let pending = resolve(request)?;
    match look_twice(process(), || pending.look(process(), false)) {
        State::Pending => flag.set(false),
        State::Inactive => {
            flag.set(true);
            status.set_empty();
        }
        State::Ended(outcome) => {
            flag.set(true);
            status.set(status_of(&outcome));
        }
        State::InDoubt(outcome) => {
            flag.set(false);
            return Err(doubt(&pending, &outcome));
        }
    }
    Ok(())
}

/// `MPI_Request_get_status_all` (3.7.6).
pub fn request_get_status_all(
    _count: i32,
    requests: &[MPI_Request],
    flag: OutFlag,
    mut statuses: StatusesOut,
) -> Outcomes {
    process().poll();
    let Some(pending) = all_ready(requests, flag, &mut statuses)? else { return Ok(()) };
    for (place, pending) in pending.iter().enumerate() {
        statuses.set(place, peeked(pending));
    }
    Ok(())
}

/// The status of an ended request, which stays as it is.
fn peeked(pending: &Pending) -> Status {
    match pending.look(process(), false) {
        State::Ended(outcome) => status_of(&outcome),
        State::Pending | State::Inactive | State::InDoubt(_) => Status::EMPTY,
    }
}

/// `MPI_Request_get_status_any` (3.7.6).
pub fn request_get_status_any(
    _count: i32,
    requests: &[MPI_Request],
    index: Out<c_int>,
    flag: OutFlag,
    status: StatusOut,
) -> Outcomes {
    process().poll();
    let pending = resolve_all(requests)?;
    let active = |pending: &&Pending| !matches!(pending.look(process(), false), State::Inactive);
    let ended = pending.iter().position(|pending| matches!(pending.look(process(), false), State::Ended(_)));
    index.set(ended.map_or(mpi::MPI_UNDEFINED, |place| place as c_int));
    let idle = pending.iter().find(active).is_none();
    flag.set(ended.is_some() || idle);
    if ended.is_none()
        && let Some((place, outcome)) = doubts(&pending).first()
    {
        index.set(*place as c_int);
        return Err(doubt(&pending[*place], outcome));
    }
    match ended {
        Some(place) => status.set(peeked(&pending[place])),
        None if idle => status.set_empty(),
        None => (),
    }
    Ok(())
}

/// `MPI_Request_get_status_some` (3.7.6).
pub fn request_get_status_some(
    _incount: i32,
    requests: &[MPI_Request],
    outcount: Out<c_int>,
    indices: &mut [c_int],
    mut statuses: StatusesOut,
) -> Outcomes {
    process().poll();
    let pending = resolve_all(requests)?;
    let (mut count, mut active, mut in_doubt) = (0, false, None);
    for (place, pending) in pending.iter().enumerate() {
        match pending.look(process(), false) {
            State::Inactive => (),
            State::Pending => active = true,
            State::Ended(outcome) => {
                active = true;
                indices[count] = place as c_int;
                statuses.set(count, status_of(&outcome));
                count += 1;
            }
            State::InDoubt(outcome) => {
                active = true;
                in_doubt.get_or_insert_with(|| doubt(pending, &outcome));
            }
        }
    }
    if let Some(failed) = in_doubt.filter(|_| count == 0) {
        outcount.set(0);
        return Err(failed);
    }
    outcount.set(if active { count as c_int } else { mpi::MPI_UNDEFINED });
    Ok(())
}
