//! Random point-to-point traffic on a [`Cluster`], checked against the rules of MPI-5.0, chapter 3.
//!
//! [`plan`] decides what each rank will send and receive, [`driver`] carries it out, [`oracle`]
//! judges. All send modes, wildcards, strided buffers, truncation, probes, matched probes,
//! forgotten requests and cancelling occur. Memory is scribbled over as soon as an operation
//! completes, as a program may do, so an engine that touches it afterwards, or completes too early,
//! is found out.

mod driver;
mod oracle;
mod plan;

use crate::over_hybrid::{self, HybridFaults};
use crate::over_pipe::{self, PipeFaults};
use crate::over_rails::{self, RailFaults};
use crate::over_rc::{self, RcFaults};
use crate::over_ud::{self, UdFaults};
use crate::verbs::Counts;
use crate::{Cluster, Faults, Random};

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The trace of the cluster: the same for the same seed.
    pub trace: u64,
    /// Steps that the cluster took.
    pub steps: u64,
    /// Messages sent.
    pub messages: usize,
    /// Ranks that died.
    pub died: usize,
    /// Operations that ended cancelled.
    pub cancelled: usize,
    /// Receives that were too short for their message.
    pub truncated: usize,
    /// Messages by rendezvous.
    pub rendezvous: u64,
    /// Messages by rendezvous that the sender was asked to write.
    pub written: u64,
    /// Messages that several rails were to move.
    pub striped: u64,
    /// Bytes that were read or written directly.
    pub memory_bytes: u64,
    /// Transfers of memory that failed.
    pub fallbacks: u64,
    /// Duplicate packets that were dropped.
    pub duplicates: u64,
    /// The number of times a sender was throttled.
    pub throttles: u64,
    /// Messages that went from the fabric straight to their receive.
    pub fronts: u64,
    /// The number of times a channel took the place of one that had lost a peer.
    pub failovers: u64,
    /// The number of times a peer moved between channels without a fault.
    pub moves: u64,
    /// Connections that were given back.
    pub left: u64,
    /// Packets handed back by channels that lost a peer or left it.
    pub sent_again: u64,
}

/// Runs the traffic of this seed under faults that the seed chooses as well.
///
/// # Errors
/// What rule was broken, in words.
pub fn run(seed: u64) -> Result<Report, String> {
    let faults = Faults::random(&mut Random::new(seed ^ 0xfa17));
    run_under(seed, faults)
}

/// Runs the traffic of this seed under these faults.
///
/// # Errors
/// What rule was broken, in words.
pub fn run_under(seed: u64, faults: Faults) -> Result<Report, String> {
    let mut random = Random::new(seed);
    let plan = plan::Plan::random(&mut random);
    let cluster = Cluster::new(random.word(), plan.ranks(), faults);
    carry_out(cluster, plan, random)
}

/// Runs the traffic of this seed over the channel `rc`, under faults that the seed chooses as well.
///
/// # Errors
/// What rule was broken, in words.
pub fn run_over_rc(seed: u64) -> Result<(Report, Counts), String> {
    run_over_rc_under(seed, &RcFaults::random(&mut Random::new(seed ^ 0xfa17)))
}

/// Runs the traffic of this seed over the channel `rc`, under these faults.
///
/// # Errors
/// What rule was broken, in words.
pub fn run_over_rc_under(seed: u64, faults: &RcFaults) -> Result<(Report, Counts), String> {
    let mut random = Random::new(seed);
    let plan = plan::Plan::random(&mut random);
    let (cluster, subnet) = over_rc::cluster(random.word(), plan.ranks(), faults);
    let report = carry_out(cluster, plan, random)?;
    let counts = subnet.counts();
    match counts.not_ready {
        // Every packet by send and receive has a credit, and every credit a buffer, unless the
        // shared pool may be smaller than all credits.
        sends if sends > 0 && faults.settings.pool_receives >= over_rc::POOL_ROOMY => {
            Err(format!("{sends} sends found no receive buffer: they had no credit"))
        }
        _ => Ok((report, counts)),
    }
}

/// Runs the traffic of this seed over the channel `ud`, under faults that the seed chooses as well.
///
/// # Errors
/// What rule was broken, in words.
pub fn run_over_ud(seed: u64) -> Result<(Report, Counts), String> {
    run_over_ud_under(seed, &UdFaults::random(&mut Random::new(seed ^ 0xfa17)))
}

/// Runs the traffic of this seed over the channel `ud`, under these faults.
///
/// # Errors
/// What rule was broken, in words.
pub fn run_over_ud_under(seed: u64, faults: &UdFaults) -> Result<(Report, Counts), String> {
    let mut random = Random::new(seed);
    let plan = plan::Plan::random(&mut random);
    let (cluster, subnet) = over_ud::cluster(random.word(), plan.ranks(), faults);
    let report = carry_out(cluster, plan, random)?;
    Ok((report, subnet.counts()))
}

/// Runs the traffic of this seed over the channel `pipe`, under faults that the seed chooses as
/// well.
///
/// # Errors
/// What rule was broken, in words.
pub fn run_over_pipe(seed: u64) -> Result<(Report, Counts), String> {
    run_over_pipe_under(seed, &PipeFaults::random(&mut Random::new(seed ^ 0xfa17)))
}

/// Runs the traffic of this seed over the channel `pipe`, under these faults.
///
/// # Errors
/// What rule was broken, in words.
pub fn run_over_pipe_under(seed: u64, faults: &PipeFaults) -> Result<(Report, Counts), String> {
    let mut random = Random::new(seed);
    let plan = plan::Plan::random(&mut random);
    let (cluster, subnet) = over_pipe::cluster(random.word(), plan.ranks(), faults);
    let report = carry_out(cluster, plan, random)?;
    Ok((report, subnet.counts()))
}

/// Runs the traffic of this seed over several rails; all but one may fail, as the seed chooses.
///
/// # Errors
/// What rule was broken, in words.
pub fn run_over_rails(seed: u64) -> Result<(Report, Counts), String> {
    let faults = RailFaults::random(&mut Random::new(seed ^ 0xfa17));
    let mut random = Random::new(seed);
    let plan = plan::Plan::random(&mut random);
    let (cluster, subnet) = over_rails::cluster(random.word(), plan.ranks(), &faults);
    let report = carry_out(cluster, plan, random)?;
    Ok((report, subnet.counts()))
}

/// Runs the traffic of this seed over `rc` and `ud` together, with few connections, under faults
/// that the seed chooses as well.
///
/// # Errors
/// What rule was broken, in words: also if a rank has more connections than it may have.
pub fn run_over_hybrid(seed: u64) -> Result<(Report, Counts), String> {
    run_over_hybrid_under(seed, &HybridFaults::random(&mut Random::new(seed ^ 0xfa17)))
}

/// Runs the traffic of this seed over `rc` and `ud` together, under these faults.
///
/// # Errors
/// As [`run_over_hybrid`].
pub fn run_over_hybrid_under(seed: u64, faults: &HybridFaults) -> Result<(Report, Counts), String> {
    let mut random = Random::new(seed);
    let plan = plan::Plan::random(&mut random);
    let ranks = plan.ranks();
    let (cluster, subnet) = over_hybrid::cluster(random.word(), ranks, faults);
    let report = carry_out(cluster, plan, random)?;
    let most = faults.rc.faults.connected_peers_max;
    match (0..ranks).map(|rank| (subnet.pairs_most(rank), rank)).max() {
        // Where `ud` was lost, a connection is made whatever the limit.
        Some((pairs, rank)) if pairs > most && report.failovers == 0 => {
            Err(format!("rank {rank} had {pairs} connections of {most}"))
        }
        _ => Ok((report, subnet.counts())),
    }
}

fn carry_out(cluster: Cluster, plan: plan::Plan, random: Random) -> Result<Report, String> {
    let mut driver = driver::Driver::new(cluster, plan, random);
    driver.run()?;
    let report = driver.report();
    oracle::judge(&driver.finish()?)?;
    Ok(report)
}
