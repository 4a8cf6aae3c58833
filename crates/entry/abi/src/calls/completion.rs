//! Waiting and testing (MPI-5.0, 3.7.3 to 3.7.6).

use crate::args::{InOut, Out, OutFlag, StatusOut, StatusesOut};
use crate::generated::types::MPI_Request;
use crate::process;
use crate::report::Failed;
use crate::requests::{
    Pending, State, all_under_way, failed, finish_into, in_status, resolve, retire, status_of,
};
use crate::status::Status;
use std::ffi::c_int;
use verbena_hang::Awaited;
use verbena_mpi::Process;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::request::Outcome;

type Outcomes = std::result::Result<(), Failed>;

/// `MPI_Wait`.
#[inline]
pub fn wait(request: InOut<MPI_Request>, status: StatusOut) -> Outcomes {
    let mut handle = request.get();
    let ended = finish_into(process(), &mut handle, |ended| match ended {
        Some(ended) => status.set(ended),
        None => status.set_empty(),
    });
    request.set(handle);
    ended
}

/// Sets the status and returns the error of one ended (or inactive) operation.
#[inline]
fn conclude(pending: &Pending, outcome: Option<Outcome>, status: StatusOut) -> Outcomes {
    let Some(outcome) = outcome else {
        status.set_empty();
        return Ok(());
    };
    status.set(status_of(&outcome));
    if outcome.error.is_none() { Ok(()) } else { Err(failed(pending, &outcome).expect("it has an error")) }
}

/// `MPI_Test`.
#[inline]
pub fn test(request: InOut<MPI_Request>, flag: OutFlag, status: StatusOut) -> Outcomes {
    let mut handle = request.get();
    if all_under_way(process(), &[handle]) {
        process().poll();
        if all_under_way(process(), &[handle]) {
            flag.set(false);
            return Ok(());
        }
    }
    let pending = resolve(handle)?;
    let outcome = match look_twice(process(), || pending.look(process(), true)) {
        State::Pending => {
            flag.set(false);
            return Ok(());
        }
        State::Inactive => None,
        State::Ended(outcome) => Some(outcome),
    };
    flag.set(true);
    if outcome.is_some() {
        let retired = retire(process(), &mut handle, &pending);
        request.set(handle);
        retired?;
    }
    conclude(&pending, outcome, status)
}

/// Looks, and if the request is pending looks again after a round of progress.
#[inline]
fn look_twice(process: &Process, mut look: impl FnMut() -> State) -> State {
    match look() {
        State::Pending => {
            process.poll();
            look()
        }
        other => other,
    }
}

/// Errors and statuses of a call that completes several operations.
struct Several<'a> {
    statuses: StatusesOut<'a>,
    first: Option<Failed>,
    codes: Vec<(usize, c_int)>,
}

impl<'a> Several<'a> {
    fn new(statuses: StatusesOut<'a>) -> Several<'a> {
        Several { statuses, first: None, codes: Vec::new() }
    }

    /// Stores the status of the operation at `place`, which has ended.
    #[inline]
    fn ended(&mut self, place: usize, pending: &Pending, outcome: Option<Outcome>) {
        let Some(outcome) = outcome else { return self.statuses.set_empty(place) };
        self.statuses.set(place, status_of(&outcome));
        if let Some(error) = &outcome.error {
            self.codes.push((place, error.class));
            self.first = self.first.take().or_else(|| failed(pending, &outcome));
        }
    }

    /// Notes the error of the operation at `place`. An error of the call itself (a wrong handle)
    /// ends it.
    #[cold]
    fn failed(&mut self, place: usize, failed: Failed) -> Outcomes {
        if failed.owner.is_none() {
            return Err(failed);
        }
        self.codes.push((place, failed.error.class));
        self.first.get_or_insert(failed);
        Ok(())
    }

    /// Returns `MPI_ERR_IN_STATUS` if any failed; each of the `count` statuses has its own code.
    fn conclude(mut self, count: usize) -> Outcomes {
        let Some(first) = self.first else { return Ok(()) };
        (0..count).for_each(|place| self.statuses.set_error(place, mpi::MPI_SUCCESS));
        for (place, code) in self.codes {
            self.statuses.set_error(place, code);
        }
        Err(in_status(first))
    }
}

/// `MPI_Waitall`.
pub fn waitall(_count: i32, requests: &mut [MPI_Request], statuses: StatusesOut) -> Outcomes {
    waitall_from(0, requests, statuses)
}

/// `MPI_Waitall` whose first `done` requests are complete, with their statuses stored.
pub fn waitall_from(done: usize, requests: &mut [MPI_Request], statuses: StatusesOut) -> Outcomes {
    let mut several = Several::new(statuses);
    for (place, handle) in requests.iter_mut().enumerate().skip(done) {
        let statuses = &mut several.statuses;
        let ended = finish_into(process(), handle, |ended| match ended {
            Some(ended) => statuses.set(place, ended),
            None => statuses.set_empty(place),
        });
        if let Err(failed) = ended {
            several.failed(place, failed)?;
        }
    }
    several.conclude(requests.len())
}

/// `MPI_Testall`: all or none.
pub fn testall(_count: i32, requests: &mut [MPI_Request], flag: OutFlag, statuses: StatusesOut) -> Outcomes {
    process().poll();
    if all_under_way(process(), requests) {
        flag.set(false);
        return Ok(());
    }
    let pending = resolve_all(requests)?;
    let ready = pending.iter().all(|pending| pending.is_ready(process()));
    flag.set(ready);
    if !ready {
        return Ok(());
    }
    let mut several = Several::new(statuses);
    for (place, (handle, pending)) in requests.iter_mut().zip(&pending).enumerate() {
        let outcome = match pending.look(process(), true) {
            State::Ended(outcome) => Some(outcome),
            State::Pending | State::Inactive => None,
        };
        if outcome.is_some() {
            retire(process(), handle, pending)?;
        }
        several.ended(place, pending, outcome);
    }
    several.conclude(requests.len())
}

/// The result of a look over several requests.
enum Found {
    /// Some are under way, and none has ended.
    Nothing,
    /// All are null or inactive.
    NoneActive,
    /// The one at this place has ended.
    Ended(usize, Outcome),
}

/// The first of the requests that has ended.
fn find_ended(process: &Process, pending: &[Pending]) -> Found {
    let mut active = false;
    for (place, pending) in pending.iter().enumerate() {
        match pending.look(process, true) {
            State::Inactive => (),
            State::Pending => active = true,
            State::Ended(outcome) => return Found::Ended(place, outcome),
        }
    }
    if active { Found::Nothing } else { Found::NoneActive }
}

/// Waits until one of the requests has ended, if any is active.
fn wait_for_one(process: &Process, pending: &[Pending]) -> Found {
    let awaited = |process: &Process| {
        Awaited::Any(pending.iter().flat_map(|pending| pending.operations(process)).collect())
    };
    process.wait_for(awaited, |process| match find_ended(process, pending) {
        Found::Nothing => None,
        found => Some(found),
    })
}

fn resolve_all(requests: &[MPI_Request]) -> verbena_mpi::Result<Vec<Pending>> {
    requests.iter().map(|&handle| resolve(handle)).collect()
}

/// Sets index and status for what [`find_ended`] found. Returns false if there was nothing to tell.
fn conclude_any(
    requests: &mut [MPI_Request],
    pending: &[Pending],
    found: Found,
    index: Out<c_int>,
    status: StatusOut,
) -> std::result::Result<bool, Failed> {
    match found {
        Found::Nothing => {
            index.set(mpi::MPI_UNDEFINED);
            Ok(false)
        }
        Found::NoneActive => {
            index.set(mpi::MPI_UNDEFINED);
            status.set_empty();
            Ok(true)
        }
        Found::Ended(place, outcome) => {
            index.set(place as c_int);
            retire(process(), &mut requests[place], &pending[place])?;
            conclude(&pending[place], Some(outcome), status).map(|()| true)
        }
    }
}

/// `MPI_Waitany`.
pub fn waitany(_count: i32, requests: &mut [MPI_Request], index: Out<c_int>, status: StatusOut) -> Outcomes {
    let pending = resolve_all(requests)?;
    let found = wait_for_one(process(), &pending);
    conclude_any(requests, &pending, found, index, status).map(drop)
}

/// `MPI_Testany`.
pub fn testany(
    _count: i32,
    requests: &mut [MPI_Request],
    index: Out<c_int>,
    flag: OutFlag,
    status: StatusOut,
) -> Outcomes {
    process().poll();
    if all_under_way(process(), requests) {
        index.set(mpi::MPI_UNDEFINED);
        flag.set(false);
        return Ok(());
    }
    let pending = resolve_all(requests)?;
    let found = find_ended(process(), &pending);
    flag.set(!matches!(found, Found::Nothing));
    conclude_any(requests, &pending, found, index, status).map(drop)
}

/// Retires every request that has ended, from the one at `first` (already looked at) on.
fn collect_some(
    requests: &mut [MPI_Request],
    pending: &[Pending],
    first: Option<(usize, Outcome)>,
    (outcount, indices, statuses): (Out<c_int>, &mut [c_int], StatusesOut),
) -> Outcomes {
    let mut several = Several::new(statuses);
    let (mut count, mut next) = (0, first);
    let mut place = 0;
    while place < pending.len() {
        let ended = match next.take_if(|(at, _)| *at == place) {
            Some((_, outcome)) => Some(outcome),
            None => match pending[place].look(process(), true) {
                State::Ended(outcome) => Some(outcome),
                _ => None,
            },
        };
        if let Some(outcome) = ended {
            indices[count] = place as c_int;
            retire(process(), &mut requests[place], &pending[place])?;
            several.ended(count, &pending[place], Some(outcome));
            count += 1;
        }
        place += 1;
    }
    outcount.set(count as c_int);
    several.conclude(count)
}

/// `MPI_Waitsome`.
pub fn waitsome(
    _incount: i32,
    requests: &mut [MPI_Request],
    outcount: Out<c_int>,
    indices: &mut [c_int],
    statuses: StatusesOut,
) -> Outcomes {
    let pending = resolve_all(requests)?;
    let found = wait_for_one(process(), &pending);
    some(requests, &pending, found, (outcount, indices, statuses))
}

/// `MPI_Testsome`.
pub fn testsome(
    _incount: i32,
    requests: &mut [MPI_Request],
    outcount: Out<c_int>,
    indices: &mut [c_int],
    statuses: StatusesOut,
) -> Outcomes {
    process().poll();
    if all_under_way(process(), requests) {
        outcount.set(0);
        return Ok(());
    }
    let pending = resolve_all(requests)?;
    let found = find_ended(process(), &pending);
    some(requests, &pending, found, (outcount, indices, statuses))
}

fn some(
    requests: &mut [MPI_Request],
    pending: &[Pending],
    found: Found,
    out: (Out<c_int>, &mut [c_int], StatusesOut),
) -> Outcomes {
    match found {
        Found::Ended(place, outcome) => collect_some(requests, pending, Some((place, outcome)), out),
        Found::NoneActive => {
            out.0.set(mpi::MPI_UNDEFINED);
            Ok(())
        }
        Found::Nothing => {
            out.0.set(0);
            Ok(())
        }
    }
}

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
    let pending = resolve_all(requests)?;
    let ready = pending.iter().all(|pending| pending.is_ready(process()));
    flag.set(ready);
    if ready {
        for (place, pending) in pending.iter().enumerate() {
            statuses.set(place, peeked(pending));
        }
    }
    Ok(())
}

/// The status of an ended request, which stays as it is.
fn peeked(pending: &Pending) -> Status {
    match pending.look(process(), false) {
        State::Ended(outcome) => status_of(&outcome),
        State::Pending | State::Inactive => Status::EMPTY,
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
    let (mut count, mut active) = (0, false);
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
        }
    }
    outcount.set(if active { count as c_int } else { mpi::MPI_UNDEFINED });
    Ok(())
}
