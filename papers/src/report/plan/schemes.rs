//! The schemes of polling (paper 3), between networks of this machine, where an empty look is a
//! system call.

use super::fewer;
use crate::polling::experiments::Name;
use verbena_lab::experiment::Experiment;
use verbena_lab::experiment::variant::{How, set};

/// The rounds of looks before a rank that waits gives its processor up: a wait that yields looks
/// everywhere before, whatever the scheme is. A partner at work answers within far fewer, at 1000:1
/// too; one that the kernel has stopped gets its processor after some more.
const SPINS: usize = 5000;

/// The schemes of the full form: those that are named, and a few places of each axis.
const RATIOS: [&str; 9] = ["all", "latency", "overhead", "dynamic", "1:1", "10:1", "50:1", "100:1", "1000:1"];
const UPDATES: [&str; 7] = [
    "all",
    "update every 1",
    "update every 4",
    "update every 10",
    "update every 50",
    "update every 100",
    "update every 200",
];

/// Returns the experiments.
pub(super) fn experiments(quick: bool) -> Vec<Experiment> {
    let named = |name, of: Name| spinning(Experiment { name, ..of.experiment() });
    let ratios = named("polling ratios", Name::Ratios);
    let discovery = named("polling discovery", Name::Discovery);
    let history = named("polling history", Name::History);
    match quick {
        true => vec![
            fewer(ratios, &["all", "50:1", "1000:1"], &[]),
            fewer(discovery, &["all", "update every 1", "update every 10"], &[]),
            fewer(history, &["all", "history 1", "history 256"], &[]),
        ],
        false => vec![
            fewer(ratios, &RATIOS, &[]),
            fewer(discovery, &UPDATES, &[]),
            fewer(
                history,
                &["all", "history 1", "history 4", "history 16", "history 64", "history 256"],
                &[],
            ),
        ],
    }
}

fn spinning(mut experiment: Experiment) -> Experiment {
    for variant in &mut experiment.variants {
        if let How::Ours(_, settings) = &mut variant.how {
            settings.push(set("WAIT_SPINS", SPINS));
        }
    }
    experiment
}
