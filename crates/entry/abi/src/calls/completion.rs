//! Waiting and testing (MPI-5.0, 3.7.3 to 3.7.6).

use crate::args::{InOut, Out, OutFlag, StatusOut, StatusesOut};
use crate::generated::types::MPI_Request;
use crate::process;
use crate::report::Failed;
use crate::requests::{
    Pending, State, all_under_way, engine_of, failed, finish_into, in_status, resolve, retire, status_of,
};
use std::ffi::c_int;
use verbena_hang::{Awaited, Operation};
use verbena_mpi::Process;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::request::Outcome;

pub(super) type Outcomes = std::result::Result<(), Failed>;

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
    let handle = request.get();
    if all_under_way(process(), &[handle]) {
        process().poll_in(engine_of(&[handle]), polled(&[handle], Awaited::All));
        if all_under_way(process(), &[handle]) {
            flag.set(false);
            return Ok(());
        }
    }
    test_ended(request, handle, flag, status)
}

/// The rest of [`test`]. Not in line: a test that finds nothing is short.
#[inline(never)]
fn test_ended(
    request: InOut<MPI_Request>,
    mut handle: MPI_Request,
    flag: OutFlag,
    status: StatusOut,
) -> Outcomes {
    let pending = resolve(handle)?;
    let outcome = match look_twice(process(), || pending.look(process(), true)) {
        State::Pending => {
            flag.set(false);
            return Ok(());
        }
        State::Inactive => None,
        State::Ended(outcome) => Some(outcome),
        State::InDoubt(outcome) => {
            flag.set(false);
            return Err(doubt(&pending, &outcome));
        }
    };
    flag.set(true);
    if outcome.is_some() {
        let retired = retire(process(), &mut handle, &pending);
        request.set(handle);
        retired?;
    }
    conclude(&pending, outcome, status)
}

/// The error of an operation that is in doubt.
#[cold]
pub(super) fn doubt(pending: &Pending, outcome: &Outcome) -> Failed {
    failed(pending, outcome).expect("a doubt is an error")
}

/// Looks, and if the request is pending looks again after a round of progress.
#[inline]
pub(super) fn look_twice(process: &Process, mut look: impl FnMut() -> State) -> State {
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
pub fn testall(
    _count: i32,
    requests: &mut [MPI_Request],
    flag: OutFlag,
    mut statuses: StatusesOut,
) -> Outcomes {
    process().poll_in(engine_of(requests), polled(requests, Awaited::All));
    if all_under_way(process(), requests) {
        flag.set(false);
        return Ok(());
    }
    let Some(pending) = all_ready(requests, flag, &mut statuses)? else { return Ok(()) };
    let mut several = Several::new(statuses);
    for (place, (handle, pending)) in requests.iter_mut().zip(&pending).enumerate() {
        let outcome = match pending.look(process(), true) {
            State::Ended(outcome) => {
                retire(process(), handle, pending)?;
                Some(outcome)
            }
            // In doubt since a moment ago: the receive stays posted.
            State::InDoubt(outcome) => Some(outcome),
            State::Pending | State::Inactive => None,
        };
        several.ended(place, pending, outcome);
    }
    several.conclude(requests.len())
}

/// Sets the flag if all are ready, and returns the requests then. Those in doubt are told of.
pub(super) fn all_ready(
    requests: &[MPI_Request],
    flag: OutFlag,
    statuses: &mut StatusesOut,
) -> std::result::Result<Option<Vec<Pending>>, Failed> {
    let pending = resolve_all(requests)?;
    let ready = pending.iter().all(|pending| pending.is_ready(process()));
    let doubts = doubts(&pending);
    flag.set(ready && doubts.is_empty());
    match doubts.is_empty() {
        true => Ok(ready.then_some(pending)),
        false => Err(tell_doubts(&pending, doubts, statuses)),
    }
}

/// The places and outcomes of the requests that are in doubt.
pub(super) fn doubts(pending: &[Pending]) -> Vec<(usize, Outcome)> {
    let in_doubt = |(place, pending): (usize, &Pending)| match pending {
        Pending::Null | Pending::Done => None,
        _ => match pending.look(process(), false) {
            State::InDoubt(outcome) => Some((place, outcome)),
            _ => None,
        },
    };
    // Without a death there are none.
    if process().look(|engine| engine.dead().is_empty()) {
        return Vec::new();
    }
    pending.iter().enumerate().filter_map(in_doubt).collect()
}

/// Tells which of the requests are in doubt; all stay as they are.
#[cold]
fn tell_doubts(pending: &[Pending], doubts: Vec<(usize, Outcome)>, statuses: &mut StatusesOut) -> Failed {
    let (first, outcome) = doubts.first().expect("there are some");
    let error = in_status(doubt(&pending[*first], outcome));
    (0..pending.len()).for_each(|place| statuses.set_error(place, mpi::MPI_ERR_PENDING));
    for (place, _) in doubts {
        statuses.set_error(place, mpi::MPIX_ERR_PROC_FAILED_PENDING);
    }
    error
}

/// The result of a look over several requests.
enum Found {
    /// Some are under way, and none has ended.
    Nothing,
    /// All are null or inactive.
    NoneActive,
    /// The one at this place has ended.
    Ended(usize, Outcome),
    /// None has ended, and the one at this place is in doubt.
    InDoubt(usize, Outcome),
}

/// The first of the requests that has ended.
fn find_ended(process: &Process, pending: &[Pending]) -> Found {
    let (mut active, mut doubt) = (false, None);
    for (place, pending) in pending.iter().enumerate() {
        match pending.look(process, true) {
            State::Inactive => (),
            State::Pending => active = true,
            State::Ended(outcome) => return Found::Ended(place, outcome),
            State::InDoubt(outcome) => _ = doubt.get_or_insert((place, outcome)),
        }
    }
    match doubt {
        Some((place, outcome)) => Found::InDoubt(place, outcome),
        None if active => Found::Nothing,
        None => Found::NoneActive,
    }
}

/// Waits until one of the requests has ended, if any is active.
fn wait_for_one(process: &Process, requests: &[MPI_Request], pending: &[Pending]) -> Found {
    let awaited = |process: &Process| Awaited::Any(operations(process, pending));
    process.wait_in(engine_of(requests), awaited, |process| match find_ended(process, pending) {
        Found::Nothing => None,
        found => Some(found),
    })
}

/// The operations of these requests that have not ended.
fn operations(process: &Process, pending: &[Pending]) -> Vec<Operation> {
    pending.iter().flat_map(|pending| pending.operations(process)).collect()
}

/// The words about a call that asks for these requests without waiting, for who wants to know.
fn polled(
    requests: &[MPI_Request],
    of: fn(Vec<Operation>) -> Awaited,
) -> impl Fn(&Process) -> Option<Awaited> {
    move |process| Some(of(operations(process, &resolve_all(requests).ok()?)))
}

pub(super) fn resolve_all(requests: &[MPI_Request]) -> verbena_mpi::Result<Vec<Pending>> {
    requests.iter().map(|&handle| resolve(handle)).collect()
}

/// Sets index and status for what [`find_ended`] found. Returns false if there was nothing to tell.
/// One that is in doubt is an error, and stays as it is.
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
        Found::InDoubt(place, outcome) => {
            index.set(place as c_int);
            Err(doubt(&pending[place], &outcome))
        }
    }
}

/// `MPI_Waitany`.
pub fn waitany(_count: i32, requests: &mut [MPI_Request], index: Out<c_int>, status: StatusOut) -> Outcomes {
    let pending = resolve_all(requests)?;
    let found = wait_for_one(process(), requests, &pending);
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
    process().poll_in(engine_of(requests), polled(requests, Awaited::Any));
    if all_under_way(process(), requests) {
        index.set(mpi::MPI_UNDEFINED);
        flag.set(false);
        return Ok(());
    }
    let pending = resolve_all(requests)?;
    let found = find_ended(process(), &pending);
    flag.set(matches!(found, Found::NoneActive | Found::Ended(..)));
    conclude_any(requests, &pending, found, index, status).map(drop)
}

/// Retires every request that has ended, from the one at `first` (already looked at) on, and tells
/// of those that are in doubt.
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
                State::Ended(outcome) | State::InDoubt(outcome) => Some(outcome),
                _ => None,
            },
        };
        if let Some(outcome) = ended {
            indices[count] = place as c_int;
            if !outcome.is_in_doubt() {
                retire(process(), &mut requests[place], &pending[place])?;
            }
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
    let found = wait_for_one(process(), requests, &pending);
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
    process().poll_in(engine_of(requests), polled(requests, Awaited::Any));
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
        Found::Ended(place, outcome) | Found::InDoubt(place, outcome) => {
            collect_some(requests, pending, Some((place, outcome)), out)
        }
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
