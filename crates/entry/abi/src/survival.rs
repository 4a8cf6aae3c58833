//! The decision whether this process goes on when others die: its errors do not end it, and the
//! program knows of lost processes. Where all want that, the launcher does not end the job.

mod linked;

use crate::handles::COMMS;
use crate::{news, process, state, watch};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use verbena_mpi::Comm;
use verbena_mpi::errhandler::Action;
use verbena_settings::LOST_RANKS;

/// The values of [`LOST_RANKS`] that leave the program no say.
const SURVIVE: usize = 1;
const END: usize = 2;

/// Set once the program has called a function about lost processes.
static HAS_CALLED: AtomicBool = AtomicBool::new(false);
/// True if the program, or a library of its, names such a function.
static IS_LINKED: OnceLock<bool> = OnceLock::new();

/// Notes that the program has called a function about lost processes.
pub(crate) fn learn() {
    if !HAS_CALLED.load(Ordering::Relaxed) {
        HAS_CALLED.store(true, Ordering::Relaxed);
        judge();
    }
}

/// Judges anew, and tells the launcher.
pub(crate) fn judge() {
    let (Some(place), Some(process)) = (watch::place(), state::try_process()) else { return };
    // Nobody would tell of the end of a process of another job that this one cannot see.
    let goes_on = process.sees_all_abroad() && is_wanted();
    process.set_goes_on(goes_on);
    place.go_on(goes_on);
    if goes_on {
        news::start();
    }
}

/// Judges anew if a communicator that is new, or whose error handler is, may change anything.
pub(crate) fn note(comm: &Comm) {
    let may_change = if process().goes_on() { process().is_abroad() } else { is_tolerant(comm) };
    if may_change {
        judge();
    }
}

/// Judges anew after a communicator was freed, and processes of other jobs were parted from.
pub(crate) fn note_freed() {
    if process().goes_on() || process().is_abroad() {
        judge();
    }
}

/// Returns whether the user, or else the program, wants this process to go on.
fn is_wanted() -> bool {
    match LOST_RANKS.get() {
        SURVIVE => true,
        END => false,
        _ => COMMS.find(is_tolerant).is_some() && knows(),
    }
}

/// Judges for the first time: the user's wish holds before the program has said anything.
pub(crate) fn begin() {
    if LOST_RANKS.get() == SURVIVE {
        judge();
    }
}

/// Returns whether errors of this communicator do not end the process, and it has other members.
fn is_tolerant(comm: &Comm) -> bool {
    let is_alone = comm.size() == 1 && !comm.is_inter();
    !is_alone && matches!(comm.errhandler().action(), Action::Return | Action::Call(..))
}

fn knows() -> bool {
    HAS_CALLED.load(Ordering::Relaxed) || *IS_LINKED.get_or_init(linked::names_functions)
}
