//! The outcomes of the runs: a table for the terminal, and `target/apps/report.json`.

use super::judged;
use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use verbena_tests::apps::{Figure, Run};
use verbena_tests::{Ended, top};

/// The outcome of one run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Outcome {
    /// The run's name.
    pub run: String,
    /// The most ranks in it.
    pub ranks: u32,
    /// The place where it ran.
    pub place: &'static str,
    /// The time that it took, in seconds.
    pub seconds: f64,
    /// The application's own figures: name, value, unit.
    pub figures: Vec<(String, f64, &'static str)>,
    /// The reason why it failed, if it did.
    pub failure: Option<String>,
}

impl Outcome {
    /// Returns what the run's judge says.
    pub(super) fn of(run: &Run, place: &'static str, ended: &Ended) -> Outcome {
        let judge = || (run.judge)(&ended.clone().ok());
        let mut outcome = Outcome {
            run: run.name.clone(),
            ranks: run.ranks,
            place,
            seconds: ended.took.as_secs_f64(),
            figures: vec![],
            failure: None,
        };
        match judged(judge) {
            Ok(figures) => {
                outcome.figures =
                    figures.into_iter().map(|Figure { name, unit, value }| (name, value, unit)).collect()
            }
            Err(why) if ended.hung => outcome.failure = Some(format!("its time was up; {why}")),
            Err(why) => outcome.failure = Some(why),
        }
        outcome
    }

    /// Returns the outcome of a run that could not even be started.
    pub(super) fn not_run(name: &str, place: &'static str, why: String) -> Outcome {
        Outcome { run: name.to_owned(), ranks: 0, place, seconds: 0.0, figures: vec![], failure: Some(why) }
    }

    /// Returns whether the run passed.
    pub(super) fn passed(&self) -> bool {
        self.failure.is_none()
    }
}

/// Writes both.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(outcomes: &[Outcome]) -> Result<()> {
    println!("{}", table(outcomes));
    for outcome in outcomes {
        if let Some(why) = &outcome.failure {
            println!("\n{} ({}): {why}", outcome.run, outcome.place);
        }
    }
    let passed = outcomes.iter().filter(|outcome| outcome.passed()).count();
    println!("{passed} of {} runs passed.", outcomes.len());
    let path = top().join("target/apps/report.json");
    std::fs::create_dir_all(top().join("target/apps"))?;
    std::fs::write(&path, serde_json::to_string_pretty(outcomes)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

fn table(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["run", "where", "ranks", "result", "seconds", "its own figures"]);
    for outcome in outcomes {
        let result = if outcome.passed() { "passed" } else { "FAILED" };
        let figures = outcome.figures.iter().map(|(name, value, unit)| format!("{name} {value:.4} {unit}"));
        table.add_row([
            outcome.run.clone(),
            outcome.place.to_owned(),
            outcome.ranks.to_string(),
            result.to_owned(),
            format!("{:.1}", outcome.seconds),
            figures.collect::<Vec<_>>().join(", "),
        ]);
    }
    for column in table.column_iter_mut().filter(|column| [2, 4].contains(&column.index)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn run(passes: bool) -> Run {
        Run {
            name: "app".into(),
            ranks: 2,
            seconds_max: 1,
            files: vec![],
            script: String::new(),
            judge: Box::new(move |ended| {
                assert!(passes, "wrong result {}", ended.stdout);
                vec![Figure::new("speed", "Gflop/s", 1.5)]
            }),
        }
    }

    fn ended(code: i32) -> Ended {
        Ended {
            code,
            stdout: "7".into(),
            stderr: String::new(),
            took: Duration::from_secs(3),
            hung: code == 124,
        }
    }

    #[test]
    fn the_judge_and_the_exit_code_both_count() {
        let passed = Outcome::of(&run(true), "here", &ended(0));
        assert!(passed.passed() && passed.figures == [("speed".to_owned(), 1.5, "Gflop/s")]);
        let wrong = Outcome::of(&run(false), "here", &ended(0)).failure.expect("it failed");
        assert!(wrong.contains("wrong result 7"), "{wrong}");
        assert!(!Outcome::of(&run(true), "here", &ended(1)).passed());
        assert!(
            Outcome::of(&run(true), "here", &ended(124)).failure.expect("it failed").contains("time was up")
        );
    }

    #[test]
    fn the_table_says_what_failed() {
        let text = table(&[Outcome::not_run("app", "here", "no compiler".into())]).to_string();
        assert!(text.contains("app") && text.contains("FAILED"), "{text}");
    }
}
