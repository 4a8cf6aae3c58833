//! Lost processes: ULFM, which is no part of MPI-5.0 (`MPIX_`).

use crate::args::{InOut, Out, OutFlag};
use crate::calls::comm::publish;
use crate::generated::types::{MPI_Comm, MPI_Group, MPI_Request};
use crate::handles::{COMMS, GROUPS};
use crate::process;
use crate::requests::handle_of_object;
use std::ffi::c_int;
use std::sync::Arc;
use verbena_mpi::comm::Traffic;
use verbena_mpi::{Comm, Result};

/// `MPIX_Comm_revoke`.
pub fn comm_revoke(comm: &Arc<Comm>) -> Result<()> {
    comm.revoke(process());
    if let Some(handle) = COMMS.find(|other| other.has_context(comm.context(Traffic::Point))) {
        COMMS.hide(handle);
    }
    Ok(())
}

/// `MPIX_Comm_is_revoked`.
pub fn comm_is_revoked(comm: &Arc<Comm>, flag: OutFlag<'_>) -> Result<()> {
    process().progress();
    flag.set(comm.is_revoked());
    Ok(())
}

/// `MPIX_Comm_get_failed`.
pub fn comm_get_failed(comm: &Arc<Comm>, failedgrp: Out<'_, MPI_Group>) -> Result<()> {
    let failed = comm.failed_members(process());
    failedgrp.set(GROUPS.insert(Arc::new(comm.group_of_members(failed))));
    Ok(())
}

/// `MPIX_Comm_ack_failed`.
pub fn comm_ack_failed(comm: &Arc<Comm>, num_to_ack: c_int, num_acked: Out<'_, c_int>) -> Result<()> {
    num_acked.set(comm.acknowledge(process(), num_to_ack.max(0) as usize) as c_int);
    Ok(())
}

/// `MPIX_Comm_failure_ack`.
pub fn comm_failure_ack(comm: &Arc<Comm>) -> Result<()> {
    comm.acknowledge(process(), usize::MAX);
    Ok(())
}

/// `MPIX_Comm_failure_get_acked`.
pub fn comm_failure_get_acked(comm: &Arc<Comm>, failedgrp: Out<'_, MPI_Group>) -> Result<()> {
    failedgrp.set(GROUPS.insert(Arc::new(comm.group_of_members(comm.acknowledged()))));
    Ok(())
}

/// `MPIX_Comm_agree`.
pub fn comm_agree(comm: &Arc<Comm>, flag: InOut<'_, c_int>) -> Result<()> {
    let agreed = comm.agree(process(), flag.get() as u32).wait(process());
    flag.set(agreed.flags as c_int);
    comm.check_agreed(&agreed)
}

/// `MPIX_Comm_iagree`. The flag is the library's until the request is complete.
pub fn comm_iagree(comm: &Arc<Comm>, flag: InOut<'_, c_int>, request: Out<'_, MPI_Request>) -> Result<()> {
    let (agreement, place, own) = (comm.agree(process(), flag.get() as u32), flag.region(), comm.clone());
    let active = agreement.then(move |agreed| {
        place.write(0, &agreed.flags.to_ne_bytes());
        own.check_agreed(agreed)
    });
    request.set(handle_of_object(Some(comm), active));
    Ok(())
}

/// `MPIX_Comm_shrink`.
pub fn comm_shrink(comm: &Arc<Comm>, newcomm: Out<'_, MPI_Comm>) -> Result<()> {
    let agreed = comm.begin_shrink(process()).wait(process());
    publish(Arc::new(comm.shrunk(&agreed)), newcomm)
}
