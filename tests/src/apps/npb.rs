//! The NAS Parallel Benchmarks (MPI), from a folder in which the user has built them: `bin/cg.S.x`
//! and so on. Each verifies its result against the one that its authors saved.

use super::{Figure, Purpose, Run};
use crate::world::World;
use std::path::Path;

/// The numbers of ranks: a power of two for most.
const RANKS: [u32; 3] = [2, 4, 8];

/// BT and SP divide a square among a square.
const SQUARES: [u32; 2] = [4, 9];

/// The classes that are run.
const CLASSES: [&str; 2] = ["S", "W"];

/// Returns the runs: one for each benchmark, class and number of ranks for which there is a
/// program.
pub fn runs(home: &Path, world: &World, purpose: Purpose) -> Vec<Run> {
    assert!(
        world.tools.name != "openmpi",
        "the programs in {} are of the standard ABI, which this library does not speak",
        home.display()
    );
    let all = ["bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"];
    let classes = match purpose {
        Purpose::Checked => &CLASSES[..],
        Purpose::Nodes => &CLASSES[..1],
        Purpose::Timed => &CLASSES[1..],
    };
    let numbers = |name: &str| match (purpose, matches!(name, "bt" | "sp")) {
        (Purpose::Checked, true) => SQUARES.to_vec(),
        (Purpose::Checked, false) => RANKS.to_vec(),
        (Purpose::Timed, false) => vec![2],
        _ => vec![4],
    };
    let runs = classes.iter().flat_map(|class| {
        all.iter().flat_map(move |name| numbers(name).into_iter().map(move |ranks| (*name, *class, ranks)))
    });
    let runs: Vec<Run> = runs.filter_map(|(name, class, ranks)| run(home, name, class, ranks)).collect();
    assert!(
        !runs.is_empty(),
        "no bin/NAME.CLASS.x of classes S and W in {}: build them there with mpifort and mpicc, as README.install says",
        home.display()
    );
    runs
}

fn run(home: &Path, name: &str, class: &str, ranks: u32) -> Option<Run> {
    let program = home.join(format!("bin/{name}.{class}.x"));
    program.exists().then(|| Run {
        name: format!("npb-{name}.{class}-{ranks}"),
        ranks,
        seconds_max: 300,
        files: vec![],
        script: format!("$LAUNCH {ranks} {}", program.display()),
        judge: Box::new(move |ended| {
            let said = &ended.stdout;
            let of = |words: &str| {
                let line =
                    said.lines().find_map(|line| line.trim().strip_prefix(words)?.trim().strip_prefix('='));
                line.unwrap_or_else(|| panic!("no {words} in\n{said}")).trim()
            };
            assert_eq!(of("Verification"), "SUCCESSFUL", "{said}");
            assert_eq!(of("Total processes").parse(), Ok(ranks), "{said}");
            vec![Figure::new("time", "s", of("Time in seconds").parse().expect("a number"))]
        }),
    })
}
