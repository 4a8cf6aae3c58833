//! Processes that come while the program runs: spawned ones, and those of another job.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use verbena_tests::{Ended, Job, job, program, scratch};

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
    command.args(["-k", "5", "120"]).arg(program).args(arguments).stdin(Stdio::null());
    let start = std::time::Instant::now();
    let output = command.output().expect("timeout starts");
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
        passes(spawns(ranks, &["merge"]).run(), "spawns", ranks);
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
    passes(spawns(2, &["arguments"]).run(), "spawns", 2);
}

#[test]
fn several_programs_are_spawned_as_one_world() {
    passes(spawns(2, &["multiple"]).run(), "spawns", 2);
}

#[test]
fn a_command_that_does_not_exist_is_an_error_and_spawning_goes_on() {
    passes(spawns(2, &["missing"]).run(), "spawns", 2);
}

#[test]
fn spawning_in_a_loop_takes_no_more_memory_or_descriptors() {
    passes(spawns(1, &["again", "40"]).run(), "spawns", 1);
}

#[test]
fn a_job_ends_when_its_spawned_processes_have() {
    let ended = passes(spawns(1, &["first"]).run(), "spawns", 1);
    assert!(ended.stdout.contains("the child is done"), "{ended:?}");
    passes(spawns(1, &["forgets"]).run(), "spawns", 1);
}

#[test]
fn who_waits_for_a_spawned_process_learns_of_its_death() {
    let ended = spawns(1, &["killed"]).run();
    assert!(!ended.hung && ended.stdout.contains("spawns: ok with 1 ranks"), "{ended:?}");
    assert_eq!(ended.code, 137, "the job failed: {ended:?}");
}

/// Messages of short and long kinds go over each channel that reaches processes of the node.
#[test]
fn spawned_processes_are_reached_by_any_channel() {
    for channels in ["loopback,shm", "loopback,ofi"] {
        passes(spawns(2, &["merge"]).env("VERBENA_CHANNELS", channels).run(), "spawns", 2);
    }
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
        together(|| connects(2, &["accept", &port]).run(), || connects(3, &["connect", &port]).run());
    passes(server, "connects", 2);
    passes(client, "connects", 3);
}

#[test]
fn a_process_without_a_launcher_connects_to_a_job() {
    let (_file, port) = port_file("a_process_connects");
    let program = program("connects");
    let (server, client) =
        together(|| connects(2, &["accept", &port]).run(), || alone(&program, &["connect", &port]));
    passes(server, "connects", 2);
    passes(client, "connects", 1);
}

#[test]
fn connecting_in_a_loop_takes_no_more_descriptors() {
    let (_file, port) = port_file("connecting_in_a_loop");
    let (server, client) = together(
        || connects(2, &["accept", &port, "200"]).run(),
        || connects(2, &["connect", &port, "200"]).run(),
    );
    passes(server, "connects", 2);
    passes(client, "connects", 2);
}

#[test]
fn who_waits_for_another_job_learns_of_its_death() {
    let (_file, port) = port_file("another_job_dies");
    let (server, _) = together(|| connects(1, &["lose", &port]).run(), || connects(1, &["die", &port]).run());
    passes(server, "connects", 1);
}

#[test]
fn two_groups_of_one_job_connect() {
    passes(connects(4, &["home"]).run(), "connects", 4);
}

#[test]
fn a_published_name_leads_another_job_to_the_port() {
    let names = scratch("published_names");
    let run = |way: &str| connects(2, &[way, "a service"]).env("VERBENA_NAMES", &names).run();
    let (server, client) = together(|| run("publish"), || run("look_up"));
    passes(server, "connects", 2);
    passes(client, "connects", 2);
    assert_eq!(std::fs::read_dir(&names).expect("the directory").count(), 0, "nothing is left");
}

#[test]
fn wrong_ports_are_refused_in_bounded_time() {
    let ended = passes(connects(1, &["refused"]).run(), "connects", 1);
    assert!(ended.took.as_secs() < 60, "{ended:?}");
}

#[test]
fn a_socket_joins_two_processes() {
    passes(alone(&program("connects"), &["join"]), "connects", 1);
}
