//! The result of the rounds: a cell for each point, number of ranks and contender; medians; ratios.

use super::contender::{Contender, OURS};
use super::report::{Entry, Report, point_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// All results.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Summary {
    /// The command line.
    pub command: String,
    /// Seconds since 1970 when it started.
    pub started_unix_s: u64,
    /// The commit that was measured, if git reports it.
    pub commit: Option<String>,
    /// The machine.
    pub machine: String,
    /// The number of rounds.
    pub rounds: usize,
    /// Each contender, in the order of the tables, with the identity that its library reports.
    pub contenders: Vec<(String, String)>,
    /// The machine's own speed.
    pub floor: Floor,
    /// The time of a cache line from one processor to another, in microseconds, before each turn of
    /// a contender: a virtual machine's processors may come to lie nearer or farther apart.
    #[serde(default)]
    pub cache_line_us: Vec<f64>,
    /// The rows of the table, in the order of measuring.
    pub rows: Vec<Row>,
}

/// The machine's own speed: one value a round for each point.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Floor(pub BTreeMap<String, Vec<f64>>);

/// The conditions under which a point is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// The number of ranks.
    pub ranks: usize,
    /// Processes that spin beside them.
    pub busy: usize,
}

impl Conditions {
    /// Returns the conditions with this many ranks, and nothing beside them.
    pub(crate) fn quiet(ranks: usize) -> Conditions {
        Conditions { ranks, busy: 0 }
    }
}

/// A point under one set of conditions.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    /// The point, as in `latency:8`.
    pub point: String,
    /// The number of ranks.
    pub ranks: usize,
    /// Processes that spun beside them.
    #[serde(default)]
    pub busy: usize,
    /// The unit.
    pub unit: String,
    /// The values that each contender reached.
    pub cells: BTreeMap<String, Cell>,
}

/// The values that one contender reached at one point.
#[derive(Debug, Default, Clone, Deserialize, Serialize)]
pub(crate) struct Cell {
    /// The values, one for each round.
    pub values: Vec<f64>,
    /// For each value, the time of a cache line from one processor to another when it was measured,
    /// in microseconds; `None` if that changed meanwhile.
    #[serde(default)]
    pub lines_us: Vec<Option<f64>>,
    /// The reason why there are none, or no more.
    pub failure: Option<String>,
}

/// The distance of the processors while a value was measured, as far as a row tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Whatever it was.
    Any,
    /// At most twice the least time of a cache line.
    Near,
    /// More than that.
    Far,
}

impl Cell {
    /// The values that were measured in a mode; `least_us` is the least time of a cache line.
    fn in_mode(&self, mode: Mode, least_us: f64) -> Vec<f64> {
        let is_near = |at: usize| Some((*self.lines_us.get(at)?)? <= 2.0 * least_us);
        let is_meant = |at: usize| match mode {
            Mode::Any => true,
            Mode::Near => is_near(at) == Some(true),
            Mode::Far => is_near(at) == Some(false),
        };
        self.values.iter().enumerate().filter(|(at, _)| is_meant(*at)).map(|(_, value)| *value).collect()
    }
}

/// The middle value, or the mean of the two middle ones.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len().checked_sub(1)? / 2;
    Some(if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle] + sorted[middle + 1]) / 2.0 })
}

impl Floor {
    /// Adds one round.
    pub(crate) fn add(&mut self, entries: &[Entry]) {
        for entry in entries {
            let name = format!("{} ({})", point_name(entry), entry.unit);
            self.0.entry(name).or_default().extend(entry.value);
        }
    }
}

impl Row {
    /// The conditions of this row.
    pub(crate) fn conditions(&self) -> Conditions {
        Conditions { ranks: self.ranks, busy: self.busy }
    }

    /// The mode of the machine in which the contenders are compared: the one in which Verbena and
    /// most peers have values, or most values. A library that was measured while the processors lay
    /// near would look better than it is beside one that was measured while they lay far apart.
    pub(crate) fn mode(&self) -> Mode {
        let least_us = self.least_line_us();
        let counts = |mode: Mode| {
            let of = |cell: &Cell| cell.in_mode(mode, least_us).len();
            let ours = self.cells.get(OURS).map_or(0, of);
            let has = self.cells.values().filter(|cell| of(cell) > 0).count();
            (ours > 0, has, self.cells.values().map(of).sum::<usize>())
        };
        let (near, far) = (counts(Mode::Near), counts(Mode::Far));
        match near.0 || far.0 {
            false => Mode::Any,
            true if near >= far => Mode::Near,
            true => Mode::Far,
        }
    }

    /// The median of a contender's values in whatever mode.
    pub(crate) fn any_median(&self, name: &str) -> Option<f64> {
        median(&self.cells.get(name)?.values)
    }

    fn least_line_us(&self) -> f64 {
        let lines = self.cells.values().flat_map(|cell| cell.lines_us.iter().flatten().copied());
        lines.fold(f64::INFINITY, f64::min)
    }

    /// The median of a contender's values in the mode in which they are compared; `None` if it has
    /// none there.
    pub(crate) fn median(&self, name: &str) -> Option<f64> {
        median(&self.cells.get(name)?.in_mode(self.mode(), self.least_line_us()))
    }

    /// Returns how far ahead Verbena is of the best peer; above 1 is ahead. `None` if either has no
    /// value.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let ours = self.median(OURS)?;
        let best = self.best_peer()?.1;
        Some(if self.higher_is_better() { ours / best } else { best / ours })
    }

    /// The best peer's name and value.
    pub(crate) fn best_peer(&self) -> Option<(&str, f64)> {
        let peers = self.cells.keys().filter(|name| *name != OURS);
        let values = peers.filter_map(|name| Some((name.as_str(), self.median(name)?)));
        values.reduce(|best, next| if (next.1 > best.1) == self.higher_is_better() { next } else { best })
    }

    /// Returns whether the unit is an amount in a time.
    pub(crate) fn higher_is_better(&self) -> bool {
        self.unit.ends_with("/s")
    }
}

impl Summary {
    /// Creates a summary without measurements.
    pub(crate) fn new(contenders: &[Contender], rounds: usize) -> Summary {
        let commit =
            std::process::Command::new("git").args(["describe", "--always", "--dirty"]).output().ok();
        let commit = commit.filter(|output| output.status.success());
        Summary {
            command: std::env::args().skip(1).fold("cargo xtask".into(), |line, word| line + " " + &word),
            started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            commit: commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()),
            machine: String::new(),
            rounds,
            contenders: contenders
                .iter()
                .map(|contender| (contender.name.to_string(), String::new()))
                .collect(),
            floor: Floor::default(),
            cache_line_us: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Returns this result, to which the rounds of `more` are to be added.
    pub(crate) fn continued(self, more: Summary) -> Summary {
        let (command, rounds) = (format!("{}; {}", self.command, more.command), self.rounds + more.rounds);
        let commit = match (self.commit, more.commit) {
            (Some(first), Some(second)) if first != second => Some(format!("{first} and {second}")),
            (first, second) => first.or(second),
        };
        Summary { command, rounds, commit, ..self }
    }

    /// The points that are worth a try: a point that failed once is not tried again, since it would
    /// take its whole time limit in each round.
    pub(crate) fn wanted<'a>(&self, name: &str, under: Conditions, points: &[&'a str]) -> Vec<&'a str> {
        let failed = |point: &str| {
            let row = self.rows.iter().find(|row| row.point == point && row.conditions() == under);
            row.and_then(|row| row.cells.get(name)).is_some_and(|cell| cell.failure.is_some())
        };
        points.iter().copied().filter(|point| !failed(point)).collect()
    }

    /// Enters a contender's report, whose ranks had this many busy processes beside them, with the
    /// time of a cache line meanwhile if that did not change.
    pub(crate) fn add(&mut self, name: &str, busy: usize, line_us: Option<f64>, report: &Report) {
        let known = self.contenders.iter_mut().find(|(known, _)| *known == name);
        if let (Some((_, words)), Some(library)) = (known, &report.library) {
            words.clone_from(&library.name);
        }
        for entry in &report.entries {
            let under = Conditions { ranks: entry.ranks, busy };
            let cell = self.cell(name, &point_name(entry), under, &entry.unit);
            cell.values.extend(entry.value);
            cell.lines_us.resize(cell.values.len(), line_us);
            cell.failure.clone_from(&entry.failure);
        }
    }

    /// Notes that none of the points could be measured.
    pub(crate) fn fail_all(&mut self, name: &str, under: Conditions, points: &[&str], reason: &str) {
        for point in points {
            self.cell(name, point, under, "").failure = Some(reason.to_string());
        }
    }

    fn cell(&mut self, name: &str, point: &str, under: Conditions, unit: &str) -> &mut Cell {
        let at = self.rows.iter().position(|row| row.point == point && row.conditions() == under);
        let at = at.unwrap_or_else(|| {
            let Conditions { ranks, busy } = under;
            let (point, unit) = (point.to_string(), unit.to_string());
            self.rows.push(Row { point, ranks, busy, unit, cells: BTreeMap::new() });
            self.rows.len() - 1
        });
        if self.rows[at].unit.is_empty() {
            self.rows[at].unit = unit.into();
        }
        self.rows[at].cells.entry(name.to_string()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(unit: &str, values: &[(&'static str, &[f64])]) -> Row {
        let cells = values
            .iter()
            .map(|(name, v)| (name.to_string(), Cell { values: v.to_vec(), ..Cell::default() }))
            .collect();
        Row { point: "p".into(), ranks: 2, busy: 0, unit: unit.into(), cells }
    }

    #[test]
    fn above_one_is_ahead_whatever_the_unit() {
        let latency = row("us", &[(OURS, &[0.2, 0.3, 9.0]), ("mpich", &[0.8]), ("intel", &[0.6])]);
        assert_eq!((latency.best_peer(), latency.ratio()), (Some(("intel", 0.6)), Some(2.0)));
        let rate = row("Mmsg/s", &[(OURS, &[5.0]), ("mpich", &[2.0]), ("intel", &[10.0])]);
        assert_eq!((rate.best_peer(), rate.ratio()), (Some(("intel", 10.0)), Some(0.5)));
    }

    #[test]
    fn values_are_compared_within_a_mode_of_the_machine() {
        let mut latency = row("us", &[(OURS, &[0.3, 0.07, 0.3]), ("intel", &[0.14, 0.36, 0.14])]);
        assert_eq!(latency.ratio(), Some(0.14 / 0.3), "nothing is known of the machine");
        let lines = |lines: [f64; 3]| lines.map(Some).to_vec();
        latency.cells.get_mut(OURS).expect("ours").lines_us = lines([0.27, 0.05, 0.28]);
        latency.cells.get_mut("intel").expect("intel").lines_us = lines([0.05, 0.28, 0.06]);
        assert_eq!((latency.mode(), latency.median(OURS)), (Mode::Near, Some(0.07)));
        assert_eq!(latency.ratio(), Some(2.0));
        // Who was never measured in that mode is not compared.
        latency.cells.get_mut("intel").expect("intel").lines_us = vec![Some(0.28), None, Some(0.27)];
        latency.cells.insert("mpich".into(), latency.cells[OURS].clone());
        latency.cells.get_mut("mpich").expect("mpich").lines_us = vec![Some(0.05); 3];
        assert_eq!((latency.mode(), latency.best_peer()), (Mode::Near, Some(("mpich", 0.3))));
        assert_eq!((latency.median("intel"), latency.any_median("intel")), (None, Some(0.14)));
    }

    #[test]
    fn without_a_value_there_is_no_ratio() {
        assert_eq!(row("us", &[(OURS, &[]), ("mpich", &[1.0])]).ratio(), None);
        assert_eq!(row("us", &[(OURS, &[1.0])]).ratio(), None);
    }

    #[test]
    fn medians_of_odd_and_even_rounds() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 2.0]), Some(3.0));
    }

    #[test]
    fn a_failed_point_is_not_tried_again() {
        let mut summary = Summary::new(&[], 1);
        let four = Conditions::quiet(4);
        summary.fail_all("mpich", four, &["barrier"], "timed out after 20 s");
        assert_eq!(summary.wanted("mpich", four, &["barrier", "bcast:8"]), ["bcast:8"]);
        assert_eq!(summary.wanted("mpich", Conditions::quiet(2), &["barrier"]), ["barrier"]);
        assert_eq!(summary.wanted("mpich", Conditions { ranks: 4, busy: 2 }, &["barrier"]), ["barrier"]);
        assert_eq!(summary.wanted("intel", four, &["barrier"]), ["barrier"]);
    }
}
