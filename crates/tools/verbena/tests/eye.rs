//! The command line for a person's eye: verdicts, progress, comparison, colors, completions.

mod stage;

use serde_json::Value;
use stage::staged;
use std::process::{Command, Output};

fn verbena(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_verbena"));
    command.args(arguments).env_remove("VERBENA_CHANNELS").env_remove("VERBENA_CMA");
    command
}

fn run(command: &mut Command) -> (Output, String, String) {
    let output = command.output().expect("verbena starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    (output, out, err)
}

#[test]
fn info_begins_with_a_verdict_and_says_why_for_each_channel() {
    let library = staged("lib/libmpi_abi.so.1");
    let (_, page, _) = run(verbena(&["info", "--library"]).arg(&library));
    let first: Vec<&str> = page.lines().take(3).collect();
    assert_eq!(first[0], "Verbena works here.", "{page}");
    assert!(first[1].starts_with("Messages on this host: shared memory"), "{page}");
    assert!(first[2].starts_with("To other hosts: "), "{page}");
    let mut named = verbena(&["info", "--library"]);
    let (_, page, _) = run(named.arg(&library).env("VERBENA_CHANNELS", "shm"));
    assert!(page.contains("left out: VERBENA_CHANNELS does not name it"), "{page}");
    for json in [&[][..], &["--json"]] {
        let (output, page, err) = run(verbena(&["info", "--library", "/none/lib.so"]).args(json));
        assert_eq!(output.status.code(), Some(1), "{page}{err}");
        assert!(page.contains("Verbena does not work here: the library is missing."), "{page}");
    }
}

#[test]
fn nothing_is_colored_but_terminals() {
    for arguments in [&["info"][..], &["doctor"]] {
        let (_, out, err) = run(&mut verbena(arguments));
        assert!(!out.contains('\x1b') && !err.contains('\x1b'), "{out}{err}");
    }
}

#[test]
fn the_doctor_looks_at_this_host_and_at_others() {
    let (output, json, err) = run(&mut verbena(&["doctor", "--json"]));
    let findings: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}{err}"));
    let findings = findings.as_array().expect("a list");
    for subject in ["locked memory", "open files", "channel shm", "InfiniBand and RoCE", "memory"] {
        assert!(findings.iter().any(|finding| finding["subject"] == subject), "{subject}: {json}");
    }
    let bad = findings.iter().filter(|finding| finding["verdict"] == "bad").count();
    assert_eq!(output.status.success(), bad == 0, "{json}{err}");
    // A host that nobody can reach.
    let (output, page, _) = run(&mut verbena(&["doctor", "--launcher", "false", "nowhere"]));
    assert!(!output.status.success() && page.contains("BAD  host nowhere: "), "{page}");
    assert!(page.contains("what to do: make this work without a password: ssh"), "{page}");
}

#[test]
fn a_wrong_setting_is_a_finding() {
    let mut command = verbena(&["doctor"]);
    let (output, page, _) = run(command.env("VERBENA_CHANELS", "shm"));
    assert!(!output.status.success() && page.contains("did you mean VERBENA_CHANNELS?"), "{page}");
}

#[test]
fn two_libraries_are_compared_point_by_point() {
    let library = staged("lib/libmpi_abi.so.1");
    let mut command =
        verbena(&["bench", "--quick", "--point-ms", "2", "--points", "latency:8,barrier,rate:8"]);
    let (output, page, err) = run(command.arg("--compare").args([&library, &library]));
    assert!(output.status.success(), "{page}{err}");
    assert!(page.starts_with("A: Verbena") && page.contains("\nB: Verbena"), "{page}");
    for metric in ["latency", "barrier", "rate"] {
        assert!(page.contains(metric), "{metric}: {page}");
    }
    let mut command = verbena(&["bench", "--quick", "--point-ms", "2", "--points", "barrier", "--json", "-"]);
    let (_, json, _) = run(command.arg("--compare").args([&library, &library]));
    let both: Value = serde_json::from_str(&json).expect("JSON");
    for one in ["a", "b"] {
        assert_eq!(both[one]["entries"][0]["jobs"].as_array().map(Vec::len), Some(3), "{json}");
    }
    let (output, _, err) = run(&mut verbena(&["bench", "--compare", "/none/a.so", "/none/b.so"]));
    assert!(!output.status.success() && err.contains("/none/a.so"), "{err}");
}

/// One library by both of its interfaces.
#[test]
fn libraries_of_two_binary_interfaces_are_compared() {
    let libraries = ["lib/libmpi_abi.so.1", "lib/libmpi.so.12"].map(staged);
    let points = "latency:8,bandwidth:65536,rate:8,allreduce:8,put:8,fetch_and_op";
    let mut command = verbena(&["bench", "--quick", "--point-ms", "2", "--points", points, "--json", "-"]);
    let (output, json, err) = run(command.arg("--compare").args(&libraries));
    assert!(output.status.success(), "{json}{err}");
    let both: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!([&both["a"]["library"]["abi"], &both["b"]["library"]["abi"]], ["standard", "mpich"]);
    for entry in both["b"]["entries"].as_array().expect("entries") {
        assert!(entry["value"].as_f64() > Some(0.0), "{entry}");
    }
}

/// The table has the spread beside the medians, and no picture goes into a pipe.
#[test]
fn a_table_shows_how_much_figures_swing() {
    let mut command =
        verbena(&["bench", "--quick", "--points", "latency:8,latency:1K,latency:64K", "--mpiexec"]);
    let (_, page, err) =
        run(command.arg(staged("bin/mpiexec")).arg("--library").arg(staged("lib/libmpi_abi.so.1")));
    assert!(page.contains('±') && page.contains("half of the samples"), "{page}{err}");
    assert!(!page.contains(['▁', '█']), "{page}");
}

#[test]
fn the_bare_device_is_refused_in_one_sentence_under_both_names() {
    for name in ["verbs", "rc"] {
        let mut command = verbena(&["bench", name]);
        let (output, out, err) = run(command.env("VERBENA_RC_DEVICE", "no-such-device"));
        assert!(!output.status.success() && out.is_empty(), "{out}{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

#[test]
fn completions_do_not_show_hidden_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let (output, text, _) = run(&mut verbena(&["completions", shell]));
        assert!(output.status.success() && text.contains("doctor"), "{text}");
        assert!(!text.contains("bench-worker") && !text.contains("info-probe"), "{shell}");
    }
}
