//! Sends that no receive will ever match, since all processes are in `MPI_Finalize` (MPI-5.0,
//! 11.2.2). They are taken back as `MPI_Cancel` does it, so those that were matched still complete.

use crate::comm::Traffic;
use crate::process::Process;
use verbena_engine::SendUnderWay;

/// Takes back the point-to-point sends in the contexts that `is_meant` accepts, and returns those
/// that were not received.
pub fn take_back(process: &Process, is_meant: impl Fn(u64) -> bool) -> Vec<SendUnderWay> {
    let is_meant = |send: &SendUnderWay| send.context & 3 == Traffic::Point as u64 && is_meant(send.context);
    let mut sends = process.wait(|process| {
        let mut sends = process.look(|engine| engine.sends_under_way());
        sends.retain(is_meant);
        // What has not left may match a receive that waits already.
        sends.iter().all(|send| !send.is_queued).then_some(sends)
    });
    process.command(|engine| sends.iter().for_each(|send| engine.take_back(send.request)));
    sends.retain(|send| process.finish_known(send.request).is_some_and(|(ended, _)| ended.cancelled));
    sends
}
