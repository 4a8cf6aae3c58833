//! Lost processes: ULFM, which is no part of MPI-5.0 (`MPIX_`).

use crate::args::{InOut, Out, OutFlag};
use crate::calls::comm::{publish_if_member, published};
use crate::generated::types::{MPI_Comm, MPI_Group, MPI_Request};
use crate::handles::{COMMS, GROUPS};
use crate::report::fatal_text;
use crate::requests::handle_of_object;
use crate::survival::learn;
use crate::{process, startup, watch};
use std::ffi::c_int;
use std::sync::Arc;
use verbena_channel::Peer;
use verbena_mpi::agreement::Value;
use verbena_mpi::comm::{Traffic, none_left};
use verbena_mpi::{Comm, Result};

/// Tells the launcher that these deaths were noticed.
fn tell_acknowledged(dead: Vec<Peer>) {
    if let Some(place) = watch::place() {
        place.acknowledge(dead.into_iter().filter(|peer| *peer < process().size()));
    }
}

/// The decision of an agreement. Without one the job ends: the others may have decided without this
/// process, which they cannot reach.
fn decided(call: &str, decision: Result<Value>) -> Value {
    decision.unwrap_or_else(|error| {
        startup::fail(error.class, call, &fatal_text(&format!("{call} failed: {error}")))
    })
}

/// `MPIX_Comm_revoke`.
pub fn comm_revoke(comm: &Arc<Comm>) -> Result<()> {
    learn();
    comm.revoke(process());
    if let Some(handle) = COMMS.find(|other| other.has_context(comm.context(Traffic::Point))) {
        COMMS.hide(handle);
    }
    Ok(())
}

/// `MPIX_Comm_is_revoked`.
pub fn comm_is_revoked(comm: &Arc<Comm>, flag: OutFlag<'_>) -> Result<()> {
    learn();
    process().poll();
    flag.set(comm.is_revoked());
    Ok(())
}

/// `MPIX_Comm_get_failed`.
pub fn comm_get_failed(comm: &Arc<Comm>, failedgrp: Out<'_, MPI_Group>) -> Result<()> {
    learn();
    let failed = comm.failed_members(process());
    failedgrp.set(GROUPS.insert(Arc::new(comm.group_of_members(failed))));
    Ok(())
}

/// `MPIX_Comm_ack_failed`.
pub fn comm_ack_failed(comm: &Arc<Comm>, num_to_ack: c_int, num_acked: Out<'_, c_int>) -> Result<()> {
    learn();
    num_acked.set(comm.acknowledge(process(), num_to_ack.max(0) as usize) as c_int);
    tell_acknowledged(comm.acknowledged());
    Ok(())
}

/// `MPIX_Comm_failure_ack`.
pub fn comm_failure_ack(comm: &Arc<Comm>) -> Result<()> {
    learn();
    comm.acknowledge(process(), usize::MAX);
    tell_acknowledged(comm.acknowledged());
    Ok(())
}

/// `MPIX_Comm_failure_get_acked`.
pub fn comm_failure_get_acked(comm: &Arc<Comm>, failedgrp: Out<'_, MPI_Group>) -> Result<()> {
    learn();
    failedgrp.set(GROUPS.insert(Arc::new(comm.group_of_members(comm.acknowledged()))));
    Ok(())
}

/// `MPIX_Comm_agree`.
pub fn comm_agree(comm: &Arc<Comm>, flag: InOut<'_, c_int>) -> Result<()> {
    learn();
    let agreed = decided("MPIX_Comm_agree", comm.agree(process(), flag.get() as u32).wait(process()));
    flag.set(comm.agreed_flags(&agreed) as c_int);
    comm.learn_failed(process(), &agreed);
    comm.check_agreed(&agreed)
}

/// `MPIX_Comm_iagree`. The flag is the library's until the request is complete.
pub fn comm_iagree(comm: &Arc<Comm>, flag: InOut<'_, c_int>, request: Out<'_, MPI_Request>) -> Result<()> {
    learn();
    let (agreement, place, own) = (comm.agree(process(), flag.get() as u32), flag.region(), comm.clone());
    let active = agreement.then(move |agreed| {
        let agreed = decided("MPIX_Comm_iagree", agreed.clone());
        place.write(0, &own.agreed_flags(&agreed).to_ne_bytes());
        own.learn_failed(process(), &agreed);
        own.check_agreed(&agreed)
    });
    request.set(handle_of_object(Some(comm), active));
    Ok(())
}

/// `MPIX_Comm_shrink`: `MPI_COMM_NULL` where nobody of the other group of an intercommunicator is
/// left.
pub fn comm_shrink(comm: &Arc<Comm>, newcomm: Out<'_, MPI_Comm>) -> Result<()> {
    learn();
    let agreed = decided("MPIX_Comm_shrink", comm.begin_shrink(process()).wait(process()));
    let new = comm.shrunk(&agreed)?;
    tell_acknowledged(comm.learn_failed(process(), &agreed));
    publish_if_member(new, newcomm)
}

/// `MPIX_Comm_ishrink`. The handle is there at once, and valid once the request is complete. So
/// where `MPIX_Comm_shrink` gives `MPI_COMM_NULL`, the request fails.
pub fn comm_ishrink(
    comm: &Arc<Comm>,
    newcomm: Out<'_, MPI_Comm>,
    request: Out<'_, MPI_Request>,
) -> Result<()> {
    learn();
    let (agreement, own) = (comm.begin_shrink(process()), comm.clone());
    let (handle, reserved) = COMMS.reserve();
    newcomm.set(handle);
    let active = agreement.then(move |agreed| {
        let agreed = decided("MPIX_Comm_ishrink", agreed.clone());
        let new = own.shrunk(&agreed)?;
        tell_acknowledged(own.learn_failed(process(), &agreed));
        let new = Arc::new(new.ok_or_else(none_left)?);
        COMMS.insert_at(reserved, new.clone());
        published(&new, handle);
        Ok(())
    });
    request.set(handle_of_object(Some(comm), active));
    Ok(())
}
