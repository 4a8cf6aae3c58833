//! One rank of a node reports for all: ranks that fail alike at the same moment say so once.
//!
//! The first rank binds an abstract socket of the job's name, which ends with the process. It waits
//! a moment, so that the others see the socket, and speaks. The others give it time to end the job.
//! If it does not, they speak too: a message may come twice, but it is never lost.

use crate::{startup, state};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::thread::sleep;
use std::time::Duration;

/// The time that the others have to come here before the first rank ends.
const TIME_TO_COME: Duration = Duration::from_secs(1);
/// The time that the first rank has to end the job before the others speak.
const TIME_TO_SPEAK: Duration = Duration::from_secs(4);

/// Returns after a moment in the first rank of this node that comes here with `topic`. In another
/// rank it returns only if the job still runs long after that.
pub(crate) fn wait_for_turn(topic: &str) {
    let Some(job) = startup::launch().map(|launch| &launch.job) else { return };
    if state::process().size() > 1 {
        sleep(if is_first(job, topic) { TIME_TO_COME } else { TIME_TO_SPEAK });
    }
}

/// Returns whether no rank of this job has come with the topic before; also if no socket can be
/// made.
fn is_first(job: &str, topic: &str) -> bool {
    let name = SocketAddr::from_abstract_name(format!("verbena-{job}-{topic}"));
    match name.and_then(|name| UnixDatagram::bind_addr(&name)) {
        // The socket lasts as long as the process, which is about to end.
        Ok(socket) => std::mem::forget(socket),
        Err(error) => return error.kind() != std::io::ErrorKind::AddrInUse,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_job_is_the_first_for_each_topic() {
        let job = format!("test-{}", std::process::id());
        assert!(is_first(&job, "one"));
        assert!(!is_first(&job, "one"));
        assert!(is_first(&job, "two"));
        assert!(is_first(&format!("{job}-other"), "one"));
    }
}
