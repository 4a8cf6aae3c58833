//! The predefined handles and constants of each binary interface that the benchmarks use.

use super::{Address, Handle};
use anyhow::{Context, Result};
use libloading::os::unix::Library;
use std::ffi::{c_int, c_void};

/// The predefined handles in use.
#[derive(Clone, Copy)]
pub(super) struct Handles {
    /// `MPI_THREAD_SINGLE` and `MPI_THREAD_MULTIPLE`.
    pub(super) levels: [c_int; 2],
    pub(super) world: Handle,
    pub(super) byte: Handle,
    pub(super) double: Handle,
    pub(super) sum: Handle,
    pub(super) max: Handle,
    pub(super) any_source: c_int,
    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`, as addresses.
    pub(super) ignore: usize,
    /// The bytes of an `MPI_Request`.
    pub(super) request_bytes: usize,
}

impl Handles {
    /// The values of the standard ABI (MPI-5.0 appendix A).
    pub(super) const STANDARD: Handles = Handles {
        levels: [0, 4096],
        world: 0x101,
        byte: 0x247,
        double: 0x214,
        sum: 0x21,
        max: 0x23,
        any_source: -1,
        ignore: 0,
        request_bytes: size_of::<Handle>(),
    };

    /// The values of the MPICH ABI.
    pub(super) const MPICH: Handles = Handles {
        levels: [0, 3],
        world: 0x4400_0000,
        byte: 0x4c00_010d,
        double: 0x4c00_080b,
        sum: 0x5800_0003,
        max: 0x5800_0001,
        any_source: -2,
        ignore: 1,
        request_bytes: size_of::<c_int>(),
    };

    /// The address that ignores a status, or all of several.
    #[inline]
    pub(super) fn ignored(&self) -> Address {
        std::ptr::without_provenance_mut(self.ignore)
    }

    /// Open MPI's: the addresses of its global objects.
    pub(super) fn open_mpi(library: &Library) -> Result<Handles> {
        let address = |name: &str| -> Result<Handle> {
            // SAFETY: only the symbol's address is taken; nothing is read through it.
            let symbol = unsafe { library.get::<*mut c_void>(name) };
            Ok(symbol.with_context(|| format!("Open MPI's library has no symbol {name}"))?.into_raw()
                as Handle)
        };
        Ok(Handles {
            levels: [0, 3],
            world: address("ompi_mpi_comm_world")?,
            byte: address("ompi_mpi_byte")?,
            double: address("ompi_mpi_double")?,
            sum: address("ompi_mpi_op_sum")?,
            max: address("ompi_mpi_op_max")?,
            any_source: -1,
            ignore: 0,
            request_bytes: size_of::<Handle>(),
        })
    }
}
