//! The report in parts, the same for HTML and Markdown.

use super::figure::{self, Figure};
use super::inventory::{self, Item};
use super::kinds::Kind;
use super::results::Results;
use super::rows::{self, Row};
use super::verdict::Outcome;
use anyhow::Result;
use verbena_lab::report::Report;

/// The report.
pub(super) struct Page {
    /// The command that made it.
    pub command: String,
    /// Seconds since 1970 when it was made.
    pub made_unix_s: u64,
    /// The machines that measured.
    pub machines: Vec<String>,
    /// The versions and commits of what was measured.
    pub builds: Vec<String>,
    /// Each item with its rows and pictures.
    pub parts: Vec<Part>,
}

/// An item of the papers.
pub(super) struct Part {
    /// The item of the paper.
    pub item: Item,
    /// The values that are claimed and seen.
    pub rows: Vec<Row>,
    /// The paper's pictures.
    pub theirs: Vec<Figure>,
    /// The pictures of ours.
    pub ours: Vec<Figure>,
}

impl Page {
    /// Returns all items, with their results.
    ///
    /// # Errors
    /// A picture cannot be drawn.
    pub(super) fn new(results: &Results) -> Result<Page> {
        let part = |item: Item| -> Result<Part> {
            let ours = item.shows.iter().map(|show| figure::of_ours(show, results)).collect::<Result<_>>()?;
            Ok(Part { rows: rows::rows(&item, results), theirs: figure::of_paper(&item)?, ours, item })
        };
        let Report { command, started_unix_s, .. } = Report::of_this_command();
        let mut machines: Vec<String> = results.series.iter().map(|series| series.machine.clone()).collect();
        machines.retain(|machine| !machine.is_empty());
        machines.sort();
        machines.dedup();
        let parts = inventory::all().into_iter().map(part).collect::<Result<_>>()?;
        Ok(Page { command, made_unix_s: started_unix_s, machines, builds: results.builds.clone(), parts })
    }

    /// The number of rows of a kind that ended so.
    pub(super) fn count(&self, kind: Kind, outcome: Outcome) -> usize {
        let all = self.parts.iter().flat_map(|part| &part.rows);
        all.filter(|row| row.kind == kind && row.outcome == outcome).count()
    }

    /// The number of rows of a kind.
    pub(super) fn of_kind(&self, kind: Kind) -> usize {
        Outcome::ALL.iter().map(|outcome| self.count(kind, *outcome)).sum()
    }

    /// The sum of a kind in words, as in `9 counted: 4 as claimed, 5 shown`.
    pub(super) fn sum(&self, kind: Kind) -> String {
        let counts = Outcome::ALL.iter().map(|outcome| (self.count(kind, *outcome), outcome.name()));
        let counts = counts.filter(|(count, _)| *count > 0);
        let words: Vec<String> = counts.map(|(count, name)| format!("{count} {name}")).collect();
        format!("{} {}: {}", self.of_kind(kind), kind.name(), words.join(", "))
    }

    /// The jobs that were thrown out since the machine disturbed them, over all rows.
    pub(super) fn thrown(&self) -> usize {
        self.parts.iter().flat_map(|part| &part.rows).map(|row| row.thrown).sum()
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.rows.len()).sum()
    }

    /// The day and the hour, UTC.
    pub(super) fn made(&self) -> String {
        let days = self.made_unix_s / 86400;
        let (year, month, day) = date(days as i64);
        let seconds = self.made_unix_s % 86400;
        format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60)
    }
}

impl Part {
    /// Returns the name, as in `Figure 12`.
    pub(super) fn name(&self) -> String {
        let mut letters = self.item.place.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }

    /// Returns the numbers that the paper's text states.
    pub(super) fn numbers(&self) -> String {
        let number = |number: &inventory::Number| {
            format!("{}: {} {}", number.what, super::rows::plain(number.value), number.unit)
        };
        self.item.numbers.iter().map(number).collect::<Vec<_>>().join("; ")
    }

    /// The command lines behind the rows, each once.
    pub(super) fn details(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.rows.iter().flat_map(|row| &row.details).map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The date of a day after 1970-01-01 in the Gregorian calendar: years begin in March, so that a
/// leap day is the last one.
fn date(days: i64) -> (i64, i64, i64) {
    const ERA_DAYS: i64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_779), (2026, 11, 22));
    }

    #[test]
    fn a_report_without_results_has_a_row_for_everything() {
        let page = Page::new(&Results::default()).expect("page");
        assert!(page.parts.iter().all(|part| !part.rows.is_empty()));
        let of = |outcome| Kind::ALL.iter().map(|kind| page.count(*kind, outcome)).sum::<usize>();
        assert_eq!(of(Outcome::Unmeasured) + of(Outcome::Nothing), page.rows());
    }

    #[test]
    fn each_kind_has_its_own_sum() {
        let page = Page::new(&Results::default()).expect("page");
        assert_eq!(Kind::ALL.iter().map(|kind| page.of_kind(*kind)).sum::<usize>(), page.rows());
        assert!(Kind::ALL.iter().all(|kind| page.of_kind(*kind) > 0));
        let measured = page.of_kind(Kind::Measured);
        assert_eq!(page.sum(Kind::Measured), format!("{measured} measured: {measured} not measured"));
        let nothing = page.of_kind(Kind::NotShown);
        assert_eq!(page.sum(Kind::NotShown), format!("{nothing} not shown: {nothing} cannot be shown here"));
        assert_eq!(page.thrown(), 0);
    }
}
