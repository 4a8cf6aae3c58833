//! Opening libibverbs, and making fork safe.

use crate::raw::{self, Functions};
use std::ffi::c_int;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::OnceLock;
use verbena_fault::Fault;

/// The name that programs link with; the number is the version of its binary interface.
pub const NAME: &str = "libibverbs.so.1";

/// The answer to the question whether the process may fork while memory is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fork {
    /// The kernel copies registered pages for the child (Linux 5.12 and later).
    Kernel,
    /// libibverbs keeps registered pages from the child.
    Library,
    /// Neither: a program that forks (`system`, `popen`) may find its registered memory out of
    /// step.
    Unsafe(Fault),
}

impl fmt::Display for Fork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fork::Kernel => f.write_str("safe: the kernel copies registered memory for the child"),
            Fork::Library => f.write_str("safe: libibverbs keeps registered memory from the child"),
            Fork::Unsafe(fault) => fault.fmt(f),
        }
    }
}

/// The open library. It is never closed, since drivers do not take that well.
pub struct Library {
    pub(crate) functions: Functions,
    fork: Fork,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("fork", &self.fork).finish_non_exhaustive()
    }
}

impl Library {
    /// Returns the library, opened at the first call. That happens before any registration of ours,
    /// as fork safety needs.
    ///
    /// # Errors
    /// It is missing or too old; every call gets the same answer.
    pub fn get() -> Result<&'static Library, Fault> {
        static OPENED: OnceLock<Result<Library, Fault>> = OnceLock::new();
        OPENED.get_or_init(|| Library::open(NAME)).as_ref().map_err(Fault::clone)
    }

    /// Opens the library with this name or path.
    ///
    /// # Errors
    /// As [`Library::get`].
    pub fn open(name: &str) -> Result<Library, Fault> {
        // SAFETY: libibverbs has no initialisers that could harm; a foreign library of that name
        // would be the system's fault, as for any program linked with it.
        let opened = unsafe { libloading::Library::new(name) }.map_err(|error| missing(name, &error))?;
        // Its functions are used as long as the process lives.
        let library = ManuallyDrop::new(opened);
        // SAFETY: this is libibverbs, and it stays open.
        let functions = unsafe { Functions::find(&library) }.map_err(|lacks| too_old(name, lacks))?;
        let fork = make_fork_safe(&library, &functions);
        Ok(Library { functions, fork })
    }

    /// Returns whether the process may fork.
    pub fn fork(&self) -> &Fork {
        &self.fork
    }
}

fn missing(name: &str, error: &libloading::Error) -> Fault {
    Fault::new(
        "InfiniBand cannot be used: libibverbs could not be opened",
        name,
        format!("rdma-core is not installed ({error})"),
        "install libibverbs1 and ibverbs-providers (Debian, Ubuntu) or libibverbs (Fedora, RHEL, SUSE); without it Verbena uses its other channels",
    )
}

fn too_old(name: &str, lacks: &str) -> Fault {
    Fault::new(
        "InfiniBand cannot be used: libibverbs lacks a function",
        format!("{name}, {lacks}"),
        "it is older than rdma-core 15, or not rdma-core's",
        "install a newer rdma-core",
    )
}

/// Calls `ibv_fork_init`, which costs time at each registration, only where the kernel does not do
/// its work. It fails if the program has registered memory before.
fn make_fork_safe(library: &libloading::Library, functions: &Functions) -> Fork {
    // SAFETY: the function's type (rdma-core 35 and later have it; the kernel's way is as new).
    let ask = unsafe { library.get::<unsafe extern "C" fn() -> u32>("ibv_is_fork_initialized") };
    // SAFETY: it takes and changes nothing.
    let status = ask.ok().map(|ask| unsafe { ask() });
    match status {
        Some(raw::IBV_FORK_UNNEEDED) => Fork::Kernel,
        Some(raw::IBV_FORK_ENABLED) => Fork::Library,
        // SAFETY: it may be called at any time.
        _ => match unsafe { (functions.ibv_fork_init)() } {
            0 => Fork::Library,
            code => Fork::Unsafe(fork_unsafe(code)),
        },
    }
}

fn fork_unsafe(code: c_int) -> Fault {
    let said = std::io::Error::from_raw_os_error(code.abs());
    Fault::new(
        "the process may not fork while memory is registered",
        "ibv_fork_init",
        format!("the program used libibverbs before MPI_Init, or the kernel is old ({said})"),
        "set RDMAV_FORK_SAFE=1, use Linux 5.12 or later, or do not fork (system, popen) in MPI programs",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_explained_in_four_parts() {
        let fault = Library::open("libibverbs-that-is-not-there.so.1").expect_err("missing");
        assert!(fault.cause.contains("not installed") && fault.remedy.contains("libibverbs1"), "{fault}");
        assert_eq!(fault.on, "libibverbs-that-is-not-there.so.1");
    }

    #[test]
    fn another_library_is_not_mistaken_for_it() {
        let fault = Library::open("libc.so.6").expect_err("lacks the functions");
        assert!(fault.on.contains("ibv_get_device_list"), "{fault}");
    }
}
