//! One-sided operations on memory that is mapped here (MPI-5.0, 12.3 and 12.5.4), with elements of
//! predefined datatypes.

use super::{Face, Rungs};
use crate::args::{self, Address, SOLID_BYTES_MAX};
use crate::generated::types::{MPI_Aint, MPI_Datatype, MPI_Op, MPI_Win};
use crate::handles::{DATATYPES, OPS, WINS};
use crate::predefined::element_bytes;
use crate::state::process_alone;
use std::ffi::{c_int, c_void};
use verbena_memory::Region;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::op::Builtin;
use verbena_mpi::window::Spot;
use verbena_mpi::{Datatype, Op, Win};
use verbena_waiting::lock::SingleThread;

/// The memory of the origin's elements, if as many bytes are named at the target.
#[inline(always)]
fn origin(
    address: *const c_void,
    (count, datatype): (i64, MPI_Datatype),
    (target_count, target_datatype): (i64, MPI_Datatype),
) -> Option<Region> {
    let region = element(address, count, datatype)?;
    let at_target = target_count.checked_mul(i64::from(element_bytes(target_datatype)))?;
    (at_target == region.len() as i64).then_some(region)
}

#[inline(always)]
fn element(address: *const c_void, count: i64, datatype: MPI_Datatype) -> Option<Region> {
    args::solid_of(Address::new(address), count, element_bytes(datatype), SOLID_BYTES_MAX)
}

#[inline(always)]
fn spot(rank: c_int, displacement: MPI_Aint) -> Spot {
    Spot { rank, displacement }
}

/// The window, the operation and the datatype of a call.
///
/// # Safety
/// No code of the program runs while they are used.
#[inline(always)]
unsafe fn objects(
    alone: SingleThread,
    win: MPI_Win,
    op: MPI_Op,
    datatype: MPI_Datatype,
) -> Option<(&'static Win, &'static Op, &'static Datatype)> {
    // SAFETY: this thread is alone in MPI, and the caller keeps the program's code away.
    unsafe { Some((WINS.peek(alone, win)?, OPS.peek(alone, op)?, DATATYPES.peek(alone, datatype)?)) }
}

/// Calls `act` with the window, if this thread is alone in MPI. The code of the call if it is done.
///
/// # Safety
/// `act` runs no code of the program.
#[inline(always)]
unsafe fn in_window(win: MPI_Win, act: impl FnOnce(&Win, SingleThread) -> bool) -> Option<c_int> {
    let (_, alone) = process_alone()?;
    // SAFETY: this thread is alone in MPI, and the caller keeps the program's code away.
    done(act(unsafe { WINS.peek(alone, win)? }, alone))
}

/// The code of a call that is done.
#[inline(always)]
fn done(is_done: bool) -> Option<c_int> {
    is_done.then_some(mpi::MPI_SUCCESS)
}

impl<F: Face> Rungs<F> {
    /// `MPI_Put` of elements side by side.
    ///
    /// # Safety
    /// The arguments are what the MPI standard asks for: addresses that are not null lead to memory
    /// that is the call's and holds what count and datatype say.
    #[allow(clippy::too_many_arguments, reason = "as the standard has it")]
    #[inline(always)]
    pub unsafe fn put_at_once(
        origin_addr: *const c_void,
        origin_count: impl Into<i64>,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: MPI_Aint,
        target_count: impl Into<i64>,
        target_datatype: MPI_Datatype,
        win: MPI_Win,
    ) -> Option<c_int> {
        let target = (target_count.into(), target_datatype);
        let origin = origin(origin_addr, (origin_count.into(), origin_datatype), target)?;
        let spot = spot(target_rank, target_disp);
        // SAFETY: a copy runs no code of the program.
        unsafe { in_window(win, |win, alone| win.put_at_once(alone, origin, spot)) }
    }

    /// `MPI_Get` of elements side by side.
    ///
    /// # Safety
    /// As [`Rungs::put_at_once`].
    #[allow(clippy::too_many_arguments, reason = "as the standard has it")]
    #[inline(always)]
    pub unsafe fn get_at_once(
        origin_addr: *mut c_void,
        origin_count: impl Into<i64>,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: MPI_Aint,
        target_count: impl Into<i64>,
        target_datatype: MPI_Datatype,
        win: MPI_Win,
    ) -> Option<c_int> {
        let target = (target_count.into(), target_datatype);
        let origin = origin(origin_addr, (origin_count.into(), origin_datatype), target)?;
        let spot = spot(target_rank, target_disp);
        // SAFETY: a copy runs no code of the program.
        unsafe { in_window(win, |win, alone| win.get_at_once(alone, origin, spot)) }
    }

    /// `MPI_Accumulate` of elements side by side, with a predefined operation.
    ///
    /// # Safety
    /// As [`Rungs::put_at_once`].
    #[allow(clippy::too_many_arguments, reason = "as the standard has it")]
    #[inline(always)]
    pub unsafe fn accumulate_at_once(
        origin_addr: *const c_void,
        origin_count: impl Into<i64>,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: MPI_Aint,
        target_count: impl Into<i64>,
        target_datatype: MPI_Datatype,
        op: MPI_Op,
        win: MPI_Win,
    ) -> Option<c_int> {
        let (count, target_count): (i64, i64) = (origin_count.into(), target_count.into());
        if origin_datatype != target_datatype || count != target_count {
            return None;
        }
        let origin = element(origin_addr, count, origin_datatype)?;
        let (process, alone) = process_alone()?;
        // SAFETY: this thread is alone in MPI; the operation is none of the program if it is used.
        let (win, op, datatype) = unsafe { objects(alone, win, op, origin_datatype)? };
        let elements = (origin, count as usize, datatype);
        done(win.accumulate_at_once((process, alone), op, elements, spot(target_rank, target_disp)))
    }

    /// `MPI_Fetch_and_op` on an integer.
    ///
    /// # Safety
    /// As [`Rungs::put_at_once`].
    #[inline(always)]
    pub unsafe fn fetch_and_op_at_once(
        origin_addr: *const c_void,
        result_addr: *mut c_void,
        datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: MPI_Aint,
        op: MPI_Op,
        win: MPI_Win,
    ) -> Option<c_int> {
        let result = element(result_addr, 1, datatype)?;
        let (_, alone) = process_alone()?;
        // SAFETY: as in `accumulate_at_once`.
        let (win, op, sort) = unsafe { objects(alone, win, op, datatype)? };
        let origin = match op.builtin()? {
            Builtin::NoOp => Region::EMPTY,
            _ => element(origin_addr, 1, datatype)?,
        };
        done(win.fetch_at_once(alone, (op, sort), (origin, result), spot(target_rank, target_disp)))
    }

    /// `MPI_Compare_and_swap` on an integer.
    ///
    /// # Safety
    /// As [`Rungs::put_at_once`].
    #[inline(always)]
    pub unsafe fn compare_and_swap_at_once(
        origin_addr: *const c_void,
        compare_addr: *const c_void,
        result_addr: *mut c_void,
        datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: MPI_Aint,
        win: MPI_Win,
    ) -> Option<c_int> {
        let [origin, compare] = [origin_addr, compare_addr].map(|address| element(address, 1, datatype));
        let operands = [origin?, compare?, element(result_addr, 1, datatype)?];
        let (_, alone) = process_alone()?;
        // SAFETY: this thread is alone in MPI, and a comparison runs no code of the program.
        let (win, sort) = unsafe { (WINS.peek(alone, win)?, DATATYPES.peek(alone, datatype)?) };
        done(win.swap_at_once(alone, sort, operands, spot(target_rank, target_disp)))
    }

    /// `MPI_Win_flush` where nothing is under way.
    ///
    /// # Safety
    /// None is asked for.
    #[inline(always)]
    pub unsafe fn win_flush_at_once(rank: c_int, win: MPI_Win) -> Option<c_int> {
        // SAFETY: a look runs no code of the program.
        unsafe { in_window(win, |win, alone| win.flush_at_once(alone, Some(rank))) }
    }

    /// `MPI_Win_flush_all` where nothing is under way.
    ///
    /// # Safety
    /// None is asked for.
    #[inline(always)]
    pub unsafe fn win_flush_all_at_once(win: MPI_Win) -> Option<c_int> {
        // SAFETY: a look runs no code of the program.
        unsafe { in_window(win, |win, alone| win.flush_at_once(alone, None)) }
    }

    /// `MPI_Win_flush_local` where nothing is under way.
    ///
    /// # Safety
    /// None is asked for.
    #[inline(always)]
    pub unsafe fn win_flush_local_at_once(rank: c_int, win: MPI_Win) -> Option<c_int> {
        // SAFETY: a look runs no code of the program.
        unsafe { in_window(win, |win, alone| win.flush_local_at_once(alone, Some(rank))) }
    }

    /// `MPI_Win_flush_local_all` where nothing is under way.
    ///
    /// # Safety
    /// None is asked for.
    #[inline(always)]
    pub unsafe fn win_flush_local_all_at_once(win: MPI_Win) -> Option<c_int> {
        // SAFETY: a look runs no code of the program.
        unsafe { in_window(win, |win, alone| win.flush_local_at_once(alone, None)) }
    }
}
