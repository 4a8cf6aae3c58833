//! Numbers of the papers that no constant of the model was fitted to: what the model says of them
//! is a finding, and where it contradicts a paper it is shown all the same.

use super::design::Design;
use crate::verbs::Costs;

/// A number of a paper and the model's.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The subject.
    pub what: String,
    /// The paper and section.
    pub source: &'static str,
    /// The unit of both values.
    pub unit: &'static str,
    /// The paper's value.
    pub paper: f64,
    /// The way in which the paper says it.
    pub said: Said,
    /// The model's value.
    pub model: f64,
}

/// The way in which a paper says a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The number itself, or "about".
    About,
    /// A bound: "more than".
    MoreThan,
}

/// The part by which a number may be off the one that it is said to be about.
const NEAR: f64 = 0.1;

impl Claim {
    /// Returns whether the model agrees with the paper.
    pub fn holds(&self) -> bool {
        match self.said {
            Said::About => (self.model / self.paper - 1.0).abs() <= NEAR,
            Said::MoreThan => self.model > self.paper,
        }
    }
}

/// Messages in a row of the bandwidth tests.
const WINDOW: usize = 16;
const KIB: usize = 1 << 10;

/// Computes every claim.
///
/// # Errors
/// What hung or failed.
pub fn claims() -> Result<Vec<Claim>, String> {
    let mut all = vec![threshold()?, control()?, basic()?];
    for bytes in [64 * KIB, 256 * KIB, 1024 * KIB] {
        all.push(chunk(bytes)?);
    }
    Ok(all)
}

/// Paper 2, 4.4.1: the pipeline performs comparably with chunks of 2 to 16 KiB.
fn chunk(bytes: usize) -> Result<Claim, String> {
    let speed = |chunk| Design::Pipeline(chunk).bandwidth_mb_s(bytes, WINDOW, Costs::PAPER_2);
    Ok(Claim {
        what: format!("pipeline at {} KiB: chunks of 2 KiB to chunks of 16 KiB", bytes / KIB),
        source: "paper 2, 4.4.1",
        unit: "",
        paper: 1.0,
        said: Said::About,
        model: speed(2 * KIB)? / speed(16 * KIB)?,
    })
}

/// Paper 2, 4.2.1: the basic design's peak.
fn basic() -> Result<Claim, String> {
    let mut peak: f64 = 0.0;
    for bytes in (12..=20).map(|power| 1 << power) {
        peak = peak.max(Design::Basic.bandwidth_mb_s(bytes, WINDOW, Costs::PAPER_2)?);
    }
    Ok(Claim {
        what: "peak bandwidth of the basic design".into(),
        source: "paper 2, 4.2.1",
        unit: "MB/s",
        paper: 230.0,
        said: Said::About,
        model: peak,
    })
}

/// Paper 1, 6.3.1: what control messages by RDMA save a long message.
fn control() -> Result<Claim, String> {
    let latency = |design: Design| design.latency_us(64 * KIB, Costs::PAPER_1);
    Ok(Claim {
        what: "latency of 64 KiB that RDMA saves against send and receive".into(),
        source: "paper 1, 6.3.1",
        unit: "us",
        paper: 6.0,
        said: Said::MoreThan,
        model: latency(Design::SendReceive)? - latency(Design::RdmaEager)?,
    })
}

/// Paper 1, 6.2.1: the threshold at which the latency goes over from eager to rendezvous without a
/// step. Here an eager message lies in one slot; the paper's is divided among slots of 2 KiB.
fn threshold() -> Result<Claim, String> {
    Ok(Claim {
        what: "threshold from eager to rendezvous with a smooth transition".into(),
        source: "paper 1, 6.2.1",
        unit: "KiB",
        paper: 13.0,
        said: Said::About,
        model: smooth_threshold_kib()?,
    })
}

/// Returns the length of the longest message that is as quick eager as by rendezvous, in KiB, to
/// half a KiB.
///
/// # Errors
/// What hung or failed.
pub fn smooth_threshold_kib() -> Result<f64, String> {
    const STEP: usize = 512;
    let is_quicker = |bytes: usize| -> Result<bool, String> {
        let eager = Design::RdmaEagerTo(bytes).latency_us(bytes, Costs::PAPER_1)?;
        Ok(eager <= Design::RdmaEager.latency_us(bytes, Costs::PAPER_1)?)
    };
    // Eager costs two copies a byte, rendezvous a fixed time: they cross once.
    let (mut below, mut above) = (3 * KIB / STEP, 64 * KIB / STEP);
    while above - below > 1 {
        let middle = (below + above) / 2;
        if is_quicker(middle * STEP)? {
            below = middle;
        } else {
            above = middle;
        }
    }
    Ok((below * STEP) as f64 / KIB as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_can_fail_both_ways() {
        let claim =
            |said, model| Claim { what: String::new(), source: "", unit: "", paper: 10.0, said, model };
        assert!(claim(Said::About, 10.9).holds() && !claim(Said::About, 8.9).holds());
        assert!(!claim(Said::About, 11.2).holds());
        assert!(claim(Said::MoreThan, 10.1).holds() && !claim(Said::MoreThan, 10.0).holds());
    }
}
