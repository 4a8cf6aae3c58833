//! The command that starts the two ranks and collects their rows.

use super::outcome::{Outcome, Subject};
use super::worker::Line;
use crate::job::{End, run_lines};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The way to run the bare device's program.
#[derive(Clone, Debug)]
pub struct Run {
    /// The launcher.
    pub mpiexec: PathBuf,
    /// Further options of the launcher, such as `-hosts a,b`.
    pub launcher_args: Vec<String>,
    /// Variables that launcher and ranks get besides ours.
    pub environment: Vec<(String, String)>,
    /// Milliseconds a row.
    pub point_ms: u64,
    /// Repetitions of a row.
    pub repetitions: usize,
    /// True for few sizes.
    pub quick: bool,
    /// The subjects of the rows; all if there are none.
    pub only: Vec<Subject>,
    /// The number of the run among several, from 0: each has the rows in another order.
    pub turn: usize,
    /// The longest that one row (and the start) may take.
    pub limit: Duration,
}

impl Run {
    /// Starts the ranks and collects what they measure; `told` hears of each row.
    ///
    /// # Errors
    /// The launcher cannot be started, there is no device, or a rank failed. The error says in
    /// words which.
    pub fn measure(&self, told: &mut dyn FnMut(&str)) -> Result<Outcome> {
        let mut outcome = Outcome::of_this_command();
        let mut refusal = None;
        let mut on_line = |line| match line {
            Line::Places { places } => outcome.places = places,
            Line::Row(row) => {
                told(&format!("{:?}: {}, {}", row.subject, row.variant, row.at));
                outcome.rows.push(row);
            }
            Line::Refused { reason } => refusal = refusal.take().or(Some(reason)),
        };
        let end = run_lines(self.command()?, self.limit, &mut on_line)?;
        if let Some(reason) = refusal {
            bail!("the bare device cannot be measured: {reason}");
        }
        match end {
            End::Finished => Ok(outcome),
            End::Died(words) => bail!("the job died after {} rows: {words}", outcome.rows.len()),
            End::TimedOut(limit) => {
                bail!("no row came for {} s, after {} rows", limit.as_secs_f64(), outcome.rows.len())
            }
        }
    }

    fn command(&self) -> Result<Command> {
        let program = std::env::current_exe().context("cannot find this program's own path")?;
        let mut command = Command::new(&self.mpiexec);
        command.args(&self.launcher_args).args(["-n", "2"]).arg(program).arg("bench-verbs");
        command.args(["--point-ms", &self.point_ms.to_string()]);
        command.args(["--repetitions", &self.repetitions.to_string()]);
        command.args(self.quick.then_some("--quick"));
        command.args(["--turn", &self.turn.to_string()]);
        command.args(self.only.iter().flat_map(|subject| ["--only", subject.word()]));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> Result<Outcome> {
        // `sh -c SCRIPT` ignores the words that follow: they become its positional parameters.
        let run = Run {
            mpiexec: "/bin/sh".into(),
            launcher_args: vec!["-c".into(), script.into()],
            environment: Vec::new(),
            point_ms: 1,
            repetitions: 1,
            quick: true,
            only: Vec::new(),
            turn: 0,
            limit: Duration::from_millis(500),
        };
        run.measure(&mut |_| {})
    }

    #[test]
    fn a_refusal_is_the_error() {
        let refused = run(r#"echo '{"line":"refused","reason":"there is no device"}'"#).expect_err("refused");
        assert_eq!(refused.to_string(), "the bare device cannot be measured: there is no device");
    }

    #[test]
    fn a_rank_that_fails_is_no_result() {
        let places = r#"echo '{"line":"places","places":["a","b"]}'"#;
        let failed = run(&format!("{places}; echo broken wire >&2; exit 4")).expect_err("died");
        assert!(failed.to_string().contains("broken wire"), "{failed}");
        assert_eq!(run(places).expect("finished").places, ["a", "b"]);
    }

    #[test]
    fn a_run_that_stops_speaking_is_ended() {
        let failed = run("exec sleep 60").expect_err("timed out");
        assert!(failed.to_string().contains("no row came"), "{failed}");
    }
}
