//! Spawning, and finding the parent (MPI-5.0, 11.8).
//!
//! The root opens a port and orders the processes, whose launcher tells them the port. They form a
//! world of their own, and its rank 0 connects to the port during initialisation.

use super::order::Command;
use super::ports::{at_root, default_limit, error_of, new_port, nobody, reach};
use crate::comm::{Comm, Exchange};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::process::Process;
use crate::startup::Launch;
use crate::tie::Tie;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use verbena_boot::port::Port;
use verbena_boot::port::stream::Stream;
use verbena_boot::spawn::{Children, Order, Program, SpawnError};
use verbena_channel::Peer;
use verbena_fault::Fault;

/// The time between two looks whether the new processes still live.
const ALIVE_EVERY: Duration = Duration::from_millis(100);
/// The time in which a process reaches the one that spawned it.
const PARENT_TIME_MAX: Duration = Duration::from_secs(120);

/// The jobs that this process has started, with others or alone, and its ties with them. They end
/// with the job, unless all processes of it that started them have parted from them.
static OWN: Mutex<Vec<(Children, Vec<Weak<Tie>>)>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<(Children, Vec<Weak<Tie>>)>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Parts from the jobs to which no communicator leads any more, or from `all`.
///
/// # Errors
/// The launcher went away.
pub fn part(launch: Option<&Launch>, all: bool) -> Result<()> {
    let is_parted = |ties: &[Weak<Tie>]| all || ties.iter().all(|tie| tie.strong_count() == 0);
    let parted: Vec<_> = own().extract_if(.., |(_, ties)| is_parted(ties)).collect();
    parted.into_iter().try_for_each(|(children, _)| launch.map_or(Ok(()), |launch| launch.part(children)))
}

/// The fate of each process, by its number among those that were wanted.
pub struct Outcome {
    /// The error classes, `MPI_SUCCESS` for a process that was started.
    pub codes: Vec<i32>,
    /// The intercommunicator, or why there is none.
    pub comm: Result<Comm>,
}

impl Outcome {
    /// The codes for the program. Processes that were started and cannot be reached are as good as
    /// none.
    pub fn told(&self) -> Vec<i32> {
        let failed = self.comm.is_err();
        let told = |code: &i32| if failed && *code == mpi::MPI_SUCCESS { mpi::MPI_ERR_SPAWN } else { *code };
        self.codes.iter().map(told).collect()
    }
}

/// The processes of a call, once they run, and the way to them.
struct Started {
    port: Port,
    children: Children,
    codes: Vec<i32>,
}

/// Spawns processes (`MPI_Comm_spawn`, `MPI_Comm_spawn_multiple`). Commands, or why there are none,
/// count at the root only; `mpiexec` is the program that starts them where no launcher can.
///
/// # Errors
/// Those of the exchange; all else is in the outcome.
pub fn spawn(
    comm: &Comm,
    root: i32,
    commands: Result<Vec<Command<'_>>>,
    (launch, mpiexec): (&Launch, Option<&Path>),
    exchange: &dyn Exchange,
) -> Result<Outcome> {
    comm.check_intra()?;
    let process = exchange.process().ok_or_else(nobody)?;
    let mut started = Err((Vec::new(), nobody()));
    let mut told = Vec::new();
    if comm.rank() == root {
        started = commands
            .map_err(|error| (Vec::new(), error))
            .and_then(|commands| start(&commands, own_ranks(process, comm), launch, mpiexec));
        told = match &started {
            Ok(started) => tell(mpi::MPI_SUCCESS, started.children.number(), &started.codes),
            Err((codes, error)) => tell(error.class, None, codes),
        };
    }
    let told = exchange.bcast(comm, root, told)?;
    let (class, number, codes) = hear(&told)?;
    if class != mpi::MPI_SUCCESS {
        let error = started.err().filter(|_| comm.rank() == root).map(|(_, error)| error);
        return Ok(Outcome { codes, comm: Err(error.unwrap_or_else(|| root_failed(class))) });
    }
    // The number is one at the launcher of the root's job.
    let is_ours = |peer: &Peer| *peer < process.size();
    let is_root_ours = comm.targets().members().get(root as usize).is_some_and(is_ours);
    let mut children = number.filter(|_| is_root_ours).map(Children::OfLauncher);
    let far = || {
        let Started { port, children: new, .. } = started.map_err(|(_, error)| error)?;
        meet(process, comm, port, children.insert(new), launch)
    };
    let met = comm.connect(root, at_root(process, comm, root, far), exchange);
    if let (Ok(met), Some(children)) = (&met, children) {
        own().push((children, met.targets().ties().iter().map(Arc::downgrade).collect()));
    }
    Ok(Outcome { codes, comm: met })
}

/// Connects this world with the processes that spawned it; `None` if nobody did. All processes of
/// the world call.
pub fn meet_parent(world: &Comm, launch: &Launch, exchange: &dyn Exchange) -> Result<Option<Comm>> {
    let Some(port) = &launch.parent else { return Ok(None) };
    let process = exchange.process().ok_or_else(nobody)?;
    let far = || reach(process, world, port, PARENT_TIME_MAX);
    let parent = world.connect(0, at_root(process, world, 0, far), exchange)?;
    parent.set_name(b"MPI_COMM_PARENT");
    Ok(Some(parent))
}

/// The ranks of this process's job that are members of a communicator.
fn own_ranks(process: &Process, comm: &Comm) -> Vec<u32> {
    comm.targets().members().iter().copied().filter(|peer| *peer < process.size()).collect()
}

/// Starts the processes, with which these ranks will be connected. An error comes with the code of
/// each process, if it is known how many were wanted.
fn start(
    commands: &[Command<'_>],
    ranks: Vec<u32>,
    launch: &Launch,
    mpiexec: Option<&Path>,
) -> std::result::Result<Started, (Vec<i32>, Error)> {
    let none = |error: Error| (Vec::new(), error);
    let wanted: Vec<u32> = commands.iter().map(|command| command.count.max(0) as u32).collect();
    let all = |code: i32| vec![code; wanted.iter().sum::<u32>() as usize];
    let programs: Result<Vec<_>> = commands.iter().map(Command::program).collect();
    let programs = programs.map_err(|error| (all(error.class), error))?;
    let port = new_port().map_err(none)?;
    let order = Order { programs, parent: port.name(), ranks };
    match launch.spawn(&order, mpiexec) {
        Ok(children) => Ok(Started { port, children, codes: codes_of(&wanted, &order) }),
        Err(SpawnError::Refused(ranks, text)) => Err((all(mpi::MPI_ERR_SPAWN), refused(&ranks, &text))),
        Err(SpawnError::NoMpiexec) => Err((all(mpi::MPI_ERR_SPAWN), no_mpiexec())),
        Err(SpawnError::Boot(error)) => Err((all(mpi::MPI_ERR_SPAWN), Error::boot(error))),
    }
}

/// The code of each process that was wanted, when those of the order run. Of a command whose key
/// `soft` allowed fewer, the last ones were not started.
fn codes_of(wanted: &[u32], order: &Order) -> Vec<i32> {
    let codes = |(wanted, program): (&u32, &Program)| {
        let count = program.count;
        let code = move |number| if number < count { mpi::MPI_SUCCESS } else { mpi::MPI_ERR_SPAWN };
        (0..*wanted).map(code)
    };
    wanted.iter().zip(&order.programs).flat_map(codes).collect()
}

/// Waits until the new processes connect. They may end before they do.
fn meet(
    process: &Process,
    comm: &Comm,
    mut port: Port,
    children: &mut Children,
    launch: &Launch,
) -> Result<Stream> {
    // A launcher that does not tell of their end must not let us wait for ever.
    let until = matches!(children, Children::Unwatched).then(|| Instant::now() + default_limit());
    let mut looked = Instant::now();
    let mut last = false;
    process.wait_outside(comm, "the spawned processes to call MPI_Init", |limit| {
        if let Some(stream) = port.accept(limit).map_err(error_of)? {
            return Ok(Some(stream));
        }
        if last || until.is_some_and(|until| Instant::now() >= until) {
            return Err(ended_early());
        }
        if looked.elapsed() >= ALIVE_EVERY {
            looked = Instant::now();
            // One that has ended may have connected before.
            last = launch.have_ended(children)?;
        }
        Ok(None)
    })
}

/// An error class, the number of the new job at the launcher, if it has one, and a code for each
/// process, as bytes.
fn tell(class: i32, number: Option<u32>, codes: &[i32]) -> Vec<u8> {
    let number = number.map_or(0, u32::cast_signed);
    [class, number].iter().chain(codes).flat_map(|code| code.to_le_bytes()).collect()
}

fn hear(bytes: &[u8]) -> Result<(i32, Option<u32>, Vec<i32>)> {
    let (codes, _) = bytes.as_chunks::<4>();
    let mut codes = codes.iter().map(|code| i32::from_le_bytes(*code));
    let (class, number) = codes.next().zip(codes.next()).ok_or_else(nobody)?;
    // Launchers count from 1.
    Ok((class, Some(number.cast_unsigned()).filter(|number| *number > 0), codes.collect()))
}

/// The launcher's refusal. It says its own four parts, a line each, if it can.
#[cold]
fn refused(ranks: &[u32], text: &str) -> Error {
    let its = Fault::of_text(text);
    let numbers: Vec<String> = ranks.iter().map(u32::to_string).collect();
    let of = if numbers.is_empty() { String::new() } else { format!("number {}: ", numbers.join(", ")) };
    let or = |part: String, other: &str| if part.is_empty() { other.to_owned() } else { part };
    Error::new(
        mpi::MPI_ERR_SPAWN,
        format!("processes could not be spawned; the launcher says: {}", its.what),
        format!("{of}{}", or(its.on, "the command")),
        or(
            its.cause,
            "the command does not exist or cannot run on the hosts, or a limit on processes is reached",
        ),
        or(its.remedy, "check the command, its path and the info keys host, path and wdir"),
    )
}

#[cold]
fn no_mpiexec() -> Error {
    Error::new(
        mpi::MPI_ERR_SPAWN,
        "processes could not be spawned, since there is no mpiexec to start them",
        format!("process {}, which was not started by a launcher that can", std::process::id()),
        "the library is installed without its mpiexec, which belongs into ../bin beside it",
        "install Verbena as a whole, or start the program by its mpiexec",
    )
}

#[cold]
fn ended_early() -> Error {
    Error::new(
        mpi::MPI_ERR_SPAWN,
        "the spawned processes ended, or were silent too long, before they had initialised MPI",
        "the program that was spawned",
        "it is no MPI program, uses another MPI library, or could not be started; some launchers do not say",
        "look at its output; run it alone with mpiexec",
    )
}

#[cold]
fn root_failed(class: i32) -> Error {
    Error::new(
        class,
        "processes could not be spawned",
        "the root's call",
        "the root's own error says why",
        "correct what the root's error names",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_the_launcher_are_those_of_the_error() {
        let its =
            Fault::new("the program could not be started", "host a: /no/such", "it is not there", "look");
        let error = refused(&[1, 2], &its.to_string());
        let what = "processes could not be spawned; the launcher says: the program could not be started";
        assert_eq!(
            *error.fault,
            Fault::new(what, "number 1, 2: host a: /no/such", "it is not there", "look")
        );
        let error = refused(&[], "mpiexec itself ended without a word");
        assert!(error.fault.what.ends_with("says: mpiexec itself ended without a word"), "{error}");
        assert!(error.fault.remedy.starts_with("check the command"), "{error}");
    }

    #[test]
    fn each_process_has_its_code() {
        let program = |count| Program { count, ..Program::default() };
        let order = Order { programs: vec![program(2), program(1)], ..Order::default() };
        let (good, bad) = (mpi::MPI_SUCCESS, mpi::MPI_ERR_SPAWN);
        assert_eq!(codes_of(&[2, 1], &order), [good; 3]);
        let codes = codes_of(&[3, 1], &order);
        assert_eq!(codes, [good, good, bad, good]);
        for number in [None, Some(1)] {
            assert_eq!(hear(&tell(bad, number, &codes)).unwrap(), (bad, number, codes.clone()));
        }
        assert!(hear(&[1]).is_err());
    }
}
