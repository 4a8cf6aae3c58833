//! The event loop: one thread waits for the ranks' lines, their output, signals and deadlines, and carries out
//! what [`crate::job`] and [`crate::pmi`] decide.

use crate::cli::{Order, hostname};
use crate::explain::{Place, explain, signal_name};
use crate::job::Exit;
use crate::job::{Action, Failure, Job};
use crate::keyboard::Keyboard;
use crate::leftovers::{self, Watcher};
use crate::lines::Lines;
use crate::output::Stream;
use crate::pmi::{About, Event, Server};
use crate::rank::Rank;
use crate::start::{Common, start};
use crate::sys::{self, Poll, Signals};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant, SystemTime};
use verbena_fault::Fault;

/// How long the kernel may take from closing a dead rank's sockets to telling of its death.
const DEATH_NEWS_DELAY: Duration = Duration::from_millis(10);

/// The exit code when a program cannot be started, as shells have it.
const CANNOT_START: i32 = 127;
/// How long we wait at the end for output that somebody else may still hold open.
const DRAIN_TIME_MAX: Duration = Duration::from_millis(500);

/// Starts a job, stays with it, and returns its exit code.
pub fn run(order: Order) -> i32 {
    let size = order.size();
    let supervisor = Signals::take().and_then(|signals| Supervisor::new(order, signals));
    match supervisor {
        Ok(mut supervisor) => supervisor.run(),
        Err(error) => {
            let on = format!("a job of {size} ranks: {error}");
            let advice = "raise it (ulimit -n, ulimit -u), or start fewer ranks";
            eprintln!(
                "mpiexec: {}",
                Fault::new("mpiexec could not set itself up.", on, "a limit is reached", advice)
            );
            1
        }
    }
}

struct Supervisor {
    order: Order,
    host: String,
    started_at: Instant,
    signals: Signals,
    watcher: Watcher,
    job: Job,
    server: Server,
    ranks: Vec<Rank>,
    rank_of_pid: HashMap<i32, u32>,
    keyboard: Keyboard,
    /// Our standard output and standard error; only the first if both lead to the same place.
    outputs: Vec<Stream>,
    poll: Poll,
}

/// What a place in the poll set stands for.
#[derive(Debug, Clone, Copy)]
enum Source {
    Signals,
    Keyboard,
    Stdin,
    Output(usize),
    Pmi(u32),
    Stream(u32, usize),
}

impl Supervisor {
    fn new(order: Order, signals: Signals) -> io::Result<Supervisor> {
        let appnums =
            order.parts.iter().zip(0..).flat_map(|(part, n)| vec![n; part.count as usize]).collect();
        let about = About { job: job_name(), appnums };
        let merged = sys::are_same(1, 2);
        let outputs: &[RawFd] = if merged { &[1] } else { &[1, 2] };
        Ok(Supervisor {
            host: hostname(),
            started_at: Instant::now(),
            watcher: Watcher::start(&about.job)?,
            job: Job::new(order.size(), order.timeout),
            server: Server::new(about),
            ranks: Vec::new(),
            rank_of_pid: HashMap::new(),
            keyboard: Keyboard::new(None),
            outputs: outputs.iter().map(|&fd| Stream::new(fd)).collect(),
            poll: Poll::default(),
            order,
            signals,
        })
    }

    fn run(&mut self) -> i32 {
        sys::adopt_orphans();
        let code = match self.start_all() {
            Ok(()) => self.stay(),
            Err(fault) => {
                self.ranks.iter().for_each(|rank| sys::signal_group(rank.pid, libc::SIGKILL));
                self.say(&fault.to_string());
                CANNOT_START
            }
        };
        self.end();
        code
    }

    fn start_all(&mut self) -> Result<(), Fault> {
        let common = Common {
            job: self.server.job().to_owned(),
            size: self.order.size(),
            descriptors: sys::raise_descriptor_limit(),
            signals: self.signals.before(),
            stdin_by_pipe: sys::is_terminal(0),
        };
        for (appnum, part) in (0..).zip(self.order.parts.clone()) {
            for _ in 0..part.count {
                let rank = self.ranks.len() as u32;
                let mut started = start(&common, &part, appnum, rank)?;
                self.watcher.add(started.pid);
                self.rank_of_pid.insert(started.pid, rank);
                if let Some(stdin) = started.stdin.take() {
                    self.keyboard = Keyboard::new(Some(stdin));
                }
                self.ranks.push(Rank::new(started, appnum as usize, || self.lines(rank)));
            }
        }
        Ok(())
    }

    fn lines(&self, rank: u32) -> Lines {
        match (self.order.labels, self.order.size()) {
            (true, _) => Lines::labelled(format!("[{rank}] ")),
            (false, 1) => Lines::raw(),
            (false, _) => Lines::default(),
        }
    }

    /// Serves the ranks until all have ended.
    fn stay(&mut self) -> i32 {
        while !self.job.is_over() {
            let timeout = self.job.deadline().map(|at| at.saturating_sub(self.started_at.elapsed()));
            self.serve(timeout);
            self.job.settle(self.started_at.elapsed(), self.server.someone_waits());
            while let Some(action) = self.job.poll_action() {
                self.act(action);
            }
        }
        self.job.exit_code()
    }

    /// Waits for something to happen and handles it.
    fn serve(&mut self, timeout: Option<Duration>) {
        let sources = self.gather();
        self.poll.wait(timeout);
        let ready: Vec<Source> = sources
            .iter()
            .enumerate()
            .filter(|(place, _)| self.poll.is_ready(*place))
            .map(|(_, s)| *s)
            .collect();
        // Signals come last in the list: what a rank has said is heard before its death is.
        for source in ready {
            match source {
                Source::Keyboard => self.keyboard.read(),
                Source::Stdin => self.keyboard.write(),
                Source::Output(i) => self.write_output(i),
                Source::Pmi(rank) => self.talk(rank),
                Source::Stream(rank, i) => self.read_stream(rank, i),
                Source::Signals => self.take_signals(),
            }
        }
    }

    /// Fills the poll set; the places are those of the result.
    fn gather(&mut self) -> Vec<Source> {
        let mut sources = Vec::with_capacity(self.ranks.len() * 3 + 5);
        let poll = &mut self.poll;
        poll.clear();
        let mut add = |fd, read, write, source| {
            poll.add(fd, read, write);
            sources.push(source);
        };
        if let Some(fd) = self.keyboard.readable() {
            add(fd, true, false, Source::Keyboard);
        }
        if let Some(fd) = self.keyboard.writable() {
            add(fd, false, true, Source::Stdin);
        }
        for (i, output) in self.outputs.iter().enumerate().filter(|(_, output)| output.wants_write()) {
            add(output.fd(), false, true, Source::Output(i));
        }
        for (number, rank) in (0..).zip(&self.ranks) {
            if let Some(pmi) = &rank.pmi {
                add(pmi.as_raw_fd(), true, rank.has_mail(), Source::Pmi(number));
            }
            for (i, stream) in rank.streams.iter().enumerate() {
                let target = &self.outputs[i.min(self.outputs.len() - 1)];
                if let (Some(stream), false) = (stream, target.is_congested()) {
                    add(stream.fd.as_raw_fd(), true, false, Source::Stream(number, i));
                }
            }
        }
        add(self.signals.fd(), true, false, Source::Signals);
        sources
    }

    fn write_output(&mut self, i: usize) {
        self.outputs[i].write_some();
        if !self.outputs[i].is_open() {
            let last = self.outputs.len() - 1;
            for rank in &mut self.ranks {
                rank.streams
                    .iter_mut()
                    .enumerate()
                    .filter(|(s, _)| (*s).min(last) == i)
                    .for_each(|(_, s)| *s = None);
            }
        }
    }

    fn read_stream(&mut self, rank: u32, i: usize) {
        let target = i.min(self.outputs.len() - 1);
        self.ranks[rank as usize].read_stream(i, &mut self.outputs[target].sink);
    }

    /// Hears what a rank says, and passes on what the server answers to whom.
    fn talk(&mut self, rank: u32) {
        let server = &mut self.server;
        self.ranks[rank as usize].hear(|bytes| server.handle_bytes(rank, bytes));
        while let Some((to, bytes)) = self.server.poll_output() {
            self.ranks[to as usize].post(bytes);
        }
        self.ranks[rank as usize].send_mail();
        while let Some(event) = self.server.poll_event() {
            match event {
                Event::Abort { rank, code } => {
                    self.job.handle_abort(rank, code);
                    self.look_for_deaths();
                }
                Event::Garbled { rank, error } => {
                    self.ranks[rank as usize].pmi = None;
                    self.job.handle_garbled(rank, error.to_string());
                }
            }
        }
    }

    /// A rank that aborts or fails may do so because another was killed, whose sockets the kernel closes a moment
    /// before it tells of the death. Waits that moment, so that the death is known when the cause is looked for.
    fn look_for_deaths(&mut self) {
        if self.job.cause().is_none() {
            std::thread::sleep(DEATH_NEWS_DELAY);
            self.reap_ranks();
        }
    }

    fn take_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            if signal != libc::SIGCHLD {
                self.job.handle_signal(signal);
            }
        }
        if self.reap_ranks() {
            self.look_for_deaths();
        }
    }

    /// Takes note of the ranks that have ended; returns whether one failed by itself.
    fn reap_ranks(&mut self) -> bool {
        let mut failed = false;
        while let Some(reaped) = sys::reap() {
            let Some(rank) = self.rank_of_pid.remove(&reaped.pid) else { continue };
            self.talk(rank);
            self.watcher.remove(reaped.pid);
            self.ranks[rank as usize].running = false;
            self.ranks[rank as usize].pmi = None;
            failed |= matches!(reaped.exit, Exit::Code(code) if code != 0);
            self.job.handle_exit(rank, reaped.exit, self.server.stage(rank));
        }
        failed
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::StopSelf => sys::stop_self(),
            Action::Signal(signal) => {
                for rank in self.ranks.iter().filter(|rank| rank.running) {
                    sys::signal_group(rank.pid, signal);
                    // A stopped rank would not see a request to end.
                    if signal == libc::SIGTERM {
                        sys::signal_group(rank.pid, libc::SIGCONT);
                    }
                }
            }
        }
    }

    /// After the last rank: ends leftovers, takes the last of the output, and says why the job has ended.
    fn end(&mut self) {
        leftovers::sweep(&self.watcher);
        self.take_signals();
        // From here on signals act as usual: if nobody reads our output, the user may still end us.
        self.signals.before().set();
        self.drain();
        self.conclude();
        self.watcher.dismiss();
        self.outputs.iter_mut().for_each(Stream::write_all);
        leftovers::reap_watcher(&self.watcher);
    }

    fn drain(&mut self) {
        let until = Instant::now() + DRAIN_TIME_MAX;
        let open = |ranks: &[Rank]| ranks.iter().any(|rank| rank.streams.iter().any(Option::is_some));
        while open(&self.ranks) && (Instant::now() < until || self.outputs.iter().any(Stream::is_congested)) {
            self.serve(Some(Duration::from_millis(20)));
        }
        let last = self.outputs.len() - 1;
        for rank in &mut self.ranks {
            for i in 0..2 {
                rank.finish_stream(i, &mut self.outputs[i.min(last)].sink);
            }
        }
    }

    fn conclude(&mut self) {
        let ranks = &self.ranks;
        let place = |rank: u32| {
            let rank: &Rank = &ranks[rank as usize];
            Place { pid: rank.pid, host: &self.host, program: &self.order.parts[rank.part].program }
        };
        let text = match (self.job.cause(), self.job.user_signal()) {
            (
                Some(Failure::Killed { .. } | Failure::Failed { .. } | Failure::NotFinalised { .. }),
                Some(signal),
            ) => {
                format!("The job was ended by {}, which was passed on to all ranks.", signal_name(signal))
            }
            (Some(failure), _) => explain(failure, place).to_string(),
            (None, _) => match self.job.failed_after_finalize() {
                Some((rank, code)) => format!("Rank {rank} exited with code {code} after MPI_Finalize."),
                None => return,
            },
        };
        self.say(&text);
    }

    fn say(&mut self, text: &str) {
        if let Some(output) = self.outputs.last_mut() {
            output.sink.start_line();
            output.sink.write(format!("mpiexec: {text}\n").as_bytes());
        }
    }
}

/// A name that no other job has: it also marks the job's processes.
fn job_name() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    format!("verbena-{}-{:x}", sys::process_id(), now as u64)
}
