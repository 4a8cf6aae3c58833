//! Spawning, and finding the parent (MPI-5.0, 11.8).
//!
//! The root opens a port and orders the processes, whose launcher tells them the port. They form a
//! world of their own, and its rank 0 connects to the port during initialisation.

use super::order::Command;
use super::ports::{at_root, error_of, new_port, nobody, reach, wait};
use crate::comm::{Comm, Exchange};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::process::Process;
use crate::startup::Launch;
use std::path::Path;
use std::time::{Duration, Instant};
use verbena_boot::port::Port;
use verbena_boot::port::stream::Stream;
use verbena_boot::spawn::{Children, Order, SpawnError};

/// The time between two looks whether the new processes still live.
const ALIVE_EVERY: Duration = Duration::from_millis(100);
/// The time in which a process reaches the one that spawned it.
const PARENT_TIME_MAX: Duration = Duration::from_secs(120);

/// What became of each process, by its number among those that were wanted.
pub struct Outcome {
    /// The error classes, `MPI_SUCCESS` for a process that was started.
    pub codes: Vec<i32>,
    /// The intercommunicator, or why there is none.
    pub comm: Result<Comm>,
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
        started = commands.map_err(|error| (Vec::new(), error)).and_then(|commands| start(&commands, launch, mpiexec));
        told = match &started {
            Ok(started) => tell(mpi::MPI_SUCCESS, &started.codes),
            Err((codes, error)) => tell(error.class, codes),
        };
    }
    let told = exchange.bcast(comm, root, told)?;
    let (class, codes) = hear(&told)?;
    if class != mpi::MPI_SUCCESS {
        let error = started.err().filter(|_| comm.rank() == root).map(|(_, error)| error);
        return Ok(Outcome { codes, comm: Err(error.unwrap_or_else(|| root_failed(class))) });
    }
    let far = || started.map_err(|(_, error)| error).and_then(|started| meet(process, started, launch));
    let comm = comm.connect(root, at_root(comm, root, far), exchange);
    Ok(Outcome { codes, comm })
}

/// Connects this world with the processes that spawned it; `None` if nobody did. All processes of
/// the world call.
pub fn meet_parent(world: &Comm, launch: &Launch, exchange: &dyn Exchange) -> Result<Option<Comm>> {
    let Some(port) = &launch.parent else { return Ok(None) };
    let process = exchange.process().ok_or_else(nobody)?;
    let far = || reach(process, port, PARENT_TIME_MAX);
    let parent = world.connect(0, at_root(world, 0, far), exchange)?;
    parent.set_name(b"MPI_COMM_PARENT");
    Ok(Some(parent))
}

/// Starts the processes. An error comes with the code of each process, if it is known how many were
/// wanted.
fn start(
    commands: &[Command<'_>],
    launch: &Launch,
    mpiexec: Option<&Path>,
) -> std::result::Result<Started, (Vec<i32>, Error)> {
    let none = |error: Error| (Vec::new(), error);
    let wanted: Vec<u32> = commands.iter().map(|command| command.count.max(0) as u32).collect();
    let all = |code: i32| vec![code; wanted.iter().sum::<u32>() as usize];
    let programs: Result<Vec<_>> = commands.iter().map(Command::program).collect();
    let programs = programs.map_err(|error| (all(error.class), error))?;
    let port = new_port().map_err(none)?;
    let order = Order { programs, parent: port.name() };
    match launch.spawn(&order, mpiexec) {
        Ok(children) => Ok(Started { port, children, codes: codes_of(&wanted, &order, &[]) }),
        Err(SpawnError::Refused(ranks, text)) => {
            let ranks = if ranks.is_empty() { (0..order.size()).collect() } else { ranks };
            Err((codes_of(&wanted, &order, &ranks), refused(&text)))
        }
        Err(SpawnError::NoMpiexec) => Err((all(mpi::MPI_ERR_SPAWN), no_mpiexec())),
        Err(SpawnError::Boot(error)) => Err((all(mpi::MPI_ERR_SPAWN), Error::boot(error))),
    }
}

/// The code of each process that was wanted, where these of the order were refused. Of a command
/// whose key `soft` allowed fewer, the last ones were not started.
fn codes_of(wanted: &[u32], order: &Order, refused: &[u32]) -> Vec<i32> {
    let mut codes = Vec::new();
    let mut first = 0;
    for (wanted, program) in wanted.iter().zip(&order.programs) {
        let code = |number: u32| match number < program.count && !refused.contains(&(first + number)) {
            true => mpi::MPI_SUCCESS,
            false => mpi::MPI_ERR_SPAWN,
        };
        codes.extend((0..*wanted).map(code));
        first += program.count;
    }
    codes
}

/// Waits until the new processes connect. They may end before they do.
fn meet(process: &Process, started: Started, launch: &Launch) -> Result<Stream> {
    let Started { mut port, mut children, .. } = started;
    let mut looked = Instant::now();
    let mut last = false;
    wait(process, |limit| {
        if let Some(stream) = port.accept(limit).map_err(error_of)? {
            return Ok(Some(stream));
        }
        if last {
            return Err(ended_early());
        }
        if looked.elapsed() >= ALIVE_EVERY {
            looked = Instant::now();
            // One that has ended may have connected before.
            last = launch.have_ended(&mut children)?;
        }
        Ok(None)
    })
}

/// An error class, and a code for each process, as bytes.
fn tell(class: i32, codes: &[i32]) -> Vec<u8> {
    std::iter::once(&class).chain(codes).flat_map(|code| code.to_le_bytes()).collect()
}

fn hear(bytes: &[u8]) -> Result<(i32, Vec<i32>)> {
    let (codes, _) = bytes.as_chunks::<4>();
    let mut codes = codes.iter().map(|code| i32::from_le_bytes(*code));
    let class = codes.next().ok_or_else(nobody)?;
    Ok((class, codes.collect()))
}

#[cold]
fn refused(text: &str) -> Error {
    let mut lines = text.lines();
    let what = lines.next().unwrap_or_default();
    Error::new(
        mpi::MPI_ERR_SPAWN,
        "processes could not be spawned",
        format!("the launcher says: {what} {}", lines.map(str::trim).collect::<Vec<_>>().join("; ")),
        "the command does not exist or cannot run on the hosts, or a limit on processes is reached",
        "check the command, its path and the info keys host, path and wdir",
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
        "the spawned processes ended before they had initialised MPI",
        "the program that was spawned",
        "it is no MPI program, uses another MPI library, or failed at once",
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
    use verbena_boot::spawn::Program;

    #[test]
    fn each_process_has_its_code() {
        let program = |count| Program { count, ..Program::default() };
        let order = Order { programs: vec![program(2), program(1)], parent: String::new() };
        let (good, bad) = (mpi::MPI_SUCCESS, mpi::MPI_ERR_SPAWN);
        assert_eq!(codes_of(&[2, 1], &order, &[]), [good; 3]);
        assert_eq!(codes_of(&[3, 1], &order, &[2]), [good, good, bad, bad]);
        let codes = codes_of(&[2, 1], &order, &[1]);
        assert_eq!(hear(&tell(bad, &codes)).unwrap(), (bad, vec![good, bad, good]));
        assert!(hear(&[1]).is_err());
    }
}
