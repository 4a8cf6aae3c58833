//! The constants of the simulator's cost model, each with its origin: what follows from a fitted
//! one is no finding ([`super::kinds`]).

use super::kernels;
use verbena_sim::figures::{polling, set};
use verbena_sim::verbs::theory::{self, Kind, PAPER_1, PAPER_2};

/// A constant.
pub(super) struct Constant {
    /// The name in the code.
    pub name: String,
    /// The value with its unit.
    pub value: String,
    /// The kind of its origin.
    pub kind: Kind,
    /// The place that it was taken from, or the result that it was fitted to.
    pub source: &'static str,
}

/// The costs of paper 3's figures, which have no device, and those beside the device.
const OTHERS: [(&str, u64, &str, Kind, &str); 9] = [
    ("an empty look at the network", polling::NETWORK.empty_ns, "ns", Kind::Taken, "paper 3, 3.1.1"),
    ("a packet over the network, one way", polling::NETWORK.latency_ns, "ns", Kind::Taken, BELOW_5_US),
    ("a packet of the network, each side", polling::NETWORK.packet_ns, "ns", Kind::Guessed, NOWHERE),
    ("an empty look at shared memory", polling::SHARED.empty_ns, "ns", Kind::Guessed, NOWHERE),
    ("a packet in shared memory, one way", polling::SHARED.latency_ns, "ns", Kind::Guessed, NOWHERE),
    ("a packet of shared memory, each side", polling::SHARED.packet_ns, "ns", Kind::Guessed, NOWHERE),
    ("a calculation of all periods", polling::CALCULATION_NS, "ns", Kind::Guessed, NOWHERE),
    (
        "a look at a ring",
        set::RING_LOOK_NS,
        "ns",
        Kind::Taken,
        "paper 1, 6.5: its slope from 16 to 128 rings",
    ),
    ("a byte that a kernel computes on, in one pass", kernels::COMPUTES_BYTE_PS, "ps", Kind::Guessed, MEMORY),
];
const NOWHERE: &str = "no paper states it";
const BELOW_5_US: &str = "\"below 5 us\" (paper 3, 1), with the work of both sides";
const MEMORY: &str = "moved through memory at 1 GB/s on a processor of 2003; no paper states it";
const PASSES: &str = "counted by hand in the kernel, which computes more than it moves";

/// Returns the constants of papers 1 and 2, in the order of the code, then the others.
pub(super) fn constants() -> Vec<Constant> {
    let first = PAPER_1.constants();
    let other = PAPER_2.constants().into_iter().filter(|constant| !first.contains(constant));
    let other = other.map(|constant| of_theory(constant, ", paper 2")).collect::<Vec<_>>();
    let others = OTHERS.map(|(name, value, unit, kind, source)| Constant {
        name: name.into(),
        value: format!("{value} {unit}"),
        kind,
        source,
    });
    let passes = kernels::passes().map(|(name, passes)| Constant {
        name: format!("passes of {name} over its main array in a round"),
        value: passes.to_string(),
        kind: Kind::Guessed,
        source: PASSES,
    });
    let first = first.into_iter().map(|constant| of_theory(constant, ""));
    first.chain(other).chain(others).chain(passes).collect()
}

fn of_theory(constant: theory::Constant, of: &str) -> Constant {
    let theory::Constant { name, value, unit, kind, source } = constant;
    Constant { name: format!("{name}{of}"), value: format!("{value} {unit}"), kind, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_models_are_told_and_each_constant_has_a_source() {
        let all = constants();
        assert!(all.iter().all(|constant| !constant.source.is_empty()));
        let packet = |of: &str| all.iter().filter(|constant| constant.name.ends_with(of)).count();
        let passes = kernels::passes().count();
        assert_eq!(all.len(), theory::COUNT + packet(", paper 2") + OTHERS.len() + passes);
        assert!(packet(", paper 2") > 0 && passes > 0);
    }
}
