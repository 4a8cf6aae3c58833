//! The command line of `verbena tune`.

use super::choose::{Choice, choose, compare};
use super::knobs::{By, Knob, knobs};
use super::profile;
use crate::bench::candidate::{Bar, Candidate};
use crate::bench::metric::format_size;
use crate::bench::plot::{self, Panel};
use crate::bench::table::format_value;
use crate::bench::threshold::command::{Where, document, panel, table};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::path::{Path, PathBuf};

/// The options of `verbena tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// By what settings are judged
    #[arg(long, value_enum, default_value = "latency")]
    by: By,
    /// Only these settings, as in cma_bytes_min,claim_bytes
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    place: Where,
    /// Where to write the settings
    #[arg(short, long, value_name = "FILE", default_value = "verbena.toml")]
    output: PathBuf,
    /// Measure again, and compare the settings of FILE with the best candidates at every size
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// With --check: how far off the best they may be, in percent
    #[arg(long, default_value_t = 5.0)]
    within: f64,
    /// Write what was measured as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw what was measured into FILE (.svg or .png)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// A knob and its candidates.
struct Trial {
    knob: Knob,
    candidates: Vec<Candidate>,
}

/// Runs `verbena tune`.
///
/// # Errors
/// Something needed is missing, a file cannot be written, nothing could be measured, or the file that is checked is too far off.
pub fn run(args: &TuneArgs) -> Result<()> {
    if let Some(path) = &args.plot {
        plot::check_name(path)?;
    }
    let mut trials = trials(args)?;
    measure(&mut trials, args.place.rounds)?;
    for trial in &trials {
        let candidates: Vec<&Candidate> = trial.candidates.iter().collect();
        let (setting, what) = (trial.knob.setting, trial.knob.what);
        println!("\n{setting}: {what}\n{}", table(&candidates, &trial.knob.points()));
        candidates.iter().flat_map(|candidate| candidate.failures()).for_each(|reason| println!("{reason}"));
    }
    save(args, &trials)?;
    match &args.check {
        Some(_) => check(args, &trials),
        None => write(args, &trials),
    }
}

fn trials(args: &TuneArgs) -> Result<Vec<Trial>> {
    let named = args.check.as_deref().map(profile::names).transpose()?;
    let wanted = |knob: &Knob| {
        let only = |name: &String| name.eq_ignore_ascii_case(knob.setting);
        let in_file = named.as_ref().is_none_or(|names| names.iter().any(only));
        in_file && (args.only.is_empty() || args.only.iter().any(only))
    };
    let trial = |knob: Knob| {
        let launch = args.place.launch(knob.network)?;
        let mut candidates = knob.candidates(&launch)?;
        if let Some(path) = &args.check {
            candidates.push(knob.by_profile(&absolute(path)?, &launch)?);
        }
        Ok(Trial { knob, candidates })
    };
    let all = knobs(args.by, args.place.hosts.len() >= 2);
    let trials: Vec<Trial> = all.into_iter().filter(wanted).map(trial).collect::<Result<_>>()?;
    if trials.is_empty() {
        bail!("there is nothing to tune: no setting that can be tuned here was named");
    }
    Ok(trials)
}

/// The ranks may start in another folder.
fn absolute(path: &Path) -> Result<String> {
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    Ok(path.display().to_string())
}

fn measure(trials: &mut [Trial], rounds: usize) -> Result<()> {
    let steps: usize = trials.iter().map(|trial| trial.candidates.len()).sum();
    let mut bar = Bar::new(steps * rounds);
    for _ in 0..rounds {
        for trial in trials.iter_mut() {
            for candidate in &mut trial.candidates {
                bar.step(&format!("{}: {}", trial.knob.setting, candidate.name));
                candidate.round()?;
            }
        }
    }
    Ok(())
}

/// Writes the profile.
fn write(args: &TuneArgs, trials: &[Trial]) -> Result<()> {
    let found: Vec<(&Knob, Choice)> = trials
        .iter()
        .filter_map(|trial| Some((&trial.knob, choose(&trial.knob, &trial.candidates)?)))
        .collect();
    if found.is_empty() {
        bail!("nothing could be measured; the reasons are above");
    }
    let text = profile::text(&found);
    std::fs::write(&args.output, &text).with_context(|| format!("cannot write {}", args.output.display()))?;
    print!("\n{text}");
    println!("\nwritten to {}; VERBENA_SETTINGS={0} makes runs use it", args.output.display());
    Ok(())
}

/// Compares the profile with the best candidates.
fn check(args: &TuneArgs, trials: &[Trial]) -> Result<()> {
    let most = 1.0 + args.within / 100.0;
    let (mut points, mut missed) = (0, 0);
    for trial in trials {
        for compared in compare(&trial.knob, &trial.candidates) {
            points += 1;
            if compared.ratio > most {
                missed += 1;
                let (size, ratio) = (format_size(compared.point.bytes), format_value(compared.ratio));
                println!("{}, {size}: {ratio} times the best candidate", trial.knob.setting);
            }
        }
    }
    println!("{} of {points} points are within {}% of the best candidate", points - missed, args.within);
    if missed > 0 || points == 0 { bail!("{missed} of {points} points are not") } else { Ok(()) }
}

fn save(args: &TuneArgs, trials: &[Trial]) -> Result<()> {
    if let Some(path) = &args.json {
        let all: Vec<&Candidate> = trials.iter().flat_map(|trial| &trial.candidates).collect();
        std::fs::write(path, serde_json::to_string_pretty(&document(&all))?)
            .with_context(|| format!("cannot write the result to {}", path.display()))?;
    }
    if let Some(path) = &args.plot {
        let panel = |trial: &Trial| {
            let candidates: Vec<&Candidate> = trial.candidates.iter().collect();
            Panel { title: trial.knob.setting.into(), ..panel(&candidates, trial.knob.metric) }
        };
        plot::draw_panels(&trials.iter().map(panel).collect::<Vec<_>>(), path)?;
    }
    Ok(())
}
