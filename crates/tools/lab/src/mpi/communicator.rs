//! A duplicate of `MPI_COMM_WORLD`.

use super::{Handle, World, check};
use anyhow::Result;

/// A communicator of all processes, made by `MPI_Comm_dup`, for one thread of each of them.
pub struct Communicator<'w> {
    world: &'w World,
    pub(super) handle: Handle,
}

impl World {
    /// `MPI_Comm_dup` of `MPI_COMM_WORLD`.
    ///
    /// # Errors
    /// The library's error code.
    pub fn duplicate(&self) -> Result<Communicator<'_>> {
        let mut handle = self.handles.world;
        // SAFETY: the handle is MPI_COMM_WORLD, and the result pointer is valid.
        let code = unsafe { (self.calls.comm_dup)(self.handles.world, &mut handle) };
        check(code, "MPI_Comm_dup")?;
        Ok(Communicator { world: self, handle })
    }
}

impl Communicator<'_> {
    /// `MPI_Comm_free`.
    ///
    /// # Errors
    /// The library's error code.
    pub fn free(mut self) -> Result<()> {
        // SAFETY: the communicator was made by `duplicate`, and nothing is pending on it: whatever
        // uses it completes what it starts.
        let code = unsafe { (self.world.calls.comm_free)(&mut self.handle) };
        check(code, "MPI_Comm_free")
    }
}
