//! The command line of `verbena bench threshold`.

use super::{Measured, overlaps, points, ways};
use crate::bench::candidate::{Bar, Candidate};
use crate::bench::job::Launch;
use crate::bench::metric::{Metric, Point, format_size, parse_size};
use crate::bench::plot::{self, Line, Panel};
use crate::bench::report::Report;
use crate::bench::table::{cell, right};
use crate::place;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use comfy_table::{Cell, Table, presets};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Where and how long to measure; shared with `verbena tune`.
#[derive(Args, Clone, Debug)]
pub struct Where {
    /// Two nodes, as in node0,node1, for what joins nodes; without, only what joins ranks of this one
    #[arg(long, value_delimiter = ',')]
    pub hosts: Vec<String>,
    /// How often to repeat the whole
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Time for the repetitions of one point in a round, in milliseconds
    #[arg(long, default_value_t = 40)]
    pub point_ms: u64,
    /// Repetitions of one point in a round
    #[arg(long, default_value_t = 5)]
    pub repetitions: usize,
    /// The longest that one point may take, in seconds
    #[arg(long, default_value_t = 30.0)]
    pub limit_s: f64,
    /// Messages in flight in the window tests
    #[arg(long, default_value_t = 16)]
    pub window: usize,
}

impl Where {
    /// How to start ranks: on this node, or one on each of the two nodes.
    ///
    /// # Errors
    /// Our launcher or library cannot be found, or a number is 0.
    pub fn launch(&self, network: bool) -> Result<Launch> {
        ensure!(
            self.rounds > 0 && self.repetitions > 0 && self.point_ms > 0 && self.window > 0,
            "rounds, repetitions, milliseconds and the window must be at least 1"
        );
        let hosts = match &self.hosts[..] {
            [one, other, ..] if network => Some(format!("{one}:1,{other}:1")),
            [one, ..] => Some(format!("{one}:64")),
            [] => None,
        };
        let limit = Duration::try_from_secs_f64(self.limit_s);
        Ok(Launch {
            mpiexec: place::mpiexec()?,
            launcher_args: hosts.into_iter().flat_map(|hosts| ["-hosts".to_string(), hosts]).collect(),
            library: place::library()?,
            point_ms: self.point_ms,
            repetitions: self.repetitions,
            window: self.window,
            environment: Vec::new(),
            limit: limit.map_err(|_| anyhow!("--limit-s must be positive"))?,
        })
    }
}

/// The options of `verbena bench threshold`.
#[derive(Args, Debug)]
pub struct ThresholdArgs {
    #[command(flatten)]
    place: Where,
    /// Message sizes, as in 1K,64K,1M (powers of 1024)
    #[arg(long, value_delimiter = ',', value_parser = parse_size,
          default_value = "64,512,1K,2K,4K,8K,16K,32K,64K,256K,1M,4M")]
    sizes: Vec<usize>,
    /// Write the result as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw latency and bandwidth by size into FILE (.svg or .png)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Runs `verbena bench threshold`.
///
/// # Errors
/// Something needed is missing, a file cannot be written, or points could not be measured.
pub fn run(args: &ThresholdArgs) -> Result<()> {
    if let Some(path) = &args.plot {
        plot::check_name(path)?;
    }
    let measured = |way: &super::Way| Measured::new(way, &args.sizes, &args.place.launch(way.network)?);
    let ways = ways().into_iter().filter(|way| !way.network || args.place.hosts.len() >= 2);
    let mut all: Vec<Measured> = ways.map(|way| measured(&way)).collect::<Result<_>>()?;
    let mut bar = Bar::new(all.len() * 3 * args.place.rounds);
    for _ in 0..args.place.rounds {
        for measured in &mut all {
            for candidate in std::iter::once(&mut measured.sizes).chain(&mut measured.beside) {
                bar.step(&candidate.name);
                candidate.round()?;
            }
        }
    }
    drop(bar);
    finish(args, &all)
}

fn finish(args: &ThresholdArgs, all: &[Measured]) -> Result<()> {
    let by_size: Vec<&Candidate> = all.iter().map(|measured| &measured.sizes).collect();
    println!("\nLatency and bandwidth (paper 3, figure 5)\n{}", table(&by_size, &points(&args.sizes)));
    let beside: Vec<&Candidate> = all.iter().flat_map(|measured| &measured.beside).collect();
    println!("\nBeside a computation (paper 3, figure 4)\n{}", table(&beside, &overlaps()));
    let candidates = || all.iter().flat_map(Measured::candidates);
    let failures: Vec<String> = candidates().flat_map(Candidate::failures).collect();
    failures.iter().for_each(|reason| println!("{reason}"));
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_string_pretty(&document(&candidates().collect::<Vec<_>>()))?)
            .with_context(|| format!("cannot write the result to {}", path.display()))?;
    }
    if let Some(path) = &args.plot {
        plot::draw_panels(&[Metric::Latency, Metric::Bandwidth].map(|metric| panel(&by_size, metric)), path)?;
    }
    if failures.is_empty() { Ok(()) } else { bail!("{} points could not be measured", failures.len()) }
}

/// Candidates as a document.
pub fn document(candidates: &[&Candidate]) -> Value {
    let Report { command, started_unix_s, machine, .. } = Report::of_this_command();
    let one = |candidate: &&Candidate| json!({"name": candidate.name, "report": candidate.report});
    json!({"command": command, "written_unix_s": started_unix_s, "machine": machine,
           "candidates": candidates.iter().map(one).collect::<Vec<_>>()})
}

/// Points down, candidates across.
pub fn table(candidates: &[&Candidate], points: &[Point]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let names = candidates.iter().map(|candidate| candidate.name.clone());
    table.set_header(["metric", "size", "unit"].map(String::from).into_iter().chain(names));
    for &point in points {
        let value = |candidate: &&Candidate| right(candidate.entry(point).map_or_else(String::new, cell));
        let head =
            [Cell::new(point.metric.name()), right(format_size(point.bytes)), Cell::new(point.metric.unit())];
        table.add_row(head.into_iter().chain(candidates.iter().map(value)));
    }
    table
}

/// A line for each candidate over the sizes of a metric.
pub fn panel(candidates: &[&Candidate], metric: Metric) -> Panel {
    let line = |candidate: &&Candidate| {
        let of_metric = candidate.report.entries.iter().filter(|entry| entry.metric == metric);
        let points =
            of_metric.filter_map(|entry| Some((entry.bytes, entry.value.filter(|value| *value > 0.0)?)));
        Line { label: candidate.name.clone(), points: points.collect() }
    };
    let lines = candidates.iter().map(line).filter(|line| !line.points.is_empty()).collect();
    Panel { title: metric.name().into(), unit: metric.unit().into(), lines }
}
