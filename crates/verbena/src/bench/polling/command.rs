//! The command line of `verbena bench polling`.

use super::show;
use super::variants::{RANKS, Variant, all};
use crate::bench::job::Launch;
use crate::bench::plot;
use crate::bench::rc::model;
use crate::bench::report::Report;
use crate::place;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use verbena_sim::figures::{Table, polling};

/// The options of `verbena bench polling`.
#[derive(Args, Debug)]
pub struct PollingArgs {
    /// The two nodes
    #[arg(long, value_delimiter = ',', default_value = "node0,node1")]
    hosts: Vec<String>,
    /// How often to repeat the whole
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Time for the repetitions of one point in a round, in milliseconds
    #[arg(long, default_value_t = 60)]
    point_ms: u64,
    /// Repetitions of one point in a round
    #[arg(long, default_value_t = 3)]
    repetitions: usize,
    /// The longest that one point may take, in seconds
    #[arg(long, default_value_t = 30.0)]
    limit_s: f64,
    /// Only these variants, as in all,50:1
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Print the figures of the model of the paper's costs below
    #[arg(long)]
    model: bool,
    /// Measure nothing: only the model
    #[arg(long, requires = "model")]
    model_only: bool,
    /// Write the result as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw both figures into FILE (.svg or .png)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Runs `verbena bench polling`.
///
/// # Errors
/// Something needed is missing, a file cannot be written, or points could not be measured.
pub fn run(args: &PollingArgs) -> Result<()> {
    if let Some(path) = &args.plot {
        plot::check_name(path)?;
    }
    let mut variants = if args.model_only { Vec::new() } else { all(&launch(args)?)? };
    variants.retain(|variant| args.only.is_empty() || args.only.contains(&variant.candidate.name));
    for round in 1..=args.rounds {
        eprintln!("round {round} of {}", args.rounds);
        variants.iter_mut().try_for_each(|variant| variant.candidate.round())?;
    }
    finish(args, &variants)
}

fn launch(args: &PollingArgs) -> Result<Launch> {
    let [one, other] = &args.hosts[..] else { bail!("--hosts needs two nodes") };
    ensure!(
        args.rounds > 0 && args.repetitions > 0 && args.point_ms > 0,
        "rounds, repetitions and milliseconds must be at least 1"
    );
    let each = RANKS / 2;
    Ok(Launch {
        mpiexec: place::mpiexec()?,
        launcher_args: vec!["-hosts".into(), format!("{one}:{each},{other}:{each}")],
        library: place::library()?,
        point_ms: args.point_ms,
        repetitions: args.repetitions,
        window: 1,
        environment: Vec::new(),
        limit: Duration::try_from_secs_f64(args.limit_s)
            .map_err(|_| anyhow!("--limit-s must be positive"))?,
    })
}

fn finish(args: &PollingArgs, variants: &[Variant]) -> Result<()> {
    if !args.model_only {
        print!("{}", show::render(variants));
    }
    let figures = if args.model { figures()? } else { Vec::new() };
    if args.model {
        println!("\nA model of the paper's costs, nothing measured here\n");
        figures.iter().for_each(|table| println!("{table}"));
    }
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_string_pretty(&document(variants, &figures))?)
            .with_context(|| format!("cannot write the result to {}", path.display()))?;
    }
    if let Some(path) = &args.plot {
        plot::draw_panels_over(show::AXIS, &show::panels(variants), path)?;
    }
    let entries = || variants.iter().flat_map(|variant| &variant.candidate.report.entries);
    match entries().filter(|entry| entry.failure.is_some()).count() {
        0 => Ok(()),
        failed => {
            bail!("{failed} of {} points could not be measured; the reasons are above", entries().count())
        }
    }
}

fn figures() -> Result<Vec<Table>> {
    let made = [polling::ratios(), polling::discovery()];
    made.into_iter().map(|table| table.map_err(|reason| anyhow!("the simulator: {reason}"))).collect()
}

fn document(variants: &[Variant], figures: &[Table]) -> Value {
    let Report { command, started_unix_s, machine, .. } = Report::of_this_command();
    let variant =
        |variant: &Variant| json!({"variant": variant.candidate.name, "report": variant.candidate.report});
    json!({"command": command, "written_unix_s": started_unix_s, "machine": machine,
           "variants": variants.iter().map(variant).collect::<Vec<_>>(),
           "goals": show::json(&show::goals(variants)),
           "model": figures.iter().map(model::json).collect::<Vec<_>>()})
}
