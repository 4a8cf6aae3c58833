//! Fuzzers: libFuzzer where cargo-fuzz and a nightly compiler are, else the driver of
//! `verbena-fuzz`.

use super::Turn;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// The time for which a target is tried before the next one has its turn.
const SLICE: Duration = Duration::from_secs(10);

/// The driver that finds inputs.
#[derive(Debug, Default, PartialEq, Eq)]
enum Driver {
    /// Random and mutated inputs.
    #[default]
    Own,
    /// Coverage.
    LibFuzzer,
}

/// The targets in turn.
#[derive(Debug, Default)]
pub(super) struct Fuzzers {
    driver: Driver,
    targets: Vec<String>,
    next: usize,
}

impl Fuzzers {
    /// Builds the driver of the targets, and says which it is.
    ///
    /// # Errors
    /// It cannot be built.
    pub(super) fn prepare(top: &Path, without_libfuzzer: bool) -> Result<Fuzzers> {
        let list = own(top, &["--list"]).output().context("cannot run cargo")?;
        if !list.status.success() {
            bail!("verbena-fuzz cannot be built:\n{}", String::from_utf8_lossy(&list.stderr));
        }
        let names = String::from_utf8_lossy(&list.stdout);
        let targets: Vec<String> =
            names.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
        let driver = match without_libfuzzer {
            false if is_there(top) => Driver::LibFuzzer,
            _ => Driver::Own,
        };
        if driver == Driver::LibFuzzer {
            println!("fuzzers: libFuzzer, by cargo-fuzz");
            let built = cargo_fuzz(top, "build").arg("target").status().context("cannot run cargo fuzz")?;
            if !built.success() {
                bail!("cargo fuzz build failed; --without-libfuzzer does without it");
            }
        } else {
            println!(
                "fuzzers: random and mutated inputs without coverage (cargo-fuzz or a nightly compiler is missing or unwanted)"
            );
        }
        Ok(Fuzzers { driver, targets, next: 0 })
    }

    /// Tries the next targets for this long.
    ///
    /// # Errors
    /// A fuzzer cannot be run.
    pub(super) fn turn(&mut self, top: &Path, seed: u64, time: Duration) -> Result<Turn> {
        let mut turn = Turn::default();
        for _ in 0..(time.as_secs() / SLICE.as_secs()).max(1) {
            let target = &self.targets[self.next % self.targets.len()];
            self.next += 1;
            let output = match self.driver {
                Driver::Own => own(
                    top,
                    &[target, "--seed", &seed.to_string(), "--seconds", &SLICE.as_secs().to_string()],
                )
                .output(),
                Driver::LibFuzzer => libfuzzer(top, target, seed)?.output(),
            };
            let output = output.context("cannot run the fuzzer")?;
            let (tried, finding) = judged(target, &output);
            turn.tried += tried;
            turn.findings.extend(finding);
        }
        Ok(turn)
    }
}

fn own(top: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(top).args(["run", "--quiet", "--locked", "-p", "verbena-fuzz", "--"]).args(arguments);
    command
}

fn is_there(top: &Path) -> bool {
    let works = |arguments: &[&str]| {
        let output = Command::new("cargo").current_dir(top).args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    works(&["fuzz", "--version"]) && works(&["+nightly", "--version"])
}

fn cargo_fuzz(top: &Path, what: &str) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(top).args(["+nightly", "fuzz", what, "--fuzz-dir", "fuzz/libfuzzer"]);
    command
}

/// Returns the command of libFuzzer. The inputs that it learns from go under `target/`; those that
/// break a target go into the corpus in the tree.
fn libfuzzer(top: &Path, target: &str, seed: u64) -> Result<Command> {
    let learnt: PathBuf = top.join("target/soak/corpus").join(target);
    let kept = top.join("fuzz/corpus").join(target);
    for folder in [&learnt, &kept] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut command = cargo_fuzz(top, "run");
    command.env("VERBENA_FUZZ_TARGET", target).arg("target").args([&learnt, &kept]).arg("--");
    command.args([
        format!("-max_total_time={}", SLICE.as_secs()),
        format!("-seed={}", seed as u32),
        format!("-artifact_prefix={}/broken-", kept.display()),
    ]);
    command.args(["-print_final_stats=1", "-max_len=4096", "-timeout=20", "-rss_limit_mb=2048"]);
    Ok(command)
}

/// The inputs that were tried, and what is wrong with the run if anything is.
fn judged(target: &str, output: &Output) -> (u64, Option<String>) {
    let tried = tried(output).unwrap_or(0);
    let what = match (output.status.success(), tried) {
        (false, _) => format!("see fuzz/corpus/{target}/broken-*"),
        (true, 0) => "the fuzzer tried no input".into(),
        (true, _) => return (tried, None),
    };
    (tried, Some(format!("{target}: {what}\n{}", tail(output))))
}

/// Returns the number of inputs that the driver says it tried, if it says one.
fn tried(output: &Output) -> Option<u64> {
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let after = |mark: &str| text.split_once(mark)?.1.split_whitespace().next()?.parse().ok();
    let before = |mark: &str| text.split_once(mark)?.0.split_whitespace().last()?.parse().ok();
    after("stat::number_of_executed_units:").or_else(|| before(" inputs"))
}

fn tail(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn output(code: i32, said: &str, complained: &str) -> Output {
        let status = std::process::ExitStatus::from_raw(code << 8);
        Output { status, stdout: said.into(), stderr: complained.into() }
    }

    #[test]
    fn a_run_is_good_only_if_it_tried_something() {
        let judged = |output: Output| judged("pmi_text", &output);
        assert_eq!(judged(output(0, "pmi_text: 1234 inputs, all held\n", "")), (1234, None));
        assert_eq!(judged(output(0, "", "x\nstat::number_of_executed_units: 56\ny")), (56, None));
        for (said, complained) in
            [("", ""), ("pmi_text: 0 inputs, all held", ""), ("", "stat::number_of_executed_units: 0")]
        {
            let (tried, finding) = judged(output(0, said, complained));
            assert_eq!(tried, 0);
            assert!(finding.expect("a finding").starts_with("pmi_text: the fuzzer tried no input"));
        }
        let (tried, finding) = judged(output(1, "pmi_text: broken after 7 inputs: file", "trace"));
        assert_eq!(tried, 7);
        assert!(
            finding.expect("a finding").starts_with("pmi_text: see fuzz/corpus/pmi_text/broken-*\ntrace")
        );
    }
}
