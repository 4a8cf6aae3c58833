//! The constants of the simulator's cost model, each with its origin: what follows from a fitted
//! one is no finding ([`super::kinds`]).

use verbena_sim::figures::polling;
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

/// The costs of paper 3's figures, which have no device.
const LOOKS: [(&str, u64, Kind, &str); 3] = [
    ("an empty look at the network", polling::NETWORK.empty_ns, Kind::Taken, "paper 3, 3.1.1"),
    ("an empty look at shared memory", polling::SHARED.empty_ns, Kind::Guessed, "no paper states it"),
    ("a calculation of all periods", polling::CALCULATION_NS, Kind::Guessed, "no paper states it"),
];

/// Returns the constants of papers 1 and 2, in the order of the code, then those of paper 3.
pub(super) fn constants() -> Vec<Constant> {
    let first = PAPER_1.constants();
    let other = PAPER_2.constants().into_iter().filter(|constant| !first.contains(constant));
    let other = other.map(|constant| of_theory(constant, ", paper 2")).collect::<Vec<_>>();
    let looks = LOOKS.map(|(name, ns, kind, source)| Constant {
        name: name.into(),
        value: format!("{ns} ns"),
        kind,
        source,
    });
    first.into_iter().map(|constant| of_theory(constant, "")).chain(other).chain(looks).collect()
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
        assert_eq!(all.len(), theory::COUNT + packet(", paper 2") + LOOKS.len());
        assert!(packet(", paper 2") > 0);
    }
}
