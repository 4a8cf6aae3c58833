//! The jobs that ranks of this job have started (MPI-5.0, 11.8.2): each has an `mpiexec` of its
//! own, which is our child. Ours stays until all of them have ended, passes signals on, and takes
//! them along if it is killed itself.

use crate::cli::Order;
use crate::layout::HostRanks;
use crate::plan::Exit;
use crate::sys::{self, Poll, Reaped};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use verbena_boot::spawn::{self, Spawned, Status};

/// A job that was started by a rank.
#[derive(Debug)]
struct Child {
    number: u32,
    /// The process id of its `mpiexec`; `None` once that has ended.
    pid: Option<i32>,
    spawned: Spawned,
    /// The rank that waits to hear how it went.
    asked_by: Option<u32>,
    place: usize,
}

/// The outcome of a start, for the rank that asked.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The rank.
    pub rank: u32,
    /// The number of the new job, or the ranks that could not be started, and why.
    pub outcome: Result<u32, (Vec<u32>, String)>,
}

/// All jobs that ranks have started.
#[derive(Debug, Default)]
pub struct ChildJobs {
    jobs: Vec<Child>,
    last: u32,
    /// The exit code of the first that failed.
    code: i32,
    /// The options that each of them gets before its own.
    options: Vec<OsString>,
}

impl ChildJobs {
    /// No jobs yet; each will get the hosts of this order.
    pub fn of(order: &Order) -> ChildJobs {
        ChildJobs { options: options_for_children(order), ..ChildJobs::default() }
    }

    /// Starts a job for a rank, with these words of a command line. `None` if the answer comes
    /// later ([`ChildJobs::poll_answer`]).
    pub fn start(&mut self, rank: u32, words: &[OsString], parent: &str) -> Option<Answer> {
        // An order with hosts of its own does not get ours.
        let mut options = words.iter().take_while(|word| *word != "--");
        let has_hosts = options.any(|word| word == "-host" || word == "-hostfile");
        let ours =
            self.options.iter().skip_while(|word| has_hosts && !word.as_encoded_bytes().starts_with(b"--"));
        let words: Vec<OsString> = ours.chain(words).cloned().collect();
        let started = own_path().and_then(|own| spawn::start(&own, &words, parent, true));
        let (spawned, child) = match started {
            Ok((spawned, Some(child))) => (spawned, child),
            Ok((_, None)) => unreachable!("an attached one is returned"),
            Err(error) => {
                let text = format!("mpiexec could not start another one: {error}");
                return Some(Answer { rank, outcome: Err((Vec::new(), text)) });
            }
        };
        self.last += 1;
        let pid = Some(child.id().cast_signed());
        let place = usize::MAX;
        self.jobs.push(Child { number: self.last, pid, spawned, asked_by: Some(rank), place });
        None
    }

    /// Returns whether the job with this number has ended, as far as its ranks are concerned.
    pub fn is_over(&mut self, number: u32) -> bool {
        let job = self.jobs.iter_mut().find(|job| job.number == number);
        job.is_none_or(|job| job.pid.is_none() || job.spawned.status(Duration::ZERO) == Status::Over)
    }

    /// Adds the descriptors of those that have not said how it went.
    pub fn gather(&mut self, poll: &mut Poll) {
        for job in self.jobs.iter_mut().filter(|job| job.asked_by.is_some()) {
            job.place = poll.add(job.spawned.descriptor(), true, false);
        }
    }

    /// Takes an answer for a rank that waits for one.
    pub fn poll_answer(&mut self) -> Option<Answer> {
        for job in self.jobs.iter_mut().filter(|job| job.asked_by.is_some()) {
            let outcome = match job.spawned.status(Duration::ZERO) {
                Status::Starting => continue,
                Status::Running | Status::Over => Ok(job.number),
                Status::Refused(ranks, text) => Err((ranks, text)),
            };
            let rank = job.asked_by.take()?;
            return Some(Answer { rank, outcome });
        }
        None
    }

    /// Notes that a child has ended; returns whether it was one of these.
    pub fn handle_death(&mut self, reaped: &Reaped) -> bool {
        let Some(job) = self.jobs.iter_mut().find(|job| job.pid == Some(reaped.pid)) else { return false };
        job.pid = None;
        let was_running = !matches!(job.spawned.status(Duration::ZERO), Status::Refused(..));
        if self.code == 0 && was_running {
            self.code = match reaped.exit {
                Exit::Code(code) => code,
                Exit::Signal(signal) => 128 + signal,
            };
        }
        // A rank that waits hears of it first.
        self.jobs.retain(|job| job.pid.is_some() || job.asked_by.is_some());
        true
    }

    /// Forgets jobs that have ended and whose ranks were told.
    pub fn tidy(&mut self) {
        self.jobs.retain(|job| job.pid.is_some() || job.asked_by.is_some());
    }

    /// Sends a signal to all of them.
    pub fn signal(&self, signal: i32) {
        self.jobs.iter().filter_map(|job| job.pid).for_each(|pid| sys::signal_process(pid, signal));
    }

    /// Returns whether all have ended.
    pub fn are_over(&self) -> bool {
        self.jobs.iter().all(|job| job.pid.is_none())
    }

    /// The exit code of the first that failed, 0 if none did.
    pub fn exit_code(&self) -> i32 {
        self.code
    }
}

/// The options that the jobs of our ranks get: our own hosts, the way to them, the
/// variables for all programs, and the time limit.
fn options_for_children(order: &Order) -> Vec<OsString> {
    let mut options: Vec<OsString> = Vec::new();
    if order.hosts.iter().any(|host| host.name.is_some()) {
        let name = |host: &HostRanks| host.name.clone().unwrap_or("localhost".into());
        let hosts: Vec<String> =
            order.hosts.iter().map(|host| format!("{}:{}", name(host), host.assignments.len())).collect();
        options.extend(["-host".into(), hosts.join(",").into()]);
    }
    options.extend(["--launcher".into(), order.launcher.to_text().into()]);
    if let Some(prefix) = &order.prefix {
        options.extend(["--prefix".into(), prefix.clone().into_os_string()]);
    }
    for (name, value) in &order.variables {
        options.extend(["--genv".into(), name.clone(), value.clone()]);
    }
    if let Some(limit) = order.timeout {
        options.extend(["--timeout".into(), limit.as_secs_f64().to_string().into()]);
    }
    options
}

fn own_path() -> std::io::Result<PathBuf> {
    // A file that was replaced meanwhile (an update) is still there by this name.
    match std::env::current_exe() {
        Ok(path) if path.is_file() => Ok(path),
        _ => Ok(Path::new("/proc/self/exe").to_owned()),
    }
}
