//! Says at `MPI_Finalize` which messages of this process nobody received. The job goes on: programs
//! that leave such messages end without an error under other libraries.

use crate::handles::COMMS;
use verbena_engine::SendUnderWay;
use verbena_fault::Fault;
use verbena_mpi::{Comm, Process, unreceived};

/// Takes back the sends of the world model that no receive matched, and warns of them. Those of a
/// session may still be received after `MPI_Finalize`; without `has_sessions` there are none.
pub(crate) fn take_back(process: &Process, has_sessions: bool) {
    let is_meant =
        |context| of_comm(context, |comm| comm.group().session().is_none()).unwrap_or(!has_sessions);
    let left = unreceived::take_back(process, is_meant);
    if let Some((first, others)) = left.split_first() {
        let (me, size) = (process.me(), process.size());
        eprintln!("verbena: process {me} of {size}: warning: {}", fault(first, others.len()));
    }
}

fn fault(send: &SendUnderWay, others: usize) -> Fault {
    let to = of_comm(send.context, |comm| {
        let rank = comm.targets().members().iter().position(|peer| *peer == send.peer);
        let name = String::from_utf8_lossy(&comm.name()).into_owned();
        let name = if name.is_empty() { "a communicator without a name".into() } else { name };
        format!("rank {} of {name}", rank.unwrap_or_default())
    });
    let to = to.unwrap_or_else(|| format!("process {}, on a communicator that was freed", send.peer));
    let others = match others {
        0 => String::new(),
        1 => "; and 1 more message".into(),
        _ => format!("; and {others} more messages"),
    };
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
