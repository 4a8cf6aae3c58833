//! Checks on virtual nodes with kernel verbs devices (`cargo xtask softroce`): many checks under
//! one boot, because a boot takes seconds and a check often less.

use crate::{Ended, top};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time for booting, in seconds: an emulated machine on a busy one.
const BOOT_SECONDS_MAX: u32 = 120;

/// The exit code of the script with the checks once it has done them all: one that no failure has.
const DONE: i32 = 42;

/// The nodes, and the checks on them.
pub struct Boot {
    options: Vec<String>,
    checks: Vec<Check>,
}

struct Check {
    name: String,
    seconds_max: u32,
    script: String,
    judge: Box<dyn Fn(Ended)>,
}

impl Boot {
    /// Nodes as these options of `cargo xtask softroce` make them.
    pub fn new(options: &[&str]) -> Boot {
        Boot { options: options.iter().map(|&word| word.to_owned()).collect(), checks: Vec::new() }
    }

    /// Adds a check: a script of `bash`, which is ended after `seconds_max` (exit code 124), and a
    /// function that panics unless the script did what it should.
    ///
    /// The script finds the words of `xtask/src/softroce/guest/bin` (`spread`, `enter`, `wire`) and
    /// the staged `mpiexec`; its settings of the wire are taken off before the next check.
    pub fn check(
        mut self,
        name: &str,
        seconds_max: u32,
        script: impl Into<String>,
        judge: impl Fn(Ended) + 'static,
    ) -> Boot {
        let judge = Box::new(judge);
        self.checks.push(Check { name: name.to_owned(), seconds_max, script: script.into(), judge });
        self
    }

    /// Boots the nodes and does the checks, one after the other.
    ///
    /// # Panics
    /// Names all checks that failed, and why; also if nothing could be booted.
    pub fn run(self) {
        let out = folder();
        for (number, check) in self.checks.iter().enumerate() {
            fs::write(out.join(format!("{number}.sh")), &check.script).expect("writable");
        }
        fs::write(out.join("run.sh"), self.script()).expect("writable");
        let said = self.boot(&out);
        let failures: Vec<_> =
            self.checks.iter().enumerate().filter_map(|it| it.1.judge(it.0, &out)).collect();
        assert!(failures.is_empty(), "{}\nThe nodes said:\n{said}", failures.join("\n\n"));
        fs::remove_dir_all(out).expect("removable");
    }

    fn script(&self) -> String {
        let each = |(number, check): (usize, &Check)| {
            format!(
                "begin=$EPOCHREALTIME\n\
                 limited {} bash /out/{number}.sh >/out/{number}.out 2>/out/{number}.err\n\
                 echo $? $begin $EPOCHREALTIME >/out/{number}.code\n\
                 wire\n",
                check.seconds_max
            )
        };
        let checks = self.checks.iter().enumerate().map(each);
        checks.chain([format!("exit {DONE}\n")]).collect()
    }

    fn boot(&self, out: &Path) -> String {
        let limit: u32 = self.checks.iter().map(|check| check.seconds_max + 10).sum();
        let limit = (limit + BOOT_SECONDS_MAX).to_string();
        let options = self.options.iter().map(String::as_str);
        let mut words: Vec<&str> = options.chain(["--limit", &limit]).collect();
        words.extend(["--out", out.to_str().expect("utf-8"), "--", "bash", "/out/run.sh"]);
        let ended = run(&words);
        assert_eq!(ended.code, DONE, "{words:?}: {ended:?}");
        eprintln!("{} checks and the boot: {:.1} s", self.checks.len(), ended.took.as_secs_f64());
        ended.stdout + &ended.stderr
    }
}

impl Check {
    /// Returns why the check failed, if it did.
    fn judge(&self, number: usize, out: &Path) -> Option<String> {
        let read = |kind: &str| fs::read(out.join(format!("{number}.{kind}"))).unwrap_or_default();
        let text = |kind: &str| String::from_utf8_lossy(&read(kind)).into_owned();
        let words: Vec<f64> = text("code").split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [code, begin, end] = words[..] else { return Some(format!("{}: it was not run", self.name)) };
        eprintln!("{:6.1} s  {}", end - begin, self.name);
        let (code, took) = (code as i32, Duration::from_secs_f64((end - begin).max(0.0)));
        let ended = Ended { code, stdout: text("out"), stderr: text("err"), took, hung: code == 124 };
        let judged = catch_unwind(AssertUnwindSafe(|| (self.judge)(ended)));
        let why = judged.err()?;
        let why = why.downcast_ref::<String>().cloned();
        Some(format!("{}: {}", self.name, why.unwrap_or_else(|| "an assertion failed".into())))
    }
}

/// Runs `cargo xtask softroce` with these words; one at a time, because each wants two processors.
pub fn run(words: &[&str]) -> Ended {
    static ONE: Mutex<()> = Mutex::new(());
    let _turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(["xtask", "softroce"]).args(words).current_dir(top()).stdin(Stdio::null());
    let start = Instant::now();
    crate::ended(command.output().expect("cargo starts"), start.elapsed())
}

/// An empty folder for the files of a boot.
fn folder() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = top().join(format!("target/softroce/test.{}.{count}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("target/ is writable");
    folder
}
