//! Lets the processes of an MPI job find each other.
//!
//! A process comes up alone ([singleton](Boot::kind)) or was started by a launcher that speaks
//! PMI-1 or PMI-2 over a descriptor (`PMI_FD`) or a port (`PMI_PORT`), or PMIx over TCP
//! (`PMIX_SERVER_URI3`). [`Boot`] hides the difference: it knows the rank and the number of ranks,
//! exchanges one *business card* per process, and tells the launcher how the process ends. Under
//! our own `mpiexec` the exchange is a single round trip.
//!
//! | module | job |
//! | --- | --- |
//! | [`environment`] | reads the variables of the launchers, decides how to start |
//! | [`wire`] | the PMI-1 and PMI-2 texts: framing, parse, emit; no I/O |
//! | [`pmix`] | the wire of PMIx; no I/O |
//! | [`card`] | binary cards as text that any launcher carries, in parts |
//! | [`link`](mod@link) | the descriptor: blocking send and receive of one message |
//! | [`client`] | the conversations: PMI-1, PMI-2, our extension, PMIx |
//! | [`port`] | how programs that were started apart meet |
//! | [`spawn`] | how a program starts others |
//! | [`status`] | memory that a rank shares with its launcher, for reports of hangs |
//!
//! What must never be here: anything about communicators, channels or messages between ranks.

pub mod card;
pub mod client;
pub mod environment;
mod error;
pub mod link;
mod munge;
pub mod pmix;
pub mod port;
pub mod spawn;
pub mod status;
pub mod wire;

pub use error::BootError;

use client::Client;
use client::pmix::ANSWER_TIME_MAX;
use environment::{Plan, Process, Surroundings};
use spawn::{Children, Order, SpawnError, Status};
use std::path::Path;
use std::time::Duration;

/// The place of one process in its job, and its line to the launcher. There is one per process: the
/// line is a descriptor that only one owner may read.
#[derive(Debug)]
pub struct Boot {
    client: Option<Client>,
    process: Process,
    warning: Option<String>,
}

impl Boot {
    /// Reads the environment, takes up the line to the launcher, and learns rank and size. Without
    /// a launcher the process is a singleton: rank 0 of 1.
    ///
    /// # Errors
    /// A launcher's variable that makes no sense, or a launcher that does not answer as PMI
    /// demands.
    pub fn start() -> Result<Boot, BootError> {
        let plan = environment::plan(&Surroundings::of_this_process(&environment::variable))?;
        match plan {
            Plan::Singleton { warning } => Ok(Boot::singleton(warning)),
            Plan::Launched(launched) => {
                let (client, process) = Client::open(launched)?;
                Ok(Boot { client: Some(client), process, warning: None })
            }
            Plan::Pmix(place) => {
                let (client, process) = Client::open_pmix(&place, ANSWER_TIME_MAX)?;
                Ok(Boot { client: Some(client), process, warning: None })
            }
        }
    }

    fn singleton(warning: Option<String>) -> Boot {
        let job = format!("singleton-{}", std::process::id());
        Boot {
            client: None,
            process: Process { rank: 0, size: 1, universe_size: None, appnum: None, job, parent: None },
            warning,
        }
    }

    /// Returns this process's rank among those started together, from 0.
    pub fn rank(&self) -> u32 {
        self.process.rank
    }

    /// Returns how many processes were started together.
    pub fn size(&self) -> u32 {
        self.process.size
    }

    /// `MPI_UNIVERSE_SIZE` (MPI-5.0 section 11.10.1), where the launcher told it.
    pub fn universe_size(&self) -> Option<u32> {
        self.process.universe_size
    }

    /// Returns `MPI_APPNUM` (MPI-5.0 section 11.10.3): the part of an MPMD command line that this
    /// process belongs to.
    pub fn appnum(&self) -> Option<u32> {
        self.process.appnum
    }

    /// Returns the launcher's name for the job (PMI's name of the key-value space); the same on all
    /// its ranks.
    pub fn job(&self) -> &str {
        &self.process.job
    }

    /// The port of the program that spawned this one, if one did (MPI-5.0, 11.8.2).
    pub fn parent(&self) -> Option<&str> {
        self.process.parent.as_deref()
    }

    /// Returns how this process was started: `singleton`, `pmi-1`, `pmi-2` or `pmix`.
    pub fn kind(&self) -> &'static str {
        self.client.as_ref().map_or("singleton", Client::kind)
    }

    /// Gives this process's business card and gets everybody's, in rank order. Collective: it
    /// returns when every process has given its card. May be called again with another card.
    ///
    /// # Errors
    /// The launcher went away, refused, or returned cards that do not decode.
    pub fn exchange(&mut self, card: &[u8]) -> Result<Vec<Vec<u8>>, BootError> {
        match &mut self.client {
            None => Ok(vec![card.to_vec()]),
            Some(client) => client.exchange(&self.process, card),
        }
    }

    /// Waits until every process has called it.
    ///
    /// # Errors
    /// The launcher went away or refused.
    pub fn barrier(&mut self) -> Result<(), BootError> {
        self.client.as_mut().map_or(Ok(()), Client::barrier)
    }

    /// Ends the whole job (`MPI_Abort`, MPI-5.0 section 9.7): writes `message` to standard error,
    /// or lets our own launcher do so, which tells what many processes say alike only once. It
    /// tells the launcher, flushes C's standard streams and exits with `code` without running exit
    /// handlers, which might wait for ranks that are dead.
    ///
    /// A code whose low byte is zero but which is not zero itself would look like success; it
    /// becomes 1.
    pub fn abort(&mut self, code: i32, message: &str) -> ! {
        if let Some(Client::Ours(client)) = &mut self.client
            && client.abort(code, message).is_ok()
        {
            link::exit_now(exit_byte(code))
        }
        link::write_stderr(message);
        if let Some(client) = &mut self.client {
            // The process ends whether or not the launcher hears of it: a launcher that is gone is
            // expected.
            let _ = client.abort(code, message);
        }
        link::exit_now(exit_byte(code))
    }

    /// Ends the whole job after an error in `call`, like [`Boot::abort`].
    pub fn fail(&mut self, code: i32, call: &str, message: &str) -> ! {
        if let Some(Client::Ours(client)) = &mut self.client
            && client.fail(code, call, message).is_ok()
        {
            link::exit_now(exit_byte(code))
        }
        self.abort(code, message)
    }

    /// Tells the launcher that this process is done with MPI; it may then exit without being
    /// counted as dead.
    ///
    /// # Errors
    /// The launcher went away or refused.
    pub fn finalize(mut self) -> Result<(), BootError> {
        self.client.take().map_or(Ok(()), Client::finalize)
    }

    /// Starts programs, and returns once all their processes run: by the launcher if it can, and
    /// has room for any number, else by an `mpiexec` of this process's own.
    ///
    /// # Errors
    /// Why none runs.
    pub fn spawn(&mut self, order: &Order, mpiexec: Option<&Path>) -> Result<Children, SpawnError> {
        match &mut self.client {
            Some(Client::Ours(client)) => client.spawn(order).map(Children::OfLauncher),
            Some(Client::Pmi1(client)) if !client.counts_slots || mpiexec.is_none() => {
                client.spawn(order).map(|()| Children::Unwatched)
            }
            _ => spawn::own_children(order, mpiexec.ok_or(SpawnError::NoMpiexec)?).map(Children::Own),
        }
    }

    /// Returns whether all processes of these programs have ended, as far as can be known.
    ///
    /// # Errors
    /// The launcher went away.
    pub fn have_ended(&mut self, children: &mut Children) -> Result<bool, BootError> {
        match (children, &mut self.client) {
            (Children::Own(spawned), _) => {
                Ok(!matches!(spawned.status(Duration::ZERO), Status::Running | Status::Starting))
            }
            (Children::OfLauncher(number), Some(Client::Ours(client))) => client.have_ended(*number),
            _ => Ok(false),
        }
    }

    /// Says that this process is connected with these programs no more: once none of the job is,
    /// they go on whatever becomes of it, where that is not so anyway. Those that an `mpiexec` of
    /// this process's own has started do so at once.
    ///
    /// # Errors
    /// The launcher went away.
    pub fn part(&mut self, children: Children) -> Result<(), BootError> {
        match (children, &mut self.client) {
            (Children::Own(spawned), _) => spawned.part(),
            (Children::OfLauncher(number), Some(Client::Ours(client))) => client.part(number)?,
            _ => {}
        }
        Ok(())
    }

    /// Tells the launcher the port of a service (MPI-5.0, 11.9.4). Returns whether it has a name
    /// service and took it.
    ///
    /// # Errors
    /// The launcher went away.
    pub fn publish(&mut self, service: &[u8], port: &[u8]) -> Result<bool, BootError> {
        self.client.as_mut().map_or(Ok(false), |client| client.publish(service, port))
    }

    /// Takes back [`Boot::publish`]; returns whether the launcher knew the service.
    ///
    /// # Errors
    /// The launcher went away.
    pub fn unpublish(&mut self, service: &[u8]) -> Result<bool, BootError> {
        self.client.as_mut().map_or(Ok(false), |client| client.unpublish(service))
    }

    /// The port of a service, if the launcher knows it.
    ///
    /// # Errors
    /// The launcher went away.
    pub fn lookup(&mut self, service: &[u8]) -> Result<Option<Vec<u8>>, BootError> {
        self.client.as_mut().map_or(Ok(None), |client| client.lookup(service))
    }

    /// Returns a four-part warning when a launcher that we cannot talk to started this process as
    /// one of several, so that it wrongly came up as a world of one.
    pub fn warning(&self) -> Option<String> {
        self.warning.clone()
    }
}

/// Returns the exit status for an `MPI_Abort` code: its low byte, but never 0 for a code that is
/// not 0.
pub fn exit_byte(code: i32) -> i32 {
    match code & 0xff {
        0 if code != 0 => 1,
        byte => byte,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonzero_code_never_exits_with_zero() {
        assert_eq!(exit_byte(0), 0);
        assert_eq!(exit_byte(7), 7);
        assert_eq!(exit_byte(256), 1);
        assert_eq!(exit_byte(-1), 255);
    }

    #[test]
    fn a_singleton_exchanges_with_itself() {
        let mut boot = Boot::singleton(None);
        assert_eq!((boot.rank(), boot.size(), boot.kind()), (0, 1, "singleton"));
        assert_eq!(boot.exchange(b"\0card").unwrap(), vec![b"\0card".to_vec()]);
        boot.barrier().unwrap();
        boot.finalize().unwrap();
    }
}
