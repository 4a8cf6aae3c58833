//! Programs that hang, and what `mpiexec` says of them: who waits for whom, and why. A job that is
//! only slow is told nothing.

#[path = "hang/languages.rs"]
mod languages;
#[path = "hang/objects.rs"]
mod objects;
#[path = "hang/outside.rs"]
mod outside;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;
use verbena_testing::{Lack, skip};
use verbena_tests::{Ended, Job, build_dir, compile, staged, top};

/// The time without progress after which the jobs here are told of, in seconds.
const HANG_SECONDS: &str = "1";
/// The time limit of a job that hangs.
const TIMEOUT: [&str; 2] = ["--timeout", "3"];

fn source(file: &str) -> PathBuf {
    top().join("tests/programs/hang").join(file)
}

/// A place for a program that no other test writes.
fn place(name: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    build_dir().join(format!("hang-{name}.{}.{count}", std::process::id()))
}

fn program(name: &str) -> PathBuf {
    let out = place(name);
    compile(&staged("bin/mpicc"), &source(&format!("{name}.c")), &out, &[]);
    out
}

/// Runs a program that hangs until its time limit.
fn run(ranks: u32, options: &[&str], program: &Path) -> Ended {
    let job = Job::under(&staged("bin/mpiexec"), ranks).args(TIMEOUT).args(options);
    job.arg(program).env("VERBENA_HANG_SECONDS", HANG_SECONDS).run()
}

/// Demands that the job was told of once, with these words, and ended by its time limit.
#[track_caller]
fn says(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, 124, "{ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "no \"{word}\" in stderr:\n{}", ended.stderr);
    }
    let reports = ended.stderr.matches("(2 ranks):").count() + ended.stderr.matches("(3 ranks):").count();
    assert!(reports <= 1, "told of more than once:\n{}", ended.stderr);
}

#[track_caller]
fn hangs(ranks: u32, name: &str, words: &[&str]) {
    says(&run(ranks, &[], &program(name)), words);
}

/// The sentence of a process that looks at itself, once, and the advice under it.
#[track_caller]
fn speaks_for_itself(text: &str, sentence: &str, remedy: &str) {
    assert_eq!(text.matches(sentence).count(), 1, "{text}");
    assert!(text.contains(remedy), "{text}");
}

#[test]
fn a_process_without_a_launcher_says_for_what_it_waits() {
    let mut command = Command::new("timeout");
    command.arg("4").arg(program("send_to_self")).env("VERBENA_HANG_SECONDS", HANG_SECONDS);
    let output = command.output().expect("timeout starts");
    let sentence = "verbena: process 0 of 1 gets no further in MPI\n  on: rank 0 waits in MPI_Ssend for rank 0 to \
                    receive 16 MiB with tag 5 on MPI_COMM_WORLD, since ";
    let remedy = "a job of several ranks is started by mpiexec";
    speaks_for_itself(&String::from_utf8_lossy(&output.stderr), sentence, remedy);
}

/// MPICH's launcher, if it is installed.
fn hydra() -> Option<PathBuf> {
    let prefix =
        std::env::var_os("VERBENA_MPICH").map_or_else(|| top().join("target/peers/mpich"), PathBuf::from);
    let hydra = prefix.join("bin/mpiexec");
    if !hydra.is_file() {
        skip(Lack::Installed, "MPICH is not installed; run `cargo xtask peers --quick`");
        return None;
    }
    Some(hydra)
}

#[test]
fn ranks_under_mpichs_launcher_say_for_what_they_wait() {
    let Some(hydra) = hydra() else { return };
    let job = Job::under(&hydra, 2).arg(program("two_receives")).env("MPIEXEC_TIMEOUT", "5");
    each_says_for_what_it_waits(&job.env("VERBENA_HANG_SECONDS", HANG_SECONDS).run());
}

#[test]
fn a_process_tells_of_each_silence_of_one_wait() {
    let Some(hydra) = hydra() else { return };
    let job = Job::under(&hydra, 3).arg(program("two_silences"));
    let ended = job.env("VERBENA_HANG_SECONDS", HANG_SECONDS).run().ok();
    let told = ended.stderr.matches("verbena: process 0 of 3 gets no further in MPI").count();
    assert_eq!(told, 2, "{}", ended.stderr);
}

#[test]
fn ranks_under_open_mpis_launcher_say_for_what_they_wait() {
    let prefix =
        std::env::var_os("VERBENA_OPENMPI").map_or_else(|| top().join("target/peers/openmpi"), PathBuf::from);
    let prterun = prefix.join("bin/prterun");
    if !prterun.is_file() {
        return skip(
            Lack::Optional,
            "Open MPI is not installed; run `cargo xtask peers`, or set VERBENA_OPENMPI",
        );
    }
    let options = ["--allow-run-as-root", "--oversubscribe", "-x", "VERBENA_HANG_SECONDS"];
    let job = Job::limited(&prterun, 2, 6).args(options).arg(program("two_receives"));
    each_says_for_what_it_waits(&job.env("VERBENA_HANG_SECONDS", HANG_SECONDS).run());
}

#[track_caller]
fn each_says_for_what_it_waits(ended: &Ended) {
    for (rank, other) in [(0, 1), (1, 0)] {
        let sentence = format!(
            "verbena: process {rank} of 2 gets no further in MPI\n  on: rank {rank} waits in MPI_Recv for a message \
             from rank {other} with tag 5 on MPI_COMM_WORLD, since "
        );
        speaks_for_itself(&ended.stderr, &sentence, "start the job with Verbena's mpiexec");
    }
}

#[test]
fn two_blocking_sends() {
    hangs(
        2,
        "two_sends",
        &[
            "mpiexec: No rank has got any further in MPI for ",
            "rank 0 waits in MPI_Send for rank 1 to receive 1 MiB with tag 5 on MPI_COMM_WORLD, at main (two_sends.c:14)",
            "rank 1 waits in MPI_Send for rank 0 to receive 1 MiB with tag 5 on MPI_COMM_WORLD, at main (two_sends.c:14)",
            "likely cause: ranks 0, 1 send to each other first",
            "what to do: let one of them receive first, or use MPI_Sendrecv",
        ],
    );
}

#[test]
fn a_ring_of_synchronous_sends() {
    hangs(
        3,
        "ring_of_sends",
        &["rank 2 waits in MPI_Ssend for rank 0", "ranks 0-2 send to each other first"],
    );
}

#[test]
fn two_receives() {
    hangs(
        2,
        "two_receives",
        &[
            "rank 0 waits in MPI_Recv for a message from rank 1 with tag 5",
            "ranks 0, 1 each wait for a message from the next",
        ],
    );
}

#[test]
fn a_wrong_tag() {
    hangs(
        2,
        "wrong_tag",
        &[
            "rank 1 waits in MPI_Barrier (collective 1 on MPI_COMM_WORLD) for rank 0",
            "likely cause: rank 0 waits for tag 7 from rank 1, which sent tag 8\n",
        ],
    );
}

#[test]
fn a_wrong_communicator() {
    hangs(
        2,
        "wrong_communicator",
        &["rank 0 waits for tag 7 from rank 1 on MPI_COMM_WORLD; rank 1 sent it on mine"],
    );
}

#[test]
fn a_wrong_source() {
    hangs(3, "wrong_source", &["rank 0 waits for tag 7 from rank 1; rank 2 sent one with that tag"]);
}

#[test]
fn a_rank_missing_in_a_barrier() {
    hangs(
        3,
        "missing_in_barrier",
        &[
            "ranks 0, 1 wait in MPI_Barrier (collective 3 on MPI_COMM_WORLD) for rank 2",
            "rank 2 is not in MPI_Barrier (collective 3 on MPI_COMM_WORLD), in which the others are; it waits in \
         MPI_Recv for a message from rank 0 with tag 9",
        ],
    );
}

#[test]
fn a_rank_missing_in_a_split() {
    hangs(3, "missing_in_split", &["ranks 0, 2 wait in MPI_Comm_split", "rank 1 is not in MPI_Comm_split"]);
}

#[test]
fn a_rank_missing_in_a_nonblocking_barrier() {
    hangs(
        3,
        "missing_in_ibarrier",
        &[
            "wait in MPI_Wait for the others in MPI_Barrier (nonblocking collective 1 on MPI_COMM_WORLD)",
            "rank 1 is not in MPI_Barrier (nonblocking collective 1 on MPI_COMM_WORLD)",
        ],
    );
}

#[test]
fn barriers_of_different_communicators() {
    hangs(
        2,
        "different_communicators",
        &["ranks 0, 1 are in different collectives (MPI_Barrier on first; MPI_Barrier on second)"],
    );
}

#[test]
fn different_collectives() {
    hangs(2, "different_calls", &["(MPI_Allreduce on MPI_COMM_WORLD; MPI_Bcast on mine)"]);
}

#[test]
fn a_lock_that_is_never_freed() {
    hangs(
        3,
        "lock_never_freed",
        &[
            "rank 2 waits in MPI_Win_lock for the exclusive lock of rank 1's part of window table, which rank 0 holds",
            "rank 0 holds it and has not called MPI_Win_unlock",
        ],
    );
}

/// One by messages, which the target carries out.
#[test]
fn a_flush_to_a_target_that_was_stopped() {
    let program = program("flush_stopped");
    let job = Job::under(&staged("bin/mpiexec"), 2).args(TIMEOUT).arg(program);
    let job = job.env("VERBENA_WINDOW_HEAP", "0").env("VERBENA_CMA", "0");
    let ended = job.env("VERBENA_HANG_SECONDS", HANG_SECONDS).run();
    let words = "rank 0 waits in MPI_Win_flush for one-sided operations on window table at rank 1";
    says(&ended, &[words, "rank 1 is stopped"]);
}

#[test]
fn a_target_that_never_posts() {
    hangs(
        2,
        "post_missing",
        &["rank 0 waits in MPI_Put for rank 1 at window table", "rank 0 is not in MPI_Barrier"],
    );
}

#[test]
fn short_sends_that_wait_for_room() {
    hangs(
        2,
        "full_room",
        &[
            "rank 0 waits in MPI_Send for room at rank 1",
            "likely cause: rank 1 has its room for messages of rank 0 that no receive asked for full \
             (VERBENA_UNEXPECTED_BYTES_MAX, 4 MiB)",
        ],
    );
}

#[test]
fn a_rank_missing_in_the_collective_that_makes_the_board() {
    hangs(
        2,
        "missing_in_fourth",
        &[
            "rank 1 waits in MPI_Barrier (collective 4 on MPI_COMM_WORLD) for rank 0",
            "likely cause: rank 0 is not in MPI_Barrier (collective 4 on MPI_COMM_WORLD), in which",
        ],
    );
}

#[test]
fn a_rank_that_is_stopped() {
    hangs(
        2,
        "stopped",
        &["rank 1 is stopped by a signal (SIGSTOP, or Ctrl-Z)", "what to do: let it go on: kill -CONT "],
    );
}

#[test]
fn one_of_several_messages() {
    hangs(
        2,
        "waitall",
        &["rank 0 waits in MPI_Waitall for a message from rank 1 with tag 2", "rank 0 is not in MPI_Barrier"],
    );
}

#[test]
fn any_of_several_messages() {
    hangs(
        2,
        "waitany",
        &[
            "ranks 0, 1 wait in MPI_Waitany for a message from any rank with tag 1 on MPI_COMM_WORLD, or for a message \
         from any rank with tag 2",
            "rank 0 waits for a message that no rank has sent",
        ],
    );
}

#[test]
fn a_probe() {
    hangs(2, "probe", &["rank 0 waits in MPI_Probe", "rank 0 waits for tag 7 from rank 1, which sent tag 6"]);
}

#[test]
fn a_send_to_oneself() {
    let ended = run(1, &[], &program("send_to_self"));
    says(&ended, &["rank 0 sends to itself and receives only afterwards"]);
}

#[test]
fn a_rank_that_is_not_in_finalize() {
    hangs(3, "finalize", &["ranks 0, 2 wait in MPI_Finalize", "rank 1 is not in MPI_Finalize"]);
}

#[test]
fn a_rank_that_has_left() {
    hangs(
        2,
        "left",
        &[
            "rank 0 waits in MPI_Recv for a message from rank 1 with tag 3 on MPI_COMM_WORLD, at main (left.c:10)",
            "rank 1 waits in MPI_Finalize",
            "rank 0 is not in MPI_Finalize",
        ],
    );
}

#[test]
fn a_thread_that_waits() {
    hangs(2, "thread", &["rank 0 waits in MPI_Recv", "at receive (thread.c:"]);
}

#[test]
fn functions_of_the_program_are_named() {
    hangs(2, "nested", &["at exchange (nested.c:", "called from main (nested.c:"]);
}

#[test]
fn a_rank_that_never_begins() {
    let mpiexec = staged("bin/mpiexec");
    let job = Job::under(&mpiexec, 1).args(TIMEOUT).arg(program("slow"));
    let job = job.args([":", "-n", "1", "sleep", "60"]).env("VERBENA_HANG_SECONDS", HANG_SECONDS);
    says(
        &job.run(),
        &[
            "rank 0 waits in MPI_Init for all others",
            "rank 1 has not called MPI_Init, for which the others wait",
        ],
    );
}

/// The hosts are this one under other names: each has an agent, which reports on its rank.
#[test]
fn ranks_on_two_hosts() {
    let options = ["--launcher", "fork", "-host", "a,b"];
    says(&run(2, &options, &program("two_sends")), &["ranks 0, 1 send to each other first"]);
    says(&run(2, &options, &program("stopped")), &["kill -CONT ", " on b"]);
}

/// `verbena top` tells of a job while it runs, and of one that is not there that it is not.
#[test]
fn a_look_at_a_running_job() {
    let mut command = Command::new(staged("bin/mpiexec"));
    command.args(["--timeout", "20", "-n", "2"]).arg(program("two_sends")).stdin(Stdio::null());
    let mut child = command.stderr(Stdio::null()).spawn().expect("mpiexec starts");
    sleep(Duration::from_secs(3));
    let top = |job: u32| Command::new(staged("bin/verbena")).args(["top", &job.to_string()]).output();
    let (output, absent) = (top(child.id()).expect("verbena is there"), top(1).expect("verbena is there"));
    let ended = Command::new("kill").args(["-KILL", &child.id().to_string()]).status();
    assert!(ended.expect("kill is there").success());
    child.wait().expect("mpiexec ends");
    let page = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    for part in
        ["2 ranks on 1 host", "2 ranks wait in MPI", "waits in MPI_Send for rank 1 to receive", "  shm: "]
    {
        assert!(page.contains(part), "no {part:?} in\n{page}");
    }
    assert!(!absent.status.success());
    assert!(
        String::from_utf8_lossy(&absent.stderr).contains("no mpiexec of this user answers"),
        "{absent:?}"
    );
}

/// A job that a user gives up is explained before the signal is passed on.
#[test]
fn a_job_that_the_user_ends() {
    // A test that runs in the background of a shell ignores SIGINT, and so would mpiexec.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(staged("bin/mpiexec")).args(["--timeout", "60", "-n", "2"]);
    command.arg(program("two_sends")).stdin(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("mpiexec starts");
    sleep(Duration::from_secs(4));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.expect("kill is there").success());
    let output = child.wait_with_output().expect("mpiexec ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("ranks 0, 1 send to each other first"), "{stderr}");
    assert!(stderr.contains("The job was ended by SIGINT"), "{stderr}");
}

/// Ranks that compute for longer than the limit hold the others up, but the job goes on.
#[test]
fn a_job_that_is_only_slow_is_told_nothing() {
    let job = Job::under(&staged("bin/mpiexec"), 2).arg(program("slow"));
    let ended = job.env("VERBENA_HANG_SECONDS", HANG_SECONDS).run().ok();
    assert_eq!((ended.stdout.trim(), ended.stderr.as_str()), ("slow: done", ""));
}

/// A message may yet come from a thread that computes beside the one that waits for it.
#[test]
fn a_job_whose_threads_compute_is_told_nothing() {
    let job = Job::under(&staged("bin/mpiexec"), 2).arg(program("busy_thread"));
    let ended = job.env("VERBENA_HANG_SECONDS", HANG_SECONDS).run().ok();
    assert_eq!((ended.stdout.trim(), ended.stderr.as_str()), ("busy_thread: done", ""));
}

#[test]
fn the_report_can_be_turned_off() {
    let job = Job::under(&staged("bin/mpiexec"), 2).args(TIMEOUT).arg(program("two_sends"));
    let ended = job.env("VERBENA_HANG_SECONDS", "0").run();
    assert_eq!(ended.code, 124, "{ended:?}");
    assert!(!ended.stderr.contains("No rank has got any further"), "{ended:?}");
}
