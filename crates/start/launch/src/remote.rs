//! An agent on another host as `mpiexec` sees it: its launcher, its greeting, and the messages to
//! and from it.

use crate::launcher::{self, Launcher};
use crate::plan::Exit;
use crate::resolve;
use crate::sys::{self, Inherited, Poll};
use crate::wire::{self, Command, Frames, Key, NOISE_BYTES_MAX, Outbox, REPORT_BYTES_MAX, Report, Work};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};
use verbena_fault::Fault;

/// The time we wait for a launcher's last words and exit code once its connection is closed, or the
/// other way round.
const LAST_WORDS_DELAY: Duration = Duration::from_millis(500);
/// The longest line of a launcher, in bytes; a longer one is cut.
const WORDS_BYTES_MAX: usize = 16 << 10;
/// The number of lines of a launcher that are kept for a message about its failure.
const WORDS_KEPT: usize = 6;

/// The means to start agents.
#[derive(Debug)]
pub struct Means {
    /// The launcher that starts them.
    pub launcher: Launcher,
    /// The agent's command line.
    pub agent: Vec<OsString>,
    /// Our own program, which waits for hosts that have no address yet.
    pub own: PathBuf,
    /// The job's key.
    pub key: Key,
}

/// The stage of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The launcher runs; the agent has not answered.
    Greeting,
    /// The agent has answered.
    Talking,
    /// The agent has gone, as it should or not.
    Gone,
}

/// The end of the words for a fault that ends the job.
pub const JOB_ENDS: &str = "; the job is ended.";

/// News of an agent.
#[derive(Debug)]
pub enum News {
    /// A report of the agent.
    Report(Report),
    /// A line that the launcher writes on its standard error.
    Words(String),
    /// The agent could not be started, or went too early. Nothing follows.
    Lost {
        /// The reason, for the user.
        fault: Fault,
        /// True if the agent had answered.
        started: bool,
    },
}

/// One agent.
#[derive(Debug)]
pub struct Remote {
    /// The host.
    pub name: String,
    /// The host's ranks, in order.
    ranks: Vec<u32>,
    /// The launcher's command line, for messages.
    line: String,
    pid: i32,
    to: Option<ChildStdin>,
    from: Option<ChildStdout>,
    words: Option<ChildStderr>,
    key: Key,
    stage: Stage,
    /// Commands for the agent until it has answered.
    early: Vec<Command>,
    out: Outbox,
    /// Bytes that came before the agent's answer.
    noise: Vec<u8>,
    frames: Frames,
    /// An unfinished line of the launcher.
    partial: Vec<u8>,
    said: VecDeque<String>,
    exit: Option<Exit>,
    closing_since: Option<Instant>,
    news: VecDeque<News>,
    places: [Option<usize>; 3],
}

impl Remote {
    /// Starts an agent on a host.
    ///
    /// # Errors
    /// The launcher itself cannot be started: the message for the user.
    pub fn launch(name: &str, means: &Means, work: Work, inherited: Inherited) -> Result<Remote, Fault> {
        let Means { launcher, agent, own, key } = means;
        let mut words = launcher.words(name, agent);
        let line = launcher::as_line(&words);
        // Other launchers may not use the host's name as an address.
        if *launcher == Launcher::Ssh && resolve::is_installed("ssh") {
            words = resolve::patiently(own, name, words);
        }
        let mut command = std::process::Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A process group of its own: we pass on Ctrl-C in the terminal; it must not cut the
        // connection.
        command.process_group(0);
        let in_child = move || {
            inherited.restore();
            Ok(())
        };
        // SAFETY: the closure only makes async-signal-safe system calls and allocates nothing.
        unsafe { command.pre_exec(in_child) };
        let mut child = command.spawn().map_err(|error| no_launcher(name, &line, &error))?;
        let (to, from, said) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        [
            to.as_ref().map(AsRawFd::as_raw_fd),
            from.as_ref().map(AsRawFd::as_raw_fd),
            said.as_ref().map(AsRawFd::as_raw_fd),
        ]
        .into_iter()
        .flatten()
        .for_each(sys::set_nonblocking);
        let mut out = Outbox::default();
        out.push_line(&wire::opening(key, &work.job));
        let (noise, partial, news) = Default::default();
        Ok(Remote {
            name: name.to_owned(),
            ranks: work.assignments.iter().map(|assignment| assignment.rank).collect(),
            line,
            pid: child.id().cast_signed(),
            to,
            from,
            words: said,
            key: *key,
            stage: Stage::Greeting,
            early: vec![Command::Start(work)],
            out,
            noise,
            frames: Frames::of_at_most(REPORT_BYTES_MAX),
            partial,
            said: VecDeque::new(),
            exit: None,
            closing_since: None,
            news,
            places: [None; 3],
        })
    }

    /// The host's ranks, in order.
    pub fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// The launcher's process id, and that of its process group.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns whether the agent has not answered yet.
    pub fn is_greeting(&self) -> bool {
        self.stage == Stage::Greeting
    }

    /// Returns whether the agent has gone.
    pub fn is_gone(&self) -> bool {
        self.stage == Stage::Gone
    }

    /// Returns whether the launcher has ended.
    pub fn has_ended(&self) -> bool {
        self.exit.is_some()
    }

    /// Sends the agent a command, as soon as it has answered.
    pub fn tell(&mut self, command: Command) {
        match self.stage {
            Stage::Greeting => self.early.push(command),
            Stage::Talking => {
                self.out.push(&command);
                self.flush();
            }
            Stage::Gone => {}
        }
    }

    /// Gives up on the agent: its ranks end with the connection. The launcher is asked to end, so
    /// that it can tidy up (srun must end its step). One that does not is killed with all leftovers
    /// at the end.
    pub fn abandon(&mut self) {
        if !self.has_ended() {
            sys::signal_group(self.pid, libc::SIGTERM);
            sys::signal_group(self.pid, libc::SIGCONT);
        }
        self.stage = Stage::Gone;
        (self.to, self.from, self.words) = (None, None, None);
    }

    /// Takes the next piece of news.
    pub fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// The time to call [`Remote::settle`] even if nothing happens.
    pub fn deadline(&self) -> Option<Instant> {
        self.closing_since.filter(|_| !self.is_gone()).map(|since| since + LAST_WORDS_DELAY)
    }

    /// Handles the launcher's end.
    pub fn handle_death(&mut self, exit: Exit) {
        self.exit = Some(exit);
        self.closing_since.get_or_insert_with(Instant::now);
    }

    /// Adds its descriptors to the poll set; without `room`, not those of the launcher's output.
    pub fn gather(&mut self, poll: &mut Poll, room: bool) {
        let writes = !self.out.pending().is_empty();
        let to = self.to.as_ref().filter(|_| writes).map(|to| poll.add(to.as_raw_fd(), false, true));
        let from = self.from.as_ref().map(|from| poll.add(from.as_raw_fd(), true, false));
        let words =
            self.words.as_ref().filter(|_| room).map(|words| poll.add(words.as_raw_fd(), true, false));
        self.places = [to, from, words];
    }

    /// Serves the descriptors that are ready.
    pub fn serve(&mut self, poll: &Poll) {
        let ready = self.places.map(|place| place.is_some_and(|place| poll.is_ready(place)));
        self.places = [None; 3];
        if ready[2] {
            self.read_words();
        }
        if ready[1] {
            self.read();
        }
        if ready[0] {
            self.flush();
        }
        self.settle();
    }

    /// Sends as much as the connection takes now.
    pub fn flush(&mut self) {
        while let Some(to) = self.to.as_ref().filter(|_| !self.out.pending().is_empty()) {
            match sys::write(to.as_raw_fd(), self.out.pending()) {
                Ok(count) => self.out.consume(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The end of the other direction shows it too, after the launcher's last words.
                Err(_) => self.to = None,
            }
        }
    }

    /// Reports the agent as lost once the connection is closed and the launcher has said its last.
    pub fn settle(&mut self) {
        let closed = self.from.is_none() && self.words.is_none() && self.exit.is_some();
        let late = self.deadline().is_some_and(|deadline| Instant::now() >= deadline);
        if !self.is_gone() && (closed || late) {
            self.lose(self.closed());
        }
    }

    fn lose(&mut self, fault: Fault) {
        let started = self.stage == Stage::Talking;
        self.abandon();
        self.news.push_back(News::Lost { fault, started });
    }

    fn read(&mut self) {
        let mut bytes = vec![0; 65536];
        match self.from.as_ref().map(|from| sys::read(from.as_raw_fd(), &mut bytes)) {
            Some(Ok(count)) if count > 0 => self.hear(&bytes[..count]),
            Some(Err(error)) if is_passing(&error) => {}
            _ => {
                self.from = None;
                self.closing_since.get_or_insert_with(Instant::now);
            }
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        match self.stage {
            Stage::Greeting => self.greet(bytes),
            Stage::Talking => self.frames.push(bytes),
            Stage::Gone => return,
        }
        while self.stage == Stage::Talking {
            match self.frames.pop::<Report>() {
                Ok(None) => return,
                Ok(Some(Report::Done)) => self.abandon_quietly(),
                Ok(Some(report)) if report.is_credible(&self.ranks) => {
                    self.news.push_back(News::Report(report));
                }
                Ok(Some(_)) => self.lose(self.garbled("it tells what it cannot know of these ranks")),
                Err(error) => self.lose(self.garbled(&error)),
            }
        }
    }

    /// Lets an agent go that ends by itself: nothing is killed.
    fn abandon_quietly(&mut self) {
        self.stage = Stage::Gone;
        (self.to, self.from) = (None, None);
    }

    fn greet(&mut self, bytes: &[u8]) {
        self.noise.extend_from_slice(bytes);
        let Some((version, place)) = wire::find_answer(&self.noise, &self.key) else {
            if self.noise.len() > NOISE_BYTES_MAX {
                self.lose(self.garbled("no greeting"));
            }
            return;
        };
        if version != wire::VERSION {
            return self.lose(self.wrong_version(version));
        }
        self.stage = Stage::Talking;
        self.frames.push(&self.noise[place.end..]);
        self.noise = Vec::new();
        for command in std::mem::take(&mut self.early) {
            self.out.push(&command);
        }
        self.news.extend(self.said.drain(..).map(News::Words));
        self.flush();
    }

    fn read_words(&mut self) {
        let mut bytes = [0; 4096];
        match self.words.as_ref().map(|words| sys::read(words.as_raw_fd(), &mut bytes)) {
            Some(Ok(count)) if count > 0 => self.take_words(&bytes[..count]),
            Some(Err(error)) if is_passing(&error) => {}
            _ => {
                self.words = None;
                self.take_words(b"\n");
            }
        }
    }

    /// Splits the launcher's words into lines. It looks at each byte once, and cuts a line without
    /// end.
    fn take_words(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.partial.len() > WORDS_BYTES_MAX {
                let line = std::mem::take(&mut self.partial);
                self.note(String::from_utf8_lossy(&line).trim().to_owned());
            }
        }
    }

    /// Handles a line of the launcher. It is shown if the agent has answered; before that, it is
    /// kept for the message about an agent that never does.
    fn note(&mut self, line: String) {
        if line.is_empty() {
            return;
        }
        let waits = line.starts_with(resolve::SAID);
        if waits || self.stage != Stage::Greeting {
            self.news.push_back(News::Words(line.clone()));
        }
        if waits {
            return;
        }
        self.said.push_back(line);
        if self.said.len() > WORDS_KEPT {
            self.said.pop_front();
        }
    }

    /// The fault of a closed connection.
    fn closed(&self) -> Fault {
        if self.stage == Stage::Talking {
            return Fault::new(
                format!("Lost the connection to host {}{JOB_ENDS}", self.name),
                self.on(),
                "the host or its network went down, or somebody killed the launcher or mpiexec's agent there",
                "see whether the host still answers, and its log; start the job anew, without that host if need be",
            );
        }
        let (cause, remedy) = self.hint();
        Fault::new(
            format!("Could not start mpiexec's agent on host {}.", self.name),
            self.on(),
            cause,
            remedy,
        )
    }

    fn hint(&self) -> (&'static str, String) {
        let name = &self.name;
        match self.exit {
            Some(Exit::Code(126 | 127)) => (
                "there is no such program on that host, or it cannot run there",
                "install Verbena at the same place on all hosts, or say where it is by --prefix DIR".into(),
            ),
            Some(Exit::Code(255)) if self.line.starts_with("ssh ") => (
                "the host is down or unknown, or it lets nobody in without a password",
                format!("make this work: ssh -o BatchMode=yes {name} true"),
            ),
            _ => (
                "the launcher could not reach the host, or could not start a program there",
                "run the command above by hand; choose another launcher by --launcher".into(),
            ),
        }
    }

    fn garbled(&self, error: &str) -> Fault {
        let noise =
            String::from_utf8_lossy(&self.noise[..self.noise.len().min(100)]).replace(char::is_control, " ");
        Fault::new(
            format!("The agent on host {} does not answer as it should{JOB_ENDS}", self.name),
            format!("{}: {error} {noise}", self.on()),
            "something else writes to the launcher's standard output, or the launcher changes bytes",
            "see what the shell's start-up files on that host print; use a launcher that passes bytes as they are",
        )
    }

    fn wrong_version(&self, version: u32) -> Fault {
        Fault::new(
            format!("The agent on host {} is of another version.", self.name),
            format!("it speaks version {version}, this mpiexec {}; {}", wire::VERSION, self.on()),
            "another Verbena is installed there",
            "install the same version on all hosts, or say where it is by --prefix DIR",
        )
    }

    /// Describes the host, the command, how the launcher ended and what it said.
    fn on(&self) -> String {
        let end = match self.exit {
            None => String::new(),
            Some(Exit::Code(code)) => format!(", which ended with code {code}"),
            Some(Exit::Signal(signal)) => {
                format!(", which was ended by {}", crate::explain::signal_name(signal))
            }
        };
        let said: Vec<&str> = self.said.iter().map(String::as_str).collect();
        let said = if said.is_empty() { String::new() } else { format!(" and said: {}", said.join("; ")) };
        format!("host {}, launcher {}{end}{said}", self.name, self.line)
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

fn no_launcher(name: &str, line: &str, error: &io::Error) -> Fault {
    Fault::new(
        format!("Could not start mpiexec's agent on host {name}."),
        format!("host {name}, launcher {line}: {error}"),
        "the launcher is not installed, or a limit on processes or open files is reached",
        "install it, or choose another by --launcher ssh, srun or COMMAND",
    )
}
