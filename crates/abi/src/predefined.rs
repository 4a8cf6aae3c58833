//! The objects behind predefined handles, made when first asked for (some are wanted before `MPI_Init`).

use std::sync::Arc;
use verbena_mpi::errhandler::predefined;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::info::Entry;
use verbena_mpi::{Datatype, Errhandler, Group, Info, Op};

/// The predefined group of this handle: only `MPI_GROUP_EMPTY`, of which no process is a member.
pub fn group(handle: usize) -> Option<Arc<Group>> {
    (handle == mpi::MPI_GROUP_EMPTY).then(|| Arc::new(Group::empty()))
}

/// The predefined datatype of this handle.
pub fn datatype(handle: usize) -> Option<Arc<Datatype>> {
    Datatype::predefined(handle).cloned()
}

/// The predefined operation of this handle.
pub fn op(handle: usize) -> Option<Arc<Op>> {
    Op::predefined(handle).cloned()
}

/// The predefined error handler of this handle.
pub fn errhandler(handle: usize) -> Option<Arc<Errhandler>> {
    match handle {
        mpi::MPI_ERRORS_ARE_FATAL => Some(predefined::are_fatal()),
        mpi::MPI_ERRORS_ABORT => Some(predefined::abort()),
        mpi::MPI_ERRORS_RETURN => Some(predefined::returning()),
        _ => None,
    }
}

/// The predefined info object of this handle: only `MPI_INFO_ENV`.
pub fn info(handle: usize) -> Option<Arc<Info>> {
    (handle == mpi::MPI_INFO_ENV).then(|| Arc::new(Info::constant(environment())))
}

/// How this program was started, as far as the system tells (MPI-5.0, 11.2.1). What is not known is left out.
pub fn environment() -> Vec<Entry> {
    let mut arguments = std::env::args_os().map(|argument| argument.into_encoded_bytes());
    let mut out: Vec<Entry> = Vec::new();
    let mut put = |key: &str, value: Vec<u8>| {
        let most = (mpi::MPI_MAX_INFO_VAL - 1) as usize;
        out.push((key.into(), value[..value.len().min(most)].to_vec()));
    };
    put("command", arguments.next().unwrap_or_default());
    put("argv", arguments.collect::<Vec<_>>().join(&b' '));
    put("maxprocs", std::env::var("PMI_SIZE").unwrap_or_else(|_| "1".into()).into_bytes());
    put("soft", std::env::var("PMI_SIZE").unwrap_or_else(|_| "1".into()).into_bytes());
    if let Ok(host) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
        put("host", host.trim().into());
    }
    put("arch", std::env::consts::ARCH.into());
    if let Ok(dir) = std::env::current_dir() {
        put("wdir", dir.into_os_string().into_encoded_bytes());
    }
    out
}
