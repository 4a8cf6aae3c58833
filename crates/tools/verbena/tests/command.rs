//! The command `verbena` as a user runs it. What needs no MPI library runs the program just built;
//! the rest measures the staged installation (`VERBENA_STAGE`, default `target/stage`).

mod stage;

use serde_json::Value;
use stage::staged;
use std::path::Path;
use std::process::{Command, Output};

fn verbena(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_verbena"));
    command.args(arguments).env_remove("VERBENA_CHANNELS").env_remove("VERBENA_CMA");
    command
}

fn run(command: &mut Command) -> Output {
    command.output().expect("verbena starts")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// `verbena bench` on the staged installation.
fn bench(arguments: &[&str]) -> Command {
    let mut command = verbena(&["bench", "--quick", "--json", "-"]);
    command.arg("--mpiexec").arg(staged("bin/mpiexec"));
    command.arg("--library").arg(staged("lib/libmpi_abi.so.1")).args(arguments);
    command
}

#[test]
fn the_version_says_which_commit_this_is() {
    let version = String::from_utf8_lossy(&run(&mut verbena(&["--version"])).stdout).into_owned();
    let (number, commit) =
        (env!("CARGO_PKG_VERSION"), Command::new("git").args(["rev-parse", "HEAD"]).output());
    let commit = commit.ok().filter(|output| output.status.success());
    let known = commit
        .map_or(String::new(), |output| format!(" ({})", &String::from_utf8_lossy(&output.stdout)[..10]));
    assert_eq!(version, format!("verbena {number}{known}\n"));
}

#[test]
fn info_tries_the_channels_for_real() {
    let info = json(&run(&mut verbena(&["info", "--json"])));
    let channels = info["channels"].as_array().expect("channels");
    let shm = channels.iter().find(|channel| channel["channel"] == "shm").expect("shm");
    assert!(shm["found"]["reach"]["packet_bytes_max"].as_u64() > Some(0), "{shm}");
    assert!(info["settings"].as_array().is_some_and(|settings| !settings.is_empty()));
}

#[test]
fn info_says_which_verbs_device_would_be_used_or_what_is_missing() {
    let mut named = verbena(&["info", "--json"]);
    let info = json(&run(named.env("VERBENA_RC_DEVICE", "no-such-device")));
    let verbs = &info["verbs"];
    let ports = verbs["ports"].as_array().expect("ports");
    assert!(ports.iter().all(|port| port["verdict"].as_str().expect("words").contains("VERBENA_RC_DEVICE")));
    let missing = verbs["missing"].as_str();
    let closed = verbs["closed"].as_array().expect("devices");
    assert!(
        !ports.is_empty() || !closed.is_empty() || missing.is_some_and(|words| words.contains("what to do"))
    );
    assert!(verbs["locked"].as_str().is_some_and(|words| words.contains("may lock")), "{verbs}");
}

#[test]
fn info_shows_what_a_setting_does() {
    let info = json(&run(verbena(&["info", "--json"]).env("VERBENA_CMA", "0")));
    let cma =
        info["channels"].as_array().expect("channels").iter().find(|c| c["channel"] == "cma").expect("cma");
    assert!(cma["found"].is_null() && cma["failure"].is_string(), "{cma}");
    let setting = info["settings"].as_array().expect("settings").iter().find(|s| s["name"] == "VERBENA_CMA");
    assert_eq!(setting.expect("setting")["value"], "0");
}

#[test]
fn the_table_of_settings_is_shown_whole() {
    let mut command = verbena(&["info", "--settings", "--json"]);
    let output = run(command.env("VERBENA_CLAIM_BYTES", "x").env("VERBENA_CHANELS", "shm"));
    let table = json(&output);
    let claim = table.as_array().expect("settings").iter().find(|s| s["name"] == "VERBENA_CLAIM_BYTES");
    let claim = claim.expect("VERBENA_CLAIM_BYTES");
    assert_eq!((&claim["value"], &claim["unit"]), (&"524288".into(), &"bytes".into()));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("from 4096 to") && words.contains("did you mean VERBENA_CHANNELS?"), "{words}");
    let page = run(&mut verbena(&["info", "--settings"]));
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("VERBENA_CLAIM_BYTES = 524288 bytes\n"), "{page}");
}

#[test]
fn a_missing_library_is_said_in_four_parts() {
    let output =
        run(&mut verbena(&["bench", "latency", "--mpiexec", "/bin/true", "--library", "/none/lib.so"]));
    assert!(!output.status.success());
    let worker = run(&mut verbena(&["bench-worker", "--library", "/none/lib.so"]));
    let words = String::from_utf8_lossy(&worker.stderr);
    assert!(
        ["/none/lib.so", "likely cause", "what to do"].iter().all(|part| words.contains(part)),
        "{words}"
    );
}

#[test]
fn the_bare_device_is_refused_where_there_is_none() {
    let mut command = verbena(&["bench", "verbs", "--quick", "--mpiexec"]);
    let output = run(command.arg(staged("bin/mpiexec")).env("VERBENA_RC_DEVICE", "no-such-device"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{words}");
    assert!(words.contains("the bare device cannot be measured: "), "{words}");
    let three = run(&mut verbena(&["bench", "verbs", "-n", "3"]));
    assert!(!three.status.success());
    assert!(String::from_utf8_lossy(&three.stderr).contains("between 2 ranks"));
}

#[test]
fn the_floor_needs_no_library() {
    let report = json(&run(&mut verbena(&["bench", "--points", "copy:4096", "--quick", "--json", "-"])));
    assert!(report["entries"][0]["value"].as_f64() > Some(0.0), "{report}");
}

#[test]
fn every_metric_is_measured_on_the_staged_library() {
    let points = "latency:8,bandwidth:65536,bidirectional:65536,rate:8,barrier,bcast:8,reduce:8,allreduce:8,\
                  reduce_scatter:8,scan:8,gather:8,scatter:8,allgather:8,alltoall:8,startup";
    let report = json(&run(&mut bench(&["-n", "2,3", "--points", points])));
    let entries = report["entries"].as_array().expect("entries");
    // Four pairs at two ranks; ten collectives and the start-up at two and at three.
    assert_eq!(entries.len(), 4 + 11 * 2);
    let unmeasured: Vec<&Value> =
        entries.iter().filter(|entry| entry["value"].as_f64() <= Some(0.0)).collect();
    assert!(unmeasured.is_empty(), "{unmeasured:#?}");
    assert_eq!(report["library"]["abi"], "standard");
}

#[test]
fn every_metric_of_windows_is_measured_on_the_staged_library() {
    let report = json(&run(&mut bench(&["rma", "-n", "2,3", "--sizes", "8,64K", "--point-ms", "2"])));
    let entries = report["entries"].as_array().expect("entries");
    // Eleven metrics with two sizes and eight without, at two and at three ranks.
    assert_eq!(entries.len(), (11 * 2 + 8) * 2);
    let unmeasured: Vec<&Value> =
        entries.iter().filter(|entry| entry["value"].as_f64() <= Some(0.0)).collect();
    assert!(unmeasured.is_empty(), "{unmeasured:#?}");
    let alone = json(&run(&mut bench(&["-n", "1", "--points", "fence"])));
    let words = alone["entries"][0]["failure"].as_str().expect("refused");
    assert!(words.contains("start two at least"), "{words}");
}

#[test]
fn info_describes_the_staged_library() {
    let mut command = verbena(&["info", "--json"]);
    let info = json(&run(command.arg("--library").arg(staged("lib/libmpi_abi.so.1"))));
    let library = &info["library"]["found"];
    assert_eq!(library["soname"], "libmpi_abi.so.1", "{info}");
    assert_eq!(library["identity"]["standard"], serde_json::json!([5, 0]));
    assert_eq!(library["abi_version"], serde_json::json!([1, 0]));
    // As many as docs/COVERAGE.md counts.
    let page = include_str!("../../../../docs/COVERAGE.md");
    let all = page.lines().find(|line| line.starts_with("| **all** |")).expect("a sum");
    assert!(all.contains(&format!("**{}**", library["functions"])), "{all}: {info}");
}

#[test]
fn busy_processes_spin_during_the_run_and_end_with_it() {
    let before = std::time::Instant::now();
    let mut command = verbena(&["bench", "--points", "copy:4096", "--point-ms", "300", "--busy", "2"]);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("verbena starts");
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let spinning = |list: &str| list.split_whitespace().count() == 2;
    let mut pids = String::new();
    while !spinning(&pids) && before.elapsed().as_secs() < 20 {
        pids = std::fs::read_to_string(&children).unwrap_or_default();
    }
    assert!(spinning(&pids), "two spinning children, not \"{pids}\"");
    assert!(child.wait().expect("verbena ends").success());
    for pid in pids.split_whitespace() {
        assert!(!Path::new("/proc").join(pid).exists(), "process {pid} still spins");
    }
}

#[test]
fn the_floors_of_two_processes_are_measured() {
    let points = "pipe,read:65536,read_both:65536,copy_both:65536";
    let report = json(&run(&mut verbena(&["bench", "--quick", "--json", "-", "--points", points])));
    let entries = report["entries"].as_array().expect("entries");
    assert_eq!(entries.len(), 4);
    for entry in entries {
        let refused =
            entry["failure"].as_str().is_some_and(|why| why.contains("memory") || why.contains("processors"));
        assert!(entry["value"].as_f64() > Some(0.0) || refused, "{entry}");
    }
    assert!(entries[0]["value"].as_f64() > Some(0.0), "a pipe needs no permission: {}", entries[0]);
}

#[test]
fn a_mistyped_command_is_not_led_to_a_hidden_one() {
    let said = |word: &str| {
        let output = verbena(&[word]).output().expect("verbena starts");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said("foo").contains("'foo'") && !said("foo").contains("floor"), "{}", said("foo"));
    assert!(said("inof").contains("'info'") && !said("inof").contains("probe"), "{}", said("inof"));
}

/// One message, and no measurement that fails at each point.
#[test]
fn a_folder_that_cannot_take_the_file_is_refused_before_anything_is_measured() {
    let output = verbena(&["bench", "io", "--folder", "/nonexist"]).output().expect("verbena starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(said.lines().count() == 4 && said.contains("on: the folder /nonexist"), "{said}");
}
