//! The rows of the report: what each item of the papers claims, and what was seen of it.

use super::inventory::{Claim, Claimed, Item, Seen, To};
use super::pick::{Found, Pick};
use super::results::Results;
use verbena_lab::table::{format_value, readable};

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// The two things that are compared, or the thing that is measured.
    pub what: String,
    /// The ratio that the paper claims.
    pub claimed: Option<Claimed>,
    /// The place where ours was measured.
    pub source: &'static str,
    /// Our values.
    pub ours: String,
    /// Our ratio.
    pub seen: Option<f64>,
    /// The outcome: whether it is as claimed.
    pub outcome: Outcome,
    /// The command that measures it again.
    pub command: String,
    /// The full command lines behind it.
    pub details: Vec<String>,
    /// A remark for the reader, or why it was not measured.
    pub remark: String,
}

/// The outcome of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The value is as claimed.
    Kept,
    /// The value was measured, and is not as claimed.
    Missed,
    /// A value without a claim.
    Shown,
    /// The value was not measured in this run.
    Unmeasured,
    /// The value cannot be measured here.
    Nothing,
}

impl Outcome {
    /// Returns the name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Outcome::Kept => "as claimed",
            Outcome::Missed => "not as claimed",
            Outcome::Shown => "shown",
            Outcome::Unmeasured => "not measured",
            Outcome::Nothing => "cannot be shown here",
        }
    }
}

/// The distance that a ratio may have from the value it is said to be near to.
const NEAR: f64 = 0.1;

impl Claimed {
    /// Returns whether a ratio is as claimed, to a hundredth: the papers give whole per cent.
    pub(super) fn holds(self, ratio: f64) -> bool {
        let ratio = (ratio * 100.0).round() / 100.0;
        match self {
            Claimed::About(value) => (ratio / value - 1.0).abs() <= NEAR,
            Claimed::AtLeast(value) => ratio >= value,
            Claimed::AtMost(value) => ratio <= value,
        }
    }
}

impl std::fmt::Display for Claimed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Claimed::About(value) => write!(f, "about {}", format_value(*value)),
            Claimed::AtLeast(value) => write!(f, "at least {}", format_value(*value)),
            Claimed::AtMost(value) => write!(f, "at most {}", format_value(*value)),
        }
    }
}

/// The rows of an item: one at least.
pub(super) fn rows(item: &Item, results: &Results) -> Vec<Row> {
    let rows: Vec<Row> = item.claims.iter().flat_map(|claim| of_claim(item, claim, results)).collect();
    if rows.is_empty() { vec![nothing(item, item.about, None)] } else { rows }
}

fn of_claim(item: &Item, claim: &Claim, results: &Results) -> Vec<Row> {
    if claim.seen.is_empty() {
        return vec![nothing(item, claim.what, claim.claimed)];
    }
    claim.seen.iter().map(|seen| look(claim, seen, results)).collect()
}

fn nothing(item: &Item, what: &str, claimed: Option<Claimed>) -> Row {
    Row {
        what: what.into(),
        claimed,
        source: "",
        ours: String::new(),
        seen: None,
        outcome: Outcome::Nothing,
        command: String::new(),
        details: Vec::new(),
        remark: item.lacks.join("; "),
    }
}

fn look(claim: &Claim, seen: &Seen, results: &Results) -> Row {
    let blank = Row {
        what: claim.what.into(),
        claimed: claim.claimed,
        source: seen.of.source(),
        ours: String::new(),
        seen: None,
        outcome: Outcome::Unmeasured,
        command: command(seen.of.experiment),
        details: Vec::new(),
        remark: seen.remark.into(),
    };
    let both = seen.of.find(results).and_then(|of| match &seen.to {
        Some(To::Ours(to)) => to.find(results).map(|to| (of, Some(to))),
        _ => Ok((of, None)),
    });
    match both {
        Ok((of, to)) => measured(blank, claim, seen, &of, to.as_ref()),
        Err(reason) => {
            let remark = [blank.remark.as_str(), reason.as_str()].into_iter().filter(|text| !text.is_empty());
            Row { remark: remark.collect::<Vec<_>>().join("; "), ..blank }
        }
    }
}

fn measured(row: Row, claim: &Claim, seen: &Seen, of: &Found<'_>, to: Option<&Found<'_>>) -> Row {
    let value = of.measured.value.unwrap_or(f64::NAN);
    let (below, beside) = match (&seen.to, to) {
        (Some(To::Ours(pick)), Some(to)) => (to.measured.value, Some(words(pick, to))),
        (Some(To::Paper(paper)), _) => (Some(*paper), Some(format!("paper: {}", in_unit(*paper, of)))),
        _ => (None, None),
    };
    let ratio = below.filter(|below| *below != 0.0).map(|below| value / below);
    let outcome = match (claim.claimed, ratio) {
        (Some(claimed), Some(ratio)) if claimed.holds(ratio) => Outcome::Kept,
        (Some(_), Some(_)) => Outcome::Missed,
        _ => Outcome::Shown,
    };
    let details = std::iter::once(of).chain(to).map(|found| found.series.command.clone());
    let mut details: Vec<String> = details.filter(|command| !command.is_empty()).collect();
    details.dedup();
    let ours = std::iter::once(words(&seen.of, of)).chain(beside).collect::<Vec<_>>().join("; ");
    Row { ours, seen: ratio, outcome, details, ..row }
}

fn in_unit(value: f64, found: &Found<'_>) -> String {
    let (unit, factor) = readable(&found.measured.unit, value);
    format!("{} {unit}", format_value(value * factor)).trim_end().to_string()
}

fn words(pick: &Pick, found: &Found<'_>) -> String {
    let value = in_unit(found.measured.value.unwrap_or(f64::NAN), found);
    match pick.at {
        super::pick::At::Row(row) if found.series.name == "here" || found.series.name == "ours" => {
            format!("{row}: {value}")
        }
        super::pick::At::Most | super::pick::At::Least => {
            format!("{}: {value} ({}: {})", found.series.name, pick.place(), found.measured.label)
        }
        _ => format!("{}: {value}", found.series.name),
    }
}

/// A number of a paper as the paper writes it.
pub(super) fn plain(value: f64) -> String {
    format!("{value}")
}

/// Returns the command that measures an experiment again.
pub(super) fn command(experiment: &str) -> String {
    let (word, rest) = experiment.split_once(' ').unwrap_or((experiment, ""));
    match (word, rest) {
        ("node", "trace") => "verbena-papers report --only trace".into(),
        ("rc", "trace") => "verbena-papers report --only trace --hosts node0,node1".into(),
        ("rc", "collectives" | "kernels" | "notify") => {
            "verbena-papers report --only rc --hosts node0,node1".into()
        }
        ("sim" | "node", _) => format!("verbena-papers report --only {word}"),
        ("npb", _) => "verbena-papers report --only npb --npb DIR".into(),
        ("threshold", _) => "verbena-papers threshold --hosts node0,node1".into(),
        (word, name) => format!("verbena-papers {word} {name}").trim_end().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::inventory;
    use crate::report::results::{Measured, Series};

    #[test]
    fn a_claim_holds_within_its_bound_only() {
        assert!(Claimed::About(1.0).holds(1.05) && !Claimed::About(1.0).holds(1.2));
        assert!(Claimed::AtMost(0.76).holds(0.7) && !Claimed::AtMost(0.76).holds(0.8));
        assert!(Claimed::AtLeast(2.04).holds(2.1) && !Claimed::AtLeast(2.04).holds(2.0));
    }

    #[test]
    fn without_any_result_every_row_has_a_reason() {
        for item in inventory::all() {
            for row in rows(&item, &Results::default()) {
                assert!(matches!(row.outcome, Outcome::Unmeasured | Outcome::Nothing), "{row:?}");
                assert!(!row.remark.is_empty(), "paper {}, {}: {row:?}", item.paper, item.place);
            }
        }
    }

    #[test]
    fn a_ratio_is_that_of_the_values() {
        let series = |name: &str, value| Series {
            experiment: "rc latency".into(),
            name: name.into(),
            points: vec![Measured {
                metric: "latency".into(),
                unit: "us".into(),
                x: Some(8.0),
                value: Some(value),
                ..Measured::default()
            }],
            ..Series::default()
        };
        let series = vec![series("RDMA eager", 30.0), series("send/receive", 40.0)];
        let results = Results { series, ..Results::default() };
        let items = inventory::all();
        let twelve =
            items.iter().find(|item| item.paper == 1 && item.place == "figure 12").expect("figure 12");
        let first = &rows(twelve, &results)[0];
        assert_eq!((first.seen, first.outcome), (Some(0.75), Outcome::Kept));
        assert_eq!(first.ours, "RDMA eager: 30.0 us; send/receive: 40.0 us");
    }
}
