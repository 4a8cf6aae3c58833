//! The kernels over 2, 4 and 8 simulated nodes (paper 1, figures 20 and 21; paper 2, figures 16 and
//! 17). A kernel runs here, its calls are written down, and the simulator plays them over the real
//! engine, channels and schedules.
//!
//! The time that a kernel computes is an input, [`COMPUTES_BYTE_PS`], which is guessed. So each
//! kernel is played twice: as it is with that time, and with communication alone.

use super::record::Record;
use anyhow::{Result, anyhow};
use verbena_lab::kernels::refusal;
use verbena_lab::kernels::script::{Call, Part, script};
use verbena_lab::metric::{Metric, Point};
use verbena_sim::Rank;
use verbena_sim::figures::replay::{self, Step, replay};
use verbena_sim::figures::{Design, Rung, Table};
use verbena_sim::verbs::Costs;

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
const COMPUTES_BYTE_PS: u64 = 1000;

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

/// Plays all kernels over all designs.
///
/// # Errors
/// A kernel is wrong, a replay hung, or the file cannot be written.
pub(super) fn run(record: &mut Record) -> Result<()> {
    put(record, usize::MAX)
}

/// Plays kernels of this size at most.
fn put(record: &mut Record, bytes_max: usize) -> Result<()> {
    for (name, table) in EXPERIMENTS.into_iter().zip(tables(bytes_max)?) {
        record.table(name, "time", "ms", &table)?;
    }
    Ok(())
}

/// Makes a table for each experiment: a row for each kernel and number of nodes, in milliseconds.
fn tables(bytes_max: usize) -> Result<[Table; 4]> {
    let columns = |rungs: &[Rung]| {
        let name = |rung: &Rung| match rung {
            Rung::AfterMatch(Design::Pipeline(_)) => "pipeline".to_string(),
            Rung::AfterMatch(design) => design.name(),
            pipe => pipe.name(),
        };
        std::iter::once("kernel".to_string()).chain(rungs.iter().map(name)).collect::<Vec<_>>()
    };
    let mut all = [
        Table::new("Kernels over nodes, ms, with 1 ns of computing for each byte and pass", columns(&EAGER)),
        Table::new("Kernels over nodes, ms, communication alone", columns(&EAGER)),
        Table::new("Kernels over nodes, ms, with 1 ns of computing for each byte and pass", columns(&LARGE)),
        Table::new("Kernels over nodes, ms, communication alone", columns(&LARGE)),
    ];
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
                table.add(row.clone(), times_ms(scripts, rungs)?);
            }
        }
    }
    Ok(all)
}

fn times_ms(scripts: &[Vec<Step>], rungs: &[Rung]) -> Result<Vec<f64>> {
    let costs = if rungs.len() == EAGER.len() { Costs::PAPER_1 } else { Costs::PAPER_2 };
    let of = |rung: &Rung| {
        let outcome = replay(scripts, *rung, costs).map_err(|reason| anyhow!("the simulator: {reason}"))?;
        Ok(outcome.time_us / 1e3)
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

    fn played(metric: Metric, bytes: usize, nodes: usize, rung: Rung) -> (Vec<Vec<Step>>, replay::Outcome) {
        let scripts = steps(&script(metric, bytes, nodes).expect("a script"));
        let costs = if LARGE.contains(&rung) { Costs::PAPER_2 } else { Costs::PAPER_1 };
        let outcome = replay(&scripts, rung, costs).expect("it ends");
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
    fn each_kernel_has_a_row_for_each_number_of_nodes_that_it_can_use() {
        let tables = tables(64 << 10).expect("the model runs");
        for table in &tables {
            let squares = table.rows.iter().filter(|row| row.name.starts_with("SP")).count();
            assert_eq!((table.rows.len(), squares), (5 * 3 + 2, 1), "{}", table.title);
            assert!(table.rows.iter().flat_map(|row| &row.values).all(|ms| *ms > 0.0));
        }
        let [busy, alone, ..] = &tables;
        assert!(busy.rows.iter().zip(&alone.rows).all(|(busy, alone)| busy.values[0] > alone.values[0]));
    }

    #[test]
    fn every_row_of_a_kernel_over_nodes_finds_its_value() {
        let folder = std::env::temp_dir().join(format!("verbena-kernels-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut record = Record::new(folder.join("measured.json"));
        put(&mut record, 32 << 10).expect("the model runs");
        let mut results = Results::default();
        // The words of this test's own command would name the comparison.
        let mut document = record.document();
        document["command"] = "verbena-papers report".into();
        results.add(&document);
        let places = [(1, "figure 20"), (1, "figure 21"), (2, "figure 16"), (2, "figure 17")];
        let all = inventory::all();
        let items = all.iter().filter(|item| places.contains(&(item.paper, item.place)));
        let all_rows: Vec<Row> = items.flat_map(|item| rows(item, &results)).collect();
        let by_model: Vec<&Row> = all_rows.iter().filter(|row| row.what.contains("by the model")).collect();
        for row in &by_model {
            assert_eq!(row.kind, Kind::ModelResult, "{row:?}");
            assert!(matches!(row.outcome, Outcome::Kept | Outcome::Missed), "{row:?}");
        }
        // Two of each kernel and a mean; for two designs, without LU, and two means.
        assert_eq!(by_model.len(), (2 * 7 + 1) + (2 * 5 + 1) + (4 * 6 + 2) + (4 * 4 + 2));
        std::fs::remove_dir_all(&folder).expect("the folder goes");
    }
}
