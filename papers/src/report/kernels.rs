//! The kernels over 2, 4 and 8 simulated nodes (paper 1, figures 20 and 21; paper 2, figures 16 and
//! 17). A kernel runs here, its calls are written down, and the simulator plays them over the real
//! engine, channels and schedules.
//!
//! The time that a kernel computes is an input, [`COMPUTES_BYTE_PS`], which is guessed. So each
//! kernel is played twice: as it is with that time, and with communication alone.
//!
//! A few microseconds decide in which order long blocks pass each other, and the model would take
//! one of these orders for the only one. So each is played with several starts of its ranks, the
//! same ones for all designs: how far the ratios of two designs move is their noise.

use super::job_table::JobTable;
use super::record::Record;
use anyhow::{Result, anyhow};
use std::thread;
use verbena_lab::kernels::refusal;
use verbena_lab::kernels::script::{Call, Part, script};
use verbena_lab::metric::{Metric, Point};
use verbena_sim::figures::replay::{self, Step, replay_from};
use verbena_sim::figures::{Design, Rung, Table};
use verbena_sim::verbs::Costs;
use verbena_sim::{Random, Rank};

/// The kernels, with sizes of class A or as near as our shapes come.
///
/// IS has the 2^23 keys of class A, LU, SP and BT its 64^3 points of 5 values. CG has 8192 rows
/// for 14000, MG 128^3 points for 256^3, FT 128^3 for 256 by 256 by 128: so the kernels run in
/// seconds. On 8 nodes, where the papers have class B, the problems are these too.
const KERNELS: [Kernel; 7] = [
    Kernel { name: "IS", metric: Metric::KernelIs, bytes: 32 << 20, passes: 3 },
    Kernel { name: "MG", metric: Metric::KernelMg, bytes: 16 << 20, passes: 24 },
    Kernel { name: "LU", metric: Metric::KernelLu, bytes: 64 * 64 * 64 * 40, passes: 2 },
    Kernel { name: "CG", metric: Metric::KernelCg, bytes: 8192 * 240, passes: 20 },
    Kernel { name: "FT", metric: Metric::KernelFt, bytes: 32 << 20, passes: 8 },
    Kernel { name: "SP", metric: Metric::KernelSp, bytes: 64 * 64 * 64 * 40, passes: 9 },
    Kernel { name: "BT", metric: Metric::KernelBt, bytes: 64 * 64 * 64 * 40, passes: 9 },
];

/// The numbers of nodes, with one rank on each.
const NODES: [usize; 3] = [2, 4, 8];
/// The time to compute on a byte in one pass, in picoseconds: guessed as what it takes to move it
/// through memory, about 1 GB/s on a processor of 2003.
pub(super) const COMPUTES_BYTE_PS: u64 = 1000;
/// Plays of each kernel in each design: in the first all ranks start at once.
const PLAYS: u64 = 5;
/// In the others each starts so many nanoseconds later at most.
const APART_NS_MAX: u64 = 5000;

struct Kernel {
    name: &'static str,
    metric: Metric,
    /// Bytes of the main arrays of all ranks together.
    bytes: usize,
    /// The number of times that a round goes through the main array: IS counts, orders and sorts;
    /// MG relaxes 4 times, coarsens and refines in each of 4 cycles; LU sweeps twice; CG multiplies
    /// 20 times; FT has six transforms, a shift and a scaling; SP and BT have a right side, an
    /// elimination and a substitution in each dimension.
    passes: u64,
}

/// The designs of paper 1, and those of paper 2, which copy up to 2 KiB.
const EAGER: [Rung; 2] = [Rung::AfterMatch(Design::SendReceive), Rung::AfterMatch(Design::RdmaEager)];
const LARGE: [Rung; 3] = [
    Rung::AfterMatch(Design::Pipeline(16 << 10)),
    Rung::AfterMatch(Design::ZeroCopyRead),
    Rung::AfterMatch(Design::ZeroCopyWrite),
];

/// The experiments of paper 1 and of paper 2: with computing and without.
pub(super) const EXPERIMENTS: [&str; 4] =
    ["sim kernels", "sim kernels alone", "sim large", "sim large alone"];

/// Returns each kernel's name and its passes.
pub(super) fn passes() -> impl Iterator<Item = (&'static str, u64)> {
    KERNELS.iter().map(|kernel| (kernel.name, kernel.passes))
}

/// The experiment of what ranks hold until their receives come.
const HELD: &str = "sim held";

/// Plays all kernels over all designs.
///
/// # Errors
/// A kernel is wrong, a replay hung, or the file cannot be written.
pub(super) fn run(record: &mut Record) -> Result<()> {
    put(record, usize::MAX)?;
    record.table(HELD, "held", "", &held(usize::MAX)?)
}

/// Makes the table of what a rank of eight holds at most until its receives come, over rings
/// (paper 1, 4.1): so many slots would be taken if unexpected messages stayed in theirs.
fn held(bytes_max: usize) -> Result<Table> {
    let title = "What a rank holds at most of messages that came before their receives, on 8 nodes";
    let mut table = Table::new(title, ["kernel", "messages", "KiB"]);
    let nodes = NODES[NODES.len() - 1];
    for kernel in &KERNELS {
        let bytes = kernel.bytes.min(bytes_max) / nodes;
        if refusal(Point { metric: kernel.metric, bytes }, nodes).is_some() {
            continue;
        }
        let alone = steps(&script(kernel.metric, bytes, nodes)?);
        let outcome = replay_from(&alone, EAGER[1], Costs::PAPER_1, &vec![0; nodes]);
        let outcome = outcome.map_err(|reason| anyhow!("the simulator: {reason}"))?;
        table.add(kernel.name, vec![outcome.held as f64, outcome.held_bytes as f64 / 1024.0]);
    }
    Ok(table)
}

/// Plays kernels of this size at most.
fn put(record: &mut Record, bytes_max: usize) -> Result<()> {
    for (name, table) in EXPERIMENTS.into_iter().zip(tables(bytes_max)?) {
        record.plays(name, "time", "ms", &table)?;
    }
    Ok(())
}

/// Makes a table for each experiment: a row for each kernel and number of nodes, in milliseconds,
/// with a value for each start.
fn tables(bytes_max: usize) -> Result<[JobTable; 4]> {
    let mut all = [COMPUTING, ALONE, COMPUTING, ALONE].map(|title| JobTable::new(title, "kernel"));
    for kernel in &KERNELS {
        for nodes in NODES {
            let bytes = kernel.bytes.min(bytes_max) / nodes;
            if refusal(Point { metric: kernel.metric, bytes }, nodes).is_some() {
                continue;
            }
            let alone = steps(&script(kernel.metric, bytes, nodes)?);
            let busy = computing(&alone, bytes as u64 * kernel.passes * COMPUTES_BYTE_PS / 1000);
            let row = format!("{}, {nodes}", kernel.name);
            let plays =
                [(&busy, &EAGER[..]), (&alone, &EAGER[..]), (&busy, &LARGE[..]), (&alone, &LARGE[..])];
            for (table, (scripts, rungs)) in all.iter_mut().zip(plays) {
                enter(scripts, rungs, &row, table)?;
            }
        }
    }
    Ok(all)
}

const COMPUTING: &str = "Kernels over nodes, ms, with 1 ns of computing for each byte and pass";
const ALONE: &str = "Kernels over nodes, ms, communication alone";

/// Plays one kernel by each design with every start, each start on a thread of its own.
fn enter(scripts: &[Vec<Step>], rungs: &[Rung], row: &str, table: &mut JobTable) -> Result<()> {
    let all: Vec<Result<Vec<f64>>> = thread::scope(|scope| {
        let plays: Vec<_> = starts(scripts.len())
            .into_iter()
            .map(|starts_ns| scope.spawn(move || times_ms(scripts, rungs, &starts_ns)))
            .collect();
        plays.into_iter().map(|play| play.join().expect("a play does not panic")).collect()
    });
    for times in all {
        for (rung, ms) in rungs.iter().zip(times?) {
            table.add(row, &column(*rung), ms);
        }
    }
    Ok(())
}

fn column(rung: Rung) -> String {
    match rung {
        Rung::AfterMatch(Design::Pipeline(_)) => "pipeline".into(),
        Rung::AfterMatch(design) => design.name(),
        pipe => pipe.name(),
    }
}

/// The starts of the ranks in each play, in nanoseconds.
fn starts(nodes: usize) -> Vec<Vec<u64>> {
    let of = |play| {
        let mut random = Random::new(play);
        (0..nodes).map(|_| if play == 0 { 0 } else { random.below(APART_NS_MAX) }).collect()
    };
    (0..PLAYS).map(of).collect()
}

fn times_ms(scripts: &[Vec<Step>], rungs: &[Rung], starts_ns: &[u64]) -> Result<Vec<f64>> {
    let costs = if rungs.len() == EAGER.len() { Costs::PAPER_1 } else { Costs::PAPER_2 };
    let of = |rung: &Rung| {
        let outcome = replay_from(scripts, *rung, costs, starts_ns);
        Ok(outcome.map_err(|reason| anyhow!("the simulator: {reason}"))?.time_us / 1e3)
    };
    rungs.iter().map(of).collect()
}

/// The calls of a kernel as steps of the simulator.
fn steps(scripts: &[Vec<Call>]) -> Vec<Vec<Step>> {
    let parts = |parts: &[Part]| -> Vec<replay::Part> {
        parts.iter().map(|(rank, bytes)| (*rank as Rank, *bytes)).collect()
    };
    let step = |call: &Call| match call {
        Call::Send(part) => Step::Exchange { sends: parts(&[*part]), receives: Vec::new() },
        Call::Receive(part) => Step::Exchange { sends: Vec::new(), receives: parts(&[*part]) },
        Call::Exchange { sends, receives } => {
            Step::Exchange { sends: parts(sends), receives: parts(receives) }
        }
        Call::Alltoall(bytes) => Step::Alltoall(*bytes),
        Call::Alltoallv { sends, receives } => {
            Step::Alltoallv { sends: sends.clone(), receives: receives.clone() }
        }
        Call::Sum(bytes) => Step::Sum(*bytes),
    };
    scripts.iter().map(|calls| calls.iter().map(step).collect()).collect()
}

/// Adds this time of computing on each rank, in equal parts before each step.
fn computing(scripts: &[Vec<Step>], ns: u64) -> Vec<Vec<Step>> {
    let of = |steps: &Vec<Step>| {
        let each = ns / steps.len().max(1) as u64;
        steps.iter().flat_map(|step| [Step::Compute(each), step.clone()]).collect()
    };
    scripts.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::inventory;
    use crate::report::kinds::Kind;
    use crate::report::results::Results;
    use crate::report::rows::{Row, rows};
    use crate::report::verdict::Outcome;
    use std::sync::OnceLock;

    fn played(metric: Metric, bytes: usize, nodes: usize, rung: Rung) -> (Vec<Vec<Step>>, replay::Outcome) {
        let scripts = steps(&script(metric, bytes, nodes).expect("a script"));
        let costs = if LARGE.contains(&rung) { Costs::PAPER_2 } else { Costs::PAPER_1 };
        let outcome = replay::replay(&scripts, rung, costs).expect("it ends");
        (scripts, outcome)
    }

    fn messages(scripts: &[Vec<Step>]) -> u64 {
        let sent = |step: &Step| if let Step::Exchange { sends, .. } = step { sends.len() } else { 0 };
        scripts.iter().flatten().map(sent).sum::<usize>() as u64
    }

    #[test]
    fn the_nodes_exchange_the_messages_of_the_kernel() {
        for nodes in [2, 4, 8] {
            for (metric, bytes) in [(Metric::KernelLu, 8 << 10), (Metric::KernelCg, 32 << 10)] {
                for rung in EAGER {
                    let (scripts, outcome) = played(metric, bytes, nodes, rung);
                    assert!(messages(&scripts) > 0);
                    assert_eq!(outcome.messages, messages(&scripts), "{} on {nodes}", metric.name());
                }
            }
        }
    }

    #[test]
    fn a_wavefront_of_short_messages_is_no_slower_by_rdma() {
        for nodes in [2, 4, 8] {
            let [plain, rdma] = EAGER.map(|rung| played(Metric::KernelLu, 64 << 10, nodes, rung).1);
            assert!(rdma.time_us <= plain.time_us, "{nodes}: {plain:?} {rdma:?}");
        }
    }

    #[test]
    fn a_transform_moves_in_more_packets_by_the_pipeline() {
        for nodes in [2, 4, 8] {
            let outcomes = LARGE.map(|rung| played(Metric::KernelFt, 512 << 10, nodes, rung).1);
            let [pipeline, read, write] = outcomes.map(|outcome| outcome.packets);
            assert!(pipeline > read && pipeline > write, "{nodes}: {outcomes:?}");
        }
    }

    #[test]
    fn each_kernel_has_a_row_for_each_number_of_nodes_that_it_can_use_and_each_start() {
        let results = recorded();
        for experiment in EXPERIMENTS {
            let series = results.of(experiment, "");
            assert_eq!(series.len(), if experiment.starts_with("sim kernels") { 2 } else { 3 });
            for one in series {
                let squares = one.points.iter().filter(|point| point.label.starts_with("SP")).count();
                assert_eq!((one.points.len(), squares), (5 * 3 + 2, 1), "{experiment}");
                assert!(one.points.iter().all(|point| point.jobs.len() == PLAYS as usize));
                assert!(one.points.iter().flat_map(|point| &point.jobs).all(|job| job.value > 0.0));
            }
        }
        let first = |experiment: &str| results.of(experiment, "")[0].points.clone();
        let (busy, alone) = (first(EXPERIMENTS[0]), first(EXPERIMENTS[1]));
        assert!(busy.iter().zip(&alone).all(|(busy, alone)| busy.value > alone.value));
    }

    /// Small kernels, played and recorded once for several tests, and read again.
    fn recorded() -> &'static Results {
        static ALL: OnceLock<Results> = OnceLock::new();
        ALL.get_or_init(|| {
            let folder = std::env::temp_dir().join(format!("verbena-kernels-{}", std::process::id()));
            std::fs::create_dir_all(&folder).expect("a folder");
            let mut record = Record::new(folder.join("measured.json"));
            put(&mut record, 32 << 10).expect("the model runs");
            let mut results = Results::default();
            // The words of this test's own command would name the comparison.
            let mut document = record.document();
            document["command"] = "verbena-papers report".into();
            results.add(&document);
            std::fs::remove_dir_all(&folder).expect("the folder goes");
            results
        })
    }

    #[test]
    fn every_row_of_a_kernel_over_nodes_finds_its_value_and_its_noise() {
        let results = recorded();
        let places = [(1, "figure 20"), (1, "figure 21"), (2, "figure 16"), (2, "figure 17")];
        let all = inventory::all();
        let items = all.iter().filter(|item| places.contains(&(item.paper, item.place)));
        let all_rows: Vec<Row> = items.flat_map(|item| rows(item, results)).collect();
        let by_model: Vec<&Row> = all_rows.iter().filter(|row| row.what.contains("by the model")).collect();
        for row in &by_model {
            assert!(row.noise.is_some(), "{row:?}");
            assert!(matches!(row.outcome, Outcome::Kept | Outcome::Missed | Outcome::CannotTell), "{row:?}");
            // How long a kernel computes is guessed; what communication gains follows from
            // constants that were fitted to gains of single messages.
            assert_eq!(row.kind, Kind::ModelInput, "{row:?}");
        }
        // Two of each kernel, and on 4 and 8 nodes a mean; for two designs, without LU on 4 and 8
        // nodes, and two means.
        let (eager, large) = ((2 * 5) + (2 * 7 + 1) + (2 * 5 + 1), (4 * 5) + (4 * 6 + 2) + (4 * 4 + 2));
        assert_eq!(by_model.len(), eager + large);
    }

    #[test]
    fn what_was_played_with_one_start_tells_nothing() {
        let mut results = recorded().clone();
        for point in results.series.iter_mut().flat_map(|series| &mut series.points) {
            point.jobs.clear();
        }
        let all = inventory::all();
        let item = all.iter().find(|item| (item.paper, item.place) == (1, "figure 21")).expect("figure 21");
        let by_model = rows(item, &results).into_iter().filter(|row| row.what.contains("by the model"));
        assert!(by_model.into_iter().all(|row| row.outcome == Outcome::CannotTell));
    }
}
