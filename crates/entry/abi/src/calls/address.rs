//! Addresses (MPI-5.0, 5.1.5) and their sums.

use crate::args::{Address, Out};
use crate::generated::types::MPI_Aint;
use verbena_mpi::Result;

/// `MPI_Get_address`.
pub fn get_address(location: Address, address: Out<'_, MPI_Aint>) -> Result<()> {
    address.set(location.pointer() as MPI_Aint);
    Ok(())
}

/// `MPI_Aint_add`.
pub fn aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
    base.wrapping_add(disp)
}

/// `MPI_Aint_diff`.
pub fn aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
    addr1.wrapping_sub(addr2)
}

/// `MPI_Address` (removed in MPI-3.0).
pub fn address(location: Address, address: Out<'_, MPI_Aint>) -> Result<()> {
    get_address(location, address)
}
