//! hypre's tests of its structured solvers, as Debian ships its source, built by our `mpicc`.

use verbena_tests::apps::{Purpose, hypre};
use verbena_tests::world::World;

#[test]
fn hypre_passes_its_struct_tests() {
    let world = World::ours();
    for run in hypre::runs(&world, Purpose::Checked) {
        run.check(&world);
    }
}
