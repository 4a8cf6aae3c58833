//! The kinds of rows: what stands behind a number decides what may be concluded from it.
//!
//! A figure of the simulator is a *result* of its model only if no constant of the model was chosen
//! so that it comes out. [`INPUTS`] lists the others, each with the constant from which it follows.

use super::inventory::{Seen, To};

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Measured on this machine, job by job.
    Measured,
    /// Counted, the same in every run.
    Counted,
    /// A result of the simulator's model, which could contradict the paper.
    ModelResult,
    /// A number that a constant of the model was chosen for, or that holds by construction.
    ModelInput,
    /// Not shown here, with its reason.
    NotShown,
}

impl Kind {
    /// All of them, in the order of the report.
    pub(super) const ALL: [Kind; 5] =
        [Kind::Measured, Kind::Counted, Kind::ModelResult, Kind::ModelInput, Kind::NotShown];

    /// Returns the name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Measured => "measured",
            Kind::Counted => "counted",
            Kind::ModelResult => "model result",
            Kind::ModelInput => "model input",
            Kind::NotShown => "not shown",
        }
    }
}

/// A figure of the simulator that is no finding.
struct Input {
    experiment: &'static str,
    /// The series of the value; any if empty.
    of: &'static str,
    to: Beside,
    /// The constant, and what it was chosen by.
    why: &'static str,
}

/// The other side of a comparison.
enum Beside {
    Anything,
    NothingOfOurs,
    Series(&'static str),
}

use Beside::{Anything, NothingOfOurs};

const fn input(experiment: &'static str, of: &'static str, to: Beside, why: &'static str) -> Input {
    Input { experiment, of, to, why }
}

const UPDATE: &str =
    "CALCULATION_NS is guessed, and without it every update would be free: no rate could be too high";
const WIRE: &str = "byte_ps is the paper's 870 MB/s";
/// Experiments of the simulator whose numbers are counted from our code.
const COUNTED: [&str; 3] = ["sim sources", "sim pipe work", "sim rings"];
const INPUTS: [Input; 19] = [
    input("sim latency", "", Anything, "packet_ns is fitted to 6.8 us, send.latency_ns to the 24%"),
    input("sim small", "", Anything, "send.receive_ns is fitted to the 104%"),
    input("sim long", "", Anything, "send.receive_ns is fitted to the 104% of small messages"),
    input(
        "sim ladder latency",
        "",
        Anything,
        "write.issue_ns is fitted to 18.6 us, packet_ns to 7.4 us; below the threshold all rungs are one path",
    ),
    input("sim ladder", "zero-copy write", NothingOfOurs, WIRE),
    input("sim ladder", "zero-copy read", NothingOfOurs, WIRE),
    input(
        "sim ladder",
        "zero-copy read",
        Beside::Series("pipeline 16 KiB"),
        "byte_ps is the paper's 870 MB/s, copy_beside_device_percent is fitted to the pipeline's 500 MB/s",
    ),
    input(
        "sim chunks",
        "1 KiB",
        Anything,
        "write.issue_ns is fitted to 18.6 us, which bounds the chunks of 1 KiB",
    ),
    input(
        "sim direction",
        "zero-copy write",
        Beside::Series("zero-copy read"),
        "read.receive_ns was estimated so that figure 15 comes out",
    ),
    input(
        "sim ratios",
        "within the node",
        Anything,
        "of a round, 300 of 320 ns are the look that the paper states",
    ),
    input("sim discovery", "bursts of 200, as the paper", Anything, UPDATE),
    input("sim good rates", "each update", Anything, UPDATE),
    input("sim ratios gain", "", Anything, "of a round, 300 of 320 ns are the look that the paper states"),
    input(
        "sim connect",
        "",
        Anything,
        "open_pair_ns and connect_pair_ns are guessed, and most of the time is theirs",
    ),
    input(
        "sim pipe latency",
        "",
        Anything,
        "write.issue_ns and packet_ns are fitted to 18.6 and 7.4 us; below the threshold zero-copy and CH3 copy alike",
    ),
    input(
        "sim pipe",
        "pipe: zero-copy",
        Beside::Series("pipe: pipeline"),
        "byte_ps is the paper's 870 MB/s, copy_beside_device_percent is fitted to the pipeline's 500 MB/s",
    ),
    input(
        "sim pairs",
        "four started side by side",
        Anything,
        "pairs_at_once is the four of this paper's section 4",
    ),
    input(
        "sim predicted latency",
        "",
        Beside::Series("piggyback"),
        "packet_ns is fitted to this measurement, and every other row is predicted",
    ),
    input(
        "sim rails",
        "",
        Anything,
        "each rail has a device, a wire and a processor of its own by construction",
    ),
];

/// Returns the kind of a row that looks at this.
pub(super) fn of(seen: &Seen) -> Kind {
    match seen.of.experiment.split(' ').next().unwrap_or("") {
        _ if COUNTED.contains(&seen.of.experiment) => Kind::Counted,
        "counted" => Kind::Counted,
        "sim" if why_input(seen).is_some() => Kind::ModelInput,
        "sim" => Kind::ModelResult,
        _ => Kind::Measured,
    }
}

/// Returns the reason why a figure of the simulator is no finding of its model.
pub(super) fn why_input(seen: &Seen) -> Option<&'static str> {
    let fits = |input: &&Input| {
        let beside = match (&input.to, &seen.to) {
            (Anything, _) => true,
            (NothingOfOurs, to) => !matches!(to, Some(To::Ours(_))),
            (Beside::Series(name), Some(To::Ours(pick))) => pick.series == *name,
            (Beside::Series(_), _) => false,
        };
        input.experiment == seen.of.experiment
            && (input.of.is_empty() || input.of == seen.of.series)
            && beside
    };
    INPUTS.iter().find(fits).map(|input| input.why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::inventory;
    use crate::report::pick::{At, pick};

    fn seen(of: (&'static str, &'static str), to: Option<To>) -> Seen {
        let of = pick(of.0, of.1, "", At::Most);
        Seen { of, to, also: Vec::new(), remark: "", held_out: false, same_packets: false }
    }

    #[test]
    fn what_a_constant_was_fitted_to_is_an_input() {
        let ours = |series| Some(To::Ours(pick("sim ladder", series, "", At::Most)));
        let kind = |series, to| of(&seen(("sim ladder", series), to));
        assert_eq!(kind("zero-copy write", Some(To::Paper(871.0))), Kind::ModelInput);
        assert_eq!(kind("zero-copy read", ours("pipeline 16 KiB")), Kind::ModelInput);
        assert_eq!(kind("zero-copy write", ours("piggyback")), Kind::ModelResult);
        assert_eq!(kind("basic", Some(To::Paper(230.0))), Kind::ModelResult);
    }

    #[test]
    fn what_is_held_out_is_a_result() {
        let all = inventory::all();
        let seen = all.iter().flat_map(|item| &item.claims).flat_map(|claim| &claim.seen);
        let held_out: Vec<&Seen> = seen.filter(|seen| seen.held_out).collect();
        assert_eq!(held_out.len(), 4, "{held_out:?}");
        assert!(held_out.iter().all(|seen| of(seen) == Kind::ModelResult), "{held_out:?}");
    }

    #[test]
    fn every_input_is_some_row() {
        let all = inventory::all();
        let seen: Vec<&Seen> =
            all.iter().flat_map(|item| &item.claims).flat_map(|claim| &claim.seen).collect();
        for input in &INPUTS {
            let of =
                |seen: &&&Seen| seen.of.experiment == input.experiment && why_input(seen) == Some(input.why);
            assert!(seen.iter().any(|one| of(&one)), "{} {}", input.experiment, input.of);
        }
    }
}
