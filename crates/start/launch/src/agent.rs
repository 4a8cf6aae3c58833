//! The agent: `mpiexec --agent` on another host, started by a launcher. It runs a [`LocalRanks`]
//! there. Commands come from `mpiexec` on its standard input; reports go out on its standard
//! output. When the connection ends, so do its ranks.
//!
//! An agent that is stopped (SIGSTOP) or hangs goes unnoticed while its connection stands, and the
//! job waits for it; `--timeout` and a second Ctrl-C end the job without it.

use crate::cli::hostname;
use crate::job::GRACE;
use crate::local_ranks::LocalRanks;
use crate::sys::{self, Poll, Signals};
use crate::wire::{self, COMMAND_BYTES_MAX, Command, Frames, Outbox, Report};
use std::io::{self, Write};
use std::os::fd::RawFd;
use std::time::{Duration, Instant};
use verbena_fault::Fault;

/// The only argument of an agent.
pub const AGENT_OPTION: &str = "--agent";

/// Commands from `mpiexec`.
const FROM: RawFd = 0;
/// Reports to `mpiexec`.
const TO: RawFd = 1;
/// The most that may wait for `mpiexec` before no more output is read from the ranks, in bytes.
const PENDING_MAX: usize = 4 << 20;
/// The longest first line that the agent reads, in bytes.
const OPENING_LENGTH_MAX: usize = 400;

/// Serves one job; returns the exit code.
pub fn run() -> i32 {
    match open() {
        Ok(mut agent) => agent.run(),
        Err(fault) => {
            sys::complain(&format!("mpiexec --agent on {}: {fault}", hostname()));
            1
        }
    }
}

/// Greets `mpiexec`, and prepares the agent.
fn open() -> Result<Agent, Fault> {
    let line = read_line();
    let opening = wire::read_opening(&line).ok_or_else(|| not_by_hand(&line))?;
    let signals = Signals::take().map_err(|error| no_set_up(&error))?;
    let local = LocalRanks::new(opening.job, signals.before()).map_err(|error| no_set_up(&error))?;
    // We answer another version too: mpiexec sees what is wrong.
    io::stdout().write_all(wire::answer(opening.key).as_bytes()).and_then(|()| io::stdout().flush()).ok();
    if opening.version != wire::VERSION {
        return Err(wrong_version(opening.version));
    }
    sys::set_nonblocking(TO);
    let (inbox, outbox, poll, connected, done) =
        (Frames::of_at_most(COMMAND_BYTES_MAX), Outbox::default(), Poll::default(), true, false);
    Ok(Agent { local, signals, inbox, outbox, poll, connected, done })
}

/// Reads the first line byte by byte, so that nothing behind it is taken.
fn read_line() -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < OPENING_LENGTH_MAX && line.last() != Some(&b'\n') {
        match sys::read(FROM, &mut byte) {
            Ok(1) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    String::from_utf8_lossy(&line).into_owned()
}

struct Agent {
    local: LocalRanks,
    signals: Signals,
    inbox: Frames,
    outbox: Outbox,
    poll: Poll,
    connected: bool,
    /// Set when `mpiexec` has said that the job is over.
    done: bool,
}

impl Agent {
    fn run(&mut self) -> i32 {
        while self.connected && !self.done {
            self.serve(None);
        }
        if self.done {
            self.part();
        } else {
            self.end_ranks();
        }
        self.local.dismiss_watcher();
        self.local.reap_watcher();
        i32::from(!self.done)
    }

    /// Sends the last of the output and says good-bye: the job is over.
    fn part(&mut self) {
        while self.connected && !self.local.is_drained() {
            self.serve(Some(Duration::from_millis(20)));
        }
        self.report();
        self.outbox.push(&Report::Done);
        while self.connected && !self.outbox.pending().is_empty() {
            self.serve(None);
        }
    }

    /// Ends the ranks: `mpiexec` has gone, or somebody sent us a signal.
    fn end_ranks(&mut self) {
        self.local.handle(Command::Signal(libc::SIGTERM));
        let until = Instant::now() + GRACE;
        while self.local.is_running() && Instant::now() < until {
            self.serve(Some(until.saturating_duration_since(Instant::now())));
        }
        self.local.handle(Command::Signal(libc::SIGKILL));
        self.local.handle(Command::Finish);
    }

    fn serve(&mut self, timeout: Option<Duration>) {
        self.poll.clear();
        let from = self.connected.then(|| self.poll.add(FROM, true, false));
        let wants_write = self.connected && !self.outbox.pending().is_empty();
        let to = wants_write.then(|| self.poll.add(TO, false, true));
        self.local.gather(&mut self.poll, self.outbox.pending().len() < PENDING_MAX);
        let signals = self.poll.add(self.signals.fd(), true, false);
        self.poll.wait(timeout);
        if from.is_some_and(|place| self.poll.is_ready(place)) {
            self.hear();
        }
        self.local.serve(&self.poll);
        if self.poll.is_ready(signals) {
            self.take_signals();
        }
        self.report();
        if to.is_some() || !self.outbox.pending().is_empty() {
            self.flush();
        }
    }

    fn hear(&mut self) {
        let mut bytes = vec![0; 65536];
        match sys::read(FROM, &mut bytes) {
            Ok(count) if count > 0 => self.inbox.push(&bytes[..count]),
            Err(error) if is_passing(&error) => return,
            _ => return self.connected = false,
        }
        loop {
            match self.inbox.pop::<Command>() {
                Ok(None) => return,
                Ok(Some(command)) => {
                    self.done |= command == Command::Finish;
                    self.local.handle(command);
                }
                Err(error) => {
                    sys::complain(&format!("mpiexec --agent on {}: {}", hostname(), garbled(&error)));
                    return self.connected = false;
                }
            }
        }
    }

    fn take_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            // Signals for the job come from mpiexec as messages. These are for the agent.
            if [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT].contains(&signal) {
                self.connected = false;
            }
        }
        while let Some(reaped) = sys::reap() {
            self.local.handle_death(reaped);
        }
    }

    fn report(&mut self) {
        while let Some(report) = self.local.poll_report() {
            self.outbox.push(&report);
        }
    }

    fn flush(&mut self) {
        while self.connected && !self.outbox.pending().is_empty() {
            match sys::write(TO, self.outbox.pending()) {
                Ok(count) => self.outbox.consume(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.connected = false,
            }
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

fn not_by_hand(line: &str) -> Fault {
    Fault::new(
        "This is not what an agent of mpiexec expects on its standard input.",
        format!("the first line is: {}", line.trim_end()),
        "it was started by hand, or by a launcher that does not pass standard input on",
        "let mpiexec start it",
    )
}

fn wrong_version(version: u32) -> Fault {
    Fault::new(
        "This agent and the mpiexec that started it are of different versions.",
        format!("version {version} there, {} here", wire::VERSION),
        "different versions of Verbena are installed on the hosts",
        "install the same version on all hosts, or say where it is by --prefix DIR",
    )
}

fn garbled(error: &str) -> Fault {
    Fault::new(
        "What mpiexec sends cannot be read; the ranks here are ended.",
        error,
        "the launcher changes the bytes that it passes on",
        "choose another by --launcher",
    )
}

fn no_set_up(error: &io::Error) -> Fault {
    let advice = "raise it (ulimit -n, ulimit -u)";
    Fault::new("The agent could not prepare itself.", error.to_string(), "a limit is reached", advice)
}
