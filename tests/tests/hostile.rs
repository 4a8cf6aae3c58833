//! Dead ranks and closed standard streams: the job ends at once and says why, or goes on.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};
use verbena_tests::{Ended, build_dir, job, program, shell, staged};

/// One second is promised from a rank's death to the job's end; another is for a busy machine.
const END_MAX: Duration = Duration::from_secs(2);

/// A running job of `busy` under a program name of its own.
struct Busy {
    name: String,
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
    pids: Vec<i32>,
}

impl Busy {
    /// Starts `busy WAY [WHO]` as `name`.
    fn start(ranks: u32, name: String, arguments: &[&str]) -> Busy {
        let copy = build_dir().join(&name);
        std::fs::copy(program("busy"), &copy).expect("copy");
        let mut job = job(ranks, &copy).args(arguments);
        let mut child = job.command().stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("spawn");
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        Busy { name, child, lines, pids: vec![0; ranks as usize] }
    }

    /// The process of this rank, once it has said so.
    fn pid(&mut self, rank: usize) -> i32 {
        while self.pids[rank] == 0 {
            let line = self.lines.next().expect("more lines").expect("utf-8");
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["rank", rank, "is", "process", pid] = words[..] else { panic!("unexpected: {line}") };
            self.pids[rank.parse::<usize>().expect("a rank")] = pid.parse().expect("a process");
        }
        self.pids[rank]
    }

    /// Kills the rank hard after a pause, and returns the output of `mpiexec`. The job must be over
    /// in time.
    fn kill(mut self, rank: usize, pause: Duration) -> (bool, String) {
        let pid = self.pid(rank);
        std::thread::sleep(pause);
        // The rank may have ended by itself: then there is nobody to kill, and that is fine.
        // SAFETY: a plain system call; the process is a rank of our own job, or a zombie of it.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        let killed = Instant::now();
        let said: Vec<String> = self.lines.map(|line| line.expect("utf-8")).collect();
        let status = self.child.wait().expect("wait");
        assert!(killed.elapsed() < END_MAX, "{}: took {:?}", self.name, killed.elapsed());
        nothing_runs(&self.name);
        (status.success(), said.join("\n"))
    }
}

/// Checks that no process of this job is there, `mpiexec` included, after a moment for the kernel
/// to clear up.
#[track_caller]
fn nothing_runs(name: &str) {
    let patience = Instant::now();
    while !running(name).is_empty() {
        assert!(patience.elapsed() < Duration::from_secs(3), "left behind: {:?}", running(name));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns all processes whose command line has this text, those of other jobs too.
fn running(text: &str) -> Vec<String> {
    let proc = std::fs::read_dir("/proc").expect("/proc").flatten();
    let lines = proc.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(text)).collect()
}

/// Kills the rank `victim` of a job that talks in this way, `pause_us` after it has started.
fn kill_one(way: &str, victim: usize, pause_us: u64) {
    let job = Busy::start(4, format!("busy-{way}-{victim}-{pause_us}"), &[way, &victim.to_string()]);
    let (success, said) = job.kill(victim, Duration::from_micros(pause_us));
    assert!(!success, "{way} {victim} {pause_us}: {said}");
    assert!(said.contains(&format!("Rank {victim} ")) && said.contains("SIGKILL"), "{way}: {said}");
}

#[test]
fn a_rank_killed_while_it_talks_ends_the_job() {
    for (way, victim, pause_ms) in
        [("small", 0, 50), ("small", 1, 20), ("collective", 2, 31), ("collective", 0, 60), ("wait", 3, 100)]
    {
        kill_one(way, victim, pause_ms * 1000);
    }
}

#[test]
fn a_rank_killed_in_a_large_transfer_ends_the_job() {
    for (victim, pause_us) in [(0, 90_000), (1, 17_000), (2, 40_300), (3, 60_700)] {
        kill_one("large", victim, pause_us);
    }
}

/// Kills from the line before `MPI_Init` on, in steps that are finer than the time of `MPI_Init`.
#[test]
fn a_rank_killed_in_init_ends_the_job() {
    for step in 0..12 {
        kill_one("small", step % 4, 250 * step as u64);
    }
}

/// Every rank but the victim is inside `MPI_Finalize`; or the victim too, and then it may get away.
#[test]
fn a_rank_killed_around_finalize_ends_the_job() {
    for victim in 0..4 {
        let job = Busy::start(4, format!("busy-finalize-{victim}"), &["finalize", &victim.to_string()]);
        let (success, said) = job.kill(victim, Duration::from_millis(60));
        assert!(!success && said.contains(&format!("Rank {victim} ")), "{said}");
    }
    for step in 0..16_usize {
        let job = Busy::start(4, format!("busy-finalize-race-{step}"), &["finalize"]);
        let (success, said) = job.kill(step % 4, Duration::from_micros(400 * step as u64));
        assert!(success || said.contains("SIGKILL"), "{said}");
    }
}

#[test]
fn several_ranks_killed_at_once_end_the_job() {
    let mut job = Busy::start(4, "busy-several".into(), &["large"]);
    // All must have said who they are before the first dies: the job may be over before the last
    // would.
    let pids = [0, 1, 2, 3].map(|rank| job.pid(rank));
    for &pid in &pids[1..] {
        // A rank may be gone already, with the job, because of the one before: that is what is
        // wanted. SAFETY: a plain system call on a rank of our own job, or a zombie of it.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    let (success, said) = job.kill(0, Duration::ZERO);
    assert!(!success && said.contains("SIGKILL"), "{said}");
}

#[test]
fn a_killed_mpiexec_takes_its_ranks_along() {
    let mut job = Busy::start(4, "busy-orphan".into(), &["small"]);
    for rank in 0..4 {
        job.pid(rank);
    }
    // The child is `timeout`; mpiexec is its child.
    let children = format!("/proc/{0}/task/{0}/children", job.child.id());
    let mpiexec = std::fs::read_to_string(children).expect("children").trim().parse().expect("one child");
    // SAFETY: a plain system call on a process of our own.
    assert_eq!(unsafe { libc::kill(mpiexec, libc::SIGKILL) }, 0);
    job.child.wait().expect("wait");
    nothing_runs("busy-orphan");
}

/// Runs this line of shell with `$mpiexec` and `$program` (`collectives`) set.
fn line(text: &str) -> Ended {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "60", "sh", "-c", text]);
    command.env("mpiexec", staged("bin/mpiexec")).env("program", program("collectives"));
    shell(&mut command)
}

/// Descriptors 0 to 2 that are closed at the start are given to the first files, sockets and memory
/// that are opened: nothing printed may end up in them.
#[test]
fn mpiexec_with_closed_streams() {
    let ended = line("$mpiexec -n 3 $program 3 <&-");
    assert!(ended.stdout.contains("collectives: ok with 3 ranks"), "{ended:?}");
    let ended = line("$mpiexec -n 3 $program 3 2>&-");
    assert!(ended.stdout.contains("collectives: ok with 3 ranks"), "{ended:?}");
    // Nowhere to print to: the job must still run, to its good end or with a clear word about the
    // output.
    let ended = line("$mpiexec -n 3 $program 3 >&- || echo code $?");
    assert!(ended.stdout.is_empty() || ended.stderr.contains("output"), "{ended:?}");
    line("$mpiexec -n 3 $program 3 <&- >&- 2>&- || [ $? -lt 128 ]");
}

#[test]
fn ranks_with_closed_streams() {
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        line(&format!("$mpiexec -n 3 sh -c 'exec $0 3 {closed}' $program"));
    }
}

/// The reader of the output goes away, as `head` does: the job ends and does not run for ever.
#[test]
fn a_reader_that_goes_away() {
    let ended = line("$mpiexec -n 2 sh -c 'while :; do echo y; done' | head -n 2");
    assert_eq!(ended.stdout, "y\ny\n");
    assert!(ended.took < Duration::from_secs(20), "{ended:?}");
}

/// A program closes descriptors that it has not opened, and perhaps gives their numbers to its own
/// sockets. It gets an error, and nothing of ours goes there. Above all it is not N worlds of one
/// with exit code 0.
#[test]
fn a_program_that_closes_the_line_to_mpiexec() {
    for (when, words) in [
        ("before", "This rank has no line to mpiexec"),
        ("after", "The program closed descriptors of the library"),
    ] {
        for reuse in [&[][..], &["reuse"]] {
            let ended = job(2, program("closed_pmi_line")).arg(when).args(reuse).run();
            assert!(ended.code != 0 && !ended.hung, "{when} {reuse:?}: {ended:?}");
            // With a socket of its own to look at, the program lets MPI_Finalize return the error
            // without words.
            let told = ended.stderr.contains(words) || (when == "after" && !reuse.is_empty());
            assert!(told, "{when} {reuse:?}: {ended:?}");
            assert!(!ended.stderr.contains("a stranger wrote"), "{when} {reuse:?}: {ended:?}");
        }
    }
}
