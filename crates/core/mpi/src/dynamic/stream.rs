//! The leader of another group at the end of a socket.

use crate::comm::Far;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;
use verbena_boot::port::stream::Stream;

/// The time that the other side has for each step of an introduction: it may have to wait for its
/// own processes, and these for memory from a slow node.
const STEP_TIME_MAX: Duration = Duration::from_secs(120);

/// The first words of both sides of `MPI_Comm_join`.
const JOIN: &[u8] = b"verbena join 1";

impl Far for Stream {
    fn swap(&mut self, mine: &[u8]) -> Result<Vec<u8>> {
        Stream::swap(self, mine, STEP_TIME_MAX).map_err(|error| lost(&error))
    }
}

/// The other process at the end of a socket that the program has connected (`MPI_Comm_join`). The
/// socket stays the program's.
pub(super) fn join(socket: RawFd) -> Result<Stream> {
    let mut stream = Stream::borrow(socket).map_err(|error| no_socket(socket, &error))?;
    match Stream::swap(&mut stream, JOIN, STEP_TIME_MAX) {
        Ok(theirs) if theirs == JOIN => Ok(stream),
        Ok(_) => Err(lost(&io::ErrorKind::InvalidData.into())),
        Err(error) => Err(lost(&error)),
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
