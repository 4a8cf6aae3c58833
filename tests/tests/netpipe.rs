//! NetPIPE, as Debian ships its source, built by our `mpicc` and run; its integrity check compares
//! each byte of each message.

use verbena_tests::apps::{Purpose, netpipe};
use verbena_tests::world::World;

#[test]
fn netpipe_builds_and_measures_and_finds_every_byte_intact() {
    let world = World::ours();
    let runs = netpipe::runs(&world, Purpose::Checked);
    assert_eq!(runs.len(), 5);
    for run in runs {
        run.check(&world);
    }
}
