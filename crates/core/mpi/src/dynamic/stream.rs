//! The leader of another group at the end of a socket.

use crate::comm::{Comm, Far};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::process::Process;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};
use verbena_boot::port::stream::Stream;

/// The time in which a leader that has connected says its first word, for which it waits for
/// nobody.
const FIRST_WORD_TIME_MAX: Duration = Duration::from_secs(120);

/// The first words of both sides of `MPI_Comm_join`.
const JOIN: &[u8] = b"verbena join 1";

/// The leader of the other group, as the leader of `comm` reaches it.
pub(super) struct Leader<'a> {
    pub process: &'a Process,
    pub comm: &'a Comm,
    pub stream: Stream,
    /// The time in which the other leader's next word has to come; `None` for any time. Each later
    /// word may wait for the calls of all its processes.
    patience: Option<Duration>,
}

impl<'a> Leader<'a> {
    /// The other leader at the end of a socket that has just been connected. Both are in the call.
    pub(super) fn met(process: &'a Process, comm: &'a Comm, stream: Stream) -> Leader<'a> {
        Leader { process, comm, stream, patience: Some(FIRST_WORD_TIME_MAX) }
    }

    /// The other process at the end of a socket that the program has connected (`MPI_Comm_join`).
    /// The socket stays the program's. The other process may call at any time.
    pub(super) fn join(process: &'a Process, comm: &'a Comm, socket: RawFd) -> Result<Leader<'a>> {
        let stream = Stream::borrow(socket).map_err(|error| no_socket(socket, &error))?;
        let mut leader = Leader { process, comm, stream, patience: None };
        match leader.swap(JOIN)? == JOIN {
            true => Ok(leader),
            false => Err(lost(&io::ErrorKind::InvalidData.into())),
        }
    }
}

impl Far for Leader<'_> {
    fn swap(&mut self, mine: &[u8]) -> Result<Vec<u8>> {
        let until = self.patience.take().map(|patience| Instant::now() + patience);
        let mut swap = self.stream.swap(mine).map_err(|error| lost(&error))?;
        let what = "the other job to introduce itself";
        self.process.wait_outside(self.comm, what, |limit| match swap.advance(limit) {
            Ok(None) if until.is_some_and(|until| Instant::now() >= until) => {
                Err(lost(&io::ErrorKind::TimedOut.into()))
            }
            outcome => outcome.map_err(|error| lost(&error)),
        })
    }
}

#[cold]
fn lost(error: &io::Error) -> Error {
    Error::new(
        mpi::MPI_ERR_OTHER,
        format!("the connection with the other group of processes was lost: {error}"),
        "the socket between the two leaders",
        "the other process ended, called something else, or uses another version of Verbena",
        "look at the other program's output",
    )
}

#[cold]
fn no_socket(socket: RawFd, error: &io::Error) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        format!("the descriptor is no connected socket: {error}"),
        format!("descriptor {socket}"),
        "it was closed, or is a file, a pipe or a socket for datagrams",
        "pass a connected stream socket, the same one on both sides",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use verbena_channel::loopback::LoopbackChannel;
    use verbena_engine::{Engine, Settings};
    use verbena_machine::cores::Load;
    use verbena_waiting::Plain;

    const PATIENCE: Duration = Duration::from_millis(40);

    /// Runs `here` with a leader of little patience, and `there` at the other end of its socket.
    fn with_leader(here: impl FnOnce(&mut Leader<'_>), there: impl FnOnce(Stream) + Send) {
        let engine = Engine::new(0, 1, vec![Box::new(LoopbackChannel::new(0))], Settings::default());
        let load = Load { local_ranks: 1, cores: 1, quota: None };
        let process = Process::new(0, 1, engine, Arc::new(Plain::new(&load)));
        let comm = Comm::new(8, Arc::new(Group::new(vec![0], 0)), None);
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let mut leader = Leader::met(&process, &comm, Stream::new(ours.into()));
        leader.patience = Some(PATIENCE);
        std::thread::scope(|scope| {
            scope.spawn(|| there(Stream::new(theirs.into())));
            here(&mut leader);
        });
    }

    fn say(stream: &mut Stream, word: &[u8]) -> Vec<u8> {
        let swapped = stream.swap(word).expect("not too long").advance(Duration::from_secs(30));
        swapped.expect("swapped").expect("the other side is there")
    }

    #[test]
    fn a_leader_that_has_said_a_word_may_wait_for_its_processes() {
        let here = |leader: &mut Leader<'_>| {
            assert_eq!(leader.swap(b"1").expect("at once"), b"a");
            assert_eq!(leader.swap(b"2").expect("after a while"), b"b");
        };
        with_leader(here, |mut stream| {
            assert_eq!(say(&mut stream, b"a"), b"1");
            std::thread::sleep(4 * PATIENCE);
            assert_eq!(say(&mut stream, b"b"), b"2");
        });
    }

    #[test]
    fn one_that_connects_and_says_nothing_is_not_waited_for() {
        let (done, over) = std::sync::mpsc::channel();
        let here = move |leader: &mut Leader<'_>| {
            let silent = leader.swap(b"1").expect_err("silence");
            assert!(silent.fault.what.contains("timed out"), "{silent}");
            done.send(()).expect("the other side is there");
        };
        with_leader(here, move |_stream| over.recv().expect("this side is there"));
    }

    #[test]
    fn the_end_of_one_that_is_waited_for_is_noticed() {
        let here = |leader: &mut Leader<'_>| {
            leader.swap(b"1").expect("at once");
            assert_eq!(leader.swap(b"2").expect_err("it is gone").class, mpi::MPI_ERR_OTHER);
        };
        with_leader(here, |mut stream| drop(say(&mut stream, b"a")));
    }
}
