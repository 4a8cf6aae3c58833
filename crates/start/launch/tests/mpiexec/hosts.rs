//! Jobs over several hosts, which are this one under other names: by `fork`, by scripts in place of
//! `ssh`, and by namespaces with their own host names. `ssh.rs` tests the real thing.

use crate::harness::{CLIENT, MPIEXEC, Outcome, begin, eventually, mpiexec, run, state};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use verbena_fault::Fault;
use verbena_launch::plan::Exit;
use verbena_launch::wire::{Outbox, Report, SentFault, VERSION};
use verbena_testing::{Lack, skip};

const FORK: [&str; 2] = ["--launcher", "fork"];

/// Runs `mpiexec` over several hosts by `fork`.
fn fork(arguments: &[&str]) -> Outcome {
    run(&[&FORK[..], arguments].concat())
}

/// A launcher, removed when dropped: a shell script with the host in `$host` and the command line
/// in `$@`.
struct Script(PathBuf);

impl Script {
    fn new(name: &str, body: &str) -> Script {
        let path = std::env::temp_dir().join(format!("launch-{name}-{}", std::process::id()));
        std::fs::write(&path, format!("#!/bin/sh\nhost=$1; shift\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        Script(path)
    }

    /// Runs `mpiexec` with this launcher.
    fn run(&self, arguments: &[&str]) -> Outcome {
        run(&[&["--launcher", self.0.to_str().unwrap()], arguments].concat())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

fn assert_good(outcome: &Outcome) {
    assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{outcome:?}");
    outcome.assert_nothing_left();
}

/// Checks that a failure is told in four lines.
fn assert_told(outcome: &Outcome, code: i32, words: &[&str]) {
    assert_eq!((outcome.code, outcome.err.lines().count()), (Some(code), 4), "{outcome:?}");
    for word in words {
        assert!(outcome.err.contains(word), "no {word:?} in {outcome:?}");
    }
    assert!(outcome.took < Duration::from_secs(5), "{outcome:?}");
    outcome.assert_nothing_left();
}

#[test]
fn every_version_of_pmi_works_across_hosts() {
    for (pmi, kind) in [("", "pmi-1"), ("1", "pmi-1"), ("2", "pmi-2")] {
        let steps = ["who", "exchange=3000", "exchange=0", "barrier", "exchange=100", "finalize"];
        let options = ["-genv", "VERBENA_PMI", pmi, "-n", "5", "-host", "a:2,localhost:2,b", CLIENT];
        let outcome = fork(&[&options, &steps[..]].concat());
        assert_good(&outcome);
        assert_eq!(outcome.out.matches("exchanged 5").count(), 15, "{outcome:?}");
        assert_eq!(outcome.out.matches(&format!("of 5 kind {kind}")).count(), 5, "{outcome:?}");
    }
}

/// More bytes than fit into any pipe go to many ranks of a host at once.
#[test]
fn large_cards_cross_the_wire_once_for_each_host() {
    let outcome = fork(&["-n", "16", "-ppn", "4", "-host", "a,b,c,d", CLIENT, "exchange=100000", "finalize"]);
    assert_good(&outcome);
    assert_eq!(outcome.out.matches("exchanged 16").count(), 16, "{outcome:?}");
}

#[test]
fn ranks_know_their_place_on_their_host() {
    let show = "echo $PMI_RANK $VERBENA_LOCAL_RANK/$VERBENA_LOCAL_SIZE $VERBENA_APPNUM";
    let outcome =
        fork(&["-host", "a:2,localhost", "-n", "3", "sh", "-c", show, ":", "-n", "2", "sh", "-c", show]);
    assert_good(&outcome);
    assert_eq!(outcome.lines(), ["0 0/4 0", "1 1/4 0", "2 0/1 0", "3 2/4 1", "4 3/4 1"]);
}

#[test]
fn hosts_from_a_file() {
    let file = std::env::temp_dir().join(format!("launch-hostfile-{}", std::process::id()));
    std::fs::write(&file, "# two hosts\na slots=2\nb:1\n").unwrap();
    for option in ["-hostfile", "-f", "-machinefile"] {
        let outcome =
            fork(&[option, file.to_str().unwrap(), "sh", "-c", "echo $PMI_RANK $VERBENA_LOCAL_RANK"]);
        assert_good(&outcome);
        assert_eq!(outcome.lines(), ["0 0", "1 1", "2 0"]);
    }
    std::fs::remove_file(file).unwrap();
}

/// Only root may make namespaces.
#[test]
fn nodes_that_are_namespaces_have_their_own_names_and_processes() {
    // SAFETY: the call touches no memory.
    if unsafe { libc::geteuid() } != 0 {
        return skip(Lack::Rights, "only root may make namespaces");
    }
    let enter = "exec unshare --uts --ipc --mount --pid --fork --mount-proc \
                 sh -c 'hostname \"$0\"; exec \"$@\"' \"$host\" \"$@\"";
    let node = Script::new("unshare", enter);
    let outcome = node.run(&["-host", "left:2,right", "-l", "hostname"]);
    assert_good(&outcome);
    assert_eq!(outcome.lines(), ["[0] left", "[1] left", "[2] right"]);
    let outcome =
        node.run(&["-host", "left:2,localhost,right", CLIENT, "exchange", "kill=9@3", "sleep=20000"]);
    assert_told(&outcome, 137, &["Rank 3 was killed by signal 9", "host right"]);
    let outcome = node.run(&["-host", "left,right", "sh", "-c", "setsid sleep 25 & exit 0"]);
    assert_good(&outcome);
}

#[test]
fn output_comes_in_whole_lines_and_through_the_right_stream() {
    let script = "i=0; while [ $i -lt 500 ]; do echo line $i of $PMI_RANK; i=$((i+1)); done; echo error >&2";
    let outcome = fork(&["-host", "a,b,localhost", "-l", "sh", "-c", script]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let rank = |n: u32| outcome.out.lines().filter(|line| line.starts_with(&format!("[{n}] line "))).count();
    assert_eq!([rank(0), rank(1), rank(2)], [500; 3]);
    assert!(outcome.out.lines().all(|line| line.ends_with(&format!("of {}", &line[1..2]))));
    let mut errors: Vec<&str> = outcome.err.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["[0] error", "[1] error", "[2] error"]);
}

/// A slow reader makes the ranks wait; one that goes away ends them.
#[test]
fn a_slow_reader_loses_nothing_and_one_that_goes_ends_the_job() {
    let many = "yes 0123456789abcde | head -n 1000000";
    let line = format!("{MPIEXEC} --launcher fork -host a,b sh -c '{many}' | (sleep 0.3; wc -c)");
    let outcome = begin(std::process::Command::new("sh").args(["-c", &line])).finish();
    assert_eq!((outcome.code, outcome.out.trim()), (Some(0), "32000000"), "{outcome:?}");
    let line = format!("{MPIEXEC} --launcher fork -host a,b yes | head -n 3");
    let outcome = begin(std::process::Command::new("sh").args(["-c", &line])).finish();
    assert_eq!(outcome.out, "y\ny\ny\n", "{outcome:?}");
    assert!(outcome.err.contains("SIGPIPE") && outcome.err.contains("host "), "{outcome:?}");
    outcome.assert_nothing_left();
}

#[test]
fn standard_input_goes_to_rank_0_wherever_it_is() {
    let text: String = (0..200_000).map(|i| format!("{i}\n")).collect();
    let mut command = mpiexec(&["--launcher", "fork", "-host", "a,b", "sh", "-c", "wc -c"]);
    let mut run = begin(command.stdin(Stdio::piped()));
    run.type_in(text.as_bytes());
    let outcome = run.finish();
    assert_good(&outcome);
    assert_eq!(outcome.lines(), ["0", &text.len().to_string()]);
}

/// A program does not read its input, which is more than fits into a pipe.
#[test]
fn standard_input_that_nobody_reads_does_no_harm() {
    let line =
        format!("head -c 3000000 /dev/zero | {MPIEXEC} --launcher fork -host a,b {CLIENT} exchange finalize");
    let outcome = begin(std::process::Command::new("sh").args(["-c", &line])).finish();
    assert_good(&outcome);
}

#[test]
fn every_bad_end_is_told_with_its_host() {
    for (step, code, words) in [
        ("kill=9@2", 137, "Rank 2 was killed by signal 9"),
        ("abort=7@2", 7, "Rank 2 called MPI_Abort with code 7"),
        ("exit=5@2", 5, "Rank 2 exited with code 5"),
        ("exit=0@2", 1, "Rank 2 exited without calling MPI_Finalize"),
    ] {
        let mut outcome = fork(&["-host", "a,localhost,far", CLIENT, "exchange", step, "sleep=20000"]);
        outcome.err = outcome.err.replace("aborted as told\n", "");
        assert_told(&outcome, code, &[words, "host far"]);
    }
}

#[test]
fn programs_that_one_host_lacks() {
    let lacks = Script::new("lacks", "[ $host = bad ] && export PATH=/nowhere; exec \"$@\"");
    let outcome = lacks.run(&["-host", "good:2,bad,localhost", "sleep", "20"]);
    assert_told(&outcome, 127, &["Could not start sleep", "host bad", "PATH"]);
    let outcome = fork(&["-host", "a,b", "-wdir", "/no/such/place", "pwd"]);
    assert_told(&outcome, 127, &["-wdir /no/such/place", "host "]);
}

#[test]
fn launchers_that_fail_are_quoted() {
    for (body, words) in [
        ("echo no route to $host >&2; exit 255", "said: no route to bad"),
        ("exec /no/such/program", "code 127"),
        ("kill -9 $$", "ended by SIGKILL"),
        ("exit 0", "code 0"),
    ] {
        let fails = Script::new("fails", &format!("[ $host = bad ] || exec \"$@\"\n{body}"));
        let outcome = fails.run(&["-host", "good,bad", "sleep", "20"]);
        assert_told(&outcome, 127, &["Could not start mpiexec's agent on host bad", words]);
    }
    let outcome = run(&["--launcher", "/no/such/launcher", "-host", "bad,localhost", "sleep", "20"]);
    assert_told(&outcome, 127, &["host bad", "/no/such/launcher"]);
}

/// A host is down: its launcher never ends.
#[test]
fn a_launcher_that_hangs_can_be_interrupted() {
    let hangs = Script::new("hangs", "[ $host = down ] || exec \"$@\"\nexec sleep 25");
    let options = ["--launcher", hangs.0.to_str().unwrap(), "-host", "up,down,localhost", "sleep", "20"];
    let outcome = run(&[&["--timeout", "0.5"], &options[..]].concat());
    assert_told(&outcome, 124, &["--timeout"]);
    let run = begin(&mut mpiexec(&options));
    run.wait_for("sleep", 3);
    run.signal(libc::SIGINT);
    let outcome = run.finish();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert!(outcome.took < Duration::from_secs(5), "{outcome:?}");
    outcome.assert_nothing_left();
}

/// The user gives up before any agent has answered: that is no success.
#[test]
fn an_interrupted_start_on_other_hosts_only_is_no_success() {
    let hangs = Script::new("all-hang", "exec sleep 25");
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let launcher = hangs.0.to_str().unwrap();
        let run = begin(&mut mpiexec(&["--launcher", launcher, "-host", "a,b", "true"]));
        run.wait_for("sleep", 2);
        run.ends_by(signal, code);
    }
}

/// A false or broken agent may send anything: it ends its own host's part and nothing else.
#[test]
fn an_agent_that_tells_of_ranks_that_are_not_its_own_is_refused() {
    let nothing = || SentFault::from(Fault::new("", "", "", ""));
    let reports = [
        Report::Started { rank: 999, pid: 5 },
        Report::NotStarted { ranks: vec![], why: nothing() },
        Report::NotStarted { ranks: vec![999], why: nothing() },
        Report::Said { rank: 999, bytes: vec![b'x'] },
        Report::Wrote { rank: 999, stream: 0, bytes: vec![b'x'] },
        Report::Closed { rank: 999, stream: 0 },
        Report::Ended { rank: 1, exit: Exit::Code(0), borne: false },
        Report::Ended { rank: 0, exit: Exit::Code(256), borne: false },
    ];
    let file = std::env::temp_dir().join(format!("launch-report-{}", std::process::id()));
    let greet = "read name version key job; echo verbena-agent $version $key";
    let body = format!("[ $host = good ] && exec \"$@\"\n{greet}; cat {}; exec sleep 25", file.display());
    let wild = Script::new("wild", &body);
    for report in reports {
        let mut frame = Outbox::default();
        frame.push(&report);
        std::fs::write(&file, frame.pending()).unwrap();
        let outcome = wild.run(&["-host", "wild,good", "sleep", "20"]);
        assert_told(&outcome, 1, &["does not answer as it should", "host wild", "cannot know"]);
    }
    std::fs::write(&file, [255, 255, 255, 4, 1, 2, 3]).unwrap();
    let outcome = wild.run(&["-host", "wild,good", "sleep", "20"]);
    assert_told(&outcome, 1, &["does not answer as it should", "a message of 83886079 bytes"]);
    std::fs::remove_file(file).unwrap();
}

/// A line without end is cut, and looked at only once.
#[test]
fn a_launcher_that_says_a_line_without_end_is_passed_on_in_pieces() {
    let wordy = Script::new("wordy", "head -c 60000 /dev/zero | tr '\\0' x >&2; exec \"$@\"");
    let outcome = wordy.run(&["-host", "a", "echo", "hello"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(0), "hello\n"), "{outcome:?}");
    assert_eq!(outcome.err.matches('x').count(), 60_000);
    assert!(outcome.err.lines().all(|line| line.len() < 30_000), "{}", outcome.err.lines().count());
}

/// The output of a login shell before the agent's answer does no harm.
#[test]
fn a_login_shell_may_greet() {
    let greets = Script::new("greets", "echo \"Welcome to $host\"; printf 'no newline '; exec \"$@\"");
    let outcome = greets.run(&["-host", "a,b", CLIENT, "exchange", "finalize"]);
    assert_good(&outcome);
    assert_eq!(outcome.out, "exchanged 2\nexchanged 2\n");
}

#[test]
fn an_agent_of_another_version_is_refused() {
    let other = Script::new("other", "read name version key job; echo verbena-agent 99 $key; exec sleep 25");
    let outcome = other.run(&["-host", "a", "true"]);
    let versions = format!("version 99, this mpiexec {VERSION}");
    assert_told(&outcome, 127, &["another version", &versions, "host a"]);
}

#[test]
fn an_agent_that_talks_nonsense_is_refused() {
    let garbled = "read name version key job; echo verbena-agent $version $key; echo hello; exec sleep 25";
    let outcome = Script::new("garbled", garbled).run(&["-host", "a,localhost", "sleep", "20"]);
    assert_told(&outcome, 1, &["does not answer as it should", "host a"]);
    let chatty = Script::new("chatty", "exec yes");
    assert_told(&chatty.run(&["-host", "a", "true"]), 127, &["does not answer as it should", "y y y"]);
}

/// An agent that `mpiexec` did not start says so.
#[test]
fn an_agent_by_hand() {
    let outcome = run(&["--agent"]);
    assert_told(&outcome, 1, &["first line"]);
}

#[test]
fn the_environment_and_the_directory_go_along() {
    let bare = Script::new("bare", "cd /; exec env -i PATH=/usr/bin:/bin \"$@\"");
    let show = "echo $VERBENA_CMA,$ASKED,$UNASKED,$SET,$GENV,$LD_LIBRARY_PATH; pwd";
    let options = ["-x", "ASKED", "-x", "SET=2", "-genv", "GENV", "3", "-host", "a", "sh", "-c", show];
    let mut command = mpiexec(&[&["--launcher", bare.0.to_str().unwrap()], &options[..]].concat());
    let environment =
        [("VERBENA_CMA", "0"), ("ASKED", "1"), ("UNASKED", "1"), ("LD_LIBRARY_PATH", "/some/lib")];
    let outcome = begin(command.envs(environment).current_dir("/usr")).finish();
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(0), "0,1,,2,3,/some/lib\n/usr\n"), "{outcome:?}");
}

#[test]
fn the_launcher_may_come_by_the_environment_or_the_file_of_settings() {
    let names = Script::new("names", "HOST_NAME=$host exec \"$@\"");
    let name = names.0.display();
    let settings = names.0.with_extension("toml");
    std::fs::write(&settings, format!("launcher = \"{name}\"\n")).unwrap();
    let by_file = format!("VERBENA_SETTINGS={}", settings.display());
    for variable in [format!("VERBENA_LAUNCHER={name}"), by_file] {
        let line = format!("{variable} exec {MPIEXEC} -host a,b sh -c 'echo $HOST_NAME'");
        let outcome = begin(std::process::Command::new("sh").args(["-c", &line])).finish();
        assert_good(&outcome);
        assert_eq!(outcome.lines(), ["a", "b"], "{variable}");
    }
    std::fs::remove_file(settings).unwrap();
}

#[test]
fn signals_reach_every_rank() {
    let script = "trap 'echo got' USR1; sleep 25 & wait; echo end";
    let run = begin(&mut mpiexec(&["--launcher", "fork", "-host", "a,localhost,b", "sh", "-c", script]));
    run.wait_for("sleep", 3);
    run.signal(libc::SIGUSR1);
    let outcome = run.finish();
    assert_good(&outcome);
    assert_eq!(outcome.lines(), ["end", "end", "end", "got", "got", "got"], "{outcome:?}");
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let run = begin(&mut mpiexec(&["--launcher", "fork", "-host", "a,localhost,b", "sleep", "25"]));
        run.wait_for("sleep", 3);
        run.ends_by(signal, code);
    }
}

#[test]
fn stop_and_continue_on_all_hosts() {
    let run = begin(&mut mpiexec(&["--launcher", "fork", "-host", "a,b", "sleep", "1"]));
    let ranks = run.wait_for("sleep", 2);
    run.signal(libc::SIGTSTP);
    let all_stopped = || ranks.iter().chain([&run.pid()]).all(|&pid| state(pid) == 'T');
    eventually(|| all_stopped().then_some(()));
    run.signal(libc::SIGCONT);
    assert_good(&run.finish());
}

#[test]
fn what_ranks_leave_on_other_hosts_ends_with_the_job() {
    let outcome = fork(&["-host", "a,b", "sh", "-c", "sleep 25 & setsid sleep 25 & (sleep 25 &) ; exit 0"]);
    assert_good(&outcome);
    assert!(outcome.took < Duration::from_secs(2), "{outcome:?}");
}

#[test]
fn a_killed_mpiexec_takes_all_hosts_along() {
    for script in ["exec sleep 25", "trap '' TERM; setsid sleep 25 & wait; sleep 25"] {
        let run =
            begin(&mut mpiexec(&["--launcher", "fork", "-host", "a:2,localhost,b", "sh", "-c", script]));
        run.wait_for("sleep", 4);
        run.signal(libc::SIGKILL);
        run.wait_for_nothing();
        assert_eq!(run.finish().code, None);
    }
}

/// The launcher or the agent is killed: the host is lost, and its ranks end.
#[test]
fn a_lost_host_ends_the_job() {
    // Without exec: the agent is the launcher's child, as with ssh, and outlives it.
    let stays = Script::new("stays", "(exec \"$@\"); exit $?");
    let launcher = stays.0.to_str().unwrap().to_owned();
    for victim in ["sh", MPIEXEC] {
        let run = begin(&mut mpiexec(&["--launcher", &launcher, "-host", "lost,localhost", "sleep", "25"]));
        run.wait_for("sleep", 2);
        let agents = run.wait_for(MPIEXEC, 4).into_iter().filter(|&pid| pid != run.pid());
        let found: Vec<i32> = match victim {
            "sh" => run.wait_for("/bin/sh", 1),
            _ => agents.filter(|&pid| is_agent(pid)).collect(),
        };
        // SAFETY: no memory is involved; the process belongs to our own run.
        found.iter().for_each(|&pid| assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0));
        let outcome = run.finish();
        assert_eq!(outcome.code, Some(1), "{victim}: {outcome:?}");
        assert!(outcome.err.contains("Lost the connection to host lost"), "{victim}: {outcome:?}");
        assert!(outcome.took < Duration::from_secs(20), "{victim}: {outcome:?}");
        eventually(|| outcome.left().is_empty().then_some(()));
    }
}

/// A host falls silent, as after a loss of power: mpiexec ends without it.
#[test]
fn a_silent_host_does_not_hold_the_job_up() {
    let options = ["--timeout", "0.6", "--launcher", "fork", "-host", "silent,localhost", "sleep", "25"];
    let run = begin(&mut mpiexec(&options));
    run.wait_for("sleep", 2);
    for agent in run.wait_for(MPIEXEC, 4).into_iter().filter(|&pid| is_agent(pid)) {
        // SAFETY: no memory is involved; the process belongs to our own run.
        assert_eq!(unsafe { libc::kill(agent, libc::SIGSTOP) }, 0);
    }
    let outcome = run.finish();
    assert_eq!((outcome.code, outcome.err.lines().count()), (Some(124), 4), "{outcome:?}");
    assert!(outcome.took < Duration::from_secs(20), "{outcome:?}");
    eventually(|| outcome.left().is_empty().then_some(()));
}

fn is_agent(pid: i32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"--agent\0"))
        && std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "mpiexec")
}

/// The random key is sent only to the launcher's standard input: anybody can read a command line.
#[test]
fn the_key_is_on_no_command_line() {
    let tells = Script::new("tells", "echo \"args $*\" >&2; read line; echo \"line $line\" >&2; exit 3");
    let outcome = tells.run(&["-host", "a", "true"]);
    let line = outcome.err.lines().find(|line| line.contains("line verbena-mpiexec")).unwrap();
    let key = line.split(&format!("verbena-mpiexec {VERSION} ")).nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!((key.len(), outcome.err.matches(key).count()), (32, 1), "{outcome:?}");
}

/// The time is generous: other tests run beside this one.
#[test]
fn sixteen_hosts_start_and_end_soon() {
    let hosts: Vec<String> = (0..16).map(|i| format!("n{i}")).collect();
    let outcome = fork(&["-host", &hosts.join(","), CLIENT, "exchange", "finalize"]);
    assert_good(&outcome);
    assert!(outcome.took < Duration::from_secs(10), "{outcome:?}");
}
