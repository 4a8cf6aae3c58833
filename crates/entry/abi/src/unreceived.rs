//! Says at `MPI_Finalize` which messages of this process nobody received, and which ones it did not
//! receive. The job goes on: programs that leave such messages end without an error under other
//! libraries.

use crate::handles::COMMS;
use verbena_engine::{PendingMessage, SendUnderWay};
use verbena_fault::Fault;
use verbena_mpi::comm::Traffic;
use verbena_mpi::{Comm, Process, unreceived};

/// Takes back the sends of the world model that no receive matched, and warns of them. Those of a
/// session may still be received after `MPI_Finalize`; without `has_sessions` there are none.
pub(crate) fn take_back(process: &Process, has_sessions: bool) {
    let is_meant =
        |context| of_comm(context, |comm| comm.group().session().is_none()).unwrap_or(!has_sessions);
    warn(process, &unreceived::take_back(process, is_meant));
}

/// Lets the messages that wait for room in a channel go.
pub(crate) fn let_leave(process: &Process) {
    unreceived::let_leave(process);
}

/// Drops the sends that no receive matched, now that no process receives any more, and warns of
/// those of the program.
pub(crate) fn drop_all(process: &Process) {
    let mut left = unreceived::drop_all(process);
    left.retain(|send| send.context & 3 == Traffic::Point as u64);
    warn(process, &left);
}

fn warn(process: &Process, left: &[SendUnderWay]) {
    if let Some((first, others)) = left.split_first() {
        let (me, size) = (process.me(), process.size());
        verbena_fault::complain(format!(
            "verbena: process {me} of {size}: warning: {}",
            fault(first, others.len())
        ));
    }
}

/// Warns of messages to this process that it did not receive, now that no process sends any more.
/// `has_sessions` as in [`take_back`].
pub(crate) fn warn_of_arrived(process: &Process, has_sessions: bool) {
    let arrived = process.pending_messages(usize::MAX).unexpected.first;
    let is_meant = |message: &&PendingMessage| {
        let of_program = message.context & 3 == Traffic::Point as u64;
        let is_worlds = |comm: &Comm| comm.group().session().is_none() || !has_sessions;
        of_program && of_comm(message.context, is_worlds).unwrap_or(false)
    };
    let left: Vec<&PendingMessage> = arrived.iter().filter(is_meant).collect();
    if let Some((first, others)) = left.split_first() {
        let (me, size) = (process.me(), process.size());
        verbena_fault::complain(format!(
            "verbena: process {me} of {size}: warning: {}",
            arrived_fault(first, others.len())
        ));
    }
}

fn arrived_fault(message: &PendingMessage, others: usize) -> Fault {
    let from = of_comm(message.context, |comm| {
        let members = comm.targets().members();
        let rank = members.iter().position(|peer| Some(*peer) == message.peer);
        format!("from rank {} of {}", rank.unwrap_or_default(), name_of(comm))
    });
    let tag = message.tag.unwrap_or_default();
    Fault::new(
        "MPI_Finalize found messages that this process never received",
        format!(
            "a message of {} bytes with tag {tag} {}{}",
            message.bytes,
            from.unwrap_or_default(),
            more(others)
        ),
        "a receive is missing, or names another source, tag or communicator than the send",
        "receive every message before MPI_Finalize (MPI-5.0, 11.2.2)",
    )
}

fn name_of(comm: &Comm) -> String {
    let name = String::from_utf8_lossy(&comm.name()).into_owned();
    if name.is_empty() { "a communicator without a name".into() } else { name }
}

fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => "; and 1 more message".into(),
        _ => format!("; and {others} more messages"),
    }
}

fn fault(send: &SendUnderWay, others: usize) -> Fault {
    let to = of_comm(send.context, |comm| {
        let rank = comm.targets().members().iter().position(|peer| *peer == send.peer);
        format!("rank {} of {}", rank.unwrap_or_default(), name_of(comm))
    });
    let to = to.unwrap_or_else(|| format!("process {}, on a communicator that was freed", send.peer));
    let others = more(others);
    Fault::new(
        "MPI_Finalize found messages that nobody received, and dropped them",
        format!("a message of {} bytes with tag {} to {to}{others}", send.bytes, send.tag),
        "a receive is missing, or names another source, tag or communicator than the send",
        "receive every message before MPI_Finalize, or cancel its send (MPI-5.0, 11.2.2)",
    )
}

/// The answer of `ask` for the communicator with this context; `None` if there is none.
fn of_comm<R>(context: u64, ask: impl Fn(&Comm) -> R) -> Option<R> {
    let handle = COMMS.find(|comm| comm.has_context(context))?;
    COMMS.get(handle).ok().map(|comm| ask(&comm))
}
