//! `verbena bench --compare A B`: two libraries, measured in turns on the same points and shown
//! side by side.

use super::{BenchArgs, Progress, plan, warn_if_busy, write_json};
use crate::info::library::soname;
use anyhow::{Result, bail, ensure};
use comfy_table::{Cell, Table, presets};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use verbena_lab::busy::Busy;
use verbena_lab::campaign::Campaign;
use verbena_lab::output;
use verbena_lab::report::{Entry, Report};
use verbena_lab::table::{cell, right};

/// Rounds, unless the user asks for others. After fewer there is no verdict: they do not show how
/// much figures swing.
const ROUNDS_MIN: usize = 3;
/// The beginning of the soname of Open MPI's library.
const OPEN_MPI: &str = "libmpi.so.40";

/// The results of both libraries.
#[derive(Serialize)]
struct Both<'a> {
    a: &'a Report,
    b: &'a Report,
}

/// Measures both and shows them.
///
/// # Errors
/// As `verbena bench`.
pub(super) fn run(args: &BenchArgs, libraries: [&PathBuf; 2]) -> Result<()> {
    let campaigns = [campaign(args, libraries[0])?, campaign(args, libraries[1])?];
    let mut reports = campaigns
        .each_ref()
        .map(|campaign| Report { entries: campaign.entries(), ..Report::of_this_command() });
    let rounds = args.rounds.unwrap_or(ROUNDS_MIN);
    let is_busy = warn_if_busy();
    let busy = Busy::start(args.busy)?;
    let mut progress = Progress::new(2 * rounds * reports[0].entries.len());
    for round in 0..rounds {
        // Now one goes first, now the other.
        for which in [round % 2, 1 - round % 2] {
            campaigns[which].run(&mut reports[which], &mut |text| progress.tell(text))?;
        }
    }
    drop((busy, progress));
    let [a, b] = &reports;
    if !write_json(args, &Both { a, b })? {
        output::print(&render(a, b, libraries, is_busy))?;
    }
    let failed = reports.iter().flat_map(|report| &report.entries).filter(|entry| entry.failure.is_some());
    match failed.count() {
        0 => Ok(()),
        failed => bail!("{failed} points could not be measured; the reasons are above"),
    }
}

/// One round of a library, under its own launcher.
fn campaign(args: &BenchArgs, library: &Path) -> Result<Campaign> {
    ensure!(library.exists(), "there is no library {}", library.display());
    let mut campaign = Campaign { rounds: 1, ..plan(args, Some(library))? };
    if let Some(launch) = campaign.launch.as_mut().filter(|_| args.mpiexec.is_none()) {
        if let Some(own) = own_launcher(library) {
            launch.mpiexec = own;
        }
        // It refuses root, and more ranks than cores, unless it is told.
        if soname(library).is_some_and(|name| name.starts_with(OPEN_MPI)) {
            launch.launcher_args.extend(["--allow-run-as-root", "--oversubscribe"].map(String::from));
        }
    }
    Ok(campaign)
}

/// The launcher of the installation that a library belongs to.
fn own_launcher(library: &Path) -> Option<PathBuf> {
    let library = library.canonicalize().ok()?;
    let prefixes = library.ancestors().skip(2).take(2);
    prefixes.map(|prefix| prefix.join("bin/mpiexec")).find(|path| path.exists())
}

fn render(a: &Report, b: &Report, libraries: [&PathBuf; 2], is_busy: bool) -> String {
    let mut out = String::new();
    for ((letter, report), library) in [("A", a), ("B", b)].into_iter().zip(libraries) {
        let name = report.library.as_ref().map_or("did not come up", |library| &library.name);
        let _ = writeln!(out, "{letter}: {name}, {}", library.display());
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["metric", "size", "ranks", "unit", "A", "B", "A is"]);
    for (one, other) in a.entries.iter().zip(&b.entries) {
        let head =
            [Cell::new(one.metric.name()), right(one.point().size_words()), right(one.ranks.to_string())];
        let values =
            [Cell::new(&one.unit), right(cell(one)), right(cell(other)), right(verdict(one, other, is_busy))];
        table.add_row(head.into_iter().chain(values));
    }
    let _ = write!(
        out,
        "{}\n{table}\nMedians of all rounds. It cannot be told which is better where the rounds of both overlap.\n",
        a.machine
    );
    if is_busy {
        out += "No verdict is given, since other programs used the processors: the swing may be theirs.\n";
    } else if rounds(a).is_some_and(|rounds| rounds < ROUNDS_MIN) {
        let _ = writeln!(out, "No verdict is given after fewer than {ROUNDS_MIN} rounds (--rounds).");
    }
    for (letter, entry) in
        a.entries.iter().map(|entry| ("A", entry)).chain(b.entries.iter().map(|e| ("B", e)))
    {
        if let Some(reason) = &entry.failure {
            let _ = writeln!(out, "{letter}, {}, {} ranks: {reason}", entry.point(), entry.ranks);
        }
    }
    out
}

/// The fewest rounds in which a point was measured.
fn rounds(report: &Report) -> Option<usize> {
    report.entries.iter().map(|entry| entry.jobs.len()).min()
}

/// The verdict on one point, if there can be one.
fn verdict(a: &Entry, b: &Entry, is_busy: bool) -> String {
    match a.jobs.len().min(b.jobs.len()) >= ROUNDS_MIN && !is_busy {
        true => ratio(a, b),
        false => String::new(),
    }
}

/// The words for how much better the first is: of times the shorter, of speeds the higher.
fn ratio(a: &Entry, b: &Entry) -> String {
    let (Some(one), Some(other)) = (a.value, b.value) else { return String::new() };
    if one <= 0.0 || other <= 0.0 {
        return String::new();
    }
    if overlap(a, b) {
        return "cannot tell".into();
    }
    let better = if a.metric.is_speed() { one / other } else { other / one };
    match better >= 1.0 {
        true => format!("{better:.2} times better"),
        false => format!("{:.2} times worse", 1.0 / better),
    }
}

/// Returns whether the rounds of one reach into those of the other.
fn overlap(a: &Entry, b: &Entry) -> bool {
    let range = |entry: &Entry| {
        let values = entry.jobs.iter().map(|job| job.value);
        values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let ((a_low, a_high), (b_low, b_high)) = (range(a), range(b));
    a_low <= b_high && b_low <= a_high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(point: &str, rounds: &[f64]) -> Entry {
        let mut entry = Entry::new(point.parse().expect("point"), 2);
        rounds.iter().for_each(|value| entry.add(&[*value], 1));
        entry
    }

    #[test]
    fn times_and_speeds_are_compared_the_right_way_round() {
        let latency = [entry("latency:8", &[1.0, 1.1, 1.0]), entry("latency:8", &[2.0, 2.1, 2.0])];
        assert_eq!(ratio(&latency[0], &latency[1]), "2.00 times better");
        assert_eq!(ratio(&latency[1], &latency[0]), "2.00 times worse");
        let rate = [entry("rate:8", &[1.0]), entry("rate:8", &[4.0])];
        assert_eq!(ratio(&rate[0], &rate[1]), "4.00 times worse");
        let near = [entry("latency:8", &[1.0, 3.0]), entry("latency:8", &[2.0, 2.5])];
        assert_eq!(ratio(&near[0], &near[1]), "cannot tell");
        assert_eq!(ratio(&near[0], &entry("latency:8", &[])), "");
    }

    #[test]
    fn there_is_no_verdict_on_noise() {
        let (a, b) = (entry("latency:8", &[1.0, 1.1, 1.0]), entry("latency:8", &[2.0, 2.1, 2.0]));
        assert_eq!(verdict(&a, &b, false), "2.00 times better");
        assert_eq!(verdict(&a, &b, true), "");
        assert_eq!(verdict(&a, &entry("latency:8", &[2.0, 2.1]), false), "");
        let report = |entry: Entry| Report { entries: vec![entry], ..Report::of_this_command() };
        let [a, b, few] = [a, b, entry("latency:8", &[1.0])].map(report);
        let path = PathBuf::from("lib.so");
        let page = |a: &Report, is_busy| render(a, &b, [&path, &path], is_busy);
        assert!(page(&a, false).contains("times better") && !page(&a, false).contains("No verdict"));
        assert!(page(&a, true).contains("No verdict is given, since other programs"));
        assert!(page(&few, false).contains("after fewer than 3 rounds"));
    }

    #[test]
    fn a_library_has_the_launcher_of_its_installation() {
        let prefix = std::env::temp_dir().join(format!("verbena-compare-{}", std::process::id()));
        std::fs::create_dir_all(prefix.join("lib")).expect("writable");
        std::fs::create_dir_all(prefix.join("bin")).expect("writable");
        let library = prefix.join("lib/libmpi_abi.so.1");
        std::fs::write(&library, "").expect("writable");
        assert_eq!(own_launcher(&library), None);
        std::fs::write(prefix.join("bin/mpiexec"), "").expect("writable");
        let found = own_launcher(&library).expect("found");
        assert_eq!(found, prefix.canonicalize().expect("there").join("bin/mpiexec"));
        std::fs::remove_dir_all(prefix).expect("removable");
    }
}
