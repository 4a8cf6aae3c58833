//! The entries of `MPI_INFO_ENV` (MPI-5.0, 11.2.1).

use crate::host::{architecture, host_name};
use crate::{memory_kinds, state};
use std::os::unix::ffi::OsStringExt;
use verbena_boot::environment::{Surroundings, known_size};
use verbena_mpi::Process;
use verbena_mpi::info::Entry;
use verbena_settings::INITIAL_ERRHANDLER;

/// The entries, which are the same before and after initialisation. No thread level is among them,
/// since none can be asked for before the program starts.
pub(crate) fn environment() -> Vec<Entry> {
    let arguments: Vec<Vec<u8>> = std::env::args_os().map(OsStringExt::into_vec).collect();
    let mut entries = describe(&arguments);
    let mut add = |key: &str, value: Vec<u8>| entries.push((key.into(), value));
    let told = || known_size(&Surroundings::of_this_process(&|name| std::env::var(name).ok()));
    if let Some(size) = state::try_process().map(Process::size).or_else(told) {
        add("maxprocs", size.to_string().into_bytes());
    }
    verbena_settings::load();
    add("mpi_initial_errhandler", INITIAL_ERRHANDLER.value_text().into_bytes());
    add("mpi_memory_alloc_kinds", memory_kinds::of_world().into_bytes());
    add("host", host_name());
    add("arch", architecture());
    if let Ok(directory) = std::env::current_dir() {
        add("wdir", directory.into_os_string().into_vec());
    }
    entries.retain(|(_, value)| value.len() < verbena_mpi::info::VALUE_BYTES_MAX);
    entries
}

/// The entries `command` and `argv` of a command line.
pub(crate) fn describe(arguments: &[Vec<u8>]) -> Vec<Entry> {
    let Some((command, rest)) = arguments.split_first() else { return Vec::new() };
    vec![(b"command".to_vec(), command.clone()), (b"argv".to_vec(), rest.join(&b' '))]
}
