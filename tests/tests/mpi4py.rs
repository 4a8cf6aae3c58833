//! mpi4py's own test suite, unmodified, module by module, against `tests/mpi4py-expectations.toml`.
//!
//! On the standard face it is built by our `mpicc`; on the MPICH face it is the stock wheel, at the
//! numbers of ranks in `VERBENA_STOCK_RANKS` (default: 2). Between two emulated nodes all takes
//! fifty times as long. There, only the modules in `VERBENA_NODES_MODULES` run (default: `cco_obj`;
//! `all` for the suite), at `VERBENA_NODES_RANKS` ranks (default: 2). They use reliable connections
//! alone, or the channels in `VERBENA_NODES_CHANNELS`, as in `loopback,shm,cma,rc`. The wire does
//! what `VERBENA_NODES_WIRE` says, as in `delay 1ms loss 1% reorder 1%` (default: nothing).
//!
//! A module that does not stand in that file must have no failure. One that is expected to fail and
//! passes is an error too: it comes off the list. A hang is a failure, whatever the file says; a
//! module that cannot be run yet is skipped there, with the reason.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use verbena_tests::softroce::Boot;
use verbena_tests::{Ended, Job, staged, stock_venv, top, venv};

/// The only modules that may stand in the file: none.
const OPEN: [&str; 0] = [];

/// A run of a module, or of up to [`TOGETHER`], is a hang after this many seconds: ten times what
/// the longest takes on a quiet machine.
const RUN_SECONDS_MAX: u32 = 300;

/// The time limit between emulated nodes, for one module and for up to [`TOGETHER`]. `util_dtlib`,
/// which computes for a minute outside, takes most of it.
const NODES_SECONDS_MAX: u32 = 900;
const TOGETHER_SECONDS_MAX: u32 = 2700;

/// Modules that run in one process, since Python takes long to start.
const TOGETHER: usize = 8;

/// Modules that ask nothing of another rank and compute for half a minute in Python (`datatype` in
/// `pickle`, which looks for a function in all modules): they run at one rank on either face.
const ALIKE_AT_ALL_RANKS: [&str; 2] = ["datatype", "util_dtlib"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectations {
    #[serde(default)]
    module: Vec<Entry>,
}

/// The expectation for a module, or for some of its tests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    /// The numbers of ranks that it holds for; all, if not given.
    ranks: Option<Vec<u32>>,
    /// The tests that it holds for, as `fnmatch` patterns of `module.Class.test`; all, if not
    /// given.
    tests: Option<Vec<String>>,
    expect: Expect,
    reason: String,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
enum Expect {
    Fail,
    Skip,
}

/// A run of (a part of) a module or of several, with its expected outcome.
struct Run {
    /// The names of the modules: several run in one process.
    modules: Vec<String>,
    arguments: Vec<String>,
    passes: bool,
}

fn expectations() -> Vec<Entry> {
    let text = std::fs::read_to_string(top().join("tests/mpi4py-expectations.toml")).expect("the file");
    toml::from_str::<Expectations>(&text).expect("well-formed").module
}

/// The names of the suite's modules, without `test_` and `.py`.
fn modules() -> BTreeSet<String> {
    let files = std::fs::read_dir(venv("mpi4py/test")).expect("mpi4py's tests").flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_prefix("test_")?.strip_suffix(".py")?.to_string())).collect()
}

impl Run {
    /// The words for Python, in the folder of mpi4py.
    fn words(&self) -> Vec<String> {
        let only = format!(r"^test_({})\.py$", self.modules.join("|"));
        let all = ["test/main.py", "-v", "-i", &only].map(str::to_owned);
        all.into_iter().chain(self.arguments.iter().cloned()).collect()
    }

    /// The modules, in words.
    fn name(&self) -> String {
        self.modules.join(" ")
    }

    /// Returns the failures; empty if all is as expected.
    fn judge(&self, ended: &Ended, ranks: u32, place: &str) -> String {
        let title = format!("{} {} at {ranks} ranks ({place})", self.name(), self.arguments.join(" "));
        println!("{:6.1} s  {title}: {}", ended.took.as_secs_f64(), summary(ended));
        match passed(ended, ranks) {
            _ if ended.hung => format!("{title} hung\n{}\n", tail(&ended.stderr)),
            passed if passed == self.passes => String::new(),
            true => format!("{title} passes: take it off mpi4py-expectations.toml\n"),
            false => format!("{title}: {}\n{}\n", summary(ended), failures(&ended.stderr)),
        }
    }
}

/// Returns what to run of a module at this number of ranks.
fn runs(module: &str, ranks: u32, expectations: &[Entry]) -> Vec<Run> {
    let holds = |e: &&Entry| e.name == module && e.ranks.as_ref().is_none_or(|list| list.contains(&ranks));
    let run = |arguments, passes| Run { modules: vec![module.to_string()], arguments, passes };
    let Some(entry) = expectations.iter().find(holds) else { return vec![run(vec![], true)] };
    let patterns = |flag: &str| {
        let tests = entry.tests.iter().flatten();
        tests.flat_map(|test| [flag.to_string(), test.clone()]).collect::<Vec<_>>()
    };
    let mut runs = Vec::new();
    if entry.tests.is_some() {
        runs.push(run(patterns("-x"), true));
    }
    if entry.expect == Expect::Fail {
        runs.push(run(patterns("-k"), false));
    }
    runs
}

/// The ABI that mpi4py speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Face {
    Standard,
    Mpich,
}

/// A job of the Python with this mpi4py.
fn python(ranks: u32, face: Face) -> Job {
    let job = Job::limited(&staged("bin/mpiexec"), ranks, RUN_SECONDS_MAX);
    match face {
        Face::Standard => job.arg(venv("bin/python")),
        Face::Mpich => {
            let library = staged("lib/libmpi.so.12");
            let job = job.env("LD_LIBRARY_PATH", library.parent().expect("a folder"));
            job.env("MPI4PY_MPIABI", "mpich").arg(stock_venv("bin/python"))
        }
    }
}

/// Runs it; the answer is empty if all is as expected.
fn check(run: &Run, ranks: u32, face: Face) -> String {
    let mut job = python(ranks, face);
    job.command().args(run.words()).current_dir(venv("mpi4py"));
    run.judge(&job.run(), ranks, &format!("{face:?}"))
}

/// Returns whether every rank ran tests and reported no failure.
fn passed(ended: &Ended, ranks: u32) -> bool {
    let fine = ended.stderr.lines().filter(|line| *line == "OK" || line.starts_with("OK (")).count();
    ended.code == 0 && fine == ranks as usize
}

/// The last word of each rank, each once.
fn summary(ended: &Ended) -> String {
    let verdict = |line: &&str| *line == "OK" || line.starts_with("OK (") || line.starts_with("FAILED (");
    let verdicts: BTreeSet<&str> = ended.stderr.lines().filter(verdict).collect();
    let words = verdicts.into_iter().collect::<Vec<_>>().join(" | ");
    if words.is_empty() { format!("no verdict, exit code {}", ended.code) } else { words }
}

/// The tests that failed, each once with how often (ranks and subtests), or the output's end if
/// none is named.
fn failures(stderr: &str) -> String {
    let named = |line: &&str| line.starts_with("ERROR: ") || line.starts_with("FAIL: ");
    let mut counts = BTreeMap::new();
    for line in stderr.lines().filter(named) {
        let test = line.split_inclusive(')').next().unwrap_or(line);
        *counts.entry(test).or_insert(0) += 1;
    }
    let lines: Vec<String> = counts.iter().map(|(test, count)| format!("  {count} times {test}")).collect();
    if lines.is_empty() { tail(stderr) } else { lines.join("\n") }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().rev().take(15).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// Waits for its turn: suites that run together would have more ranks than any of them says.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the suite without the modules that are alike at all ranks.
fn suite(ranks: u32, face: Face) {
    let alike = |module: &String| ALIKE_AT_ALL_RANKS.contains(&module.as_str());
    run_all(modules().into_iter().filter(|module| !alike(module)), ranks, face);
}

/// Runs these modules at this number of ranks.
fn run_all(modules: impl Iterator<Item = String>, ranks: u32, face: Face) {
    let expectations = expectations();
    let (mut wrong, start) = (String::new(), Instant::now());
    let runs = modules.flat_map(|module| runs(&module, ranks, &expectations)).collect();
    for run in together(runs) {
        let _ = write!(wrong, "{}", check(&run, ranks, face));
    }
    println!("{:6.1} s  all of this at {ranks} ranks ({face:?})", start.elapsed().as_secs_f64());
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// One process more beside another suite takes no turn.
#[test]
fn the_suite_at_1_rank() {
    run_all(modules().into_iter(), 1, Face::Standard);
}

/// One process more, too.
#[test]
fn modules_alike_at_all_ranks_with_the_stock_wheel() {
    run_all(ALIKE_AT_ALL_RANKS.map(String::from).into_iter(), 1, Face::Mpich);
}

#[test]
fn the_suite_at_2_ranks() {
    let _turn = turn();
    suite(2, Face::Standard);
}

#[test]
fn the_suite_at_3_ranks() {
    let _turn = turn();
    suite(3, Face::Standard);
}

#[test]
fn the_suite_at_4_ranks() {
    let _turn = turn();
    suite(4, Face::Standard);
}

#[test]
fn the_suite_with_the_stock_wheel() {
    let ranks = std::env::var("VERBENA_STOCK_RANKS").unwrap_or("2".into());
    let _turn = turn();
    for ranks in ranks.split(',') {
        suite(ranks.trim().parse().expect("a number of ranks"), Face::Mpich);
    }
}

#[test]
fn modules_between_nodes() {
    let set = |name: &str, or: &str| std::env::var(name).unwrap_or(or.into());
    let ranks: u32 = set("VERBENA_NODES_RANKS", "2").parse().expect("a number of ranks");
    let (all, wanted) = (modules(), set("VERBENA_NODES_MODULES", "cco_obj"));
    let wanted: Vec<&str> = match wanted.as_str() {
        "all" => all.iter().map(String::as_str).collect(),
        names => names.split(',').map(str::trim).collect(),
    };
    let expectations = expectations();
    let (wire, channels) = (set("VERBENA_NODES_WIRE", ""), set("VERBENA_NODES_CHANNELS", "loopback,rc"));
    let known =
        wanted.iter().inspect(|module| assert!(all.contains(**module), "there is no module {module}"));
    let runs = known.flat_map(|module| runs(module, ranks, &expectations)).collect();
    let mut boot = Boot::new(&["--nodes", "2"]);
    for run in together(runs) {
        let (name, script) = (run.name(), between_nodes(&run, ranks, &wire, &channels));
        let limit = if run.modules.len() > 1 { TOGETHER_SECONDS_MAX } else { NODES_SECONDS_MAX };
        let channels = channels.clone();
        boot = boot.check(&name, limit, script, move |ended| {
            let wrong = run.judge(&ended, ranks, &channels);
            assert!(wrong.is_empty(), "{wrong}");
        });
    }
    let _turn = turn();
    boot.run();
}

/// Returns the same runs, with up to [`TOGETHER`] modules in one process if nothing but success is
/// expected of them.
fn together(runs: Vec<Run>) -> Vec<Run> {
    let (plain, mut others): (Vec<Run>, Vec<Run>) =
        runs.into_iter().partition(|run| run.passes && run.arguments.is_empty());
    for some in plain.chunks(TOGETHER) {
        let modules = some.iter().flat_map(|run| run.modules.clone()).collect();
        others.push(Run { modules, arguments: Vec::new(), passes: true });
    }
    others
}

/// Processors of the guest that both nodes are in: more ranks than these share them, which a rank
/// of one node does not see.
const GUEST_CORES: u32 = 2;

/// The script of a run over these channels, half of the ranks on either node, on a wire that does
/// this.
fn between_nodes(run: &Run, ranks: u32, wire: &str, channels: &str) -> String {
    let words: Vec<String> = run.words().iter().map(|word| format!("'{word}'")).collect();
    let each = ranks.div_ceil(2);
    let wire = if wire.is_empty() { String::new() } else { format!("wire {wire} || exit\n") };
    // A rank waits like this if it knows of two on its processor.
    let sharing = "export VERBENA_WAIT_SPINS=0 VERBENA_WAIT_YIELDS=100 VERBENA_WAIT_YIELD_EVERY=1\n";
    let shares = if ranks > GUEST_CORES { sharing } else { "" };
    format!(
        "{wire}{shares}cd {}\nexport VERBENA_CHANNELS={channels} LD_LIBRARY_PATH={}\n\
         mpiexec -hosts node0:{each},node1:{each} -n {ranks} -genvall {} {}",
        venv("mpi4py").display(),
        staged("lib").display(),
        venv("bin/python").display(),
        words.join(" ")
    )
}

#[test]
fn the_expectations_are_about_this_suite_and_give_reasons() {
    let modules = modules();
    for entry in expectations() {
        assert!(modules.contains(&entry.name), "there is no module {}", entry.name);
        assert!(entry.reason.len() > 10, "{}: no reason", entry.name);
        assert!(OPEN.contains(&entry.name.as_str()), "{} is promised to pass", entry.name);
    }
}
