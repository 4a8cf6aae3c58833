//! Sessions and process sets (MPI-5.0, 11.3).

use crate::bsend::BufferedSends;
use crate::errhandler::{Errhandler, Handling, Kind};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::group::Group;
use crate::info::Info;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use verbena_channel::Peer;

/// The process set of all processes of the job.
pub const WORLD: &[u8] = b"mpi://WORLD";
/// The process set of the calling process alone.
pub const SELF: &[u8] = b"mpi://SELF";
/// The process sets in the order of their numbers (`MPI_Session_get_nth_pset`).
pub const PROCESS_SETS: [&[u8]; 2] = [WORLD, SELF];

/// A session: an isolated use of MPI.
pub struct Session {
    errhandling: Handling,
    hints: Info,
    handle: AtomicUsize,
    buffered: BufferedSends,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("handle", &self.handle).finish_non_exhaustive()
    }
}

impl Session {
    /// A session with this error handler (`MPI_ERR_ERRHANDLER` if it is for another kind of object)
    /// and these hints.
    pub fn new(errhandler: Arc<Errhandler>, hints: Info) -> Result<Session> {
        errhandler.check(Kind::Session)?;
        Ok(Session {
            errhandling: Handling::new(errhandler),
            hints,
            handle: AtomicUsize::new(0),
            buffered: BufferedSends::new(),
        })
    }

    /// The session's buffer for buffered sends (MPI-5.0, 3.6).
    pub fn buffered_sends(&self) -> &BufferedSends {
        &self.buffered
    }

    /// The error handler in use.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        self.errhandling.get()
    }

    /// Uses another error handler; errors as [`Session::new`].
    pub fn set_errhandler(&self, errhandler: Arc<Errhandler>) -> Result<()> {
        errhandler.check(Kind::Session)?;
        self.errhandling.set(errhandler);
        Ok(())
    }

    /// The hints that the program gave.
    pub fn hints(&self) -> &Info {
        &self.hints
    }

    /// The handle by which the program knows it, 0 if it has none.
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Acquire)
    }

    /// Tells the session its handle.
    pub fn set_handle(&self, handle: usize) {
        self.handle.store(handle, Ordering::Release);
    }
}

/// The name of process set `n`. `MPI_ERR_ARG` if there is none.
pub fn nth_process_set(n: i32) -> Result<&'static [u8]> {
    usize::try_from(n).ok().and_then(|n| PROCESS_SETS.get(n).copied()).ok_or_else(|| no_nth(n))
}

/// The group of a process set as process `me` of `size` sees it. Names are compared without regard
/// to case, like those of the Internet and as in MPICH. `MPI_ERR_ARG` if there is no such set.
pub fn process_set(name: &[u8], me: Peer, size: u32) -> Result<Group> {
    let members = match PROCESS_SETS.iter().find(|set| set.eq_ignore_ascii_case(name)) {
        Some(&WORLD) => (0..size).collect(),
        Some(&SELF) => vec![me],
        _ => return Err(no_set(name)),
    };
    Ok(Group::new(members, me))
}

/// Describes a process set: its size as `mpi_size` (`MPI_Session_get_pset_info`).
pub fn process_set_info(name: &[u8], me: Peer, size: u32) -> Result<Info> {
    let info = Info::new();
    info.set(b"mpi_size", process_set(name, me, size)?.size().to_string().as_bytes())?;
    Ok(info)
}

#[cold]
fn no_nth(n: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        format!("there is no process set number {n}"),
        format!("{} process sets, numbered from 0", PROCESS_SETS.len()),
        "the number was not compared with MPI_Session_get_num_psets",
        "give a number below that",
    )
}

#[cold]
fn no_set(name: &[u8]) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "there is no such process set",
        format!("the name \"{}\"", String::from_utf8_lossy(name)),
        "the name is misspelt, or comes from another MPI library",
        "use mpi://WORLD, mpi://SELF, or a name from MPI_Session_get_nth_pset",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errhandler::{Action, predefined};

    #[test]
    fn process_sets_are_numbered_and_have_groups() {
        let groups: Vec<Group> =
            (0..2).map(|n| process_set(nth_process_set(n).unwrap(), 2, 4).unwrap()).collect();
        assert_eq!((groups[0].members(), groups[0].rank()), (&[0, 1, 2, 3][..], Some(2)));
        assert_eq!((groups[1].members(), groups[1].rank()), (&[2][..], Some(0)));
        assert_eq!(process_set_info(WORLD, 2, 4).unwrap().get(b"mpi_size").unwrap().unwrap(), b"4");
        assert_eq!(process_set_info(SELF, 2, 4).unwrap().get(b"mpi_size").unwrap().unwrap(), b"1");
    }

    #[test]
    fn the_case_of_a_name_does_not_matter() {
        assert_eq!(process_set(b"mpi://world", 0, 3).unwrap().members(), [0, 1, 2]);
        assert_eq!(process_set(b"MPI://Self", 1, 3).unwrap().members(), [1]);
    }

    #[test]
    fn unknown_process_sets_are_refused() {
        assert_eq!(nth_process_set(2).unwrap_err().class, mpi::MPI_ERR_ARG);
        assert_eq!(nth_process_set(-1).unwrap_err().class, mpi::MPI_ERR_ARG);
        assert_eq!(process_set(b"mpi://worlds", 0, 1).unwrap_err().class, mpi::MPI_ERR_ARG);
    }

    #[test]
    fn a_session_takes_only_its_kind_of_handler() {
        let session = Session::new(predefined::returning(), Info::new()).unwrap();
        let other = Arc::new(Errhandler::new(Action::Call(Kind::Comm, Box::new(|_, code| code))));
        assert_eq!(session.set_errhandler(other).unwrap_err().class, mpi::MPI_ERR_ERRHANDLER);
        assert!(Arc::ptr_eq(&session.errhandler(), &predefined::returning()));
    }
}
