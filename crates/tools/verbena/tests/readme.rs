//! Every command of the README, as it stands there, on the staged installation. The commands
//! `verbena ...` have a limit on memory: none may fail for want of it, nor take the machine's. Each
//! line of a code block is run, or stands here with the reason why it is not.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The address space, in KiB, for the command and each of its ranks.
const LIMIT_KIB: u64 = 3 << 20;
/// A command that takes minutes is ended after this time; it must not have failed before.
const LONG: Duration = Duration::from_secs(15);

/// The end of a command of the README here.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// Ends by itself, with success.
    Success,
    /// Ends by itself, with success, or with all words of one of these lists about what is not
    /// there.
    Unless(&'static [&'static [&'static str]]),
    /// Ended after a first stretch by this test: it measures for minutes.
    Long,
}

/// The commands `verbena ...` and how they end.
const COMMANDS: [(&str, End); 13] = [
    ("verbena info", End::Success),
    ("verbena info --settings", End::Success),
    ("verbena bench", End::Success),
    ("verbena bench -n 2 --points latency:8", End::Success),
    ("verbena bench -n 2 --points bandwidth:1048576", End::Success),
    ("verbena bench -n 8 --points allreduce:8", End::Success),
    ("verbena bench -n 2 --points startup", End::Success),
    ("verbena bench -n 4 --points barrier --busy 2", End::Success),
    ("verbena bench rma", End::Success),
    (
        "verbena bench verbs",
        End::Unless(&[
            &["the bare device cannot be measured", "what to do:"],
            &["the bare device cannot be measured", "verbena info says why"],
        ]),
    ),
    // It says what to mend and ends with 1 where there is something.
    ("verbena doctor", End::Unless(&[&["what to do:"]])),
    ("verbena top", End::Unless(&[&["job", "mpiexec"]])),
    // On a machine that tests keep busy it would refuse.
    ("verbena tune --busy-ok", End::Long),
];

/// Lines of code blocks that are not run here, and why.
const ELSEWHERE: [(&str, &str); 5] = [
    ("make demo", "`make test` runs the same programs on the stage: tests/tests/mpi4py.rs, and hello below"),
    ("make test", "this test is a part of it"),
    (
        "make install PREFIX=/opt/verbena",
        "it would write outside of the tree; the stage is made by the same script",
    ),
    ("export PATH=/opt/verbena/bin:$PATH", "the stage is in the PATH here"),
    ("mpiexec -hosts a:2,b:2 ./hello", "there are no hosts a and b; launch/tests/mpiexec has hosts"),
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn staged() -> PathBuf {
    let stage = std::env::var_os("VERBENA_STAGE").map_or(top().join("target/stage"), PathBuf::from);
    assert!(stage.join("bin/verbena").exists(), "there is no stage: run `make stage`");
    stage.canonicalize().expect("the stage")
}

/// The README.
fn readme() -> String {
    std::fs::read_to_string(top().join("README.md")).expect("README.md")
}

/// The commands between backquotes that begin with `verbena`.
fn named(readme: &str) -> BTreeSet<String> {
    let spans = readme.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " "));
    let commands = spans.filter(|span| span.starts_with("verbena "));
    // It takes files that a job has written.
    commands.filter(|command| command != "verbena trace").collect()
}

/// The lines of the README's code blocks of shell, without their comments.
fn lines(readme: &str) -> Vec<String> {
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).map(|line| line.split("  #").next().unwrap_or("").trim());
    lines.filter(|line| !line.is_empty()).map(String::from).collect()
}

/// A folder of its own, gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("verbena-readme-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn shell(script: &str, at: &Path) -> Command {
    let path = format!("{}:{}", staged().join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(at).env("PATH", path).stdin(Stdio::null());
    command
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// Ends the command after a while: its process group, and with its launchers their ranks.
fn run_for_a_while(command: &mut Command) -> (Output, bool) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("sh");
    let start = Instant::now();
    let is_over = loop {
        match child.try_wait().expect("a child") {
            Some(_) => break true,
            None if start.elapsed() > LONG => break false,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    if !is_over {
        let group = format!("-{}", child.id());
        let killed = Command::new("kill").args(["-TERM", "--", &group]).status();
        assert!(killed.is_ok_and(|status| status.success()), "the command's processes");
    }
    (child.wait_with_output().expect("output"), is_over)
}

fn check(command: &str, end: End) {
    let folder = Folder::new(&command.replace(' ', "-"));
    let script = format!("ulimit -v {LIMIT_KIB}; {command}");
    let output = match end {
        End::Long => {
            let mut shell = shell(&script, &folder.0);
            let (output, is_over) = run_for_a_while(shell.process_group(0));
            assert!(!is_over || output.status.success(), "{command}: {}", words(&output));
            output
        }
        _ => shell(&script, &folder.0).output().expect("sh"),
    };
    let text = words(&output);
    for bad in ["memory allocation", "too much memory", "panicked", "Killed"] {
        assert!(!text.contains(bad), "{command}: {text}");
    }
    match end {
        End::Success => assert!(output.status.success(), "{command}: {text}"),
        End::Unless(lists) => {
            let says_so = lists.iter().any(|words| words.iter().all(|word| text.contains(word)));
            assert!(output.status.success() || says_so, "{command}: {text}");
        }
        End::Long => {}
    }
}

#[test]
fn every_command_is_tried() {
    let tried: BTreeSet<String> =
        COMMANDS.iter().map(|(command, _)| command.replace(" --busy-ok", "")).collect();
    assert_eq!(named(&readme()), tried, "the README's commands and those of this test");
}

#[test]
fn commands_run_with_their_defaults_in_little_memory() {
    COMMANDS.iter().for_each(|&(command, end)| check(command, end));
}

#[test]
fn every_line_of_a_code_block_is_run_or_has_a_reason() {
    let lines = lines(&readme());
    let (elsewhere, here): (Vec<&String>, Vec<&String>) =
        lines.iter().partition(|line| ELSEWHERE.iter().any(|(known, _)| known == line));
    assert_eq!(
        elsewhere.len(),
        ELSEWHERE.len(),
        "each line with a reason stands in the README: {elsewhere:?}"
    );
    let folder = Folder::new("lines");
    let examples = top().join("examples").canonicalize().expect("the examples");
    std::os::unix::fs::symlink(examples, folder.0.join("examples")).expect("a link");
    assert!(here.iter().any(|line| line.starts_with("mpicc")), "{here:?}");
    for line in here {
        let output = shell(line, &folder.0).output().expect("sh");
        assert!(output.status.success(), "{line}: {}", words(&output));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let folder = Folder::new("head");
    for command in ["verbena info --settings", "verbena info --settings --json"] {
        // The reader ends before anything is written.
        let script = format!("{{ sleep 0.2; {command}; echo $? >code; }} | true");
        let output = shell(&script, &folder.0).output().expect("sh");
        assert_eq!(words(&output), "", "{command}");
        assert_eq!(std::fs::read_to_string(folder.0.join("code")).expect("a code").trim(), "141");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let folder = Folder::new("full");
    let output = shell("verbena info --settings >/dev/full", &folder.0).output().expect("sh");
    assert_eq!(output.status.code(), Some(1));
    assert!(words(&output).contains("cannot write to standard output"), "{}", words(&output));
}

#[test]
fn tune_overwrites_no_file() {
    let folder = Folder::new("tune");
    std::fs::write(folder.0.join("verbena.toml"), "mine").expect("a file");
    let output = shell("verbena tune --quick --busy-ok", &folder.0).output().expect("sh");
    assert_eq!(output.status.code(), Some(1));
    assert!(words(&output).contains("does not overwrite"), "{}", words(&output));
    assert_eq!(std::fs::read_to_string(folder.0.join("verbena.toml")).expect("the file"), "mine");
}

#[test]
fn a_library_without_mpi_is_refused_in_four_parts() {
    let folder = Folder::new("abi");
    let program = staged().join("bin/verbena");
    let libraries = shell(&format!("ldd {} | grep -o '/[^ ]*libc.so.6'", program.display()), &folder.0);
    let library = String::from_utf8_lossy(&{ libraries }.output().expect("sh").stdout).trim().to_owned();
    let script = format!("verbena info --library {library}");
    let output = shell(&script, &folder.0).output().expect("sh");
    let page = words(&output);
    assert!(page.contains("this is no MPI library") && page.contains("what to do:"), "{library}: {page}");
}
