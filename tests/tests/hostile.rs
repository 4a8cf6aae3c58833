//! What goes wrong on real machines: dead ranks, no shared memory file system, single-copy refused.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};
use verbena_tests::{job, program};

/// Processes whose command line has this text, whoever started them.
fn running(text: &str) -> Vec<String> {
    let proc = std::fs::read_dir("/proc").expect("/proc").flatten();
    let lines = proc.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(text) && !line.contains("mpiexec")).collect()
}

/// Starts `busy WAY`, kills the rank `victim` hard after `delay`, and checks that the job ends at once and says why.
fn kill_one(ranks: u32, way: &str, victim: usize, delay: Duration) {
    let name = format!("busy-{way}-{victim}-{}", delay.as_millis());
    let copy = verbena_tests::build_dir().join(&name);
    std::fs::copy(program("busy"), &copy).expect("copy");
    let mut job = job(ranks, &copy).arg(way);
    let mut child = job.command().stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("spawn");
    let mut lines =
        BufReader::new(child.stderr.take().expect("piped")).lines().map(|line| line.expect("utf-8"));
    let wanted = format!("rank {victim} is process ");
    let pid: i32 =
        lines.find_map(|line| line.split(&wanted).nth(1)?.trim().parse().ok()).expect("the victim's line");
    std::thread::sleep(delay);
    // SAFETY: a plain system call; the process is a rank of our own job.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    let killed = Instant::now();
    let rest: Vec<String> = lines.collect();
    let status = child.wait().expect("wait");
    assert!(killed.elapsed() < Duration::from_secs(2), "took {:?}", killed.elapsed());
    assert!(!status.success());
    let text = rest.join("\n");
    assert!(text.contains(&format!("Rank {victim} ")) && text.contains("SIGKILL"), "{text}");
    assert_eq!(running(&name), Vec::<String>::new(), "something was left behind");
}

#[test]
fn a_killed_rank_ends_the_job_at_any_moment() {
    for (way, victim, delay) in [
        ("small", 0, 5),
        ("small", 1, 50),
        ("large", 1, 17),
        ("collective", 2, 31),
        ("wait", 3, 100),
        ("large", 0, 90),
    ] {
        kill_one(4, way, victim, Duration::from_millis(delay));
    }
}

#[test]
fn a_killed_mpiexec_takes_its_ranks_along() {
    let copy = verbena_tests::build_dir().join("busy-orphan");
    std::fs::copy(program("busy"), &copy).expect("copy");
    let mut job = job(4, &copy).arg("small");
    let mut child = job.command().stderr(Stdio::piped()).spawn().expect("spawn");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    for _ in 0..4 {
        lines.next().expect("a rank's line").expect("utf-8");
    }
    // The child is `timeout`; mpiexec is its child.
    let children =
        std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).expect("children");
    let mpiexec: i32 = children.trim().parse().expect("one child");
    // SAFETY: a plain system call on a process of our own.
    assert_eq!(unsafe { libc::kill(mpiexec, libc::SIGKILL) }, 0);
    child.wait().expect("wait");
    let patience = Instant::now();
    while !running("busy-orphan").is_empty() {
        assert!(patience.elapsed() < Duration::from_secs(3), "left behind: {:?}", running("busy-orphan"));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn closed_standard_streams() {
    let program = program("collectives");
    let mut shell = std::process::Command::new("sh");
    let mpiexec = verbena_tests::staged("bin/mpiexec");
    shell.arg("-c").arg(format!("{} -n 3 {} 3 <&-", mpiexec.display(), program.display()));
    let output = shell.output().expect("sh");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_full_dev_shm_is_no_obstacle() {
    let program = program("point");
    let mpiexec = verbena_tests::staged("bin/mpiexec");
    let script = format!(
        "mount -t tmpfs -o size=4k tmpfs /dev/shm && (cat /dev/zero >/dev/shm/full 2>/dev/null; true) && {} -n 4 {}",
        mpiexec.display(),
        program.display()
    );
    let output =
        std::process::Command::new("unshare").args(["-m", "sh", "-c", &script]).output().expect("unshare");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("point: ok with 4 ranks"));
}

#[test]
fn single_copy_refused_by_the_kernel() {
    let (refuse, point) = (program("refuse"), program("point"));
    // Refused to every rank, and to rank 0 alone: then one side may and the other may not.
    job(3, &refuse).arg(&point).run().ok();
    let ended = job(1, &refuse).arg(&point).arg(":").arg("-n").arg("2").arg(&point).run().ok();
    assert!(ended.stdout.contains("point: ok with 3 ranks"), "{ended:?}");
}

#[test]
fn nothing_is_left_in_the_file_system() {
    let list = || {
        let names =
            |dir| std::fs::read_dir(dir).expect("readable").flatten().map(|e| e.path()).collect::<Vec<_>>();
        let mut all = names("/dev/shm");
        all.extend(names("/tmp").into_iter().filter(|path| path.to_string_lossy().contains("verbena")));
        all.sort();
        all
    };
    let before = list();
    job(4, program("collectives")).arg("5").run().ok();
    assert_eq!(list(), before);
}
