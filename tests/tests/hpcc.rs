//! The HPC Challenge benchmarks, as Debian ships their source, built by our `mpicc` and run small:
//! their own checks must pass.

use verbena_tests::apps::{Purpose, hpcc};
use verbena_tests::world::World;

// One after the other: together they would have more ranks than either says.
#[test]
fn hpcc_passes_its_own_checks_at_2_and_4_ranks() {
    let world = World::ours();
    let runs = hpcc::runs(&world, Purpose::Checked);
    assert_eq!(runs.iter().map(|run| run.ranks).collect::<Vec<_>>(), [2, 4]);
    for run in runs {
        run.check(&world);
    }
}
