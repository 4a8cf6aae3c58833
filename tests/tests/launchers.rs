//! Whole programs under launchers of others. How our processes speak to them is tested in
//! `crates/start/launch`.

use std::path::PathBuf;
use verbena_testing::{Lack, skip};
use verbena_tests::{Job, program, top};

/// PRRTE's launcher, where `cargo xtask peers` installs Open MPI or `VERBENA_OPENMPI` says it is.
fn prterun() -> Option<PathBuf> {
    let prefix = std::env::var_os("VERBENA_OPENMPI");
    let prefix = prefix.map_or_else(|| top().join("target/peers/openmpi"), PathBuf::from);
    let prterun = prefix.join("bin/prterun");
    let there = prterun.is_file();
    if !there {
        skip(Lack::Optional, "Open MPI is not installed; run `cargo xtask peers`, or set VERBENA_OPENMPI");
    }
    there.then_some(prterun)
}

#[test]
fn prrte_starts_one_world() {
    let Some(prterun) = prterun() else { return };
    for (ranks, name) in [(4, "point"), (4, "collectives"), (1, "point")] {
        let options = ["--allow-run-as-root", "--oversubscribe"];
        let ended = Job::under(&prterun, ranks).args(options).arg(program(name)).run().ok();
        assert!(ended.stdout.contains(&format!("{name}: ok with {ranks} ranks")), "{ended:?}");
    }
}
