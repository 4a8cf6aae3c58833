//! The jobs that ranks of this job have started (MPI-5.0, 11.8.2): each has an `mpiexec` of its
//! own, which is our child. Ours stays until all of them have ended, passes signals on, and takes
//! them along if it is killed itself.
//!
//! Ranks that are bound get processors that no others have. So each job says which ones those are
//! once all its ranks run, and the next one that is bound starts only then.

use crate::cli::Order;
use crate::cli::inherited::{JOB_NUMBER, LOAD, PLACING};
use crate::layout::HostRanks;
use crate::load::{Load, Loads};
use crate::plan::Exit;
use crate::sys::{self, Poll, Reaped};
use std::collections::{BTreeSet, VecDeque};
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
    ties: Ties,
    /// The load that its bound ranks are, once they run.
    load: Loads,
    place: usize,
}

/// A rank's wish to start a job.
#[derive(Debug)]
struct Wish {
    rank: u32,
    /// The job's words of a command line.
    words: Vec<OsString>,
    /// The rank's port.
    parent: String,
    /// The ranks that will be connected with the job.
    ranks: Vec<u32>,
}

/// The connection of a job with ranks of ours (MPI-5.0, 11.10.4).
#[derive(Debug)]
struct Ties {
    /// The ranks that live and have not parted from it, as far as is known.
    ranks: BTreeSet<u32>,
    /// True once some rank has parted from it. Until then it is connected with the whole job, in
    /// ways that we do not know, also if the ranks that spawned it have died.
    is_loose: bool,
}

impl Ties {
    fn of(ranks: Vec<u32>) -> Ties {
        Ties { ranks: ranks.into_iter().collect(), is_loose: false }
    }

    fn part(&mut self, rank: u32) {
        self.bury(rank);
        self.is_loose = true;
    }

    fn part_all(&mut self) {
        *self = Ties { ranks: BTreeSet::new(), is_loose: true };
    }

    /// A dead rank holds nothing.
    fn bury(&mut self, rank: u32) {
        self.ranks.remove(&rank);
    }

    fn is_parted(&self) -> bool {
        self.is_loose && self.ranks.is_empty()
    }
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
    /// Our own hosts and their slots, which each of them gets unless it has some of its own; none
    /// if there is only this host.
    hosts: Vec<(String, usize)>,
    /// The options that each of them gets before its own.
    options: Vec<OsString>,
    /// The options that those of them get that have none about places and binding.
    placing: Vec<OsString>,
    /// Our own number among spawned jobs, with a point behind it.
    prefix: String,
    /// The load of the hosts by other jobs when this one was started.
    inherited: Loads,
    /// The load that this job's bound ranks are.
    own: Loads,
    /// True once all ranks of this job run.
    all_run: bool,
    waiting: VecDeque<Wish>,
}

impl ChildJobs {
    /// No jobs yet; each will get the hosts of this order.
    pub fn of(order: &Order) -> ChildJobs {
        let inherited = &order.inherited;
        ChildJobs {
            hosts: hosts(order),
            options: options_for_children(order),
            placing: inherited.placing.clone(),
            prefix: inherited.number.as_ref().map_or_else(String::new, |number| format!("{number}.")),
            inherited: inherited.load.clone(),
            ..ChildJobs::default()
        }
    }

    /// Starts no more processes on this host of ours, which is lost.
    pub fn avoid(&mut self, lost: &str) {
        self.hosts.retain(|(host, _)| host != lost);
    }

    /// Notes the load that the bound ranks of this job are on a host.
    pub fn add_load(&mut self, host: &str, load: &Load) {
        self.own.add(host, load);
    }

    /// Notes that all ranks of this job run, and that all their load is known.
    pub fn note_all_run(&mut self) {
        self.all_run = true;
    }

    /// The load that the bound ranks of this job are.
    pub fn load(&self) -> &Loads {
        &self.own
    }

    /// Has a job started for a rank, with these words of a command line, as soon as may be:
    /// [`ChildJobs::poll_answer`] does it. `ranks` will be connected with it.
    pub fn order(&mut self, rank: u32, words: Vec<OsString>, parent: String, ranks: Vec<u32>) {
        self.waiting.push_back(Wish { rank, words, parent, ranks });
    }

    /// Starts none of the jobs that wait.
    pub fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Starts the jobs that may start now, up to one that cannot, which is answered.
    fn start_waiting(&mut self) -> Option<Answer> {
        loop {
            let wish = self.waiting.iter().position(|wish| self.may_start(wish))?;
            let wish = self.waiting.remove(wish)?;
            if let Some(answer) = self.start(wish) {
                return Some(answer);
            }
        }
    }

    /// Returns whether the load of all others is known, or does not matter.
    fn may_start(&self, wish: &Wish) -> bool {
        !self.is_bound(&wish.words) || (self.all_run && self.jobs.iter().all(|job| job.asked_by.is_none()))
    }

    /// Starts a job; `None` if the answer comes later.
    fn start(&mut self, Wish { rank, words, parent, ranks }: Wish) -> Option<Answer> {
        let words = self.words(&words);
        let started = own_path().and_then(|own| spawn::start(&own, &words, &parent, true));
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
        let (number, asked_by) = (self.last, Some(rank));
        let (load, ties) = (Loads::default(), Ties::of(ranks));
        self.jobs.push(Child { number, pid, spawned, asked_by, ties, load, place });
        None
    }

    /// The words for the `mpiexec` of a new job with these of its own.
    fn words(&self, own: &[OsString]) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        // An order with hosts of its own does not get ours.
        if !self.hosts.is_empty() && !has_option(own, &["host", "hostfile"]) {
            let hosts: Vec<String> =
                self.hosts.iter().map(|(host, slots)| format!("{host}:{slots}")).collect();
            words.extend(["-host".into(), hosts.join(",").into()]);
        }
        words.extend_from_slice(&self.options);
        if !places_itself(own) {
            words.extend_from_slice(&self.placing);
        }
        words.extend([format!("--{JOB_NUMBER}").into(), format!("{}{}", self.prefix, self.last + 1).into()]);
        let load = self.load_of_all().to_string();
        if self.is_bound(own) && !load.is_empty() {
            words.extend([format!("--{LOAD}").into(), load.into()]);
        }
        words.extend_from_slice(own);
        words
    }

    /// Returns whether a job with these words has options about places and binding.
    fn is_bound(&self, own: &[OsString]) -> bool {
        places_itself(own) || !self.placing.is_empty()
    }

    /// The load of the hosts by this job, the jobs before it, and those of its own that still run.
    fn load_of_all(&self) -> Loads {
        let mut all = self.inherited.clone();
        all.add_all(&self.own);
        self.jobs.iter().filter(|job| job.pid.is_some()).for_each(|job| all.add_all(&job.load));
        all
    }

    /// Returns whether the job with this number has ended, as far as its ranks are concerned.
    pub fn is_over(&mut self, number: u32) -> bool {
        let job = self.jobs.iter_mut().find(|job| job.number == number);
        job.is_none_or(|job| job.pid.is_none() || job.spawned.status(Duration::ZERO) == Status::Over)
    }

    /// Notes that this rank is connected with the job with this number no more.
    pub fn part(&mut self, rank: u32, number: u32) {
        let jobs = self.jobs.iter_mut().filter(|job| job.number == number);
        jobs.for_each(|job| job.ties.part(rank));
    }

    /// Notes that no rank is connected with any of them any more.
    pub fn part_all(&mut self) {
        self.jobs.iter_mut().for_each(|job| job.ties.part_all());
    }

    /// Notes that this rank has died while the others go on.
    pub fn bury(&mut self, rank: u32) {
        self.jobs.iter_mut().for_each(|job| job.ties.bury(rank));
        self.waiting.iter_mut().for_each(|wish| wish.ranks.retain(|one| *one != rank));
    }

    /// Adds the descriptors of those that have not said how it went.
    pub fn gather(&mut self, poll: &mut Poll) {
        for job in self.jobs.iter_mut().filter(|job| job.asked_by.is_some()) {
            job.place = poll.add(job.spawned.descriptor(), true, false);
        }
    }

    /// Takes an answer for a rank that waits for one, and starts the jobs that may start now.
    pub fn poll_answer(&mut self) -> Option<Answer> {
        self.poll_outcome().or_else(|| self.start_waiting())
    }

    fn poll_outcome(&mut self) -> Option<Answer> {
        for job in self.jobs.iter_mut().filter(|job| job.asked_by.is_some()) {
            let outcome = match job.spawned.status(Duration::ZERO) {
                Status::Starting => continue,
                Status::Running | Status::Over => {
                    // The text is that of our own program.
                    job.load = Loads::read(&job.spawned.load()).unwrap_or_default();
                    Ok(job.number)
                }
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
        self.tidy();
        true
    }

    /// Forgets jobs that have ended and whose ranks were told.
    pub fn tidy(&mut self) {
        self.jobs.retain(|job| job.pid.is_some() || job.asked_by.is_some());
    }

    /// Sends a signal to all of them, or to those alone that are connected with our job.
    pub fn signal(&self, signal: i32, connected_only: bool) {
        let concerned = self.jobs.iter().filter(|job| !(connected_only && job.ties.is_parted()));
        concerned.filter_map(|job| job.pid).for_each(|pid| sys::signal_process(pid, signal));
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

/// The hosts of an order and how many ranks each has; none if there is only this host.
fn hosts(order: &Order) -> Vec<(String, usize)> {
    if order.hosts.iter().all(|host| host.name.is_none()) {
        return Vec::new();
    }
    let name = |host: &HostRanks| name_of(host.name.as_deref()).to_owned();
    order.hosts.iter().map(|host| (name(host), host.assignments.len())).collect()
}

/// The name of a host; for this one, that which every host has for itself.
pub fn name_of(other: Option<&str>) -> &str {
    other.unwrap_or("localhost")
}

/// The options that the jobs of our ranks get: the way to our hosts, the variables for all
/// programs, the time limit, and those about output.
fn options_for_children(order: &Order) -> Vec<OsString> {
    let mut options: Vec<OsString> = Vec::new();
    options.extend(["--launcher".into(), order.launcher.to_text().into()]);
    if let Some(prefix) = &order.prefix {
        options.extend(["--prefix".into(), prefix.clone().into_os_string()]);
    }
    for (name, value) in &order.variables {
        options.extend(["--genv".into(), name.clone(), spawn::marked(value.clone())]);
    }
    if let Some(limit) = order.timeout {
        options.extend(["--timeout".into(), limit.as_secs_f64().to_string().into()]);
    }
    options.extend_from_slice(&order.inherited.options);
    options
}

/// Returns whether one of these options is among the words of a program.
fn has_option(words: &[OsString], names: &[&str]) -> bool {
    let mut options = words.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    options.any(|word| word.strip_prefix('-').is_some_and(|name| names.contains(&name)))
}

/// Returns whether one of these words of a job is about places and binding.
fn places_itself(own: &[OsString]) -> bool {
    own.split(|word| word == ":").any(|part| has_option(part, &PLACING))
}

fn own_path() -> std::io::Result<PathBuf> {
    // A file that was replaced meanwhile (an update) is still there by this name.
    match std::env::current_exe() {
        Ok(path) if path.is_file() => Ok(path),
        _ => Ok(Path::new("/proc/self/exe").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::read;
    use std::ffi::OsStr;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn children(line: &str) -> ChildJobs {
        ChildJobs::of(&read(words(line)).unwrap())
    }

    /// The words that these jobs give a new one with words of its own.
    fn given(children: &ChildJobs, own: &str) -> String {
        let text = children.words(&words(own)).join(OsStr::new(" ")).into_string().unwrap();
        text.strip_prefix("--launcher ssh ").unwrap_or(&text).to_owned()
    }

    /// The words that a job of this command line gives one of its own with these words.
    fn handed_down(line: &str, own: &str) -> String {
        given(&children(line), own)
    }

    /// Adds a job that rank 0 has started and waits for.
    fn add_child(children: &mut ChildJobs) {
        let (spawned, _) = spawn::start(Path::new("true"), &[], "", false).unwrap();
        children.jobs.push(Child {
            number: 1,
            pid: Some(i32::MAX),
            spawned,
            asked_by: Some(0),
            ties: Ties::of(Vec::new()),
            load: Loads::default(),
            place: usize::MAX,
        });
    }

    #[test]
    fn a_job_has_parted_when_all_have_that_were_connected_and_live() {
        let mut ties = Ties::of(vec![0, 2, 3]);
        ties.part(0);
        ties.bury(2);
        assert!(!ties.is_parted(), "rank 3 is connected");
        ties.part(3);
        assert!(ties.is_parted());
        // Nobody has parted from a job when all have died that spawned it.
        let mut ties = Ties::of(vec![1]);
        ties.bury(1);
        assert!(!ties.is_parted());
        ties.part_all();
        assert!(ties.is_parted());
    }

    #[test]
    fn the_spawned_get_the_options_about_output() {
        let down = handed_down("-outfile-pattern o.%r -l x", "-n 2 -- y");
        assert_eq!(down, "--outfile-pattern o.%r --labels --job-number 1 -n 2 -- y");
        let down = handed_down("--job-number 2.1 x", "-n 2 -- y");
        assert_eq!(down, "--job-number 2.1.1 -n 2 -- y");
    }

    #[test]
    fn the_spawned_are_bound_as_their_parents_unless_their_order_says_how() {
        let mut children = children("-n 3 --bind-to core --processor-load 0-1*1=localhost x");
        children.add_load("localhost", &Load::read("1-2*1").unwrap());
        let load = "--processor-load 1*2/0,2*1=localhost";
        assert_eq!(
            given(&children, "-n 2 -- y --map-by"),
            format!("--bind-to core --job-number 1 {load} -n 2 -- y --map-by")
        );
        let own = "-n 1 -- y : -n 1 -map-by numa -- z";
        assert_eq!(given(&children, own), format!("--job-number 1 {load} {own}"));
        // Parents that are not bound load nothing.
        assert_eq!(
            handed_down("-n 3 x", "-n 2 -bind-to core -- y"),
            "--job-number 1 -n 2 -bind-to core -- y"
        );
    }

    #[test]
    fn the_bound_start_once_it_is_known_where_the_others_are() {
        let wish =
            |text: &str| Wish { rank: 0, words: words(text), parent: String::new(), ranks: Vec::new() };
        let (bound, unbound) = (wish("-bind-to core -- y"), wish("-n 1 -- y"));
        let mut children = children("-n 1 x");
        let may_start = |children: &ChildJobs| [&bound, &unbound].map(|wish| children.may_start(wish));
        assert_eq!(may_start(&children), [false, true], "not all ranks of the job itself run");
        children.note_all_run();
        assert_eq!(may_start(&children), [true, true]);
        add_child(&mut children);
        assert_eq!(may_start(&children), [false, true], "that one has not said where it is");
        children.jobs[0].asked_by = None;
        assert_eq!(may_start(&children), [true, true]);
    }

    #[test]
    fn jobs_that_have_ended_leave_their_processors() {
        let mut children = children("-n 1 x");
        add_child(&mut children);
        children.jobs[0].load = Loads::read("0-1*1=a").unwrap();
        let own = "-n 1 -bind-to core -- z";
        assert_eq!(given(&children, own), format!("--job-number 1 --processor-load 0-1*1=a {own}"));
        children.jobs[0].pid = None;
        assert_eq!(given(&children, own), format!("--job-number 1 {own}"));
    }
}
