//! The running jobs of this user on this host: each `mpiexec` listens on an abstract socket.

use anyhow::{Context, Result, bail};
use std::io::{ErrorKind, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;
use verbena_hang::top::{ANSWER_BYTES_MAX, Answer, pid_of_socket, socket_name};

/// The time that a job has to answer: hosts far away are asked, too.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

/// The process ids of the jobs' `mpiexec`.
///
/// # Errors
/// The system does not list its sockets.
pub(super) fn running() -> Result<Vec<u32>> {
    let list = std::fs::read_to_string("/proc/net/unix").context("cannot read /proc/net/unix")?;
    Ok(jobs_in(&list, user()?))
}

/// The jobs of a user in the system's list of sockets, where the name of an abstract one begins
/// with `@`.
fn jobs_in(list: &str, user: u32) -> Vec<u32> {
    let names = list.lines().filter_map(|line| line.split_whitespace().last()?.strip_prefix('@'));
    let mut jobs: Vec<u32> = names.filter_map(|name| pid_of_socket(name, user)).collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs
}

fn user() -> Result<u32> {
    Ok(std::fs::metadata("/proc/self").context("cannot read /proc")?.uid())
}

/// Asks the job of this `mpiexec`; `None` if there is none, or it has ended.
///
/// # Errors
/// It does not answer, or in another way.
pub(super) fn ask(job: u32) -> Result<Option<Answer>> {
    let address = SocketAddr::from_abstract_name(socket_name(user()?, job))?;
    let mut stream = match UnixStream::connect_addr(&address) {
        Ok(stream) => stream,
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(None),
        Err(error) => return Err(error).context("cannot reach mpiexec"),
    };
    stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
    let mut length = [0; 8];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        // The job ended while it was asked.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error).context("mpiexec does not answer"),
    }
    let length = u64::from_le_bytes(length) as usize;
    if length > ANSWER_BYTES_MAX {
        bail!("mpiexec's answer is too long: another version?");
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).context("mpiexec's answer is torn")?;
    let answer = Answer::decode(&bytes).context("mpiexec is of another version than this command")?;
    Ok(Some(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jobs_of_a_user_are_found() {
        let list = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000: 00000002 00000000 00010000 0001 01 1 @verbena-mpiexec-7-42\n\
            0000: 00000002 00000000 00010000 0001 01 2 @verbena-mpiexec-8-43\n\
            0000: 00000003 00000000 00000000 0001 03 3\n\
            0000: 00000002 00000000 00010000 0001 01 4 /run/verbena-mpiexec-7-44\n";
        assert_eq!(jobs_in(list, 7), [42]);
    }

    #[test]
    fn a_job_that_is_not_there_is_none() {
        assert_eq!(ask(u32::MAX).expect("an answer"), None);
    }
}
