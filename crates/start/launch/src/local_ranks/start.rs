//! Starts one rank: its environment, its line to us, its standard streams.

use super::descendants;
use crate::debugger::HOLD_OPTION;
use crate::plan::{Assignment, Part};
use crate::sys::{self, Inherited};
use crate::wire::{Stdin, Work};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use verbena_boot::environment::PMI_SOCKET;
use verbena_boot::spawn::{PARENT, found_in, values_of};
use verbena_boot::status::{self, StatusMemory};
use verbena_fault::Fault;
use verbena_settings::LAUNCHER_PID;

/// Variables of other launchers that would mislead a rank.
const FOREIGN: [&str; 9] = [
    "PMI_PORT",
    "PMI_ID",
    "PMI_SPAWNED",
    "PMI_JOBID",
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    status::VARIABLE,
];

/// A rank that runs.
#[derive(Debug)]
pub struct Started {
    /// The rank's process id, and the id of its process group.
    pub pid: i32,
    /// Our end of its PMI line.
    pub pmi: UnixStream,
    /// The rank's standard output and standard error.
    pub streams: [OwnedFd; 2],
    /// The rank's standard input, if that is a pipe.
    pub stdin: Option<ChildStdin>,
}

/// Starts the rank at place `local` in the work of this host, with the mark of this host's ranks,
/// on these processors; if there are none, where we may run. It gets its place in `status`.
///
/// # Errors
/// The message for the user.
pub fn start(
    work: &Work,
    local: usize,
    (mark, status): (&str, Option<&StatusMemory>),
    inherited: Inherited,
    processors: &[u32],
) -> Result<Started, Fault> {
    let assignment = work.assignments[local];
    let part = &work.parts[assignment.part as usize];
    let (ours, theirs) = UnixStream::pair().map_err(|error| no_resources(assignment.rank, &error))?;
    sys::set_nonblocking(ours.as_raw_fd());
    let mut command = program(part, work.held.contains(&assignment.rank), assignment.rank)?;
    for (name, value) in work.environment.iter().chain(&part.environment) {
        command.env(name, value);
    }
    set_environment(&mut command, work, assignment, local, theirs.as_raw_fd());
    command.env(descendants::MARK, mark);
    if let Some(status) = status {
        command.env(status::VARIABLE, status.variable(local));
    }
    if let Some(directory) = &part.directory {
        command.current_dir(directory);
    }
    command.stdin(stdin_for(work, assignment.rank)).stdout(Stdio::piped()).stderr(Stdio::piped());
    tie(&mut command, inherited, [Some(theirs.as_raw_fd()), status.map(StatusMemory::descriptor)]);
    bind(&mut command, processors);
    let mut child = command.spawn().map_err(|error| match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => no_resources(assignment.rank, &error),
        Some(libc::EINVAL) if !processors.is_empty() => not_bound(assignment.rank, processors),
        _ => cannot_start(part, &error),
    })?;
    match (child.stdout.take(), child.stderr.take()) {
        (Some(out), Some(err)) => Ok(Started {
            pid: child.id().cast_signed(),
            pmi: ours,
            streams: [out.into(), err.into()],
            stdin: child.stdin.take(),
        }),
        _ => Err(no_resources(assignment.rank, &io::Error::other("no pipe for standard output"))),
    }
}

/// The rank's program with its arguments; if the rank is held, behind our own program, which waits
/// for the debugger.
fn program(part: &Part, is_held: bool, rank: u32) -> Result<Command, Fault> {
    let path = part.path.as_deref().unwrap_or_default();
    let found = found_in(path, &part.program, part.directory.as_deref());
    let mut command = match is_held {
        true => {
            let own = std::env::current_exe().map_err(|error| no_resources(rank, &error))?;
            let mut command = Command::new(own);
            command.arg(HOLD_OPTION).arg(found);
            command
        }
        false => Command::new(found),
    };
    command.args(&part.arguments);
    Ok(command)
}

fn stdin_for(work: &Work, rank: u32) -> Stdio {
    match (rank, work.stdin) {
        (0, Stdin::Piped) => Stdio::piped(),
        (0, Stdin::Inherited) => Stdio::inherit(),
        _ => Stdio::null(),
    }
}

fn set_environment(command: &mut Command, work: &Work, assignment: Assignment, local: usize, fd: RawFd) {
    for name in FOREIGN {
        command.env_remove(name);
    }
    command.env("PMI_FD", fd.to_string());
    // These tell a rank its own line, and that it is a rank.
    command
        .env(PMI_SOCKET, format!("{fd}:{}", sys::inode(fd)))
        .env(LAUNCHER_PID, sys::process_id().to_string());
    command.env("PMI_RANK", assignment.rank.to_string()).env("PMI_SIZE", work.size.to_string());
    command.env("VERBENA_UNIVERSE_SIZE", work.universe_size.to_string());
    // That of a rank which ran this mpiexec is not meant.
    command.env_remove(PARENT);
    match &work.parent {
        Some(values) if values_of(values).is_some() => _ = command.env("PMI_SPAWNED", "1"),
        Some(port) => _ = command.env(PARENT, port),
        None => {}
    }
    command.env("VERBENA_JOB", &work.job).env("VERBENA_APPNUM", assignment.part.to_string());
    let (local, locals) = (local.to_string(), work.assignments.len().to_string());
    command.env("VERBENA_LOCAL_RANK", &local).env("VERBENA_LOCAL_SIZE", &locals);
    // Hydra's names for these; scripts that bind ranks to devices read them.
    command.env("MPI_LOCALRANKID", &local).env("MPI_LOCALNRANKS", &locals);
}

/// Gives the rank its own process group, so that a signal reaches everything it starts; lets it die
/// with us; and keeps its end of the PMI line, and the memory of its status, open across exec.
fn tie(command: &mut Command, inherited: Inherited, keep: [Option<RawFd>; 2]) {
    let parent = sys::process_id();
    command.process_group(0);
    let in_child = move || {
        inherited.restore();
        sys::tie_to_parent(parent, keep)
    };
    // SAFETY: the closure only makes async-signal-safe system calls and allocates nothing.
    unsafe { command.pre_exec(in_child) };
}

/// Confines the rank to processors before it runs its program.
fn bind(command: &mut Command, processors: &[u32]) {
    if processors.is_empty() {
        return;
    }
    let mask = sys::affinity_mask(processors);
    let in_child = move || sys::confine(&mask);
    // SAFETY: the closure only makes an async-signal-safe system call and allocates nothing.
    unsafe { command.pre_exec(in_child) };
}

fn not_bound(rank: u32, processors: &[u32]) -> Fault {
    Fault::new(
        "A rank could not be bound.",
        format!("rank {rank}, processors {processors:?}"),
        "the processors that this job may use were changed, or taken offline, while it started",
        "start it again, or leave --bind-to and --map-by out",
    )
}

fn no_resources(rank: u32, error: &io::Error) -> Fault {
    Fault::new(
        "Could not start all ranks.",
        format!("rank {rank}: {error}"),
        "a limit on open files or processes is reached",
        "raise it (ulimit -n, ulimit -u), or start fewer ranks",
    )
}

fn cannot_start(part: &Part, error: &io::Error) -> Fault {
    let program = part.program.display();
    let what = format!("Could not start {program}.");
    if let Some(directory) = part.directory.as_ref().filter(|directory| !Path::new(directory).is_dir()) {
        let on = format!("-wdir {}", directory.display());
        let advice = "correct or create it; without -wdir it is the directory that mpiexec was started in";
        return Fault::new(what, on, "there is no such directory", advice);
    }
    let on = format!("program {program}: {error}");
    let directory = part.directory.clone().unwrap_or_default();
    match error.kind() {
        io::ErrorKind::PermissionDenied if Path::new(&directory).join(&part.program).is_dir() => {
            Fault::new(what, on, "it is a directory", "name a program in it")
        }
        io::ErrorKind::NotFound => Fault::new(what, on, not_found_cause(part), not_found_advice(part)),
        io::ErrorKind::PermissionDenied => {
            Fault::new(what, on, "the file is no executable program", "check the name, or use chmod +x")
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => {
            let cause = "a limit on processes or memory is reached";
            Fault::new(what, on, cause, "raise it (ulimit -u), or start fewer ranks")
        }
        _ => Fault::new(what, on, "the file cannot run on this machine", "check that it was built for it"),
    }
}

fn not_found_cause(part: &Part) -> &'static str {
    match (part.program.to_string_lossy().contains('/'), &part.path) {
        (true, _) => "no such file, or the interpreter that its first line names is missing",
        (false, None) => "no such file in any directory of PATH",
        (false, Some(_)) => "no such file in any directory of -path (the info key path) or PATH",
    }
}

fn not_found_advice(part: &Part) -> String {
    let program = part.program.display();
    let directory = part.directory.clone().unwrap_or_default();
    if !part.program.to_string_lossy().contains('/') && Path::new(&directory).join(&part.program).is_file() {
        return format!("write ./{program}: the current directory is not in PATH");
    }
    "check the spelling, PATH and -wdir".into()
}
