//! The needs of a job before it starts: its name, the files of its output, the means to start
//! agents.

use crate::agent::AGENT_OPTION;
use crate::cli::{Order, hostname};
use crate::files::Files;
use crate::layout::host_of_rank;
use crate::remote::Means;
use crate::spawned::Starter;
use crate::sys;
use crate::wire::Key;
use std::io;
use std::time::Duration;
use verbena_boot::spawn::values_of;
use verbena_fault::Fault;

/// Creates the files for the ranks' output.
pub(crate) fn files(order: &Order) -> Result<Files, Fault> {
    let here = hostname();
    let name = |number: u32| order.hosts[number as usize].name.as_deref().unwrap_or(&here);
    let numbers = host_of_rank(&order.hosts);
    let hosts: Vec<(u32, &str)> = numbers.into_iter().map(|number| (number, name(number))).collect();
    Files::create(&order.outputs, &hosts)
}

/// The means to start agents: our own program, at its path on this host or under `--prefix`.
pub(crate) fn means(order: &Order) -> Result<Means, Fault> {
    let no_way = |error: io::Error| {
        let what = "Could not prepare the start on other hosts.";
        Fault::new(what, error.to_string(), "/proc or /dev is missing here", "mount them, or give --prefix")
    };
    let own = std::env::current_exe().map_err(no_way)?;
    let program = order.prefix.as_ref().map_or(own.clone(), |prefix| prefix.join("bin/mpiexec"));
    let key = Key::new(sys::random_bytes().map_err(no_way)?);
    let agent = vec![program.into(), AGENT_OPTION.into()];
    Ok(Means { launcher: order.launcher.clone(), agent, own, key })
}

/// A name that no other job has and nobody can guess: it also marks the job's processes.
pub(crate) fn job_name() -> io::Result<String> {
    Ok(format!("verbena-{}", Key::new(sys::random_bytes()?)))
}

/// The values that ranks find at their launcher from the start: what spawned them gives some, and
/// MPICH's programs look for the kinds of memory that they ask for.
pub(crate) fn values(order: &Order, starter: Option<&Starter>) -> Vec<(String, String)> {
    let mut values = starter.and_then(|starter| values_of(&starter.port)).unwrap_or_default();
    let name = verbena_settings::MEMORY_KINDS.about.name;
    let mut variables = order.parts.iter().flat_map(|part| &part.environment);
    if let Some((_, kinds)) = variables.find(|(variable, _)| variable == name) {
        values.push(("PMI_mpi_memory_alloc_kinds".into(), kinds.to_string_lossy().into_owned()));
    }
    values
}

/// The time without progress after which the user is told; `None`: never.
pub(crate) fn hang_limit() -> Option<Duration> {
    let seconds = verbena_settings::HANG_SECONDS.get() as u64;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

/// The time that ranks have to end after a SIGTERM to `mpiexec`; `None`: no limit.
pub(crate) fn term_grace() -> Option<Duration> {
    let seconds = verbena_settings::TERM_GRACE_SECONDS.get() as u64;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}
