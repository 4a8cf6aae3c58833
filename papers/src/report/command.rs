//! The command line of `verbena-papers report`.

use super::jobs::JOBS_MIN;
use super::measure::{self, Budget};
use super::page::Page;
use super::plan::{self, Section};
use super::record::{self, Record};
use super::results::Results;
use super::{bare, html, markdown, npb, simulate, smg, trace};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use verbena_lab::experiment::between::Between;
use verbena_lab::experiment::command::{Nodes, Timing};
use verbena_lab::output;

/// The options of `verbena-papers report`.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// Only these parts [default: all that can be measured here]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Section>,
    /// Measure nothing: only the report, of the files of --add
    #[arg(long)]
    report: bool,
    /// Measure nothing of these parts: note this reason
    #[arg(long, value_name = "REASON")]
    lacks: Option<String>,
    /// Result files measured elsewhere, as --json of `verbena bench` and of the comparisons writes
    /// them
    #[arg(long, value_name = "FILE", num_args = 1..)]
    add: Vec<PathBuf>,
    /// The folder of the NAS programs, with is.W.x or is.S.x and so on in it, or in its bin
    #[arg(long, value_name = "DIR")]
    npb: Option<PathBuf>,
    /// hypre's test driver `struct`, whose solver 0 is that of SMG2000
    #[arg(long, value_name = "FILE")]
    hypre: Option<PathBuf>,
    /// The folder of the report: report.html, report.md, pictures, and the result file
    /// measured.json
    #[arg(long, value_name = "DIR", default_value = "papers")]
    out: PathBuf,
    /// After so many minutes nothing new begins [default: 15 with --quick, else 90]
    #[arg(long)]
    minutes: Option<f64>,
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    timing: Timing,
}

impl ReportArgs {
    /// Returns whether what a section runs was named; one without needs no time.
    fn has_program(&self, section: Section) -> bool {
        match section {
            Section::Npb => self.npb.is_some(),
            Section::Smg => self.hypre.is_some(),
            _ => true,
        }
    }
}

/// Minutes after which nothing new begins, with `--quick` and without.
const MINUTES: [f64; 2] = [15.0, 90.0];
/// Time for the repetitions of one point in a job with `--quick`: fewer points, not shorter ones.
const QUICK_POINT: Duration = Duration::from_millis(30);

/// Runs `verbena-papers report`.
///
/// # Errors
/// Something needed is missing, or a file cannot be read or written. What cannot be measured is a
/// row with its reason.
pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    let out = record::folder(&args.out)?;
    let mut results = Results::default();
    if !args.report {
        results.add(&measured(args, &out)?);
    }
    args.add.iter().try_for_each(|path| results.add_file(path))?;
    let page = Page::new(&results)?;
    write(&page, &out)?;
    output::line(&out.join("report.html").display().to_string())
}

fn measured(args: &ReportArgs, out: &Path) -> Result<serde_json::Value> {
    let mut between = args.nodes.between(&args.timing)?;
    if args.timing.quick {
        between.effort.point = QUICK_POINT;
    }
    let minutes = args.minutes.unwrap_or(if args.timing.quick { MINUTES[0] } else { MINUTES[1] });
    let time = Duration::try_from_secs_f64(minutes * 60.0).context("--minutes must be positive")?;
    let until = Instant::now() + time;
    let mut record = Record::new(out.join("measured.json"));
    let asked = |section: &&Section| args.only.is_empty() || args.only.contains(section);
    let weight = |section: &Section| if args.has_program(*section) { section.weight() } else { 0 };
    let mut left: u32 = Section::value_variants().iter().filter(asked).map(weight).sum();
    for section in Section::value_variants().iter().filter(asked) {
        // Each part has its share of the time that is left, so that no part takes that of the last
        // ones.
        let share = until.saturating_duration_since(Instant::now()) * weight(section) / left.max(1);
        let (rounds, quick) = (args.timing.rounds.max(JOBS_MIN), args.timing.quick);
        let budget = Budget { until: Instant::now() + share, rounds, quick };
        one(*section, args, &between, &budget, out, &mut record)?;
        left -= weight(section);
    }
    Ok(record.document())
}

fn one(
    section: Section,
    args: &ReportArgs,
    between: &Between,
    budget: &Budget,
    out: &Path,
    record: &mut Record,
) -> Result<()> {
    if let Some(reason) = &args.lacks {
        let all = plan::experiments(section, budget.quick);
        return all.iter().try_for_each(|experiment| record.skip(experiment.name, reason));
    }
    match section {
        Section::Sim => simulate::run(record, budget.quick),
        Section::Verbs => bare::run(between, budget, record),
        Section::Trace => trace::run(between, budget, out, record),
        Section::Npb => match &args.npb {
            Some(folder) => npb::run(folder, between, budget, record),
            None => record.skip("npb", "nobody said where the NAS programs are (--npb DIR)"),
        },
        Section::Smg => match &args.hypre {
            Some(path) => smg::run(path, between, budget, record),
            None => record.skip("smg", "nobody said where hypre's driver struct is (--hypre FILE)"),
        },
        Section::Node => {
            measure::floor(between, budget, record)?;
            measure::section(section, between, budget, record)
        }
        _ => measure::section(section, between, budget, record),
    }
}

/// The folder of the pictures beside the Markdown.
const PICTURES: &str = "pictures";

fn write(page: &Page, out: &Path) -> Result<()> {
    let folder = out.join(PICTURES);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (text, pictures) = markdown::render(page, PICTURES);
    file(&out.join("report.html"), &html::render(page))?;
    file(&out.join("report.md"), &text)?;
    pictures.iter().try_for_each(|(name, svg)| file(&folder.join(name), svg))
}

fn file(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
