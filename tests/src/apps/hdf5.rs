//! HDF5's own tests of parallel access, as Debian ships their source.

use super::{Purpose, Run};
use crate::shell;
use crate::sources::{Tools, built, make};
use crate::world::World;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The words of tests that found wrong bytes, whatever else they say.
const WRONG: [&str; 2] = ["erify failed", "PHDF5 ERROR"];
/// The tests, and the words that say that each passed. `t_prestart` reads
/// what `t_pshutdown` wrote.
const TESTS: [(&str, &str); 10] = [
    ("t_mpi", "MPI tests finished with no errors"),
    ("testphdf5", "PHDF5 tests finished with no errors"),
    ("t_shapesame", "Shape Same tests finished with no errors"),
    ("t_cache", "metadata cache tests finished with no failures"),
    ("t_pread", "optimization tests finished with no failures"),
    ("t_filters_parallel", "All Parallel Filters tests passed"),
    ("t_init_term", "PASSED"),
    ("t_pshutdown", "PASSED"),
    ("t_prestart", "PASSED"),
    // It says no more than what it begins; its exit code tells the rest.
    ("t_bigio", "coll_chunk3"),
];
const RANKS: u32 = 4;

/// Builds the library and its tests from the unmodified upstream archive.
fn folder(tools: &Tools) -> PathBuf {
    let home = built(tools, "hdf5", "2", |home| {
        let options = [
            "--enable-parallel",
            "--disable-fortran",
            "--disable-cxx",
            "--disable-hl",
            "--disable-shared",
            "--enable-build-mode=production",
            "--with-zlib=no",
            "--with-szlib=no",
            "CFLAGS=-O1",
        ];
        let mut configure = Command::new("./configure");
        shell(configure.current_dir(home).args(options).arg(tools.cc("CC")).arg("--silent"));
        shell(&mut make(&home.join("src")));
        shell(make(&home.join("test")).arg("libh5test.la"));
        shell(make(&home.join("testpar")).args(TESTS.map(|(name, _)| name)));
    });
    home.join("testpar")
}

/// Returns the runs: each test with four ranks, in an order in which one may read what another
/// wrote; between nodes those of few files.
pub fn runs(world: &World, purpose: Purpose) -> Vec<Run> {
    let folder = folder(&world.tools);
    match purpose {
        Purpose::Checked => vec![checked(&folder, "hdf5", &TESTS, 600)],
        Purpose::Nodes => vec![checked(&folder, "hdf5-nodes", &TESTS[4..5], 200)],
        Purpose::Timed => Vec::new(),
    }
}

fn checked(folder: &Path, name: &str, tests: &'static [(&'static str, &'static str)], seconds: u32) -> Run {
    let folder = folder.display();
    let each = tests.iter().map(|(test, _)| {
        // Else this one leaves half of its tests out.
        let settings = if *test == "t_bigio" { "HDF5TestExpress=0 " } else { "" };
        format!("echo == {test}\n{settings}$LAUNCH {RANKS} {folder}/{test} 2>&1")
    });
    Run {
        name: name.to_owned(),
        ranks: RANKS,
        seconds_max: seconds,
        files: vec![],
        script: each.collect::<Vec<_>>().join("\n"),
        judge: Box::new(move |ended| {
            for (test, passed) in tests {
                let text = ended.stdout.split("== ").find(|text| text.lines().next() == Some(test));
                let is_right = |text: &str| !WRONG.iter().any(|word| text.contains(word));
                assert!(
                    text.is_some_and(|text| text.contains(passed) && is_right(text)),
                    "{test}: {}",
                    ended.stdout
                );
            }
            vec![]
        }),
    }
}
