//! The rows of the report: what each item of the papers claims, and what was seen of it.

use super::inventory::{Claim, Claimed, Item, Seen, To};
use super::jobs::{self, Jobs};
use super::kinds::{self, Kind};
use super::noise;
use super::pick::{self, At, Found, Pick};
use super::results::{Results, Series};
use super::traffic::{self, Proof};
use super::verdict::{Outcome, judge};
use verbena_lab::table::{format_value, readable};

mod mean;
mod model;

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// The two things that are compared, or the thing that is measured.
    pub what: String,
    /// The kind of thing that stands behind the number.
    pub kind: Kind,
    /// The ratio that the paper claims.
    pub claimed: Option<Claimed>,
    /// The place where ours was measured.
    pub source: &'static str,
    /// Our values.
    pub ours: String,
    /// Our ratio.
    pub seen: Option<f64>,
    /// The factor within which the ratio is noise: of what is measured, and of what was simulated
    /// with several starts.
    pub noise: Option<f64>,
    /// The outcome: whether it is as claimed.
    pub outcome: Outcome,
    /// The jobs that were thrown out.
    pub thrown: usize,
    /// The command that measures it again.
    pub command: String,
    /// The full command lines behind it.
    pub details: Vec<String>,
    /// A remark for the reader, or why it was not measured.
    pub remark: String,
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
    let remark = item.lacks.join("; ");
    Row { what: what.into(), claimed, remark, ..blank(Kind::NotShown, Outcome::Nothing) }
}

fn blank(kind: Kind, outcome: Outcome) -> Row {
    Row {
        what: String::new(),
        kind,
        claimed: None,
        source: "",
        ours: String::new(),
        seen: None,
        noise: None,
        outcome,
        thrown: 0,
        command: String::new(),
        details: Vec::new(),
        remark: String::new(),
    }
}

fn look(claim: &Claim, seen: &Seen, results: &Results) -> Row {
    let row = Row {
        what: claim.what.into(),
        claimed: claim.claimed,
        source: seen.of.source(),
        command: command(seen.of.experiment),
        remark: remark(seen),
        ..blank(kinds::of(seen), Outcome::Unmeasured)
    };
    if !seen.also.is_empty() {
        return mean::row(row, seen, results);
    }
    let both = seen.of.find(results).and_then(|of| match &seen.to {
        Some(To::Ours(to)) => to.find(results).map(|to| (of, Some(to))),
        _ => Ok((of, None)),
    });
    match both {
        Ok((of, to)) => {
            let row = Row { details: details(&of, to.as_ref()), ..row };
            if row.kind == Kind::Measured {
                return measured(row, seen, &Sides::new(results, of, to), results);
            }
            match &to {
                Some(to) if !kinds::is_computed(to.series) => model::predicted(row, seen, &of, to, results),
                _ => model::computed(row, seen, &of, to.as_ref()),
            }
        }
        Err(reason) => with_remark(row, &reason),
    }
}

fn remark(seen: &Seen) -> String {
    let held_out = seen.held_out.then_some("held out: no constant of the model was chosen by it");
    let why = kinds::why_input(seen);
    [Some(seen.remark), held_out, why]
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

fn with_remark(row: Row, text: &str) -> Row {
    let remark = [row.remark.as_str(), text].into_iter().filter(|text| !text.is_empty());
    Row { remark: remark.collect::<Vec<_>>().join("; "), ..row }
}

fn cannot_tell(row: Row, why: &str) -> Row {
    Row { outcome: Outcome::CannotTell, ..with_remark(row, why) }
}

fn details(of: &Found<'_>, to: Option<&Found<'_>>) -> Vec<String> {
    let details = std::iter::once(of).chain(to).map(|found| found.series.command.clone());
    let mut details: Vec<String> = details.filter(|command| !command.is_empty()).collect();
    details.dedup();
    details
}

/// The two sides of a measured row, or its one side.
struct Sides<'a> {
    of: Found<'a>,
    to: Option<Found<'a>>,
    of_jobs: Jobs,
    to_jobs: Option<Jobs>,
}

impl<'a> Sides<'a> {
    /// Returns the ratio of the medians.
    fn ratio(&self) -> Option<f64> {
        let below = self.to_jobs.as_ref().and_then(Jobs::median).filter(|below| *below != 0.0)?;
        Some(self.of_jobs.median()? / below)
    }

    fn new(results: &Results, of: Found<'a>, to: Option<Found<'a>>) -> Sides<'a> {
        let bare = to.as_ref().is_some_and(|to| jobs::is_bare(of.series, to.series));
        let jobs = |found: &Found<'_>| jobs::of(results, found.series, found.measured, bare);
        Sides { of_jobs: jobs(&of), to_jobs: to.as_ref().map(jobs), of, to }
    }

    fn jobs(&self) -> impl Iterator<Item = &Jobs> {
        std::iter::once(&self.of_jobs).chain(&self.to_jobs)
    }

    /// Returns the place of one side, where both are of one series, since the name does not tell
    /// them apart, and where `what` names no size.
    fn place(&self, pick: &Pick, what: &str) -> String {
        match &self.to {
            Some(to) if to.series.name != self.of.series.name => match pick.at {
                At::Size(_) if !what.contains(&pick.place()) => format!(" at {}", pick.place()),
                _ => String::new(),
            },
            Some(to) if to.measured.metric != self.of.measured.metric => format!(" ({})", pick.metric),
            Some(_) => format!(" at {}", pick.place()),
            None => String::new(),
        }
    }

    /// Returns why the jobs do not make a value, if so.
    fn lack(&self) -> Option<String> {
        self.jobs().find_map(lack)
    }

    /// Returns the factor within which a ratio of these two is noise, if their experiments measured
    /// a variant twice.
    fn noise(&self, results: &Results) -> Option<f64> {
        let mut twins = std::iter::once(&self.of).chain(&self.to).map(|found| twins(results, found));
        let twins = twins.try_fold(1.0, |most: f64, each| Some(most.max(each?)))?;
        let mut jobs = self.jobs();
        let own = jobs.try_fold(1.0, |all, jobs| Some(all * noise::of_jobs(&jobs.values)?))?;
        Some(twins.max(own))
    }

    /// Returns whether the counters tell the two sides apart; none where they are not two variants
    /// of one experiment. Of two peaks at different places, the counts of the other variant at the
    /// place of the first are looked at.
    fn proof(&self) -> Option<Proof> {
        let to = self.to.as_ref()?;
        let two_variants = self.of.series.experiment == to.series.experiment
            && self.of.series.name != to.series.name
            && self.of.measured.metric == to.measured.metric
            && ![&self.of, to].iter().any(|found| jobs::is_device(found.series));
        let beside = to.series.same(self.of.measured).filter(|_| two_variants)?;
        Some(traffic::compare(self.of.measured, beside))
    }

    /// Returns whether a counter is among those that were looked at.
    fn counted(&self, counter: &str) -> bool {
        std::iter::once(&self.of).chain(&self.to).any(|found| traffic::has(found.measured, counter))
    }
}

/// Returns why jobs do not make a value, if so.
fn lack(jobs: &Jobs) -> Option<String> {
    let (counted, thrown) = (jobs.values.len(), jobs.thrown.len());
    let text = || {
        let all = counted + thrown;
        format!("{counted} jobs of {all} count, {thrown} were disturbed; {} are needed", jobs::JOBS_MIN)
    };
    (!jobs.suffice()).then(text)
}

/// The noise at the place of a value: of the value's own variant, if that was measured twice, else
/// of the noisiest that was.
fn twins(results: &Results, found: &Found<'_>) -> Option<f64> {
    let of_experiment =
        || results.series.iter().filter(|series| series.experiment == found.series.experiment);
    let noises = of_experiment().filter_map(|twin| {
        let name = noise::twin_of(&twin.name)?;
        let is_here = |series: &&Series| series.name == name && series.same(found.measured).is_some();
        let variant = of_experiment().find(is_here)?;
        let values = |series: &Series| {
            let place = series.same(found.measured)?;
            Some(jobs::of(results, series, place, false).values)
        };
        Some((name, noise::of_twins(&values(variant)?, &values(twin)?)?))
    });
    let noises: Vec<(&str, f64)> = noises.collect();
    let own = noises.iter().find(|(name, _)| *name == found.series.name).map(|(_, noise)| *noise);
    own.or_else(|| noises.iter().map(|(_, noise)| *noise).reduce(f64::max))
}

fn measured(row: Row, seen: &Seen, sides: &Sides<'_>, results: &Results) -> Row {
    let beside = match (&seen.to, &sides.to) {
        (Some(To::Ours(pick)), Some(to)) => {
            sides.to_jobs.as_ref().map(|jobs| spread(pick, to, jobs, &sides.place(pick, &row.what)))
        }
        (Some(To::Paper(paper)), _) => Some(format!("paper: {}", in_unit(*paper, &sides.of))),
        _ => None,
    };
    let row = with_class(row, &sides.of);
    let of = spread(&seen.of, &sides.of, &sides.of_jobs, &sides.place(&seen.of, &row.what));
    let ours = std::iter::once(of).chain(beside);
    let thrown = sides.jobs().map(|jobs| jobs.thrown.len()).sum();
    let row = Row { ours: ours.collect::<Vec<_>>().join("; "), thrown, ..row };
    if let Some(lack) = sides.lack() {
        return with_remark(row, &lack);
    }
    let ratio = match &seen.to {
        Some(To::Paper(paper)) => sides.of_jobs.median().map(|value| value / paper),
        _ => sides.ratio(),
    };
    concluded(Row { seen: ratio, noise: sides.noise(results), ..row }, sides, seen.counter)
}

/// The row with the class of the program of others that ran.
fn with_class(row: Row, found: &Found<'_>) -> Row {
    match pick::class(&found.measured.label) {
        Some(class) => Row { what: format!("{}, class {class}", row.what), ..row },
        None if found.series.experiment == "npb" => with_remark(row, "its class was not noted"),
        None => row,
    }
}

/// The row with what may be said of its ratio; `counter` alone tells the two sides apart, if named.
fn concluded(row: Row, sides: &Sides<'_>, counter: &str) -> Row {
    let row = match sides.proof() {
        Some(Proof::Differ(what)) => with_remark(row, &format!("counted: {what}")),
        Some(Proof::Identical) if !counter.is_empty() && !sides.counted(counter) => {
            return cannot_tell(row, &format!("{counter}, which alone tells the two apart, was not counted"));
        }
        Some(Proof::Identical) => {
            let row = with_remark(row, "every counter is alike on both sides");
            return Row { outcome: Outcome::Identical, ..row };
        }
        Some(Proof::Overlapping(what)) => {
            return cannot_tell(
                row,
                &format!("it is not proved that the two differ: {what}, and jobs overlap"),
            );
        }
        Some(Proof::Unknown) => {
            return cannot_tell(row, "nothing was counted that proves that the two differ");
        }
        None => row,
    };
    let is_positive = row.seen.is_none_or(|ratio| ratio > 0.0);
    match row.noise {
        Some(noise) if is_positive => Row { outcome: judge(row.claimed, row.seen, noise), ..row },
        None => cannot_tell(row, "its noise was not measured"),
        _ => cannot_tell(row, "a ratio of what is not positive says nothing"),
    }
}

/// The median of a value with its least, its most and its number of jobs. `place` says where in its
/// series it is, if the reader cannot know.
fn spread(pick: &Pick, found: &Found<'_>, jobs: &Jobs, place: &str) -> String {
    let (Some(middle), Some((least, most))) = (jobs.median(), jobs.range()) else {
        return format!("{}: no job", found.series.name);
    };
    let place = match pick.at {
        At::Most | At::Least => format!(" at {}", found.measured.label),
        At::Row(_) => format!(" of {}", found.measured.label),
        _ => place.into(),
    };
    let (unit, factor) = readable(&found.measured.unit, middle);
    let number = |value: f64| format_value(value * factor);
    let thrown = match jobs.thrown.len() {
        0 => String::new(),
        thrown => format!(", {thrown} thrown out"),
    };
    let jobs = jobs.values.len();
    let text = format!(
        "{}{place}: {} {unit} ({} to {}, {jobs} jobs{thrown})",
        found.series.name,
        number(middle),
        number(least),
        number(most)
    );
    text.replace("  ", " ")
}

fn in_unit(value: f64, found: &Found<'_>) -> String {
    let (unit, factor) = readable(&found.measured.unit, value);
    format!("{} {unit}", format_value(value * factor)).trim_end().to_string()
}

fn words(pick: &Pick, found: &Found<'_>) -> String {
    let value = in_unit(found.measured.value.unwrap_or(f64::NAN), found);
    match pick.at {
        At::Row(row) if found.series.name == "here" || found.series.name == "ours" => {
            format!("{row}: {value}")
        }
        At::Row(row) => format!("{}, {row}: {value}", found.series.name),
        At::Most | At::Least => {
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
        ("rc", "collectives" | "kernels" | "notify" | "eager" | "long") => {
            "verbena-papers report --only rc --hosts node0,node1".into()
        }
        ("counted", "instructions") => "cargo xtask papers --instructions".into(),
        ("sim", "predicted latency" | "predicted bandwidth") => {
            "verbena-papers report --only rc,verbs --hosts node0,node1".into()
        }
        ("sim" | "node", _) => format!("verbena-papers report --only {word}"),
        ("verbs", _) => "verbena-papers report --only verbs --hosts node0,node1".into(),
        ("npb", _) => "verbena-papers report --only npb --npb DIR --hosts node0,node1".into(),
        ("polling", name) => format!("cargo xtask papers --cable -- polling --hosts a,b {name}"),
        ("threshold", _) => "verbena-papers threshold --hosts node0,node1".into(),
        (word, name) => format!("verbena-papers {word} {name}").trim_end().to_string(),
    }
}

#[cfg(test)]
mod tests;
