//! SMG2000's solver, as hypre has it (`struct -solver 0`; paper 4, section 5.3.2): time of setting
//! up and solving on a cube for each rank, between nodes, `MPI_Init` and the making of connections
//! counted, since the job is timed as a whole too.

use super::job_table::JobTable;
use super::measure::{Budget, is_due, order};
use super::plan;
use super::program::Program;
use super::record::Record;
use anyhow::{Context, Result};
use std::path::Path;
use std::time::{Duration, Instant};
use verbena_lab::experiment::between::Between;

/// Ranks, and how they divide the space.
const RANKS: usize = 4;
const DIVISION: [&str; 3] = ["2", "2", "1"];
/// Points of each rank's cube along a side.
const SIDE: &str = "10";
/// The longest that a job may take.
const LIMIT: Duration = Duration::from_secs(60);
/// The row of the time that the program states, and that of the whole job.
const SOLVER: &str = "solver";
/// The row of the whole job.
const JOB: &str = "job";

/// Runs hypre's test driver `struct`, found at this path, under each design.
///
/// # Errors
/// The file cannot be written. A failure is noted.
pub(super) fn run(path: &Path, between: &Between, budget: &Budget, record: &mut Record) -> Result<()> {
    if !between.has_nodes() {
        return record.skip("smg", super::measure::NO_NODES);
    }
    let mut table = JobTable::new("hypre's SMG between nodes", "time").of_ranks(RANKS);
    let outcome = rounds(path, between, budget, &mut table, record);
    outcome.or_else(|error| record.skip("smg", &format!("{error:#}")))
}

fn rounds(
    path: &Path,
    between: &Between,
    budget: &Budget,
    table: &mut JobTable,
    record: &mut Record,
) -> Result<()> {
    let variants = plan::scale_designs();
    let words = ["-n", SIDE, SIDE, SIDE, "-P", DIVISION[0], DIVISION[1], DIVISION[2], "-solver", "0"];
    let arguments = words.map(String::from).to_vec();
    let program = Program { path: path.to_path_buf(), arguments, ranks: RANKS, limit: LIMIT };
    let start = Instant::now();
    for round in 0.. {
        if !is_due(round, start.elapsed(), ("smg", ""), budget, record)? {
            break;
        }
        eprintln!("smg, round {} of {}", round + 1, budget.rounds);
        for at in order(variants.len(), round) {
            let begun = Instant::now();
            let ran = program.run(&variants[at].how, between)?;
            let took = begun.elapsed().as_secs_f64();
            table.add_seen(JOB, &variants[at].name, took, Some(ran.witness.clone()));
            table.add_seen(SOLVER, &variants[at].name, solved(&ran.text)?, Some(ran.witness));
        }
        record.jobs("smg", "time", "s", table)?;
    }
    Ok(())
}

/// The sum of the times that the driver states for setting up and for solving, by the clock.
fn solved(text: &str) -> Result<f64> {
    let times = text.lines().filter_map(|line| line.trim().strip_prefix("wall clock time ="));
    let times: Vec<f64> = times.map(number).collect::<Result<_>>()?;
    anyhow::ensure!(
        times.len() >= 2,
        "it printed {} times, not those of setting up and solving",
        times.len()
    );
    // The first one is that of the matrix and the vectors.
    Ok(times[times.len() - 2..].iter().sum())
}

fn number(text: &str) -> Result<f64> {
    let word = text.split_whitespace().next().unwrap_or("");
    word.parse().with_context(|| format!("\"{word}\" is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_up_and_solving_are_added_up() {
        let text = "Struct Interface:\n  wall clock time = 0.5 seconds\nSMG Setup:\n  wall clock time = 0.25 seconds\n\
                    SMG Solve:\n  wall clock time = 0.125 seconds\n";
        assert_eq!(solved(text).expect("times"), 0.375);
        assert!(solved("wall clock time = x seconds").is_err());
        assert!(solved("").is_err());
    }
}
