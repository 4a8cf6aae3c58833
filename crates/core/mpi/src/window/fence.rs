//! Fences (MPI-5.0, 12.5.1).

use super::{Win, error};
use crate::coll::Kind;
use crate::coll::board::blocking;
use crate::coll::call::Call;
use crate::coll::{forms, operations};
use crate::error::Result;
use crate::generated::constants as mpi;
use crate::process::Process;

const ASSERTIONS: i32 =
    mpi::MPI_MODE_NOSTORE | mpi::MPI_MODE_NOPUT | mpi::MPI_MODE_NOPRECEDE | mpi::MPI_MODE_NOSUCCEED;

impl Win {
    /// Ends the epoch that the last fence began, and begins another unless `MPI_MODE_NOSUCCEED` is
    /// asserted. Collective (`MPI_Win_fence`).
    pub fn fence(&self, process: &Process, assert: i32) -> Result<()> {
        if assert & !ASSERTIONS != 0 {
            let allowed =
                "any of MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED";
            return Err(error::assertion("MPI_Win_fence", assert, allowed));
        }
        self.epochs.lock().check_fence()?;
        // A failure of operations is told after the barrier, for which the others wait.
        let finished = self.finish_all(process);
        let met = self.comm.check_usable().and_then(|()| self.barrier(process, Kind::WinFence));
        // Where the members have not met, no epoch begins: the window can be freed.
        self.epochs.lock().fenced(met.is_ok() && assert & mpi::MPI_MODE_NOSUCCEED == 0);
        met.and(finished)
    }

    /// Waits for all members. What each stored before is seen by all after: entering releases, and
    /// leaving acquires.
    fn barrier(&self, process: &Process, kind: Kind) -> Result<()> {
        let tag = self.comm.next_collective_tag();
        let call = Call::new(kind, &self.comm).mark();
        if let Some(met) = blocking::barrier(process, &self.comm, call) {
            return met;
        }
        let fill = |schedule: &mut _| operations::barrier(schedule, &self.comm);
        forms::blocking(process, &self.comm, (tag, call), None, fill)
    }
}
