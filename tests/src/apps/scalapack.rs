//! ScaLAPACK's own testers (Fortran), as Debian ships them: binaries that were built for MPICH or for Open MPI, and run
//! unchanged on any library of that ABI. Whatever they solve they check by residuals, at 4 ranks.
//!
//! Not among them: BLACS' tester of its Fortran interface, which calls MPICH's Fortran library; the MPICH ABI does not
//! include that.

use super::{Purpose, Run};
use crate::sources::unpacked;
use crate::world::World;
use std::path::{Path, PathBuf};

/// Testers for the nodes, and to be timed.
const FEW: [&str; 3] = ["xdlu", "xdqr", "PBLAS/dpb2tst"];

/// Testers of all parts in one precision each; the others differ by type only.
const RANKS: u32 = 4;

/// The folder with the testers for this ABI.
fn testers(abi: &str) -> PathBuf {
    unpacked("scalapack-mpi-test").join("usr/lib/x86_64-linux-gnu/scalapack").join(format!("{abi}-tests"))
}

/// The names of all testers, those in folders with the folder.
fn names(testers: &Path) -> Vec<String> {
    let within = |folder: &str| {
        let entries = std::fs::read_dir(testers.join(folder)).expect("the package has this folder");
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.contains('.')).map(move |name| Path::new(folder).join(name)).collect::<Vec<_>>()
    };
    let mut names = within("");
    names.retain(|name| name.to_string_lossy().starts_with('x'));
    names.extend(within("PBLAS").into_iter().filter(|name| name.ends_with("TIMING") == false));
    names.push("BLACS/xCbtest".into());
    let mut names: Vec<String> = names.iter().map(|name| name.display().to_string()).collect();
    names.sort();
    names
}

/// Its runs.
pub fn runs(world: &World, purpose: Purpose) -> Vec<Run> {
    let abi = world.stock.abi;
    let testers = testers(abi);
    let names = match purpose {
        Purpose::Checked => names(&testers),
        _ => FEW.map(str::to_owned).to_vec(),
    };
    let library = unpacked(&format!("libscalapack-{abi}2.2")).join("usr/lib/x86_64-linux-gnu");
    let folders = world.stock.folders.iter().chain([&library]).map(|folder| folder.display().to_string());
    let folders = folders.collect::<Vec<_>>().join(":");
    names.iter().map(|name| run(&testers, name, &folders)).collect()
}

fn run(testers: &Path, name: &str, folders: &str) -> Run {
    let data = unpacked("scalapack-test-common").join("usr/share/scalapack");
    let (data, program) = (data.join(name).with_file_name(""), testers.join(name));
    let (data, program) = (data.display(), program.display());
    Run {
        name: format!("scalapack-{}", name.replace('/', "-")),
        ranks: RANKS,
        seconds_max: 300,
        files: vec![],
        script: format!(
            "cp {data}/*.dat .\nLD_LIBRARY_PATH={folders} $LAUNCH {RANKS} env LD_LIBRARY_PATH={folders} {program} 2>&1"
        ),
        judge: Box::new(|ended| {
            judge(&ended.stdout);
            vec![]
        }),
    }
}

fn judge(said: &str) {
    assert!(!said.is_empty());
}
