//! Sends that no receive will ever match, since all processes are in `MPI_Finalize` (MPI-5.0,
//! 11.2.2). They are taken back as `MPI_Cancel` does it, so those that were matched still complete.
//!
//! Processes of other jobs may still compute: what was sent to them stays, and is waited for.

use crate::comm::Traffic;
use crate::process::Process;
use verbena_channel::Peer;
use verbena_engine::SendUnderWay;
use verbena_fault::Fault;
use verbena_hang::Awaited;

/// Waits until all that was sent to processes of other jobs is received, or never will be: these
/// refuse it when they finalise, or have died.
pub fn settle_abroad(process: &Process) {
    if !process.is_abroad() {
        return;
    }
    let sends = |process: &Process| {
        let mut sends = process.sends_under_way();
        sends.retain(|send| is_abroad(process, send));
        sends
    };
    let operations = |process: &Process| {
        sends(process).iter().filter_map(|send| process.operation(send.request)).collect()
    };
    process.wait_for(
        |process| Awaited::All(operations(process)),
        |process| sends(process).is_empty().then_some(()),
    );
}

fn is_abroad(process: &Process, send: &SendUnderWay) -> bool {
    send.peer >= process.size()
}

/// Takes back the point-to-point sends within the job in the contexts that `is_meant` accepts, and
/// returns those that were not received.
pub fn take_back(process: &Process, is_meant: impl Fn(u64) -> bool) -> Vec<SendUnderWay> {
    let is_meant = |send: &SendUnderWay| {
        !is_abroad(process, send) && send.context & 3 == Traffic::Point as u64 && is_meant(send.context)
    };
    let mut sends = process.wait(|process| {
        let mut sends = process.sends_under_way();
        sends.retain(is_meant);
        // What has not left may match a receive that waits already.
        sends.iter().all(|send| !send.is_queued).then_some(sends)
    });
    sends.iter().for_each(|send| process.command_at(send.request, |engine, id| engine.take_back(id)));
    sends.retain(|send| process.finish_known(send.request).is_some_and(|(ended, _)| ended.cancelled));
    sends
}

/// Waits until no send waits for room in a channel.
pub fn let_leave(process: &Process) {
    let is_gone = |sends: Vec<SendUnderWay>| sends.iter().all(|send| !send.is_queued);
    process.wait(|process| is_gone(process.sends_under_way()).then_some(()));
}

/// Gives up all processes with which something is under way, each of which has said that it is
/// done, and returns the sends among it.
pub fn drop_all(process: &Process) -> Vec<SendUnderWay> {
    // What was answered before they said so is not under way.
    let _ = (0..ROUNDS_MAX).find(|_| !process.progress());
    let sends = process.sends_under_way();
    process.command_all(|engine| engine.give_up_partners(|peer| has_left(process.me(), peer)));
    sends
}

/// The most rounds of progress in which old answers are taken in.
const ROUNDS_MAX: u32 = 10_000;

fn has_left(me: Peer, peer: Peer) -> Fault {
    Fault::new(
        "a process has left MPI and receives nothing any more",
        format!("process {peer} of the job, seen by process {me}"),
        "it has called MPI_Finalize, as all others that live",
        "receive every message before MPI_Finalize (MPI-5.0, 11.2.2)",
    )
}
