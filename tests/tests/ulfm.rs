//! Jobs that lose processes and go on (ULFM).

use verbena_testing::{Lack, skip};
use verbena_tests::cable::{NAMED, has_libfabric};
use verbena_tests::{Ended, Job, build_dir, compile, job, program, scratch, staged, top};

fn run(ranks: u32, arguments: &[&str]) -> Ended {
    job(ranks, program("ulfm")).args(arguments).run()
}

/// Runs it where nothing but the argument decides, and its ranks find nothing wrong.
#[track_caller]
fn ends_well(ranks: u32, arguments: &[&str]) -> Ended {
    let ended = run(ranks, arguments).ok();
    assert!(ended.stdout.contains("ulfm: ok with "), "{arguments:?}: {ended:?}");
    ended
}

const GOES_ON: &str = "was killed by signal 9 (SIGKILL); the others go on.";

#[test]
fn calls_about_failures_work_when_nobody_fails() {
    ends_well(4, &["nobody"]);
}

/// A setting that some ranks alone have leaves their calls in step with those of the others.
#[test]
fn ranks_of_which_one_is_told_to_survive_stay_in_step() {
    let program = program("collectives");
    let told = ["-env", "VERBENA_LOST_RANKS", "survive"];
    for boards in ["0", "1"] {
        let job = job(2, &program).args([":", "-n", "1"]).args(told).arg(&program);
        job.env("VERBENA_BOARDS", boards).run().ok();
    }
}

#[test]
fn what_is_under_way_on_a_revoked_communicator_ends_and_nothing_begins() {
    ends_well(4, &["revoked"]);
}

#[test]
fn operations_with_a_lost_process_end_with_its_error() {
    let ended =
        ends_well(4, &["lost"]).complains("mpiexec: Rank 3 was killed by SIGKILL; the others went on");
    // The user hears of it at once, with the facts.
    ended.complains(&format!("mpiexec: Rank 3 {GOES_ON}")).complains("rank 3: pid ");
}

#[test]
fn a_program_that_only_polls_hears_of_a_death() {
    for way in 0..7 {
        // Rank 0 says the last line, and is dead.
        let ended = run(3, &["polls", &way.to_string()]).ok();
        ended.complains(&format!("Rank 0 {GOES_ON}"));
    }
}

#[test]
fn the_highest_tags_are_interrupted_and_no_agreement_takes_them() {
    ends_well(3, &["tags"]);
}

#[test]
fn a_program_can_finalize_after_a_death_and_after_its_world_was_revoked() {
    ends_well(4, &["finalize", "revoked", "0"]);
    for seed in 0..10 {
        ends_well(4, &["finalize", "noticed", &seed.to_string()]);
    }
}

#[test]
fn a_program_can_finalize_after_a_death_with_sends_that_nobody_received() {
    for seed in 0..6 {
        let ended = ends_well(4, &["finalize", "unreceived", &seed.to_string()]);
        ended.complains("MPI_Finalize found messages that nobody received, and dropped them");
    }
}

/// The ranks of `ulfm_requests` that are left find nothing wrong.
#[track_caller]
fn requests_end_well(way: &str) {
    let ended = job(4, program("ulfm_requests")).arg(way).run().ok();
    assert!(ended.stdout.contains("ulfm_requests: ok with "), "{way}: {ended:?}");
}

#[test]
fn a_receive_from_any_source_is_in_doubt_until_the_loss_is_acknowledged() {
    requests_end_well("pending");
    requests_end_well("later");
    requests_end_well("several");
    requests_end_well("revoked");
}

#[test]
fn a_shrunk_communicator_is_there_once_its_request_is_complete() {
    requests_end_well("ishrink");
}

#[test]
fn a_death_of_which_nobody_takes_notice_is_a_failure() {
    for seed in 0..20 {
        let ended = run(4, &["finalize", "unnoticed", &seed.to_string()]);
        assert_eq!(ended.code, 137, "{ended:?}");
        // The rank may die when the others have left already.
        ended.complains("Rank 3 was killed by signal 9 (SIGKILL)").complains("rank 3: pid ");
    }
}

/// A network notices that a process has gone before the launcher tells it.
#[test]
fn deaths_over_a_network_have_their_class() {
    if !has_libfabric() {
        return skip(Lack::Installed, "libfabric is not there (Debian: libfabric1)");
    }
    let run = |arguments: &[&str]| {
        let job = Job::under(&staged("bin/mpiexec"), 4).args(["--launcher", NAMED, "-host", "a:2,b:2"]);
        job.arg(program("ulfm")).args(arguments).run().ok()
    };
    for arguments in
        [&["lost"][..], &["polls", "5"], &["finalize", "noticed", "3"], &["finalize", "revoked", "0"]]
    {
        run(arguments);
    }
    for seed in 0..10_u32 {
        let victims = 1 + seed % 3;
        let ended = run(&[&victims.to_string(), &seed.to_string()]);
        let said = format!("left: {} of 4 after {victims} deaths", 4 - victims);
        assert!(ended.stdout.contains(&said), "seed {seed}: {ended:?}");
    }
}

/// Each of the hosts, which are this machine, has an agent of its own.
#[test]
fn deaths_are_told_to_all_hosts_and_acknowledged_by_any() {
    let run = |program_name: &str, arguments: &[&str]| {
        let options = ["--launcher", "fork", "-host", "a:2,localhost,b"];
        let job = Job::under(&staged("bin/mpiexec"), 4).args(options);
        job.arg(program(program_name)).args(arguments).run()
    };
    let ended = run("ulfm", &["lost"]).ok().complains(&format!("mpiexec: Rank 3 {GOES_ON}"));
    assert!(ended.stdout.contains("ulfm: ok with 4 ranks"), "{ended:?}");
    for way in ["0", "3"] {
        run("ulfm", &["polls", way]).ok();
    }
    run("ulfm", &["finalize", "noticed", "1"]).ok();
    assert_eq!(run("ulfm", &["finalize", "unnoticed", "1"]).code, 137);
    assert_eq!(run("ulfm", &["gives_up"]).code, 42);
    assert_eq!(run("unaware", &["polls"]).code, 137);
    for seed in 0..5_u32 {
        let ended = run("ulfm", &["1", &seed.to_string()]).ok();
        assert!(ended.stdout.contains("left: 3 of 4 after 1 deaths"), "seed {seed}: {ended:?}");
    }
}

/// A job on two hosts that loses the last one, with so many ranks.
fn loses_host(launcher: &str, hosts: &str, way: &str, lost: u32) -> Ended {
    let options = ["--launcher", launcher, "-host", hosts];
    let job = Job::under(&staged("bin/mpiexec"), 4).args(options).arg(program("ulfm_host"));
    job.args([way, &lost.to_string()]).run()
}

/// The agent of the last host is killed; its ranks go with it.
#[test]
fn a_lost_host_is_the_death_of_its_ranks_and_the_others_go_on() {
    let mut launchers = vec!["fork"];
    if has_libfabric() {
        launchers.push(NAMED);
    }
    for launcher in launchers {
        for (hosts, lost) in [("a:2,b:2", 2), ("localhost:3,b", 1), ("localhost,b:3", 3)] {
            for way in ["noticed", "replaced"] {
                let ended = loses_host(launcher, hosts, way, lost).ok();
                assert!(ended.stdout.contains("ulfm_host: ok with 4 ranks"), "{hosts} {way}: {ended:?}");
                let ended = ended.complains("Lost the connection to host b; the others go on.");
                ended.complains("Rank 3 was lost with host b; the others went on without it.");
            }
        }
    }
}

#[test]
fn a_lost_host_ends_a_job_that_does_not_notice_or_does_not_go_on() {
    let ended = loses_host("fork", "a:2,b:2", "unnoticed", 2);
    assert_eq!(ended.code, 1, "{ended:?}");
    ended.complains("was lost with its host").complains("no other rank has taken notice of it");
    let options = ["--launcher", "fork", "-host", "a:2,b:2", "--with-ft", "no"];
    let job = Job::under(&staged("bin/mpiexec"), 4).args(options).arg(program("ulfm_host"));
    let ended = job.args(["noticed", "2"]).run();
    assert_eq!(ended.code, 1, "{ended:?}");
    ended.complains("Lost the connection to host b; the job is ended.");
}

#[test]
fn the_lock_of_a_dead_process_is_awaited_by_nobody() {
    ends_well(4, &["locks"]);
}

#[test]
fn a_program_that_repeats_what_fails_hears_of_a_revocation() {
    ends_well(4, &["repeats", "0"]);
    ends_well(4, &["repeats", "1"]);
}

#[test]
fn a_death_in_long_reductions_has_its_class() {
    ends_well(3, &["large", "0"]);
    ends_well(3, &["large", "1"]);
}

#[test]
fn barriers_after_a_death_fail_again_and_again() {
    for before in ["0", "1", "2", "3", "4"] {
        for ranks in [4, 7, 8] {
            ends_well(ranks, &["barriers", before]);
        }
    }
}

#[test]
fn a_job_that_has_noticed_a_death_fails_by_its_own_reason_later() {
    let ended = run(3, &["gives_up"]);
    assert_eq!(ended.code, 42, "{ended:?}");
    ended.complains("Rank 0 called MPI_Abort with code 42");
}

#[test]
fn a_death_ends_the_job_if_errors_are_fatal_again() {
    let ended = run(3, &["withdrawn"]);
    assert_eq!(ended.code, 137, "{ended:?}");
    ended.complains("Rank 2 was killed by signal 9 (SIGKILL); the job is ended.");
}

#[test]
fn a_program_that_knows_nothing_of_lost_processes_ends_with_one() {
    for way in ["waits", "polls", "ends"] {
        let ended = job(3, program("unaware")).arg(way).run();
        assert_eq!(ended.code, 137, "{way}: {ended:?}");
        ended.complains("Rank 2 was killed by signal 9 (SIGKILL); the job is ended.");
    }
}

/// Has a program that names no function about lost processes run, linked with a library that does;
/// `more` are options for that library's compiler.
fn linked(name: &str, more: &[&str]) -> Ended {
    let folder = build_dir();
    let (library, program) = (folder.join(format!("lib{name}.so")), folder.join(name));
    let source = |name: &str| top().join("tests/programs").join(name);
    let compiler = staged("bin/mpicc");
    let options = ["-shared", "-fPIC", "-Wl,-z,lazy"];
    compile(&compiler, &source("linked_library.c"), &library, &[&options, more].concat());
    let rpath = format!("-Wl,-rpath,{},--allow-shlib-undefined", folder.display());
    let library = library.to_str().expect("a path of letters");
    compile(&compiler, &source("linked.c"), &program, &[library, &rpath]);
    job(3, program).run()
}

#[test]
fn a_library_that_knows_of_lost_processes_speaks_for_its_program() {
    let ended = linked("knows_by_library", &[]).ok();
    assert!(ended.stdout.contains("linked: ok with 3 ranks"), "{ended:?}");
    // A module for Python does not.
    let ended = linked("knows_by_python", &["-DPYTHON"]);
    assert_eq!(ended.code, 137, "{ended:?}");
    ended.complains("Rank 2 was killed by signal 9 (SIGKILL); the job is ended.");
}

#[test]
fn a_program_with_sessions_alone_goes_on_after_a_death() {
    let ended = job(4, program("ulfm_sessions")).run().ok();
    assert!(ended.stdout.contains("ulfm_sessions: ok with 4 ranks"), "{ended:?}");
}

/// The ranks of `ulfm_shared` that are left find nothing wrong, on one host and on several.
#[track_caller]
fn shared_ends_well(arguments: &[&str]) {
    let hosts = ["--launcher", "fork", "-host", "a:2,localhost,b"];
    for options in [&hosts[..], &[]] {
        let job = Job::under(&staged("bin/mpiexec"), 4).args(options).arg(program("ulfm_shared"));
        let ended = job.args(arguments).run().ok();
        assert!(ended.stdout.contains("ulfm_shared: ok with "), "{options:?} {arguments:?}: {ended:?}");
    }
}

#[test]
fn operations_on_windows_with_a_dead_process_end_with_its_error() {
    let ways = "fence start post test completed torn operations exposed";
    let in_epochs = "lock lock_unchecked lock_all lock_all_unchecked";
    ways.split(' ').chain(in_epochs.split(' ')).for_each(|way| shared_ends_well(&[way]));
}

/// The lock of a living rank is waited for, however many others have died, in mapped memory and by
/// messages; that of a dead one is not.
#[test]
fn locks_of_windows_outlive_the_deaths_of_others() {
    let hosts = ["a:1,b:3", "a:2,b:2", "a:2,localhost,b"];
    let apart = hosts.map(|hosts| vec!["--launcher", "fork", "-host", hosts]);
    for (way, options) in ["lives", "held"].into_iter().flat_map(|way| {
        let all = std::iter::once(Vec::new()).chain(apart.iter().cloned());
        all.map(move |options| (way, options))
    }) {
        let job = Job::under(&staged("bin/mpiexec"), 4).args(&options).arg(program("ulfm_locks"));
        let ended = job.arg(way).run().ok();
        assert!(ended.stdout.contains("ulfm_locks: ok with "), "{options:?} {way}: {ended:?}");
    }
}

#[test]
fn collective_calls_on_files_end_with_the_error_of_a_death() {
    let path = scratch("ulfm-file").join("file");
    shared_ends_well(&["file", path.to_str().expect("a path of letters")]);
}

/// Rank 0 revokes the communicator while the others wait in a call on a window or a file.
#[test]
fn windows_and_files_are_revoked_with_their_communicator() {
    let path = scratch("ulfm-revoked").join("file");
    let path = path.to_str().expect("a path of letters");
    let mut places = vec![vec![], vec!["--launcher", "fork", "-host", "a:2,localhost,b"]];
    if has_libfabric() {
        places.push(vec!["--launcher", NAMED, "-host", "a:2,b:2"]);
    }
    for options in places {
        for way in ["fence", "start", "wait", "test", "lock", "file", "write_all"] {
            let job = Job::under(&staged("bin/mpiexec"), 4).args(&options).arg(program("ulfm_revoked"));
            let ended = job.args([way, path]).run().ok();
            assert!(ended.stdout.contains("ulfm_revoked: ok with 4"), "{options:?} {way}: {ended:?}");
        }
    }
}

/// The runs with random deaths: as many as are asked for, or what `make test` has time for.
fn random_runs() -> u32 {
    std::env::var("VERBENA_DEATHS").map_or(30, |number| number.parse().expect("a number of runs"))
}

#[test]
fn survivors_of_random_deaths_go_on_and_give_the_right_answer() {
    for seed in 0..random_runs() {
        let victims = 1 + seed % 3;
        let ended = run(8, &[&victims.to_string(), &seed.to_string()]).ok();
        let said = format!("left: {} of 8 after {victims} deaths", 8 - victims);
        assert!(ended.stdout.contains(&said), "seed {seed}: {ended:?}");
    }
}

/// In the middle of reductions in place (two ranks) and in rounds through slots (more), of
/// exchanges through slots, and of broadcasts.
#[test]
fn survivors_of_a_death_in_a_long_collective_get_its_class_and_no_wrong_result() {
    let program = program("death_in_collective");
    let ways = [
        (2, "allreduce", "65536"),
        (2, "reduce_scatter", "65536"),
        (4, "allreduce", "65536"),
        (3, "allreduce", "2097152"),
        (3, "reduce_scatter", "196608"),
        (4, "reduce_scatter", "2097152"),
        (3, "scan", "2097152"),
        (4, "exscan", "300000"),
        (4, "allgather", "65536"),
        (4, "alltoall", "16384"),
        (3, "bcast", "300000"),
    ];
    for (ranks, way, bytes) in ways {
        for seed in 0..6 {
            let seed = seed.to_string();
            let ended = job(ranks, &program).args([way, bytes, &seed]).run().ok();
            let said = format!("death_in_collective: ok with {ranks} ranks");
            assert!(ended.stdout.contains(&said), "{way} of {bytes} bytes, seed {seed}: {ended:?}");
            ended.complains(&format!("mpiexec: Rank {} {GOES_ON}", ranks - 1));
        }
    }
}

/// A thread of one rank revokes the communicator while all are in a long row of collectives.
#[test]
fn a_long_collective_that_is_revoked_ends() {
    let program = program("death_in_collective");
    for (ranks, way, bytes) in [
        (2, "allreduce", "2097152"),
        (3, "allreduce", "2097152"),
        (4, "scan", "2097152"),
        (4, "reduce_scatter", "196608"),
        (4, "bcast", "300000"),
    ] {
        for seed in ["0", "1", "2"] {
            let ended = job(ranks, &program).args([way, bytes, seed, "revoke"]).run().ok();
            let said = format!("death_in_collective: ok with {ranks} ranks");
            assert!(ended.stdout.contains(&said), "{way} of {bytes} bytes, seed {seed}: {ended:?}");
        }
    }
}

/// Jobs on one machine that are connected see each other's deaths.
#[test]
fn connected_jobs_go_on_together_after_a_death() {
    let hosts = ["--launcher", "fork", "-host", "a:2,b:2"];
    for options in [&[][..], &hosts] {
        for way in ["child", "parent", "parted"] {
            let job = Job::under(&staged("bin/mpiexec"), 3).args(options);
            let ended = job.arg(program("ulfm_jobs")).arg(way).run().ok();
            assert!(ended.stdout.contains("ulfm_jobs: ok"), "{options:?} {way}: {ended:?}");
            ended.complains("was killed by signal 9 (SIGKILL); the others go on.");
        }
    }
}

/// The exit code is that of a spawned job of one, which was lost as a whole.
#[test]
fn spawned_processes_take_the_place_of_dead_ones_again_and_again() {
    for (ranks, way) in [(2, "alone"), (4, "replace")] {
        let ended = job(ranks, program("ulfm_jobs")).arg(way).run();
        assert!(ended.stdout.contains("ulfm_jobs: ok"), "{way}: {ended:?}");
        assert_eq!(ended.code, 137, "{way}: {ended:?}");
    }
}

/// Nobody has set an error handler: the launcher gave it.
#[test]
fn a_program_goes_on_after_a_death_by_its_initial_error_handler() {
    let job = Job::under(&staged("bin/mpiexec"), 3).args(["-initial-errhandler", "mpi_errors_return"]);
    let ended = job.arg(program("initial_errors")).args(["mpi_errors_return", "survive"]).run().ok();
    assert!(ended.stdout.contains("initial_errors: ok with 3 ranks"), "{ended:?}");
    ended.complains(&format!("mpiexec: Rank 2 {GOES_ON}"));
}

/// A job that loses the job of one that it has spawned finds out, and goes on.
#[track_caller]
fn loses_children(way: &str, options: &[&str]) -> Ended {
    let ended = Job::under(&staged("bin/mpiexec"), 1).args(options).arg(program("ulfm_jobs")).arg(way).run();
    assert!(ended.stdout.contains("ulfm_jobs: ok"), "{way} {options:?}: {ended:?}");
    assert_eq!(ended.code, 137, "{way} {options:?}: {ended:?}");
    ended
}

#[test]
fn a_program_that_only_polls_hears_of_the_death_of_another_job() {
    loses_children("polls", &[]);
    // One that does not want to go on has an error, too.
    loses_children("polls", &["--with-ft", "no", "-genv", "KNOWS_NOTHING", "1"]);
    if has_libfabric() {
        loses_children("polls", &["-genv", "VERBENA_CHANNELS", "loopback,ofi"]);
    }
}

/// The children that find nobody to meet fail, and so does the job. Those of the last call do not.
#[test]
fn a_spawn_over_a_dead_process_fails_and_sets_all_codes() {
    let ended = job(4, program("ulfm_jobs")).arg("over_dead").run();
    assert!(!ended.hung && ended.stdout.contains("ulfm_jobs: ok"), "{ended:?}");
}

#[test]
fn a_death_that_was_seen_before_the_program_wanted_to_go_on_is_one() {
    loses_children("before", &[]);
}

#[test]
fn one_question_is_enough_to_hear_of_the_death_of_another_job() {
    loses_children("once", &[]);
    if has_libfabric() {
        loses_children("once", &["-genv", "VERBENA_CHANNELS", "loopback,ofi"]);
    }
}

#[test]
fn a_program_with_sessions_alone_hears_of_the_death_of_another_job() {
    loses_children("without_world", &[]);
}

/// Also where the user has said, before the parent is met, that ranks go on.
#[test]
fn a_job_whose_parent_would_not_be_seen_ends_with_a_killed_rank_and_the_log_says_why() {
    let container = "sh -c 'exec unshare --pid --fork --mount-proc --ipc --mount \"$@\"'";
    for options in [&["--with-ft", "mpi"][..], &[]] {
        let log = ["--launcher", container, "-genv", "VERBENA_LOG", "info"];
        let job = Job::under(&staged("bin/mpiexec"), 1).args(options).args(log);
        let ended = job.arg(program("ulfm_jobs")).arg("unseen").run();
        assert_eq!(ended.code, 137, "{ended:?}");
        let ended = ended.complains("Rank 1 was killed by signal 9 (SIGKILL); the job is ended.");
        ended.complains("a killed rank ends this job as long as it is connected with process 2");
    }
}

/// The first program knows nothing of lost processes, the second ends with an error.
#[test]
fn the_user_decides_whether_a_job_goes_on() {
    let run = |word: &str, program_name: &str, way: &str| {
        let job = Job::under(&staged("bin/mpiexec"), 3).args(["--with-ft", word]);
        job.arg(program(program_name)).arg(way).run()
    };
    for (word, program_name, way) in [("mpi", "unaware", "waits"), ("ulfm", "ulfm", "withdrawn")] {
        let ended = run(word, program_name, way).complains(&format!("mpiexec: Rank 2 {GOES_ON}"));
        assert_eq!(ended.code, 137, "{ended:?}");
    }
    let ended = run("no", "ulfm", "gives_up");
    assert_eq!(ended.code, 137, "{ended:?}");
    ended.complains("Rank 2 was killed by signal 9 (SIGKILL); the job is ended.");
}
