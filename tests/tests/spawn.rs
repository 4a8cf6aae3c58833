//! Processes that come while the program runs: spawned ones, and those of another job.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use verbena_tests::peers::MPICH;
use verbena_tests::{Ended, Job, job, program, scratch, staged};

/// A variable that all processes of a run have, and those that they spawn.
const MARK: &str = "SPAWN_TEST_RUN";

/// A mark that no other run has.
fn new_mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The processes with this mark that live, by number. A process that has ended and was not waited
/// for has no environment any more.
fn living(mark: &str) -> Vec<u32> {
    let wanted = format!("{MARK}={mark}");
    let is_marked =
        |environment: Vec<u8>| environment.split(|byte| *byte == 0).any(|e| e == wanted.as_bytes());
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|pid| std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(is_marked)).collect()
}

/// Panics if processes of this run still live after a while: a launcher that nobody waits for ends
/// a little later than its ranks.
#[track_caller]
fn nobody_is_left(mark: &str) {
    let until = Instant::now() + Duration::from_secs(20);
    while !living(mark).is_empty() {
        assert!(Instant::now() < until, "left: {:?}", living(mark));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs a job; nothing of it may be left.
#[track_caller]
fn run(job: Job) -> Ended {
    let mark = new_mark();
    let ended = job.env(MARK, &mark).run();
    nobody_is_left(&mark);
    ended
}

#[track_caller]
fn passes(ended: Ended, name: &str, ranks: u32) -> Ended {
    let ended = ended.ok();
    assert!(ended.stdout.contains(&format!("{name}: ok with {ranks} ranks")), "{ended:?}");
    ended
}

fn spawns(ranks: u32, arguments: &[&str]) -> Job {
    job(ranks, program("spawns")).args(arguments)
}

/// A program without a launcher.
fn alone(program: &Path, arguments: &[&str]) -> Ended {
    let mut command = Command::new("timeout");
    let mark = new_mark();
    command.args(["-k", "5", "120"]).arg(program).args(arguments).stdin(Stdio::null()).env(MARK, &mark);
    let start = Instant::now();
    let output = command.output().expect("timeout starts");
    nobody_is_left(&mark);
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        took: start.elapsed(),
        hung: false,
    }
}

#[test]
fn four_processes_are_spawned_and_merged() {
    for ranks in [1, 2, 3] {
        passes(run(spawns(ranks, &["merge"])), "spawns", ranks);
    }
}

#[test]
fn a_process_without_a_launcher_spawns() {
    for way in ["merge", "multiple", "arguments", "missing"] {
        passes(alone(&program("spawns"), &[way]), "spawns", 1);
    }
}

#[test]
fn arguments_variables_and_info_reach_the_spawned() {
    passes(run(spawns(2, &["arguments"])), "spawns", 2);
}

#[test]
fn several_programs_are_spawned_as_one_world() {
    passes(run(spawns(2, &["multiple"])), "spawns", 2);
}

#[test]
fn a_command_that_does_not_exist_is_an_error_and_spawning_goes_on() {
    passes(run(spawns(2, &["missing"])), "spawns", 2);
}

#[test]
fn an_argument_that_is_wrong_at_the_root_fails_all_ranks() {
    passes(run(job(2, program("spawn_errors"))), "spawn_errors", 2);
    passes(run(connects(2, &["wrong"])), "connects", 2);
}

#[test]
fn the_launcher_and_the_key_of_a_spawn_give_the_initial_error_handler() {
    for name in ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"] {
        let job = Job::under(&staged("bin/mpiexec"), 2).args(["-initial-errhandler", name]);
        passes(run(job.arg(program("initial_errors")).arg(name)), "initial_errors", 2);
    }
    // Without the option errors are fatal.
    passes(run(job(1, program("initial_errors")).arg("mpi_errors_are_fatal")), "initial_errors", 1);
}

#[test]
fn the_launcher_and_the_keys_of_spawns_and_sessions_ask_for_kinds_of_memory() {
    let asked = ["-memory-alloc-kinds", "cuda,mpi:alloc_mem"];
    let asked = Job::under(&staged("bin/mpiexec"), 2).args(asked).arg(program("memory_kinds"));
    passes(run(asked.arg("mpi,system,mpi:alloc_mem")), "memory_kinds", 2);
    let job = job(1, program("memory_kinds")).args(["mpi,system", "mpi:win_allocate_shared:alloc_mem"]);
    passes(run(job), "memory_kinds", 1);
}

/// The spawned processes' lines have labels too.
#[test]
fn labels_reach_the_spawned() {
    let job = Job::under(&staged("bin/mpiexec"), 1).arg("-l").arg(program("spawns")).arg("first");
    let ended = run(job).ok();
    assert!(ended.stdout.contains("[0] the child is done\n"), "{ended:?}");
}

/// A job and the one that it spawns write to files of their own.
#[test]
fn the_output_of_the_spawned_goes_to_files_of_their_own() {
    let folder = scratch("spawned-output");
    let place = |name: &str| folder.join(name).display().to_string();
    let says = |name: &str, [text, other]: [&str; 2]| {
        let found = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(found.contains(text) && !found.contains(other), "{name}: {found}");
    };
    for (options, of_parent, of_child) in [
        (["-outfile-pattern", &place("a/%r")], "a/0", "a/0.job1"),
        (["-outfile-pattern", &place("b/%g.%r")], "b/0.0", "b/1.0"),
        (["--output-filename", &place("c:nocopy")], "c/1/rank.0/stdout", "c/2/rank.0/stdout"),
    ] {
        let job = Job::under(&staged("bin/mpiexec"), 1).args(options).arg(program("spawns")).arg("first");
        assert_eq!(run(job).ok().stdout, "", "{options:?}");
        let [parents, childs] = ["spawns: ok", "the child is done"];
        says(of_parent, [parents, childs]);
        says(of_child, [childs, parents]);
    }
    let job = Job::under(&staged("bin/mpiexec"), 1).args(["-outfile-pattern", "/dev/null"]);
    assert_eq!(run(job.arg(program("spawns")).arg("first")).ok().stdout, "");
}

/// The processors that a job, and the two that it spawns one after the other, may run on.
fn places(options: &[&str], info: &[&str]) -> Vec<String> {
    let job = Job::under(&staged("bin/mpiexec"), 1).args(options).arg(program("spawns"));
    let ended = passes(run(job.arg("placed").args(info)), "spawns", 1);
    let places = ended.stdout.lines().filter_map(|line| line.split_once(" may run on "));
    places.map(|(_, list)| list.to_owned()).collect()
}

#[test]
fn the_spawned_are_bound_behind_those_that_spawned_them() {
    let everywhere = places(&[], &[]);
    assert_eq!(everywhere, vec![everywhere[0].clone(); 3], "nobody is bound unless asked for");
    let cores = std::thread::available_parallelism().map_or(1, |number| number.get());
    let bound = places(&["--bind-to", "hwthread"], &[]);
    let different: std::collections::HashSet<&String> = bound.iter().collect();
    assert_eq!((bound.len(), different.len()), (3, cores.min(3)), "{bound:?}");
    // By the launcher's option the parent is bound, by the keys the children are.
    for key in ["bind_to", "map_by"] {
        let bound = places(&[], &[key, "hwthread"]);
        let is_one = |list: &String| list.parse::<u32>().is_ok();
        assert_eq!(bound[0], everywhere[0], "{key}");
        assert!(bound[1..].iter().all(is_one), "{key}: {bound:?}");
        assert_eq!(bound[1] != bound[2], cores > 1, "the second behind the first, {key}: {bound:?}");
    }
    let unbound = places(&["--bind-to", "hwthread"], &["bind_to", "none"]);
    assert_eq!(unbound[1..], everywhere[1..], "the key goes before the option");
}

/// The number of rounds that the variable asks for, or those that `make test` has time for.
fn rounds(variable: &str, short: u32) -> String {
    std::env::var(variable).unwrap_or(short.to_string())
}

/// A job under our launcher that may take an hour.
fn long(ranks: u32, program_name: &str, arguments: &[&str]) -> Job {
    Job::limited(&staged("bin/mpiexec"), ranks, 3600).arg(program(program_name)).args(arguments)
}

/// Shows what was held, at three times.
#[track_caller]
fn did_not_grow(ended: Ended, name: &str, ranks: u32) {
    let ended = passes(ended, name, ranks);
    eprint!("{}", ended.stderr);
    assert!(ended.stderr.contains("'s launcher after "), "{ended:?}");
}

#[test]
fn spawning_in_a_loop_takes_no_more_memory_or_descriptors() {
    let rounds = rounds("VERBENA_SPAWNS", 40);
    did_not_grow(run(long(1, "spawns", &["again", &rounds, "4"])), "spawns", 1);
    did_not_grow(run(long(2, "spawns", &["again", "20", "2"])), "spawns", 2);
}

#[test]
fn a_job_ends_when_its_spawned_processes_have() {
    let ended = passes(run(spawns(1, &["first"])), "spawns", 1);
    assert!(ended.stdout.contains("the child is done"), "{ended:?}");
    passes(run(spawns(1, &["forgets"])), "spawns", 1);
}

#[test]
fn who_waits_for_a_spawned_process_learns_of_its_death() {
    for (way, code) in [("killed", 137), ("aborted", 7)] {
        for ranks in [1, 2] {
            let ended = run(spawns(ranks, &[way]));
            let says = format!("spawns: ok with {ranks} ranks");
            assert!(!ended.hung && ended.stdout.contains(&says), "{ended:?}");
            assert_eq!(ended.code, code, "the job failed: {ended:?}");
        }
    }
}

#[test]
fn who_needs_nothing_of_a_spawned_process_hears_of_its_death_from_others() {
    let ended = run(spawns(4, &["amid"]));
    assert!(!ended.hung && ended.stdout.contains("spawns: ok with 4 ranks"), "{ended:?}");
}

/// MPI-5.0, 11.10.4: jobs that are disconnected are independent.
#[test]
fn the_spawned_outlive_a_program_that_fails_once_they_have_parted() {
    let ended = run(spawns(1, &["parts_and_dies"]));
    assert!(ended.code == 137 && ended.stdout.contains("the child is done"), "{ended:?}");
    // So do those of a program a part of which has finalised without the rest.
    let job = Job::under(&staged("bin/mpiexec"), 2).args(["--with-ft", "mpi"]).arg(program("spawns"));
    let ended = run(job.arg("apart"));
    assert!(ended.stdout.contains("the child is done"), "{ended:?}");
    // The rank that called for them need not live until then.
    let job = Job::under(&staged("bin/mpiexec"), 3).args(["--with-ft", "mpi"]).arg(program("spawns"));
    let ended = run(job.arg("parts_without_root"));
    assert!(ended.stdout.contains("the child is done"), "{ended:?}");
}

/// The spawned are connected with a job until none of its ranks is with them.
#[test]
fn the_spawned_end_with_an_abort_of_any_rank_that_is_connected() {
    for (way, ranks) in [("leaves_others", 4), ("leaves_others", 3), ("kept", 2)] {
        let job = Job::limited(&staged("bin/mpiexec"), ranks, 30).args(["--with-ft", "mpi"]);
        let ended = run(job.arg(program("spawns")).arg(way));
        assert!(!ended.hung && ended.took.as_secs() < 20, "{way} {ranks}: {ended:?}");
        assert!(ended.stderr.contains("MPI_Abort was called"), "{way} {ranks}: {ended:?}");
    }
}

#[test]
fn a_message_to_a_spawned_process_is_received_while_its_sender_leaves() {
    let ended = passes(run(spawns(1, &["early"])), "spawns", 1);
    assert!(ended.stdout.contains("the child has it"), "{ended:?}");
    assert!(!ended.stderr.contains("warning"), "{ended:?}");
}

/// Messages of short and long kinds go over each channel that reaches processes of the node. Both
/// jobs must have the setting alike, so the spawned get what all programs get.
#[test]
fn spawned_processes_are_reached_by_any_channel() {
    for channels in ["loopback,shm", "loopback,ofi"] {
        let job = Job::under(&staged("bin/mpiexec"), 2).args(["-genv", "VERBENA_CHANNELS", channels]);
        passes(run(job.arg(program("spawns")).arg("merge")), "spawns", 2);
    }
}

/// Each host has an agent here; the spawned processes are placed on the same hosts.
#[test]
fn processes_are_spawned_on_several_hosts() {
    for way in ["merge", "multiple", "missing"] {
        let job = Job::under(&staged("bin/mpiexec"), 2).args(["--launcher", "fork", "-host", "a:1,b:1"]);
        passes(run(job.arg(program("spawns")).arg(way)), "spawns", 2);
    }
}

#[test]
fn hydra_spawns_for_our_programs() {
    let hydra = MPICH.file("bin/mpiexec");
    for (way, ranks) in [("merge", 2), ("multiple", 2), ("again", 1)] {
        passes(run(Job::under(&hydra, ranks).arg(program("spawns")).args([way, "8"])), "spawns", ranks);
    }
}

/// A program that has spawned two processes; all sleep.
struct Asleep {
    child: Child,
    mark: String,
}

impl Asleep {
    fn start(command: &mut Command) -> Asleep {
        let mark = new_mark();
        command.args([program("spawns").as_os_str(), "asleep".as_ref()]).env(MARK, &mark);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("text");
        assert_eq!(line, "all sleep\n");
        Asleep { child, mark }
    }

    /// The number of the first rank, which is a child of ours or of our child.
    fn rank(&self) -> u32 {
        let of = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = of(self.child.id()).expect("it lives");
        let is_rank = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            // mpiexec has other children, which have its own words.
            line.ends_with(b"asleep\0")
                && !line.starts_with(staged("bin/mpiexec").as_os_str().as_encoded_bytes())
        };
        let mut ranks = children.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(is_rank);
        ranks.next().expect("a rank")
    }

    /// Whatever has happened to the program, all of it ends.
    #[track_caller]
    fn ends(mut self) {
        assert!(!self.child.wait().expect("our child").success());
        nobody_is_left(&self.mark);
    }
}

fn kill(pid: u32, signal: &str) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(status.expect("kill").success());
}

#[test]
fn the_spawned_end_with_a_program_that_fails() {
    for signal in ["-KILL", "-TERM"] {
        let asleep = Asleep::start(Command::new(staged("bin/mpiexec")).args(["-n", "1"]));
        kill(asleep.child.id(), signal);
        asleep.ends();
    }
    let asleep = Asleep::start(Command::new(staged("bin/mpiexec")).args(["-n", "1"]));
    kill(asleep.rank(), "-KILL");
    asleep.ends();
    Asleep::start(Command::new(staged("bin/mpiexec")).args(["--timeout", "2", "-n", "1"])).ends();
    // Without a launcher: the program's words stand behind those of env.
    let asleep = Asleep::start(&mut Command::new("env"));
    kill(asleep.child.id(), "-KILL");
    asleep.ends();
}

fn port_file(name: &str) -> (PathBuf, String) {
    let file = scratch(name).join("port");
    let text = file.to_str().expect("a plain path").to_owned();
    (file, text)
}

/// Runs both at once.
fn together(first: impl FnOnce() -> Ended + Send, second: impl FnOnce() -> Ended) -> (Ended, Ended) {
    std::thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().expect("no panic"), second)
    })
}

fn connects(ranks: u32, arguments: &[&str]) -> Job {
    job(ranks, program("connects")).args(arguments)
}

#[test]
fn two_jobs_connect() {
    let (_file, port) = port_file("two_jobs_connect");
    let (server, client) =
        together(|| run(connects(2, &["accept", &port])), || run(connects(3, &["connect", &port])));
    passes(server, "connects", 2);
    passes(client, "connects", 3);
}

/// `MPIEXEC_PORT_RANGE`: what a firewall lets through.
#[test]
fn the_port_of_a_job_is_in_its_range() {
    let (file, port) = port_file("a_port_in_a_range");
    let range = |job: Job| job.env("MPIEXEC_PORT_RANGE", "41000:41999");
    let (server, client) =
        together(|| run(range(connects(2, &["accept", &port]))), || run(connects(1, &["connect", &port])));
    passes(server, "connects", 2);
    passes(client, "connects", 1);
    let name = std::fs::read_to_string(file).expect("the port's name");
    let number: u16 = name.split(':').nth(3).and_then(|text| text.parse().ok()).expect("a number");
    assert!((41000..=41999).contains(&number), "{name}");
}

#[test]
fn a_process_without_a_launcher_connects_to_a_job() {
    let (_file, port) = port_file("a_process_connects");
    let program = program("connects");
    let (server, client) =
        together(|| run(connects(2, &["accept", &port])), || alone(&program, &["connect", &port]));
    passes(server, "connects", 2);
    passes(client, "connects", 1);
}

#[test]
fn connecting_in_a_loop_takes_no_more_memory_or_descriptors() {
    let (_file, port) = port_file("connecting_in_a_loop");
    let rounds = rounds("VERBENA_CONNECTS", 200);
    let side = |way: &str| run(long(2, "connects", &[way, &port, &rounds]));
    let (server, client) = together(|| side("accept"), || side("connect"));
    did_not_grow(server, "connects", 2);
    did_not_grow(client, "connects", 2);
}

#[test]
fn who_waits_for_another_job_learns_of_its_death() {
    let (_file, port) = port_file("another_job_dies");
    let (server, _) = together(|| run(connects(1, &["lose", &port])), || run(connects(1, &["die", &port])));
    passes(server, "connects", 1);
}

#[test]
fn two_groups_of_one_job_connect() {
    passes(run(connects(4, &["home"])), "connects", 4);
}

#[test]
fn a_published_name_leads_another_job_to_the_port() {
    let names = scratch("published_names");
    let side = |way: &str| run(connects(2, &[way, "a service"]).env("VERBENA_NAMES", &names));
    let (server, client) = together(|| side("publish"), || side("look_up"));
    passes(server, "connects", 2);
    passes(client, "connects", 2);
    assert_eq!(std::fs::read_dir(&names).expect("the directory").count(), 0, "nothing is left");
}

#[test]
fn a_name_goes_with_the_process_that_published_it() {
    let job = Job::under(&staged("bin/mpiexec"), 3).args(["--with-ft", "mpi"]).arg(program("connects"));
    let job = job.args(["orphaned", "a service"]).env("VERBENA_NAMES", scratch("orphaned_names"));
    passes(run(job), "connects", 3);
}

#[test]
fn a_published_port_comes_back_as_it_was() {
    let names = scratch("odd_ports");
    for pmi in ["auto", "1"] {
        let job = connects(1, &["odd_ports", "a service"]).env("VERBENA_PMI", pmi);
        passes(run(job.env("VERBENA_NAMES", &names)), "connects", 1);
        // The library takes back what the program does not.
        assert_eq!(std::fs::read_dir(&names).expect("the directory").count(), 0, "nothing is left");
    }
}

#[test]
fn wrong_ports_are_refused_in_bounded_time() {
    let job = connects(1, &["refused"]).env("VERBENA_CONNECT_SECONDS", "2");
    let ended = passes(run(job), "connects", 1);
    assert!(ended.took.as_secs() < 60, "{ended:?}");
}

#[test]
fn a_socket_joins_two_processes() {
    passes(alone(&program("connects"), &["join"]), "connects", 1);
}
