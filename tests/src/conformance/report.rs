//! The outcome of the runs: a table by family, the failures with their first lines, and JSON.

use super::expectations::Expectations;
use super::run::{Outcome, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The number of lines of a failure's output that are shown.
const LINES_MAX: usize = 12;

/// All results, and the expectations.
#[derive(Clone, Debug)]
pub struct Report {
    /// The results, in the order of the lists.
    pub outcomes: Vec<Outcome>,
    /// The expectations; none for other libraries than ours, which must succeed.
    pub expectations: Option<Expectations>,
    /// True if every entry of the tree is among the results.
    pub whole: bool,
    /// The time that it took, in seconds.
    pub seconds: f64,
}

/// The numbers of one family.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    passed: u32,
    failed: u32,
    excused: u32,
    skipped: u32,
    seconds: f64,
}

impl Report {
    /// The failures that nothing excuses.
    pub fn unexpected(&self) -> Vec<&Outcome> {
        match &self.expectations {
            Some(expectations) => expectations.unexpected(&self.outcomes),
            None => self.outcomes.iter().filter(|outcome| outcome.is_failure()).collect(),
        }
    }

    /// The exceptions that excuse nothing.
    pub fn idle(&self) -> BTreeSet<String> {
        let idle = |expectations: &Expectations| expectations.idle(&self.outcomes, self.whole);
        self.expectations.as_ref().map(idle).unwrap_or_default()
    }

    /// Returns whether all is as expected, and anything was run at all.
    pub fn is_fine(&self) -> bool {
        let ran = self.outcomes.iter().any(|outcome| outcome.verdict != Verdict::Skipped);
        ran && self.unexpected().is_empty() && self.idle().is_empty()
    }

    /// The table and the failures, for people.
    pub fn text(&self) -> String {
        let mut text = self.table();
        let _ = writeln!(text, "\nnot run: {}", self.skips());
        let (unexpected, idle) = (self.unexpected(), self.idle());
        for outcome in &unexpected {
            let _ = write!(text, "\nunexpected: {}: {}\n{}", outcome.entry.id(), outcome.why, shown(outcome));
        }
        for pattern in &idle {
            let _ = writeln!(text, "\nan exception that excuses nothing: {pattern}");
        }
        let (failures, idle) = (unexpected.len(), idle.len());
        let _ =
            writeln!(text, "\n{failures} unexpected failures, {idle} idle exceptions, {:.0} s", self.seconds);
        text
    }

    /// Returns everything, for programs.
    pub fn json(&self) -> String {
        let result = |outcome: &Outcome| {
            serde_json::json!({
                "id": outcome.entry.id(), "family": outcome.entry.family(), "ranks": outcome.entry.ranks,
                "verdict": word(outcome), "why": outcome.why, "seconds": outcome.seconds,
                "output": outcome.output.iter().take(LINES_MAX).collect::<Vec<_>>(),
                "excused": self.excuses(outcome),
            })
        };
        let results: Vec<_> = self.outcomes.iter().map(result).collect();
        let idle = self.idle();
        let document = serde_json::json!({ "seconds": self.seconds, "idle": idle, "results": results });
        format!("{document:#}\n")
    }

    fn excuses(&self, outcome: &Outcome) -> bool {
        let expectations = self.expectations.as_ref();
        outcome.is_failure() && expectations.is_some_and(|e| e.of(&outcome.entry.id()).is_some())
    }

    fn table(&self) -> String {
        let mut families: BTreeMap<&str, Numbers> = BTreeMap::new();
        let mut all = Numbers::default();
        for outcome in &self.outcomes {
            let excused = self.excuses(outcome);
            families.entry(outcome.entry.family()).or_default().add(outcome, excused);
            all.add(outcome, excused);
        }
        let rows = families.iter().map(|(name, numbers)| numbers.row(name)).collect::<String>();
        let heads = ["passed", "failed", "excused", "not run", "seconds"];
        let heads = heads.map(|head| format!("{head:>9}")).concat();
        format!("{:12}{heads}\n{rows}{}", "family", all.row("all"))
    }

    /// The reasons for which entries were not run, with their numbers.
    fn skips(&self) -> String {
        let mut reasons: BTreeMap<&str, u32> = BTreeMap::new();
        for outcome in self.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::Skipped) {
            *reasons.entry(&outcome.why).or_default() += 1;
        }
        reasons.iter().map(|(why, count)| format!("{count} ({why})")).collect::<Vec<_>>().join(", ")
    }
}

impl Numbers {
    fn add(&mut self, outcome: &Outcome, excused: bool) {
        let place = match outcome.verdict {
            Verdict::Passed => &mut self.passed,
            Verdict::Skipped => &mut self.skipped,
            _ if excused => &mut self.excused,
            _ => &mut self.failed,
        };
        *place += 1;
        self.seconds += outcome.seconds;
    }

    fn row(&self, name: &str) -> String {
        let Numbers { passed, failed, excused, skipped, seconds } = self;
        format!("{name:12}{passed:>9}{failed:>9}{excused:>9}{skipped:>9}{seconds:>9.0}\n")
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome.verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Late => "late",
        Verdict::Unbuilt => "unbuilt",
        Verdict::Skipped => "skipped",
    }
}

/// The first lines of a failure's output.
fn shown(outcome: &Outcome) -> String {
    outcome.output.iter().take(LINES_MAX).map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::expectations::TreeKind;
    use super::super::testlist::Entry;
    use super::*;

    const EXPECTED: &str =
        "[[exception]]\ntests = [\"coll/b 2\"]\nexpect = \"fail\"\nreason = \"a reason of some length\"\n";

    fn outcome(program: &str, verdict: Verdict) -> Outcome {
        let (folder, program) = ("coll".to_owned(), program.to_owned());
        let entry = Entry { folder, program, ranks: 2, ..Entry::default() };
        let output = vec!["Found 3 errors".to_owned()];
        Outcome { entry, verdict, why: "other output".into(), output, seconds: 1.0 }
    }

    fn report(outcomes: Vec<Outcome>) -> Report {
        let expectations = Expectations::parse(EXPECTED, TreeKind::Debian).ok();
        Report { outcomes, expectations, whole: true, seconds: 2.0 }
    }

    #[test]
    fn what_is_as_expected_is_fine() {
        let report = report(vec![outcome("a", Verdict::Passed), outcome("b", Verdict::Failed)]);
        assert!(report.is_fine());
        let row = report.text().lines().nth(1).expect("a row").to_owned();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["coll", "1", "0", "1", "0", "2"]);
    }

    #[test]
    fn a_failure_and_an_idle_exception_are_not() {
        let report = report(vec![outcome("a", Verdict::Late), outcome("b", Verdict::Passed)]);
        assert!(!report.is_fine());
        let text = report.text();
        assert!(text.contains("unexpected: coll/a 2: other output\n    Found 3 errors"), "{text}");
        assert!(text.contains("excuses nothing: coll/b 2"), "{text}");
        assert!(report.json().contains("\"verdict\": \"late\""));
    }

    #[test]
    fn nothing_run_is_no_success() {
        let mut report = report(vec![outcome("a", Verdict::Skipped)]);
        report.expectations = None;
        assert!(!report.is_fine());
    }
}
