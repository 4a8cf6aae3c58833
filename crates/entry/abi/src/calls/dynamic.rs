//! Processes that come while the program runs, and how jobs meet (MPI-5.0, 11.8 to 11.11).

use crate::args::{Hints, InOut, Out, OutString};
use crate::calls::comm::{comm_free, making, publish};
use crate::generated::types::{MPI_Comm, MPI_Info};
use crate::handles::COMMS;
use crate::{args, host, process, startup, survival};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;
use std::time::Duration;
use verbena_mpi::coll::Kind;
use verbena_mpi::comm::Traffic;
use verbena_mpi::dynamic::order::Command;
use verbena_mpi::dynamic::spawn::{Outcome, spawn};
use verbena_mpi::dynamic::{names, ports};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Error, Info, Process, Result};

/// The most rounds of progress in which a disconnected job is parted from; what is not over then is
/// tried again later.
const PARTING_ROUNDS: u32 = 10_000;

thread_local! {
    /// The number of error codes that the last call of this thread to spawn has set.
    static CODES_SET: Cell<usize> = const { Cell::new(0) };
}

/// The number of error codes that the last call of this thread to spawn has set: the MPICH face
/// translates them.
pub fn codes_set() -> usize {
    CODES_SET.get()
}

/// `MPI_Open_port` (11.9.2).
pub fn open_port(_info: Option<&Arc<Info>>, port_name: OutString<'_>) -> Result<()> {
    port_name.set(ports::open()?);
    Ok(())
}

/// `MPI_Close_port` (11.9.2).
pub fn close_port(port_name: &CStr) -> Result<()> {
    ports::close(&text(port_name))
}

/// `MPI_Comm_accept` (11.9.2).
pub fn comm_accept(
    port_name: Result<&CStr>,
    info: Hints,
    root: c_int,
    comm: &Arc<Comm>,
    newcomm: Out<'_, MPI_Comm>,
) -> Result<()> {
    process().part();
    let name = info.and(port_name).map(text);
    let new = ports::accept(comm, root, name, &making(Kind::Creation))?;
    publish(Arc::new(new), newcomm)
}

/// `MPI_Comm_connect` (11.9.3). The info key `timeout` says for how many seconds the root waits
/// until the other side accepts.
pub fn comm_connect(
    port_name: Result<&CStr>,
    info: Hints,
    root: c_int,
    comm: &Arc<Comm>,
    newcomm: Out<'_, MPI_Comm>,
) -> Result<()> {
    process().part();
    let way = info.and_then(|info| Ok((text(port_name?), time_limit(info.as_deref())?)));
    let new = ports::connect(comm, root, way, &making(Kind::Creation))?;
    publish(Arc::new(new), newcomm)
}

/// The value of the info key `timeout`; `None` if it is no positive number of seconds.
fn time_limit(info: Option<&Arc<Info>>) -> Result<Option<Duration>> {
    let seconds = info.map(|info| info.get(b"timeout")).transpose()?.flatten();
    let seconds = seconds.and_then(|value| String::from_utf8(value).ok()?.trim().parse::<u32>().ok());
    Ok(seconds.filter(|seconds| *seconds > 0).map(|seconds| Duration::from_secs(seconds.into())))
}

/// `MPI_Comm_join` (11.10.5).
pub fn comm_join(fd: c_int, intercomm: Out<'_, MPI_Comm>) -> Result<()> {
    process().part();
    let own = COMMS.get(mpi::MPI_COMM_SELF)?;
    let new = ports::join(&own, fd, &making(Kind::Creation))?;
    publish(Arc::new(new), intercomm)
}

/// `MPI_Publish_name` (11.9.4).
pub fn publish_name(service_name: &CStr, _info: Option<&Arc<Info>>, port_name: &CStr) -> Result<()> {
    names::publish(startup::launch(), service_name.to_bytes(), port_name.to_bytes())
}

/// `MPI_Unpublish_name` (11.9.4).
pub fn unpublish_name(service_name: &CStr, _info: Option<&Arc<Info>>, port_name: &CStr) -> Result<()> {
    names::unpublish(startup::launch(), service_name.to_bytes(), port_name.to_bytes())
}

/// `MPI_Lookup_name` (11.9.4).
pub fn lookup_name(service_name: &CStr, _info: Option<&Arc<Info>>, port_name: OutString<'_>) -> Result<()> {
    port_name.set(names::lookup(startup::launch(), service_name.to_bytes())?);
    Ok(())
}

/// `MPI_Comm_get_parent` (11.8.2).
pub fn comm_get_parent(parent: Out<'_, MPI_Comm>) -> Result<()> {
    parent.set(startup::parent());
    Ok(())
}

/// `MPI_Comm_spawn` (11.8.2).
#[allow(clippy::too_many_arguments)]
pub fn comm_spawn(
    command: Result<&CStr>,
    argv: *mut *mut c_char,
    maxprocs: c_int,
    info: Hints,
    root: c_int,
    comm: &Arc<Comm>,
    intercomm: Out<'_, MPI_Comm>,
    array_of_errcodes: *mut c_int,
) -> Result<()> {
    let given = command.and_then(|command| Ok((command, info?)));
    let commands = match &given {
        _ if !args::is_root(root, comm) => Ok(Vec::new()),
        Err(error) => Err(error.clone()),
        Ok((command, info)) => Ok(vec![Command {
            program: command.to_bytes(),
            // SAFETY: the program passes its list of strings, or MPI_ARGV_NULL.
            arguments: unsafe { strings(argv, None) },
            count: maxprocs,
            info: info.as_ref().map(|info| &***info),
        }]),
    };
    run(commands, root, comm, intercomm, array_of_errcodes)
}

/// `MPI_Comm_spawn_multiple` (11.8.3).
#[allow(clippy::too_many_arguments)]
pub fn comm_spawn_multiple(
    count: Result<c_int>,
    array_of_commands: *mut *mut c_char,
    array_of_argv: *mut *mut *mut c_char,
    array_of_maxprocs: Result<&[c_int]>,
    array_of_info: Result<&[MPI_Info]>,
    root: c_int,
    comm: &Arc<Comm>,
    intercomm: Out<'_, MPI_Comm>,
    array_of_errcodes: *mut c_int,
) -> Result<()> {
    if !args::is_root(root, comm) {
        return run(Ok(Vec::new()), root, comm, intercomm, array_of_errcodes);
    }
    let given = count.and_then(|count| {
        // SAFETY: the program passes as many commands as it says.
        let programs = unsafe { strings(array_of_commands, Some(count as usize)) };
        if programs.len() != count as usize || count == 0 {
            return Err(no_commands(count));
        }
        let infos: Result<Vec<_>> = array_of_info?.iter().map(|info| args::optional_info(*info)).collect();
        Ok((programs, array_of_maxprocs?, infos?))
    });
    let commands = given.as_ref().map_err(Error::clone).map(|(programs, counts, infos)| {
        let command = |at: usize| Command {
            program: &programs[at],
            // SAFETY: the program passes a list of strings for each command, or MPI_ARGVS_NULL.
            arguments: unsafe { list_of(array_of_argv, at) },
            count: counts[at],
            info: infos[at].as_ref().map(|info| &***info),
        };
        (0..programs.len()).map(command).collect()
    });
    run(commands, root, comm, intercomm, array_of_errcodes)
}

fn run(
    commands: Result<Vec<Command<'_>>>,
    root: c_int,
    comm: &Arc<Comm>,
    intercomm: Out<'_, MPI_Comm>,
    array_of_errcodes: *mut c_int,
) -> Result<()> {
    CODES_SET.set(0);
    process().part();
    let launch = startup::launch().ok_or_else(|| Error::unsupported("spawning without a launcher"))?;
    let mpiexec = host::mpiexec();
    let way = (launch, mpiexec.as_deref());
    // Elsewhere than at the root the number of processes is known only once the root has told it.
    let wanted =
        |commands: &Vec<Command<'_>>| commands.iter().map(|command| command.count.max(0) as usize).sum();
    let wanted: usize = commands.as_ref().map_or(0, wanted);
    let outcome = spawn(comm, root, commands, way, &making(Kind::Creation));
    let outcome =
        outcome.unwrap_or_else(|error| Outcome { codes: vec![error.class; wanted], comm: Err(error) });
    let (codes, comm) = (outcome.told(), outcome.comm);
    if !array_of_errcodes.is_null() {
        CODES_SET.set(codes.len());
        for (at, code) in codes.iter().enumerate() {
            // SAFETY: the program passes room for a code of each process that it wants.
            unsafe { array_of_errcodes.add(at).write(*code) };
        }
    }
    publish(Arc::new(comm?), intercomm)
}

/// `MPI_Comm_disconnect` (11.10.4): waits until all communication on it has ended on all sides.
/// Processes of other jobs that no communicator or group names any more are parted from.
pub fn comm_disconnect(comm: InOut<'_, MPI_Comm>) -> Result<()> {
    let object = COMMS.get(comm.get())?.clone();
    if COMMS.is_predefined(comm.get()) {
        return comm_free(comm);
    }
    let process = process();
    let context = object.context(Traffic::Point);
    let is_open = |process: &Process| process.is_used(|used| used & !3 == context);
    process.wait(|process| (!is_open(process)).then_some(()));
    // A job that has ended meanwhile is disconnected all the same, and so is a communicator on
    // which everything was interrupted.
    let met = startup::meet_members(process, &object, Kind::Creation);
    let lost = |process: &Process| object.targets().members().iter().any(|peer| process.has_lost(*peer));
    met.or_else(|error| if object.is_revoked() || lost(process) { Ok(()) } else { Err(error) })?;
    drop(object);
    comm_free(comm)?;
    for _ in 0..PARTING_ROUNDS {
        if process.part() {
            break;
        }
        process.progress();
    }
    survival::note_freed();
    Ok(())
}

/// The strings of a list: so many, or up to a null pointer.
///
/// # Safety
/// Null, or pointers to strings, as many as is said or with a null pointer behind the last.
unsafe fn strings(list: *const *mut c_char, count: Option<usize>) -> Vec<Vec<u8>> {
    if list.is_null() {
        return Vec::new();
    }
    let numbers = 0..count.unwrap_or(usize::MAX);
    // SAFETY: the caller's promise: no pointer behind a null pointer is read.
    let pointers = numbers.map(|at| unsafe { list.add(at).read() }).take_while(|text| !text.is_null());
    // SAFETY: the caller's promise.
    pointers.map(|text| unsafe { CStr::from_ptr(text) }.to_bytes().to_vec()).collect()
}

/// The strings of one of several lists.
///
/// # Safety
/// Null, or pointers to lists as [`strings`] takes them, at least `at + 1`.
unsafe fn list_of(lists: *const *mut *mut c_char, at: usize) -> Vec<Vec<u8>> {
    if lists.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    unsafe { strings(lists.add(at).read(), None) }
}

/// A string of the program. Names are those that it got from us, or its own.
fn text(string: &CStr) -> String {
    string.to_string_lossy().into_owned()
}

#[cold]
fn no_commands(count: c_int) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "there are not as many commands as the call says",
        format!("count is {count}"),
        "a pointer in array_of_commands is null, or count is 0",
        "pass a command for each count",
    )
}
