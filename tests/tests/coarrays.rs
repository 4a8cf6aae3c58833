//! OpenCoarrays' own tests of Fortran's coarrays, as Debian built them for MPICH, on our library of
//! that ABI.

use verbena_tests::apps::{Purpose, coarrays};
use verbena_tests::world::World;

#[test]
fn coarrays_pass_their_own_tests() {
    let world = World::ours();
    for run in coarrays::runs(&world, Purpose::Checked) {
        run.check(&world);
    }
}
