//! The ranks of this host: started, listened to, and ended. `mpiexec` has one such object for its
//! own host, and each agent one for its host. It carries out [`Command`]s and answers with
//! [`Report`]s.
//!
//! | module | job |
//! | --- | --- |
//! | [`start`](mod@start) | starts one rank |
//! | [`rank`] | one rank's PMI line and output streams |
//! | [`status`] | what a rank says of itself, and what the system says of it |
//! | [`core_file`] | where the core file of a crashed rank is |
//! | [`stdin_pipe`] | rank 0's standard input |
//! | `deaths` | ranks that others go on without |
//! | [`descendants`] | kills what ranks leave behind, also when this process itself is killed |
//!
//! Call [`LocalRanks::gather`], wait, then [`LocalRanks::serve`]; pass every child that has ended
//! to [`LocalRanks::handle_death`]; take reports until there are none.

pub mod core_file;
mod deaths;
pub mod descendants;
pub mod rank;
pub mod start;
pub mod status;
pub mod stdin_pipe;

use crate::asleep;
use crate::plan::Exit;
use crate::symbols::Symbols;
use crate::sys::{self, Inherited, Poll, Reaped, SignalMask};
use crate::topology::{self, Topology};
use crate::wire::{Command, Report, Work};
use descendants::Watcher;
use rank::Rank;
use start::start;
use status::RankStatus;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use stdin_pipe::StdinPipe;
use verbena_boot::status::StatusMemory;
use verbena_fault::Fault;

/// The time we wait at the end for output that another process may still hold open.
const DRAIN_TIME_MAX: Duration = Duration::from_millis(500);

/// The state of ranks that do not have the cores which they were promised.
const OVERLOADED: &str = "where more cores were asked for than there are";

/// The ranks of this host.
#[derive(Debug)]
pub struct LocalRanks {
    inherited: Inherited,
    /// The value of `descendants::MARK` in all processes that were started here.
    mark: String,
    watcher: Watcher,
    /// True if this process had children before it became `mpiexec`: a shell that called `exec`.
    children_before: bool,
    /// The process groups of everything started for the job.
    groups: Vec<i32>,
    ranks: Vec<Rank>,
    /// Indices into `ranks`.
    place_of_rank: HashMap<u32, usize>,
    place_of_pid: HashMap<i32, usize>,
    stdin: StdinPipe,
    /// Set for streams (0: output, 1: error output) that must not be read now.
    held: [bool; 2],
    drain_until: Option<Instant>,
    symbols: Symbols,
    /// The number of acknowledged deaths that were reported.
    acknowledged: u64,
    reports: VecDeque<Report>,
    /// The source at each place of the poll set.
    sources: Vec<(usize, Source)>,
}

/// The source behind a place in the poll set.
#[derive(Debug, Clone, Copy)]
enum Source {
    StdinPipe,
    Pmi(usize),
    Stream(usize, usize),
}

impl LocalRanks {
    /// Starts without ranks. `signals`: the blocked signals that ranks get back. Call it before any
    /// thread or rank is started.
    ///
    /// # Errors
    /// The system gives no process or pipe.
    pub fn new(job: &str, signals: SignalMask) -> io::Result<LocalRanks> {
        let mark = format!("{job}-{}", sys::process_id());
        let children_before = descendants::has_children();
        let watcher = Watcher::start(&mark)?;
        sys::adopt_orphans();
        let inherited = Inherited { descriptors: sys::raise_descriptor_limit(), signals };
        let (ranks, place_of_rank, place_of_pid, stdin, held, reports, sources) = Default::default();
        let (drain_until, symbols, acknowledged) = (None, Symbols::default(), 0);
        Ok(LocalRanks {
            inherited,
            mark,
            watcher,
            children_before,
            groups: Vec::new(),
            ranks,
            place_of_rank,
            place_of_pid,
            stdin,
            held,
            drain_until,
            symbols,
            acknowledged,
            reports,
            sources,
        })
    }

    /// The limits and signals that programs we start get back.
    pub fn inherited(&self) -> Inherited {
        self.inherited
    }

    /// Carries out a command.
    pub fn handle(&mut self, command: Command) {
        match command {
            Command::Start(work) => self.start(&work),
            Command::Mail { ranks, bytes } => {
                for rank in ranks {
                    if let Some(rank) = self.rank(rank) {
                        rank.post(bytes.clone());
                    }
                }
            }
            Command::HangUp(rank) => drop(self.rank(rank).and_then(|rank| rank.pmi.take())),
            Command::Input(bytes) => {
                self.stdin.give(&bytes);
                self.feed();
            }
            Command::Signal(signal) => self.signal(signal),
            Command::Hold { stream, held } => self.held[stream.min(1)] = held,
            Command::Shut(stream) => {
                self.ranks.iter_mut().for_each(|rank| rank.streams[stream.min(1)] = None)
            }
            Command::Pulse => self.tell_pulse(),
            Command::Ask => self.ask(),
            Command::Look => self.tell_all(),
            Command::Bury(rank) => self.bury(rank),
            Command::Part => self.memory().into_iter().for_each(StatusMemory::part),
            Command::Finish => {
                descendants::sweep(&self.watcher, self.children_before, &self.mark, &self.groups);
                self.drain_until = Some(Instant::now() + DRAIN_TIME_MAX);
            }
        }
    }

    /// Asks the ranks what they do.
    fn ask(&mut self) {
        let LocalRanks { ranks, symbols, .. } = self;
        let run = |rank: &mut Rank| rank.ask(symbols);
        let asked: Vec<Option<i32>> = ranks.iter_mut().map(run).collect();
        let processes: Vec<i32> = asked.iter().copied().flatten().collect();
        let sleepers = asleep::signal_running(&processes, libc::SIGURG);
        let running = ranks.iter_mut().zip(asked).filter_map(|(rank, process)| Some((rank, process?)));
        for ((rank, process), sleeper) in running.zip(sleepers) {
            if let Some(sleeper) = sleeper {
                rank.note_sleep(process, sleeper, symbols);
            }
        }
    }

    /// Takes the next report.
    pub fn poll_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// Adds its descriptors to the poll set. Without `room` nothing is read from the ranks.
    pub fn gather(&mut self, poll: &mut Poll, room: bool) {
        self.sources.clear();
        let mut add = |fd, read, write, source| self.sources.push((poll.add(fd, read, write), source));
        if let Some(fd) = self.stdin.writable() {
            add(fd, false, true, Source::StdinPipe);
        }
        for (place, rank) in self.ranks.iter().enumerate() {
            if let Some(pmi) = &rank.pmi {
                add(pmi.as_raw_fd(), room && !rank.is_behind(), rank.has_mail(), Source::Pmi(place));
            }
            for (i, stream) in rank.streams.iter().enumerate().filter(|(i, _)| room && !self.held[*i]) {
                if let Some(fd) = stream {
                    add(fd.as_raw_fd(), true, false, Source::Stream(place, i));
                }
            }
        }
    }

    /// Serves the descriptors that are ready.
    pub fn serve(&mut self, poll: &Poll) {
        for (at, source) in std::mem::take(&mut self.sources) {
            match source {
                _ if !poll.is_ready(at) => {}
                Source::StdinPipe => self.feed(),
                Source::Pmi(place) => self.listen(place),
                Source::Stream(place, i) => self.read(place, i),
            }
        }
    }

    /// Notes that a child has ended; returns whether it was a rank.
    pub fn handle_death(&mut self, reaped: Reaped) -> bool {
        let Some(place) = self.place_of_pid.remove(&reaped.pid) else { return false };
        // The rank's last messages are handled before its death.
        self.hear(place);
        self.watcher.remove(reaped.pid);
        let rank = &mut self.ranks[place];
        rank.running = false;
        rank.pmi = None;
        if let Exit::Signal(signal) = reaped.exit {
            let places = rank.crash_places(signal, &mut self.symbols);
            if !places.is_empty() {
                self.reports.push_back(Report::Crashed { rank: rank.number, places });
            }
        }
        if reaped.has_core
            && let Some(text) = core_file::describe(reaped.pid, &rank.program, &rank.directory)
        {
            self.reports.push_back(Report::Core { rank: rank.number, text });
        }
        let number = rank.number;
        let borne = self.all_go_on_without(place);
        self.reports.push_back(Report::Ended { rank: number, exit: reaped.exit, borne });
        true
    }

    /// Returns whether a rank still runs.
    pub fn is_running(&self) -> bool {
        !self.place_of_pid.is_empty()
    }

    /// Returns whether all output has been read after [`Command::Finish`]. Gives up on streams that
    /// other processes hold open, but not on what waits for a slow reader of ours.
    pub fn is_drained(&mut self) -> bool {
        let open = self.ranks.iter().any(|rank| rank.streams.iter().any(Option::is_some));
        let late = self.drain_until.is_some_and(|until| Instant::now() >= until);
        if open && late && self.held == [false; 2] {
            self.close_streams();
        }
        !open || (late && self.held == [false; 2])
    }

    /// Tells the watcher of a process group that it must end if this process is killed.
    pub fn watch(&mut self, group: i32) {
        self.groups.push(group);
        self.watcher.add(group);
    }

    /// Forgets a process group that has ended.
    pub fn unwatch(&mut self, group: i32) {
        self.watcher.remove(group);
    }

    /// Dismisses the watcher, the last of our processes.
    pub fn dismiss_watcher(&mut self) {
        self.watcher.dismiss();
    }

    /// Waits until the watcher is gone.
    pub fn reap_watcher(&self) {
        descendants::reap_watcher(&self.watcher);
    }

    fn rank(&mut self, number: u32) -> Option<&mut Rank> {
        self.place_of_rank.get(&number).map(|&place| &mut self.ranks[place])
    }

    fn start(&mut self, work: &Work) {
        let seats = match self.seats(work) {
            Ok(seats) => seats,
            Err(fault) => return self.give_up(work, 0, fault),
        };
        // Without it there is only no report of hangs.
        let status = StatusMemory::create(work.assignments.len()).ok().map(Rc::new);
        for (local, (assignment, seat)) in work.assignments.iter().zip(seats).enumerate() {
            match start(work, local, (&self.mark, status.as_deref()), self.inherited, &seat) {
                Ok(mut started) => {
                    let (rank, pid, place) = (assignment.rank, started.pid, self.ranks.len());
                    self.watch(pid);
                    self.place_of_pid.insert(pid, place);
                    self.place_of_rank.insert(rank, place);
                    if let Some(pipe) = started.stdin.take() {
                        self.stdin = StdinPipe::new(pipe);
                    }
                    let status = status.clone().map(|memory| RankStatus::new(memory, local));
                    let part = &work.parts[assignment.part as usize];
                    self.ranks.push(Rank::new(rank, started, part).with_status(status));
                    self.reports.push_back(Report::Started { rank, pid });
                }
                Err(fault) => return self.give_up(work, local, fault),
            }
        }
    }

    /// Reports the ranks' signs of life.
    fn tell_pulse(&mut self) {
        let Some(first) = self.ranks.iter().map(|rank| rank.number).min() else { return };
        let pulses = self.ranks.iter().filter(|rank| rank.running).filter_map(Rank::pulse);
        let (mut digest, mut waiting) = (0_u64, 0);
        for pulse in pulses {
            // Fowler, Noll and Vo's hash of the words.
            for word in [pulse.beats, pulse.waits, pulse.pid] {
                digest = (digest ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(5);
            }
            waiting += u32::from(pulse.waits > 0);
        }
        self.reports.push_back(Report::Pulse { rank: first, digest, waiting });
    }

    /// Reports what each rank says and does.
    fn tell_all(&mut self) {
        let LocalRanks { ranks, symbols, reports, .. } = self;
        let seen = ranks.iter().filter(|rank| rank.running).map(|rank| rank.look(symbols));
        reports.extend(seen.map(|seen| Report::Seen(Box::new(seen))));
    }

    /// The processors of each rank. The job hears of their load, and the user if that is wished.
    fn seats(&mut self, work: &Work) -> Result<Vec<Vec<u32>>, Fault> {
        let ranks = work.assignments.len();
        if work.binding.to.is_none() && !work.binding.reported {
            return Ok(vec![Vec::new(); ranks]);
        }
        let host = Topology::read(Path::new(topology::ROOT), &sys::affinity());
        let seats = work.binding.processors(&host, ranks, &work.others)?;
        let crowded = work.binding.crowded(&host, &seats, &work.others);
        if let Some(first) = work.assignments.first().filter(|_| work.binding.to.is_some()) {
            let load = work.binding.load(&host, &seats);
            self.reports.push_back(Report::Loaded { rank: first.rank, load });
        }
        let count = crowded.iter().filter(|crowded| **crowded).count();
        // Who did not ask for the list hears of the first such rank.
        let first = crowded.iter().position(|crowded| *crowded).filter(|_| !work.binding.crowded);
        for (place, (assignment, seat)) in work.assignments.iter().zip(&seats).enumerate() {
            if !work.binding.reported && first != Some(place) {
                continue;
            }
            let bound = match seat.is_empty() {
                true => format!("not bound, {}", host.describe(&host.all())),
                false => format!("bound to {}", host.describe(seat)),
            };
            let text = match (crowded[place], work.binding.reported) {
                (false, _) => bound,
                (true, true) => format!("{bound}, {OVERLOADED}"),
                (true, false) => format!(
                    "{bound}, {OVERLOADED} ({count} of the {ranks} ranks there are short of cores; \
                     --report-bindings shows all)"
                ),
            };
            self.reports.push_back(Report::Bound { rank: assignment.rank, text });
        }
        Ok(seats)
    }

    fn give_up(&mut self, work: &Work, local: usize, fault: Fault) {
        let ranks = work.assignments[local..].iter().map(|assignment| assignment.rank).collect();
        self.reports.push_back(Report::NotStarted { ranks, why: fault.into() });
    }

    fn signal(&mut self, signal: i32) {
        for rank in self.ranks.iter().filter(|rank| rank.running) {
            sys::signal_group(rank.pid, signal);
            // A stopped rank would not notice a request to end.
            if signal == libc::SIGTERM {
                sys::signal_group(rank.pid, libc::SIGCONT);
            }
        }
    }

    fn feed(&mut self) {
        if let Some(open) = self.stdin.write() {
            self.reports.push_back(Report::InputTaken { open });
        }
    }

    /// Handles a rank's messages, unless it does not take its answers.
    fn listen(&mut self, place: usize) {
        self.ranks[place].send_mail();
        if !self.ranks[place].is_behind() {
            self.hear(place);
        }
    }

    fn hear(&mut self, place: usize) {
        self.tell_acknowledged();
        let LocalRanks { ranks, symbols, reports, .. } = self;
        let number = ranks[place].number;
        let mut said = Vec::new();
        ranks[place].hear(|bytes| said.push(Report::Said { rank: number, bytes: bytes.to_vec() }));
        // The places of an error come before the error, which the rank says last of all.
        if let Some(places) = ranks[place].error_places(symbols).filter(|_| !said.is_empty()) {
            reports.push_back(Report::Crashed { rank: number, places });
        }
        reports.extend(said);
    }

    fn read(&mut self, place: usize, stream: usize) {
        let LocalRanks { ranks, reports, .. } = self;
        let rank = ranks[place].number;
        ranks[place].read_stream(stream, |bytes| {
            reports.push_back(match bytes {
                Some(bytes) => Report::Wrote { rank, stream, bytes: bytes.to_vec() },
                None => Report::Closed { rank, stream },
            });
        });
    }

    fn close_streams(&mut self) {
        for rank in &mut self.ranks {
            for stream in 0..2 {
                if rank.streams[stream].take().is_some() {
                    self.reports.push_back(Report::Closed { rank: rank.number, stream });
                }
            }
        }
    }
}
