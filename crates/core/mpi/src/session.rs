//! Sessions (MPI-5.0, 11.3).

use crate::bsend::BufferedSends;
use crate::errhandler::{Errhandler, Handling, Kind};
use crate::error::Result;
use crate::info::Info;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errhandler::{Action, predefined};
    use crate::generated::constants as mpi;

    #[test]
    fn a_session_takes_only_its_kind_of_handler() {
        let session = Session::new(predefined::returning(), Info::new()).unwrap();
        let other = Arc::new(Errhandler::new(Action::Call(Kind::Comm, Box::new(|_, code| code))));
        assert_eq!(session.set_errhandler(other).unwrap_err().class, mpi::MPI_ERR_ERRHANDLER);
        assert!(Arc::ptr_eq(&session.errhandler(), &predefined::returning()));
    }
}
