//! One-sided operations (MPI-5.0, 12.3).

use crate::args::{self, Address, Out};
use crate::generated::types::{MPI_Aint, MPI_Datatype, MPI_Request};
use crate::handles::Ref;
use crate::process;
use crate::requests::handle_of_window;
use std::ffi::c_int;
use std::sync::Arc;
use verbena_memory::{Buffer, Region};
use verbena_mpi::op::Builtin;
use verbena_mpi::request::Active;
use verbena_mpi::window::{Remote, Source, Swap, Traced};
use verbena_mpi::{Datatype, Op, Result, Win};

/// Elements of the origin: address, count and datatype.
type Side<'a> = (Address, i64, &'a Arc<Datatype>);

/// The elements at the target.
fn remote<'a>(rank: c_int, displacement: MPI_Aint, count: i64, datatype: &'a Arc<Datatype>) -> Remote<'a> {
    Remote { rank, displacement, count, datatype }
}

fn put_to(side: Side, remote: Remote, win: &Win, request: bool) -> Result<Active> {
    let traced = Traced::begin();
    let origin = args::buffer(side.0, side.1, side.2)?;
    let active = win.put(process(), &origin, remote, request)?;
    traced.operated(win, &remote);
    Ok(active)
}

fn get_from(side: Side, remote: Remote, win: &Win, request: bool) -> Result<Active> {
    let traced = Traced::begin();
    let origin = args::buffer(side.0, side.1, side.2)?;
    let active = win.get(process(), &origin, remote, request)?;
    traced.operated(win, &remote);
    Ok(active)
}

fn combine(side: Side, remote: Remote, op: &Arc<Op>, win: &Win, request: bool) -> Result<Active> {
    let traced = Traced::begin();
    let origin = args::buffer(side.0, side.1, side.2)?;
    let active = win.accumulate(process(), (&origin, side.2), remote, op, request)?;
    traced.operated(win, &remote);
    Ok(active)
}

/// The origin's elements of a fetching operation, with their datatype. `MPI_NO_OP` has none: its
/// address, count and datatype mean nothing (12.3.4).
struct Origin(Option<(Buffer, Ref<'static, Datatype>)>);

impl Origin {
    fn new(address: Address, count: i64, datatype: MPI_Datatype, op: &Op) -> Result<Origin> {
        if op.builtin() == Some(Builtin::NoOp) {
            return Ok(Origin(None));
        }
        let datatype = args::transfer(datatype)?;
        let buffer = args::buffer(address, args::count(count)?, &datatype)?;
        Ok(Origin(Some((buffer, datatype))))
    }

    fn source(&self) -> Source<'_> {
        self.0.as_ref().map(|(buffer, datatype)| (buffer, &**datatype))
    }
}

fn fetch(
    origin: &Origin,
    result: Side,
    remote: Remote,
    op: &Arc<Op>,
    (win, request): (&Win, bool),
) -> Result<Active> {
    let traced = Traced::begin();
    let former = args::buffer(result.0, result.1, result.2)?;
    let active = win.get_accumulate(process(), origin.source(), &former, remote, op, request)?;
    traced.operated(win, &remote);
    Ok(active)
}

/// Checks the outcome of an operation without a request. One that messages carry goes on by itself.
fn started(active: Active) -> Result<()> {
    match active {
        Active::Done(outcome) => outcome.error.map_or(Ok(()), Err),
        _ => Ok(()),
    }
}

/// `MPI_Put` (12.3.2).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn put(
    origin: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    win: &Arc<Win>,
) -> Result<()> {
    let remote = remote(target_rank, target_disp, target_count, target_datatype);
    started(put_to((origin, count, datatype), remote, win, false)?)
}

/// `MPI_Rput` (12.3.5).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn rput(
    origin: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    win: &Arc<Win>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    let remote = remote(target_rank, target_disp, target_count, target_datatype);
    request.set(handle_of_window(win, put_to((origin, count, datatype), remote, win, true)?));
    Ok(())
}

/// `MPI_Get` (12.3.3).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn get(
    origin: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    win: &Arc<Win>,
) -> Result<()> {
    let remote = remote(target_rank, target_disp, target_count, target_datatype);
    started(get_from((origin, count, datatype), remote, win, false)?)
}

/// `MPI_Rget` (12.3.5).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn rget(
    origin: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    win: &Arc<Win>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    let remote = remote(target_rank, target_disp, target_count, target_datatype);
    request.set(handle_of_window(win, get_from((origin, count, datatype), remote, win, true)?));
    Ok(())
}

/// `MPI_Accumulate` (12.3.4).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn accumulate(
    origin: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    win: &Arc<Win>,
) -> Result<()> {
    let remote = remote(target_rank, target_disp, target_count, target_datatype);
    started(combine((origin, count, datatype), remote, op, win, false)?)
}

/// `MPI_Raccumulate` (12.3.5).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn raccumulate(
    origin: Address,
    count: i64,
    datatype: &Arc<Datatype>,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    win: &Arc<Win>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    let remote = remote(target_rank, target_disp, target_count, target_datatype);
    request.set(handle_of_window(win, combine((origin, count, datatype), remote, op, win, true)?));
    Ok(())
}

/// `MPI_Get_accumulate` (12.3.4).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn get_accumulate(
    origin: Address,
    count: i64,
    datatype: MPI_Datatype,
    result: Address,
    result_count: i64,
    result_datatype: &Arc<Datatype>,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    win: &Arc<Win>,
) -> Result<()> {
    let remote = remote(target_rank, target_disp, target_count, target_datatype);
    let origin = Origin::new(origin, count, datatype, op)?;
    started(fetch(&origin, (result, result_count, result_datatype), remote, op, (win, false))?)
}

/// `MPI_Rget_accumulate` (12.3.5).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn rget_accumulate(
    origin: Address,
    count: i64,
    datatype: MPI_Datatype,
    result: Address,
    result_count: i64,
    result_datatype: &Arc<Datatype>,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    win: &Arc<Win>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    let remote = remote(target_rank, target_disp, target_count, target_datatype);
    let origin = Origin::new(origin, count, datatype, op)?;
    let active = fetch(&origin, (result, result_count, result_datatype), remote, op, (win, true))?;
    request.set(handle_of_window(win, active));
    Ok(())
}

/// `MPI_Fetch_and_op` (12.3.4).
pub fn fetch_and_op(
    origin: Address,
    result: Address,
    datatype: &Arc<Datatype>,
    target_rank: c_int,
    target_disp: MPI_Aint,
    op: &Arc<Op>,
    win: &Arc<Win>,
) -> Result<()> {
    let traced = Traced::begin();
    let given = match op.builtin() {
        Some(Builtin::NoOp) => None,
        _ => Some(args::buffer(origin, 1, datatype)?),
    };
    let former = args::buffer(result, 1, datatype)?;
    let source = given.as_ref().map(|given| (given, datatype));
    let remote = remote(target_rank, target_disp, 1, datatype);
    let active = win.fetch_and_op(process(), source, &former, remote, op)?;
    traced.operated(win, &remote);
    started(active)
}

/// `MPI_Compare_and_swap` (12.3.4).
pub fn compare_and_swap(
    origin: Address,
    compare: Address,
    result: Address,
    datatype: &Arc<Datatype>,
    target_rank: c_int,
    target_disp: MPI_Aint,
    win: &Arc<Win>,
) -> Result<()> {
    let traced = Traced::begin();
    let element =
        |address| args::buffer(address, 1, datatype).map(|buffer| buffer.region().unwrap_or(Region::EMPTY));
    let swap = Swap { origin: element(origin)?, compare: element(compare)?, result: element(result)? };
    let remote = remote(target_rank, target_disp, 1, datatype);
    let active = win.compare_and_swap(process(), swap, remote)?;
    traced.operated(win, &remote);
    started(active)
}
