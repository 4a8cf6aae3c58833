//! Runs one entry under a launcher, ends what it leaves behind, and judges it.

use super::judge::{Judgement, Rule, judge};
use super::library::Library;
use super::testlist::Entry;
use super::tree::home;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The variable by which every process of a run is found again, however the launcher forks.
const MARK: &str = "CONFORMANCE_RUN";

/// The bytes of output after which nothing more is looked at.
const OUTPUT_BYTES_MAX: u64 = 200_000;

/// The most seconds that a test list may ask for.
const SECONDS_MAX: u64 = 300;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The program is right.
    Passed,
    /// The program is wrong.
    Failed,
    /// The program had to be ended when its time was up.
    Late,
    /// The program does not build.
    Unbuilt,
    /// The program was not run, or says that it cannot be.
    Skipped,
}

/// The result of one entry.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The entry that was run.
    pub entry: Entry,
    /// The outcome of the run.
    pub verdict: Verdict,
    /// The reason, in words; empty if it passed.
    pub why: String,
    /// The first lines of its output, unless it passed.
    pub output: Vec<String>,
    /// The time that it took, in seconds.
    pub seconds: f64,
}

impl Outcome {
    /// The outcome of something that did not run.
    pub fn not_run(entry: Entry, verdict: Verdict, why: &str) -> Outcome {
        let lines = || why.lines().map(str::to_owned).collect::<Vec<_>>();
        let output = if verdict == Verdict::Unbuilt { lines() } else { vec![] };
        let why = if output.is_empty() { why } else { "it does not build" };
        Outcome { entry, verdict, why: why.to_owned(), output, seconds: 0.0 }
    }

    /// Returns whether it says that something is wrong.
    pub fn is_failure(&self) -> bool {
        matches!(self.verdict, Verdict::Failed | Verdict::Late | Verdict::Unbuilt)
    }
}

/// The settings for the run of an entry.
#[derive(Debug)]
pub struct Run<'a> {
    /// The library.
    pub library: &'a Library,
    /// The suite's folder with the program's sources and data.
    pub sources: &'a Path,
    /// The program.
    pub program: &'a Path,
    /// The entry.
    pub entry: &'a Entry,
    /// The time limit in seconds, unless the list of the entry says otherwise.
    pub seconds_max: u64,
    /// The time limits are this many times as long.
    pub patience: u64,
}

impl Run<'_> {
    /// Runs it to its end.
    ///
    /// # Panics
    /// If `target/` is not writable.
    pub fn go(&self) -> Outcome {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = home().join("run").join(&mark);
        self.furnish(&folder);
        let (limit, launcher_limit) = self.limits();
        let start = Instant::now();
        let code = self.execute(&folder, &mark, limit, launcher_limit);
        let took = start.elapsed();
        let left = swept(&mark);
        let lines = output(&folder.join(OUTPUT));
        let _ = fs::remove_dir_all(&folder);
        // `timeout` ends with one of these codes when time is up, but a rank may end so as well.
        let late = (code == 124 || code == 137) && took >= Duration::from_secs(limit);
        let (verdict, why) = match late {
            true => (Verdict::Late, format!("ended after {limit} s")),
            false => self.verdict(&lines, code, left),
        };
        let shown = if verdict == Verdict::Passed { vec![] } else { lines };
        Outcome { entry: self.entry.clone(), verdict, why, output: shown, seconds: took.as_secs_f64() }
    }

    fn verdict(&self, lines: &[String], code: i32, left: usize) -> (Verdict, String) {
        match judge(self.entry.rule, lines, code) {
            Judgement::Wrong(why) => (Verdict::Failed, why),
            _ if left > 0 => (Verdict::Failed, format!("{left} processes were left behind")),
            Judgement::Right => (Verdict::Passed, String::new()),
            Judgement::Skipped => (Verdict::Skipped, "the program says so".to_owned()),
        }
    }

    /// Makes a folder of its own, with the program and the data that lie beside its source.
    fn furnish(&self, folder: &Path) {
        fs::create_dir_all(folder).expect("target/ is writable");
        let link = |path: PathBuf| {
            let name = path.file_name().expect("a file has a name");
            std::os::unix::fs::symlink(&path, folder.join(name)).expect("target/ is writable");
        };
        link(self.program.to_path_buf());
        let beside = fs::read_dir(self.sources.join(&self.entry.folder)).into_iter().flatten().flatten();
        beside
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
            .for_each(link);
    }

    /// Returns our limit, and the one that the launcher gets; in seconds.
    ///
    /// The launcher's own limit is the later one, except for the program that tests it.
    fn limits(&self) -> (u64, u64) {
        let limit = self.entry.seconds_max.map_or(self.seconds_max, |asked| asked.min(SECONDS_MAX));
        let tests_launcher = self.entry.rule == Rule::Fatal && self.entry.program == "timeout";
        let (ours, launchers) = if tests_launcher { (limit + 30, limit) } else { (limit, limit + 30) };
        (ours * self.patience, launchers * self.patience)
    }

    /// The exit code of the launcher; its output is in a file, which no process left behind can
    /// hold up.
    fn execute(&self, folder: &Path, mark: &str, limit: u64, launcher_limit: u64) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        let out = File::create(folder.join(OUTPUT)).expect("target/ is writable");
        // No core files; and if we are killed, so is the launcher.
        let mut command = Command::new("prlimit");
        command.args([
            "--core=0",
            "setpriv",
            "--pdeathsig",
            "TERM",
            "timeout",
            "-k",
            "5",
            &limit.to_string(),
        ]);
        command.arg(&self.library.mpiexec).args(["-n", &self.entry.ranks.to_string()]);
        command.args(&self.entry.launcher_args).arg(format!("./{}", self.entry.program));
        command.args(&self.entry.args).current_dir(folder).stdin(Stdio::null());
        command.stdout(out.try_clone().expect("a descriptor")).stderr(out);
        command.env("LD_LIBRARY_PATH", &self.library.folder).env(MARK, mark);
        command.env("MPIEXEC_TIMEOUT", launcher_limit.to_string());
        command.envs(self.entry.env.iter().map(|(name, value)| (name, value)));
        let status =
            command.status().expect("prlimit, setpriv and timeout are there (util-linux, coreutils)");
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }
}

/// The file with the output.
const OUTPUT: &str = ".output";

fn output(path: &Path) -> Vec<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).expect("the output");
    file.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).expect("the output");
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

/// Returns how many processes with this mark do not end by themselves within a second; they are
/// ended.
fn swept(mark: &str) -> usize {
    for _ in 0..20 {
        if marked(mark).is_empty() {
            return 0;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let left = marked(mark);
    for process in &left {
        let _ = Command::new("kill").args(["-KILL", process]).status();
    }
    left.len()
}

/// The numbers of the processes with this mark.
fn marked(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let has_mark =
        |environment: Vec<u8>| environment.split(|byte| *byte == 0).any(|e| e == wanted.as_bytes());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let numbers = processes.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    numbers.filter(|name| fs::read(format!("/proc/{name}/environ")).is_ok_and(has_mark)).collect()
}
