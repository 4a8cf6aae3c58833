//! The standard ABI for real: the same binaries on other libraries, other libraries' binaries on
//! ours, and each other's launchers.

use std::path::{Path, PathBuf};
use verbena_tests::peers::{INTEL, MPICH, Peer};
use verbena_tests::{Ended, Job, build_dir, compile, job, program, staged, top};

const OURS: &str = "Verbena";

/// The job did its work, all ranks in one world, on the library that says this of itself.
#[track_caller]
fn worked(ended: Ended, name: &str, ranks: u32, library: &str) {
    let ended = ended.ok();
    assert!(ended.stdout.contains(&format!("{name}: ok with {ranks} ranks")), "{ended:?}");
    let said = ended.stdout.lines().filter_map(|line| line.strip_prefix("library: ")).collect::<Vec<_>>();
    assert_eq!(said.len(), 1, "{ended:?}");
    assert!(said[0].starts_with(library), "ran on {said:?}, not on {library}");
}

/// Our header, our compiler wrapper, our library at link time; their library and launcher at run
/// time.
fn our_binary_runs_on(peer: Peer) {
    for name in ["point", "collectives"] {
        for ranks in [1, 2] {
            worked(peer.job(ranks).arg(program(name)).run(), name, ranks, peer.says);
        }
    }
}

#[test]
fn a_binary_built_with_our_header_runs_on_mpich() {
    our_binary_runs_on(MPICH);
}

#[test]
fn a_binary_built_with_our_header_runs_on_intel_mpi() {
    our_binary_runs_on(INTEL);
}

/// A program built with MPICH's `mpi_abi.h` and linked with its `libmpi_abi.so`; nothing of ours.
fn built_by_mpich(name: &str) -> PathBuf {
    let out = build_dir().join(format!("{name}.mpich"));
    let header = MPICH.file("include/mpi_abi.h");
    // `#include <mpi.h>` finds a folder that has MPICH's standard-ABI header under that name, as
    // MPICH's own installation of that ABI alone would.
    let include = build_dir().join("mpich-include");
    std::fs::create_dir_all(&include).expect("writable");
    std::fs::copy(header, include.join("mpi.h")).expect("copy");
    let library = MPICH.file("lib/libmpi_abi.so.1");
    let flags = [format!("-I{}", include.display()), library.display().to_string()];
    let source = top().join("tests/programs").join(format!("{name}.c"));
    compile(Path::new("cc"), &source, &out, &[&flags[0], &flags[1]]);
    out
}

fn on_ours(job: Job) -> Job {
    job.env("LD_LIBRARY_PATH", staged("lib/libmpi_abi.so.1").parent().expect("a folder"))
}

#[test]
fn a_binary_built_with_mpich_s_header_runs_on_ours() {
    for name in ["point", "collectives"] {
        let program = built_by_mpich(name);
        worked(MPICH.job(2).arg(&program).run(), name, 2, MPICH.says);
        for ranks in [1, 2, 4] {
            worked(on_ours(job(ranks, &program)).run(), name, ranks, OURS);
        }
    }
}

#[test]
fn hydra_starts_our_programs() {
    let hydra = MPICH.file("bin/mpiexec");
    for name in ["point", "collectives"] {
        for ranks in [1, 2, 4] {
            worked(on_ours(Job::under(&hydra, ranks)).arg(program(name)).run(), name, ranks, OURS);
        }
    }
}

/// MPICH's library orders them by the command `spawn` of PMI-1.
#[test]
fn our_mpiexec_spawns_for_programs_on_mpich() {
    worked(MPICH.settings(job(2, program("spawns"))).arg("plain").run(), "spawns", 2, MPICH.says);
}

#[test]
fn our_mpiexec_starts_programs_on_mpich() {
    let program = program("collectives");
    for ranks in [1, 2] {
        worked(MPICH.settings(job(ranks, &program)).run(), "collectives", ranks, MPICH.says);
    }
}
