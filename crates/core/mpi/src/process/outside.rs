//! Waiting for something outside MPI: a socket, a launcher.

use super::watch::LongWait;
use super::{Process, failure};
use crate::comm::{Comm, Traffic};
use crate::error::Result;
use std::time::Duration;
use verbena_hang::Awaited;

/// The longest time between two looks at the program's other communication.
const LOOK_EVERY_MAX: Duration = Duration::from_millis(4);
const LOOK_EVERY_MIN: Duration = Duration::from_micros(50);

impl Process {
    /// Waits for another job for all members of `comm`, in turns with progress. `what` says in
    /// words what that job has to do; `look` waits for no longer than it is told.
    ///
    /// # Errors
    /// Those of `look`; `MPIX_ERR_PROC_FAILED` and `MPIX_ERR_REVOKED` as in collectives: the other
    /// members have left the call, or will.
    pub(crate) fn wait_outside<T>(
        &self,
        comm: &Comm,
        what: &str,
        mut look: impl FnMut(Duration) -> Result<Option<T>>,
    ) -> Result<T> {
        let context = comm.context(Traffic::Collective);
        let mut long_wait = LongWait::begin(self);
        let mut limit = LOOK_EVERY_MIN;
        loop {
            if let Some(found) = look(limit)? {
                return Ok(found);
            }
            limit = if self.poll() { LOOK_EVERY_MIN } else { (2 * limit).min(LOOK_EVERY_MAX) };
            long_wait.look(&|_| Awaited::OtherJob(what.to_owned()));
            let loss = self.look(|engine| engine.loss(context, None));
            if let Some(loss) = loss.filter(failure::ends_all) {
                return Err(failure::failure_error(loss));
            }
        }
    }
}
