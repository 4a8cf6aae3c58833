//! The machine as this process sees it.

use nix::sys::utsname::uname;
use serde::Serialize;
use verbena_lab::floor;
use verbena_lab::place;

/// The findings about the machine.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    /// The processor's name.
    pub processor: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The processors in this process's affinity mask.
    pub affinity: Option<Vec<usize>>,
    /// The number of ranks that may run at once: the affinity mask, cut to the cgroup's quota of
    /// time.
    pub cores: Option<usize>,
}

/// Asks the operating system.
pub(super) fn describe() -> Machine {
    Machine {
        processor: place::processor_name(),
        kernel: uname().ok().map(|names| names.release().to_string_lossy().into_owned()),
        affinity: floor::processors().ok(),
        cores: std::thread::available_parallelism().ok().map(usize::from),
    }
}
