//! The supervisor's service for debuggers: the table of ranks, and gdb for some of them.

use super::Supervisor;
use crate::debugger::{self, Surroundings, Terminal};
use crate::explain::explain;
use crate::layout::HostRanks;
use crate::{mpir, sys};
use std::ffi::OsString;
use std::path::PathBuf;
use verbena_fault::Fault;

/// The state of this service.
#[derive(Debug, Default)]
pub(super) struct Debugging {
    /// The ranks that wait for gdb, and the terminal for each.
    held: Vec<u32>,
    terminal: Option<Terminal>,
    /// The gdb that has our terminal.
    here: Option<i32>,
    /// Set once the table of ranks was shown.
    is_shown: bool,
    /// Set once the end of the job was told.
    has_told_end: bool,
}

impl Supervisor {
    /// Chooses the ranks that gdb is for, and its terminals.
    ///
    /// # Errors
    /// There are no such ranks here, or no terminal for them.
    pub(super) fn prepare_debuggers(&mut self, hosts: &[HostRanks]) -> Result<(), Fault> {
        let Some(debug) = &self.order.debug else { return Ok(()) };
        let held = debug.ranks(self.order.size())?;
        let is_far = |host: &&HostRanks| {
            host.name.is_some() && host.assignments.iter().any(|assignment| held.contains(&assignment.rank))
        };
        if let Some(far) = hosts.iter().find(is_far) {
            let name = far.name.as_deref().unwrap_or_default();
            return Err(Fault::new(
                "gdb cannot be opened for ranks on other hosts.",
                format!("--gdb names a rank on {name}"),
                "a terminal here has no debugger there",
                format!("attach by hand: mpiexec -l tells the ranks' hosts; ssh -t {name} gdb -p PID"),
            ));
        }
        let around = Surroundings {
            variable: &|name| std::env::var(name).ok(),
            is_installed: &debugger::is_installed,
            has_terminal: sys::is_terminal(0) && sys::is_terminal(1) && sys::is_foreground(0),
        };
        self.debugging.terminal = Some(debug.terminal(held.len(), &around)?);
        self.debugging.held = held;
        Ok(())
    }

    /// The ranks that wait for gdb.
    pub(super) fn held_ranks(&self) -> &[u32] {
        &self.debugging.held
    }

    /// Returns whether gdb has our terminal, so that rank 0 cannot read it.
    pub(super) fn gives_terminal_away(&self) -> bool {
        self.debugging.terminal == Some(Terminal::Here)
    }

    /// Opens gdb for a rank that has started, if it waits for that.
    pub(super) fn open_gdb(&mut self, rank: u32) {
        let Some(terminal) = self.debugging.terminal.as_ref().filter(|_| self.debugging.held.contains(&rank))
        else {
            return;
        };
        match debugger::open(terminal, self.pids[rank as usize], self.hosts.local.inherited()) {
            Ok(gdb) => self.debugging.here = (*terminal == Terminal::Here).then_some(gdb),
            Err(fault) => {
                // Nobody else would let it go on.
                sys::signal_process(self.pids[rank as usize], libc::SIGKILL);
                self.screen.say(&format!("mpiexec: {fault}"));
            }
        }
    }

    /// Handles the end of a child: takes the terminal back from gdb.
    pub(super) fn note_gdb_end(&mut self, pid: i32) {
        if self.debugging.here == Some(pid) {
            self.debugging.here = None;
            sys::take_terminal();
        }
    }

    /// Shows all ranks to a debugger of parallel programs once they have started, and tells it why
    /// the job ends.
    pub(super) fn inform_debuggers(&mut self) {
        if !self.debugging.is_shown && self.started == self.order.size() {
            self.debugging.is_shown = true;
            let rows: Vec<mpir::Row> = (0..self.order.size()).map(|rank| self.row(rank)).collect();
            mpir::show(&rows);
        }
        if let Some(failure) =
            self.job.cause().filter(|_| mpir::is_debugged() && !self.debugging.has_told_end)
        {
            let why = explain(failure, |rank| self.place(rank)).what;
            self.debugging.has_told_end = true;
            mpir::abort(&why);
        }
    }

    /// A rank for the table. The program of one on this host is what the system says it runs.
    fn row(&self, rank: u32) -> mpir::Row {
        let (pid, host) = (self.pids[rank as usize], self.hosts.host(rank).to_owned());
        let named = self.place(rank).program;
        let runs: Option<PathBuf> = (host == crate::cli::hostname() && !self.debugging.held.contains(&rank))
            .then(|| std::fs::read_link(format!("/proc/{pid}/exe")).ok())
            .flatten();
        let program = runs.map_or_else(|| absolute(named.into()), PathBuf::into_os_string);
        mpir::Row { host, program, pid }
    }
}

/// The whole path of a program that is named by one.
fn absolute(program: OsString) -> OsString {
    if !program.as_encoded_bytes().contains(&b'/') {
        return program;
    }
    std::path::absolute(&program).map_or(program, PathBuf::into_os_string)
}
