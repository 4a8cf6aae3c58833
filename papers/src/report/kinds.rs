//! The kinds of rows: what stands behind a number decides what may be concluded from it.
//!
//! A figure of the simulator is a *result* of its model only if no constant of the model was chosen
//! so that it comes out. [`INPUTS`] lists the others, each with the constant from which it follows.

use super::inventory::{Seen, To};
use super::results::Series;

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Measured on this machine, job by job.
    Measured,
    /// Counted: the same in every run, or nearly, as instructions are.
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
    /// The places of the value, as people read them; any if empty.
    at: &'static [&'static str],
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
    Input { experiment, of, to, at: &[], why }
}

impl Input {
    const fn only(self, at: &'static [&'static str]) -> Input {
        let Input { experiment, of, why, to, .. } = self;
        Input { experiment, of, to, at, why }
    }
}

const UPDATE: &str =
    "CALCULATION_NS is guessed, and without it every update would be free: no rate could be too high";
const PRICES: &str = "the price of an update or of a calculation is a guess, and decides the best rate";
const LOOK: &str = "of a round, 300 of 320 ns are the look that the paper states";
const WIRE: &str = "byte_ps is the paper's 870 MB/s";
const COMPUTES: &str = "how long the kernel computes is guessed (COMPUTES_BYTE_PS, 1 ns for each byte of the main array in each pass), and that decides how much of the time any design can change";
const SHORT: &str = "short messages: send.latency_ns is fitted to the 24% and send.receive_ns to the 104%";
const COPIES: &str = "with zero-copy nothing is copied: byte_ps is the paper's 870 MB/s and copy_beside_device_percent is fitted to the pipeline's 500 MB/s, and these two decide what a long block gains, as in figure 11";
const POOLS: &str = "registered memory follows from the defaults of our own settings (RC_POOL_RECEIVES, RC_CREDITS, UD_RECEIVES), which no paper has";
const READS: &str = "read.receive_ns is fitted so that reads lag behind writes at middle sizes (figure 15), and the pipe reads";
const PIPELINE: &str = "copy_beside_device_percent is fitted to the pipeline's more than 500 MB/s";
/// The statements of paper 3 on gains, as the model's table calls them.
const GAINS: &[&str] =
    &["bursts of 100: best rate against 1:1, less by %", "bursts of 200: best rate against 1:1, less by %"];
/// Experiments of the simulator whose numbers are counted from our code.
const COUNTED: [&str; 3] = ["sim sources", "sim pipe work", "sim rings"];
const INPUTS: [Input; 36] = [
    input("sim latency", "", Anything, "packet_ns is fitted to 6.8 us, send.latency_ns to the 24%"),
    input("sim small", "", Anything, "send.receive_ns is fitted to the 104%"),
    input("sim long", "", Anything, "send.receive_ns is fitted to the 104% of small messages"),
    input("sim barrier", "", Anything, SHORT),
    input("sim allreduce", "", Anything, SHORT),
    input("sim bcast", "", Anything, SHORT),
    input("sim kernels alone", "", Anything, SHORT),
    input("sim large alone", "", Anything, COPIES),
    input(
        "sim held",
        "",
        Anything,
        "how far ranks run ahead of each other follows from send.latency_ns and byte_ps; nothing is computed meanwhile, and all start at once",
    ),
    input("sim memory", "", Beside::Series("rc SRQ"), POOLS),
    input("sim memory", "", Beside::Series("rc no SRQ"), POOLS),
    input("sim kernels", "", Anything, COMPUTES),
    input("sim large", "", Anything, COMPUTES),
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
    input("sim ladder", "pipeline 16 KiB", Beside::Series("basic"), PIPELINE),
    input(
        "sim chunks",
        "1 KiB",
        Anything,
        "write.issue_ns is fitted to 18.6 us, which bounds the chunks of 1 KiB",
    ),
    input("sim ladder", "zero-copy write", Beside::Series("zero-copy read"), WIRE).only(&["1 MiB"]),
    input("sim direction", "", Anything, "read.receive_ns was estimated so that figure 15 comes out"),
    input("sim ratios", "within the node", Anything, LOOK),
    input("sim polling claims", "as the paper", Anything, UPDATE),
    input("sim polling claims", "any source", Anything, LOOK).only(GAINS),
    input("sim discovery", "bursts of 200, as the paper", Anything, UPDATE),
    input("sim good rates", "", Anything, PRICES),
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
    input("sim pipe", "zero-copy write after the match", Beside::Series("pipe: zero-copy"), WIRE)
        .only(&["1 MiB"]),
    input("sim pipe", "pipe: pipeline", Beside::Series("pipe: basic"), PIPELINE),
    input("sim pipe", "zero-copy write after the match", Beside::Series("pipe: zero-copy"), READS)
        .only(&["32 KiB", "64 KiB", "256 KiB"]),
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
        "sim polling set",
        "",
        Anything,
        "RING_LOOK_NS is the paper's slope of figure 23, and what is no ring's takes send.latency_ns, which is fitted to the 24%",
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

/// Returns whether the numbers of a series were computed or counted, not measured job by job.
pub(super) fn is_computed(series: &Series) -> bool {
    ["sim ", "counted "].iter().any(|word| series.experiment.starts_with(word))
}

/// Returns whether a series is of kernels over nodes, each of which is played with several starts.
pub(super) fn is_played(series: &Series) -> bool {
    ["sim kernels", "sim large"].iter().any(|word| series.experiment.starts_with(word))
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
            && (input.at.is_empty() || input.at.contains(&seen.of.place().as_str()))
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
        Seen { of, to, also: Vec::new(), remark: "", held_out: false, counter: "" }
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
    fn what_rests_on_a_guessed_time_to_compute_is_an_input() {
        let of_row = |experiment, row| Seen {
            of: pick(experiment, "RDMA eager", "", At::Row(row)),
            to: Some(To::Ours(pick(experiment, "send/receive", "", At::Row(row)))),
            ..seen((experiment, ""), None)
        };
        let kind = |experiment, row| of(&of_row(experiment, row));
        assert_eq!([kind("sim kernels", "MG, 8"), kind("sim large", "FT, 4")], [Kind::ModelInput; 2]);
        assert_eq!(
            [kind("sim kernels alone", "MG, 8"), kind("sim large alone", "IS, 2")],
            [Kind::ModelInput; 2]
        );
        assert_eq!(kind("sim barrier", "8"), Kind::ModelInput);
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
