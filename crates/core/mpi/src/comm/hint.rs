//! Hints to the channels: info keys of communicators that say how the program communicates.

use super::Comm;
use crate::Process;
use crate::error::Result;

/// The ranks that this process will hear most from, as in `3, 1`. The channel `rc` polls their
/// rings, with `VERBENA_RC_POLL_POLICY=hinted` (paper 1, 4.7).
pub const RC_POLL: &[u8] = b"verbena_rc_poll";

impl Comm {
    /// Tells the channels the communicator's hints. A hint is never an error (MPI-5.0, 10):
    /// anything that is no rank of this communicator is ignored.
    pub fn tell_hints(&self, process: &Process) -> Result<()> {
        let Some(list) = self.hints().get(RC_POLL)? else { return Ok(()) };
        let list = String::from_utf8_lossy(&list).into_owned();
        let members = self.group().members();
        let member = |rank: &str| members.get(rank.trim().parse::<usize>().ok()?).copied();
        let peers: Vec<_> = list.split(',').filter_map(member).collect();
        process.command(|engine| engine.hint(&peers));
        Ok(())
    }
}
