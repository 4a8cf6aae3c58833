//! PnetCDF's own tests over its MPI-IO driver, as Debian ships their source.

use super::{Purpose, Run};
use crate::shell;
use crate::sources::{Tools, built, make};
use crate::world::World;
use std::path::PathBuf;
use std::process::Command;

/// Builds the library and its tests from the unmodified upstream archive, which has no `configure`.
fn folder(tools: &Tools) -> PathBuf {
    built(tools, "pnetcdf", "1", |home| {
        shell(Command::new("autoreconf").arg("-i").current_dir(home));
        let mut configure = Command::new("./configure");
        let options = ["--silent", "--disable-fortran", "--disable-cxx", "CFLAGS=-O1"];
        shell(configure.current_dir(home).args(options).arg(tools.cc("MPICC")));
        shell(&mut make(home));
        shell(make(home).arg("tests"));
    })
}

/// Returns the runs: all tests that PnetCDF has for four processes.
pub fn runs(world: &World, purpose: Purpose) -> Vec<Run> {
    if purpose != Purpose::Checked {
        return Vec::new();
    }
    let folder = folder(&world.tools).display().to_string();
    vec![Run {
        name: "pnetcdf".into(),
        ranks: 4,
        seconds_max: 600,
        files: vec![],
        script: format!(
            "make --silent -C {folder} ptest TESTMPIRUN=\"$LAUNCH NP\" TESTOUTDIR=$PWD 2>&1 && echo all passed"
        ),
        judge: Box::new(|ended| {
            let passed = ended.stdout.lines().filter(|line| line.ends_with("pass")).count();
            assert!(ended.stdout.ends_with("all passed\n") && passed >= 50, "{passed}: {}", ended.stdout);
            vec![]
        }),
    }]
}
