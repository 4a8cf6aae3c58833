//! The decision whether this process goes on when others die: its errors do not end it, and the
//! program knows of lost processes. Where all want that, the launcher does not end the job.

mod linked;

use crate::handles::COMMS;
use crate::{news, process, state, watch};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use verbena_fault::Fault;
use verbena_mpi::comm::Traffic;
use verbena_mpi::errhandler::Action;
use verbena_mpi::log::{self, Level};
use verbena_mpi::process::Blindness;
use verbena_mpi::startup::survives;
use verbena_mpi::{Comm, Process};
use verbena_settings::LOST_RANKS;

/// The value of [`LOST_RANKS`] by which a killed rank ends the job, whatever the program says.
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
    let blindness = process.blindness();
    let is_wanted = is_wanted();
    if let Some(blindness) = blindness.as_ref().filter(|_| is_wanted) {
        tell(process, blindness);
    }
    let goes_on = is_wanted && blindness.is_none();
    process.set_goes_on(goes_on);
    place.go_on(goes_on);
    if goes_on {
        news::start();
    }
}

/// Tells the user why a process that wants to go on when others die does not: once each, in the log
/// what is so by nature, in any case what somebody can mend.
#[cold]
fn tell(process: &Process, blindness: &Blindness) {
    static ELSEWHERE: Once = Once::new();
    static REFUSED: Once = Once::new();
    match blindness {
        Blindness::Elsewhere(peer) if log::level() >= Level::Info => ELSEWHERE.call_once(|| {
            let line = format!(
                "a killed rank ends this job as long as it is connected with process {peer}, as this process \
                 numbers those of other jobs: that one is on another machine, or has process numbers of its own"
            );
            log::write(process.me(), process.size(), &[line]);
        }),
        Blindness::Elsewhere(_) => {}
        Blindness::Refused(peer, why) => REFUSED.call_once(|| {
            log::warn(
                process,
                &Fault::new(
                    "the end of a process of another job cannot be seen, so a killed rank ends this job",
                    format!("process {peer}, as this process numbers those of other jobs: {why}"),
                    "a sandbox refuses pidfd_open, and there is no /proc",
                    "allow one of them, or call MPI_Comm_disconnect before a rank may die",
                ),
            );
        }),
    }
}

/// Does what is due once a communicator has a handle.
pub(crate) fn published(comm: &Comm, number: usize) {
    comm.set_handle(number);
    comm.choose_engine(process());
    process().recall_revoked(comm.context(Traffic::Point));
    note(comm);
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
    survives() || LOST_RANKS.get() != END && COMMS.find(is_tolerant).is_some() && knows()
}

/// Judges for the first time: the user's wish, and the initial error handler, hold before the
/// program has said anything.
pub(crate) fn begin() {
    if survives() || COMMS.find(is_tolerant).is_some() {
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
