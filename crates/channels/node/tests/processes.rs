//! The channels between real processes: this program starts itself as the ranks of a node.
//!
//! `cargo test -p verbena-node --test processes [part of a name]`

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

#[path = "processes/rank.rs"]
mod rank;

const SCENARIOS: [(&str, fn()); 11] = [
    ("all ranks exchange packets of all sizes", exchange_works),
    ("more ranks than cores exchange and sleep", exchange_works_oversubscribed),
    ("many more ranks than cores pass barriers", barriers_work),
    ("memory is read and written between processes", memory_works),
    ("a file limit makes rings smaller", a_file_limit_makes_rings_smaller),
    ("a tiny file limit is a fault and no signal", a_tiny_file_limit_is_a_fault),
    ("memory of the heap is used by all ranks", the_heap_works),
    ("limits make the heap smaller, or leave none", limits_bound_the_heap),
    ("the heap of a killed rank stays and goes with the last", the_heap_outlives_its_ranks),
    ("a killed job leaves nothing behind", a_killed_job_leaves_nothing),
    ("a killed partner is a fault and no crash", a_killed_partner_is_survived),
];

fn main() {
    let mut args = std::env::args().skip(1);
    match args.next() {
        Some(word) if word == "rank" => rank::main(args.collect()),
        filter => run_scenarios(filter.filter(|f| !f.starts_with('-')).unwrap_or_default()),
    }
}

fn run_scenarios(filter: String) {
    let chosen: Vec<_> = SCENARIOS.iter().filter(|(name, _)| name.contains(&filter)).collect();
    assert!(!chosen.is_empty(), "no scenario is named like \"{filter}\"");
    for (name, scenario) in chosen {
        let start = Instant::now();
        scenario();
        println!("ok: {name} ({:.2} s)", start.elapsed().as_secs_f32());
    }
}

/// The limits of a rank, and a setting of it.
#[derive(Clone, Copy, Default)]
struct Limits {
    /// The largest file (`ulimit -f`) in bytes.
    file: Option<u64>,
    /// The address space (`ulimit -v`) in bytes.
    addresses: Option<u64>,
    setting: Option<(&'static str, &'static str)>,
}

/// The ranks of a job, with the pipes to them.
struct Job {
    ranks: Vec<(Child, ChildStdin, BufReader<ChildStdout>)>,
    /// The ranks' cards of both channels, in hexadecimal.
    cards: Vec<String>,
}

impl Job {
    /// Starts `size` ranks that play `role` and passes their cards around.
    fn start(size: u32, role: &str) -> Job {
        Job::start_limited(size, role, |_| Limits::default())
    }

    /// Starts ranks as [`Job::start`], each with limits of its own.
    fn start_limited(size: u32, role: &str, limits: impl Fn(u32) -> Limits) -> Job {
        let mut job = Job::start_unconnected(size, role, limits);
        job.pass_cards();
        job
    }

    fn start_unconnected(size: u32, role: &str, limits: impl Fn(u32) -> Limits) -> Job {
        let ranks = (0..size).map(|me| start_rank(me, size, role, limits(me))).collect();
        let mut job = Job { ranks, cards: Vec::new() };
        job.cards = (0..size as usize).map(|me| job.line(me)).collect();
        job
    }

    fn pass_cards(&mut self) {
        for (_, input, _) in &mut self.ranks {
            writeln!(input, "{}", self.cards.join(" ")).unwrap();
        }
    }

    /// The next line of a rank's output; empty at its end.
    fn line(&mut self, rank: usize) -> String {
        let mut line = String::new();
        self.ranks[rank].2.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn tell(&mut self, rank: usize, word: &str) {
        writeln!(self.ranks[rank].1, "{word}").unwrap();
    }

    fn kill(&mut self, rank: usize) {
        self.ranks[rank].0.kill().unwrap();
        self.ranks[rank].0.wait().unwrap();
    }

    /// Waits for all to end by themselves.
    fn end(mut self, limit: Duration) -> Vec<ExitStatus> {
        let deadline = Instant::now() + limit;
        self.ranks.iter_mut().map(|(child, _, _)| wait_until(child, deadline)).collect()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        for (child, _, _) in &mut self.ranks {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn wait_until(child: &mut Child, deadline: Instant) -> ExitStatus {
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "a rank does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn start_rank(me: u32, size: u32, role: &str, limits: Limits) -> (Child, ChildStdin, BufReader<ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["rank", role, &me.to_string(), &size.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).envs(limits.setting);
    let prepare = move || {
        // SAFETY: system calls that touch no memory but the structure.
        unsafe {
            // Ranks end with this program, however it ends.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            for (resource, bytes) in [(libc::RLIMIT_FSIZE, limits.file), (libc::RLIMIT_AS, limits.addresses)]
            {
                if let Some(bytes) = bytes {
                    libc::setrlimit(resource, &libc::rlimit { rlim_cur: bytes, rlim_max: bytes });
                }
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, which is allowed there.
    unsafe { command.pre_exec(prepare) };
    let mut child = command.spawn().unwrap();
    let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    (child, input, BufReader::new(output))
}

fn all_succeed(job: Job) {
    for (rank, status) in job.end(Duration::from_secs(60)).into_iter().enumerate() {
        assert!(status.success(), "rank {rank}: {status}");
    }
}

fn exchange_works() {
    all_succeed(Job::start(2, "exchange"));
}

fn exchange_works_oversubscribed() {
    all_succeed(Job::start(8, "exchange"));
}

/// 64 ranks: a barrier takes a millisecond or so on two cores; a second means that ranks sleep or
/// spin through it.
fn barriers_work() {
    let mut job = Job::start(64, "barrier");
    let microseconds: u64 = job.line(0).parse().unwrap();
    println!("    {microseconds} us for a barrier of 64 ranks");
    assert!(microseconds < 1_000_000);
    all_succeed(job);
}

fn memory_works() {
    all_succeed(Job::start(3, "memory"));
}

fn the_heap_works() {
    all_succeed(Job::start(3, "heap"));
}

fn file_limit(bytes: u64) -> Limits {
    Limits { file: Some(bytes), ..Limits::default() }
}

/// The findings of two ranks about their heap.
fn heap_findings(limits: impl Fn(u32) -> Limits) -> [String; 2] {
    let mut job = Job::start_limited(2, "findings", limits);
    let lines = [0, 1].map(|rank| job.line(rank));
    all_succeed(job);
    lines.map(|line| line.split("; ").find(|finding| finding.contains("heap")).unwrap().to_owned())
}

fn limits_bound_the_heap() {
    let all = |lines: [String; 2], words: &str| assert!(lines.iter().all(|l| l.contains(words)), "{lines:?}");
    all(heap_findings(|_| file_limit(64 << 20)), "heap for windows: 32 MiB for each rank at most");
    all(heap_findings(|_| file_limit(1 << 20)), "no heap for windows: limits forbid it (ulimit -f: 1048576");
    let addresses = |bytes| Limits { addresses: Some(bytes), ..Limits::default() };
    // Half of a quarter.
    all(heap_findings(|_| addresses(1 << 30)), "heap for windows: 128 MiB for each rank at most");
    let off = Limits { setting: Some(("VERBENA_WINDOW_HEAP", "0")), ..Limits::default() };
    all(heap_findings(|_| off), "no heap for windows: VERBENA_WINDOW_HEAP is 0");
    // The rank that makes the heap has no limit, the other one has.
    let lines = heap_findings(|me| if me == 0 { Limits::default() } else { addresses(1 << 30) });
    assert!(lines[0].starts_with("heap for windows"), "{lines:?}");
    assert!(
        lines[1].contains("no heap for windows") && lines[1].contains("ulimit -v: 1073741824"),
        "{lines:?}"
    );
}

/// The survivor goes on using the memory of the dead.
fn the_heap_outlives_its_ranks() {
    let mut job = Job::start(2, "heir");
    assert_eq!((job.line(0), job.line(1)), ("running".into(), "running".into()));
    let inode = job.line(0);
    assert!(heap_inodes().contains(&inode), "this shows that the search finds it");
    job.kill(1);
    job.tell(0, "it is dead");
    assert_eq!(job.line(0), "used");
    job.kill(0);
    assert!(!heap_inodes().contains(&inode));
}

/// The inodes of all heaps that a process has mapped.
fn heap_inodes() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let maps = processes.filter_map(|process| std::fs::read_to_string(process.path().join("maps")).ok());
    let inodes = |maps: String| -> Vec<String> { maps.lines().filter_map(heap_inode).collect() };
    maps.flat_map(inodes).collect()
}

/// The inode in a line of `/proc/PID/maps` if it is of a heap.
fn heap_inode(line: &str) -> Option<String> {
    line.contains("memfd:verbena-heap").then(|| line.split_whitespace().nth(4).unwrap().to_owned())
}

fn a_file_limit_makes_rings_smaller() {
    let mut job = Job::start_limited(3, "findings", |_| file_limit(256 << 10));
    let findings: Vec<String> = (0..3).map(|rank| job.line(rank)).collect();
    for line in findings {
        assert!(line.contains("rings of 32768 bytes"), "{line}");
    }
    all_succeed(job);
}

fn a_tiny_file_limit_is_a_fault() {
    let mut job = Job::start_limited(3, "findings", |_| file_limit(8 << 10));
    let lines: Vec<String> = (0..3).map(|rank| job.line(rank)).collect();
    for (rank, line) in lines.iter().enumerate() {
        assert!(
            line.contains("ulimit -f): 8192 bytes") && line.contains("what to do:"),
            "rank {rank}: {line}"
        );
    }
    for status in job.end(Duration::from_secs(20)) {
        assert_eq!((status.code(), status.signal()), (Some(3), None));
    }
}

/// The files of Verbena in shared memory.
fn named_memory() -> Vec<String> {
    let files = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = files.map(|f| f.file_name().to_string_lossy().into_owned());
    names.filter(|n| n.contains("verbena")).collect()
}

/// Named shared memory of Verbena that was not there before, and the sockets whose names are in
/// these cards (bytes 9 to 16).
fn traces(before: &[String], cards: &[String]) -> Vec<String> {
    let mut all: Vec<String> = named_memory().into_iter().filter(|n| !before.contains(n)).collect();
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
    for card in cards {
        let bytes: Vec<&str> = (9..17).rev().map(|at| &card[2 * at..2 * at + 2]).collect();
        all.extend(sockets.lines().filter(|l| l.contains(&bytes.concat())).map(String::from));
    }
    all
}

fn a_killed_job_leaves_nothing() {
    // Killed before it connects, a rank still listens: this shows that the search finds what it
    // looks for.
    let before = named_memory();
    let mut job = Job::start_unconnected(3, "chatter", |_| Limits::default());
    assert_eq!(traces(&before, &job.cards).len(), 3);
    job.pass_cards();
    for rank in 0..3 {
        assert_eq!(job.line(rank), "running");
    }
    (0..3).for_each(|rank| job.kill(rank));
    assert_eq!(traces(&before, &job.cards), [""; 0]);
}

/// The survivor goes on sending into the ring of the dead and reading its memory: full, and a
/// fault.
fn a_killed_partner_is_survived() {
    let mut job = Job::start(2, "survivor");
    assert_eq!(job.line(1), "running");
    assert_eq!(job.line(0), "running");
    job.kill(1);
    job.tell(0, "it is dead");
    assert_eq!(job.line(0), "full");
    assert!(job.line(0).contains("that process ended"));
    let status = job.ranks[0].0.wait().unwrap();
    assert!(status.success(), "{status}");
}
