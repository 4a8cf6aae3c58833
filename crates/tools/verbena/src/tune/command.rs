//! The command line of `verbena tune`.

use super::beforehand;
use super::choose::{Choice, Compared, choose, compare};
use super::knobs::{By, Knob, beyond, knobs};
use super::profile;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::path::{Path, PathBuf};
use verbena_lab::experiment::bar::Bar;
use verbena_lab::experiment::between::Between;
use verbena_lab::experiment::command::{Nodes, Timing};
use verbena_lab::experiment::variant::set;
use verbena_lab::experiment::{Measured, Wanted, record, show};
use verbena_lab::output;
use verbena_lab::table::format_value;

/// The options of `verbena tune`.
#[derive(Args, Debug)]
pub(crate) struct TuneArgs {
    /// Measure by which settings are judged
    #[arg(long, value_enum, default_value = "latency")]
    by: By,
    /// Only these settings, as in cma_bytes_min,claim_bytes
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Two nodes, as in node0,node1, for what joins nodes; without, only what joins ranks of this
    /// one
    #[arg(long, value_delimiter = ',')]
    hosts: Vec<String>,
    /// The most ranks that take part in a collective; what needs more is left as it is [default: a
    /// rank for each usable processor]
    #[arg(long)]
    ranks: Option<usize>,
    #[command(flatten)]
    timing: Timing,
    /// The file to which the settings are written
    #[arg(short, long, value_name = "FILE", default_value = "verbena.toml")]
    output: PathBuf,
    /// Overwrite the file if it is there
    #[arg(long)]
    force: bool,
    /// Measure although other programs keep the processors busy
    #[arg(long)]
    busy_ok: bool,
    /// Measure again, and compare the settings of FILE with the best candidates at every size
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// With --check: how far off the best they may be, in percent
    #[arg(long, default_value_t = 5.0)]
    within: f64,
    /// Write what was measured as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// With --check: a knob with a point that seems too far off is measured for at most this many times
/// the rounds.
const ROUNDS_TIMES_MAX: usize = 3;

/// A knob, the measurements of its candidates, and the choice.
struct Trial {
    knob: Knob,
    measured: Measured,
    choice: Option<Choice>,
}

/// Runs `verbena tune`.
///
/// # Errors
/// Something needed is missing, a file is there already or cannot be written, the machine is busy,
/// nothing could be measured, or the file that is checked is too far off.
pub(crate) fn run(args: &TuneArgs) -> Result<()> {
    if args.check.is_none() {
        beforehand::may_write(&args.output, args.force)?;
    }
    beforehand::is_quiet(args.busy_ok)?;
    let between = Nodes::of(&args.hosts).between(&args.timing)?;
    let trials = measure(args, wanted(args, &between)?, &between)?;
    for Trial { knob, measured, .. } in &trials {
        output::line(&format!("\n{}: {}\n{}", knob.setting, knob.what, show::table(measured)))?;
        measured.series.iter().flat_map(|series| series.failures()).try_for_each(output::line)?;
    }
    let outcome = match &args.check {
        Some(_) => check(args, &trials),
        None => write(args, &trials),
    };
    save(args, trials)?;
    outcome
}

/// The knobs that are asked for and can be tuned here.
fn wanted(args: &TuneArgs, between: &Between) -> Result<Vec<Knob>> {
    let named = args.check.as_deref().map(profile::names).transpose()?;
    let wanted = |knob: &Knob| {
        let only = |name: &String| name.eq_ignore_ascii_case(knob.setting);
        let in_file = named.as_ref().is_none_or(|names| names.iter().any(only));
        in_file && (args.only.is_empty() || args.only.iter().any(only))
    };
    let (network, ranks) = (between.has_nodes(), ranks(args));
    let left = beyond(args.by, network, ranks);
    if !left.is_empty() {
        let left = left.join(", ");
        output::line(&format!(
            "left as they are, since they need more than {ranks} ranks (--ranks): {left}"
        ))?;
    }
    let knobs: Vec<Knob> = knobs(args.by, network, ranks).into_iter().filter(wanted).collect();
    if knobs.is_empty() {
        bail!("there is nothing to tune: no setting that can be tuned here was named");
    }
    Ok(knobs)
}

/// Returns the number of ranks. More ranks than processors are slow in a way of their own, so
/// nobody gets them unasked.
fn ranks(args: &TuneArgs) -> usize {
    args.ranks.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from))
}

/// The ranks may start in another folder.
fn absolute(path: &Path) -> Result<String> {
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    Ok(path.display().to_string())
}

/// Measures one knob after the other, each under the values found before, since one may decide what
/// another is worth. The candidates of a knob take turns. In a check, a point that seems too far
/// off is measured again: after few rounds that may be chance, and with many points it is for some.
fn measure(args: &TuneArgs, knobs: Vec<Knob>, between: &Between) -> Result<Vec<Trial>> {
    let file = args.check.as_deref().map(absolute).transpose()?;
    let rounds = args.timing.rounds();
    let mut bar = Bar::new(knobs.len() * rounds);
    let (mut trials, mut found) = (Vec::new(), Vec::new());
    for knob in knobs {
        let experiment = knob.experiment(&found, file.as_deref());
        let mut measured = Measured::new(experiment, &Wanted::default(), between)?;
        let mut round = |measured: &mut Measured| {
            bar.step(knob.setting);
            measured.series.iter_mut().try_for_each(|series| series.round(between))
        };
        (0..rounds).try_for_each(|_| round(&mut measured))?;
        if file.is_some() {
            for _ in 1..ROUNDS_TIMES_MAX {
                if too_far(args, &knob, &measured).next().is_none() {
                    break;
                }
                (0..rounds).try_for_each(|_| round(&mut measured))?;
            }
        }
        let choice = if file.is_some() { None } else { choose(&knob, &measured.series) };
        let sure = choice.iter().filter(|choice| !choice.is_noise);
        found.extend(sure.map(|choice| set(knob.setting, &choice.value)));
        trials.push(Trial { knob, measured, choice });
    }
    Ok(trials)
}

/// Writes the profile.
fn write(args: &TuneArgs, trials: &[Trial]) -> Result<()> {
    let found: Vec<(&Knob, &Choice)> =
        trials.iter().filter_map(|trial| Some((&trial.knob, trial.choice.as_ref()?))).collect();
    if found.is_empty() {
        bail!("nothing could be measured; the reasons are above");
    }
    let text = profile::text(&found);
    std::fs::write(&args.output, &text).with_context(|| format!("cannot write {}", args.output.display()))?;
    let path = args.output.display();
    output::line(&format!("\n{text}\nwritten to {path}; VERBENA_SETTINGS={path} makes runs use it"))
}

/// The points at which the profile is further off than it may be.
fn too_far(args: &TuneArgs, knob: &Knob, measured: &Measured) -> impl Iterator<Item = Compared> {
    let most = 1.0 + args.within / 100.0;
    compare(knob, &measured.series).into_iter().filter(move |compared| compared.ratio > most)
}

/// Compares the profile with the best candidates.
fn check(args: &TuneArgs, trials: &[Trial]) -> Result<()> {
    let (mut points, mut missed) = (0, 0);
    for Trial { knob, measured, .. } in trials {
        points += compare(knob, &measured.series).len();
        for Compared { place, ratio } in too_far(args, knob, measured) {
            missed += 1;
            let ratio = format_value(ratio);
            output::line(&format!("{}, {place}: {ratio} times the best candidate", knob.setting))?;
        }
    }
    let near = points - missed;
    output::line(&format!("{near} of {points} points are within {}% of the best candidate", args.within))?;
    if missed > 0 || points == 0 { bail!("{missed} of {points} points are not") } else { Ok(()) }
}

fn save(args: &TuneArgs, trials: Vec<Trial>) -> Result<()> {
    let all: Vec<Measured> = trials.into_iter().map(|trial| trial.measured).collect();
    args.json.as_ref().map_or(Ok(()), |path| record::write(path, &all, None, None))
}
