//! The object that an error belongs to.

use crate::generated::types::{MPI_Comm, MPI_Errhandler, MPI_File, MPI_Session, MPI_Win};
use crate::handles::{COMMS, WINS};
use verbena_mpi::errhandler::Action;
use verbena_mpi::{Comm, Error};

/// The object whose error handler an error goes to, by its handle. A handle that is not valid
/// stands for no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// No object: `MPI_COMM_SELF` (MPI-5.0, 9.3), or `MPI_COMM_WORLD` if the program set an error
    /// handler only there.
    None,
    /// A communicator.
    Comm(MPI_Comm),
    /// A window.
    Win(MPI_Win),
    /// A file; `MPI_FILE_NULL` for errors before there is a file.
    File(MPI_File),
    /// A session.
    Session(MPI_Session),
    /// The tool information interface: its errors are return codes only (MPI-5.0, 15.3.10).
    Tool,
    /// No object yet: the error handler that the call gets for the object that it makes (MPI-5.0,
    /// 11.3.1).
    Handler(MPI_Errhandler),
}

impl Owner {
    /// The communicator of a blocking collective that failed. If this rank goes on, the other ones
    /// are told so.
    #[cold]
    pub fn of_collective(handle: MPI_Comm) -> Owner {
        let goes_on = |comm: &Comm| !matches!(comm.errhandler().action(), Action::AreFatal | Action::Abort);
        if let Ok(comm) = COMMS.get(handle)
            && goes_on(&comm)
        {
            comm.leave_collective();
        }
        Owner::Comm(handle)
    }
}

/// Adds the name of its communicator or window to an error.
pub(crate) fn on_comm(mut error: Error, owner: Owner) -> Error {
    if let Owner::Win(handle) = owner
        && let Ok(win) = WINS.get(handle)
    {
        let name = win.name();
        let name = String::from_utf8_lossy(&name);
        let name = if name.is_empty() { "a window without a name" } else { &*name };
        error.fault.on = format!("{}, on {name} (rank {} of {})", error.fault.on, win.rank(), win.size());
    }
    if let Owner::Comm(handle) = owner
        && let Ok(comm) = COMMS.get(handle)
    {
        let name = comm.name();
        let name = String::from_utf8_lossy(&name);
        let name = if name.is_empty() { "a communicator without a name" } else { &*name };
        error.fault.on = format!("{}, on {name} (rank {} of {})", error.fault.on, comm.rank(), comm.size());
    }
    error
}
