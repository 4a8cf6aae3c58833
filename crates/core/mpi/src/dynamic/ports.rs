//! The ports that this process has open; accepting and connecting (MPI-5.0, 11.9.2 and 11.9.3).
//!
//! A process that waits here makes progress for its other communication.

use super::stream::Leader;
use crate::comm::{Comm, Exchange, Far};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::process::Process;
use std::collections::HashMap;
use std::os::fd::RawFd;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use verbena_boot::port::range::PortRange;
use verbena_boot::port::stream::Stream;
use verbena_boot::port::{self, Port, PortError};
use verbena_machine::{node, random};

/// All open ports, by name.
static PORTS: Mutex<Option<HashMap<String, Arc<Mutex<Port>>>>> = Mutex::new(None);

fn ports() -> MutexGuard<'static, Option<HashMap<String, Arc<Mutex<Port>>>>> {
    PORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new port, which the table does not have.
pub(super) fn new_port() -> Result<Port> {
    let word = || random::secret().map_err(Error::channel);
    let cookie = u128::from(word()?) << 64 | u128::from(word()?);
    let range = PortRange::of_this_process().map_err(Error::channel)?;
    Port::open(cookie.to_be_bytes(), node::network_identity(), range).map_err(error_of)
}

/// Opens a port; returns its name (`MPI_Open_port`).
pub fn open() -> Result<String> {
    let port = new_port()?;
    let name = port.name();
    ports().get_or_insert_default().insert(name.clone(), Arc::new(Mutex::new(port)));
    Ok(name)
}

/// Closes a port (`MPI_Close_port`). `MPI_ERR_PORT` if it is not open in this process.
pub fn close(name: &str) -> Result<()> {
    let port = ports().as_mut().and_then(|ports| ports.remove(name));
    port.map(drop).ok_or_else(|| not_open(name))
}

/// The intercommunicator with the group that connects to a port of the root's (`MPI_Comm_accept`).
/// The name, or why there is none, counts at the root only.
pub fn accept(comm: &Comm, root: i32, name: Result<String>, exchange: &dyn Exchange) -> Result<Comm> {
    comm.check_intra()?;
    let process = exchange.process().ok_or_else(nobody)?;
    let far = || {
        let name = name?;
        let port = ports().as_ref().and_then(|ports| ports.get(&name)).cloned();
        let port = port.ok_or_else(|| not_open(&name))?;
        process.wait_outside(comm, "another job to connect to its port", |limit| {
            // Another thread may accept here at the same time.
            let mut port = port.lock().unwrap_or_else(PoisonError::into_inner);
            port.accept(limit).map_err(error_of)
        })
    };
    comm.connect(root, at_root(process, comm, root, far), exchange)
}

/// The intercommunicator with the group that accepts at a port (`MPI_Comm_connect`). Its name
/// and the time for which the root waits, or why there are none, count at the root only.
pub fn connect(
    comm: &Comm,
    root: i32,
    way: Result<(String, Option<Duration>)>,
    exchange: &dyn Exchange,
) -> Result<Comm> {
    comm.check_intra()?;
    let process = exchange.process().ok_or_else(nobody)?;
    let far = || {
        let (name, limit) = way?;
        reach(process, comm, &name, limit.unwrap_or_else(default_limit))
    };
    comm.connect(root, at_root(process, comm, root, far), exchange)
}

/// The intercommunicator with the process at the other end of a socket (`MPI_Comm_join`); `own` is
/// a communicator of this process alone.
pub fn join(own: &Comm, socket: RawFd, exchange: &dyn Exchange) -> Result<Comm> {
    let process = exchange.process().ok_or_else(nobody)?;
    let far = Leader::join(process, own, socket);
    own.connect(0, far.map(|leader| Box::new(leader) as Box<dyn Far>), exchange)
}

pub(super) fn default_limit() -> Duration {
    Duration::from_secs(verbena_settings::CONNECT_SECONDS.get() as u64)
}

/// Connects to a port, with progress meanwhile.
pub(super) fn reach(process: &Process, comm: &Comm, name: &str, limit: Duration) -> Result<Stream> {
    let (sender, receiver) = mpsc::channel();
    let port = name.to_owned();
    let network = node::network_identity();
    // Lives as long as somebody waits for the outcome.
    let wanted = Arc::new(());
    let waiter = Arc::downgrade(&wanted);
    let connect = move || {
        let is_wanted = || waiter.strong_count() > 0;
        // Nobody hears of it if the call has failed meanwhile.
        let _ = sender.send(port::connect(&port, network, limit, &is_wanted));
    };
    let builder = std::thread::Builder::new().name("verbena-connect".into());
    builder.spawn(connect).map_err(|error| no_thread(&error))?;
    let what = "the job that opened a port to accept there";
    process.wait_outside(comm, what, |limit| match receiver.recv_timeout(limit) {
        Ok(stream) => stream.map(Some).map_err(error_of),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(nobody()),
    })
}

/// The way to the other side at the root; elsewhere it does not count.
pub(super) fn at_root<'a>(
    process: &'a Process,
    comm: &'a Comm,
    root: i32,
    far: impl FnOnce() -> Result<Stream>,
) -> Result<Box<dyn Far + 'a>> {
    match comm.rank() == root {
        true => far().map(|stream| Box::new(Leader::met(process, comm, stream)) as Box<dyn Far>),
        false => Err(nobody()),
    }
}

pub(super) fn error_of(error: PortError) -> Error {
    let class = match error {
        PortError::NoPort(_) => mpi::MPI_ERR_PORT,
        PortError::Other(_) => mpi::MPI_ERR_OTHER,
    };
    Error { class, fault: Box::new(error.fault()) }
}

#[cold]
fn not_open(name: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_PORT,
        "the port is not open in this process",
        format!("the port \"{}\"", name.chars().take(80).collect::<String>()),
        "it was opened by another process, was closed already, or the name was changed",
        "accept and close in the process that called MPI_Open_port, with the name that it returned",
    )
}

#[cold]
pub(super) fn nobody() -> Error {
    Error::new(
        mpi::MPI_ERR_INTERN,
        "a process that is not the root was asked for the way to another job",
        "connecting two groups of processes",
        "a defect of Verbena",
        "please report it",
    )
}

#[cold]
fn no_thread(error: &std::io::Error) -> Error {
    Error::new(
        mpi::MPI_ERR_OTHER,
        "no thread could be started to connect",
        error.to_string(),
        "a limit on processes is reached (ulimit -u)",
        "raise the limit",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_closed_once() {
        let name = open().unwrap();
        assert!(name.len() < 256);
        close(&name).unwrap();
        assert_eq!(close(&name).unwrap_err().class, mpi::MPI_ERR_PORT);
        assert_eq!(close("no port").unwrap_err().class, mpi::MPI_ERR_PORT);
    }
}
