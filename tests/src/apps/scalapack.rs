//! ScaLAPACK's own testers (Fortran), as Debian ships them: binaries that were built for MPICH or
//! for Open MPI, and run unchanged on any library of that ABI. They check all solutions by
//! residuals, at 4 ranks.
//!
//! Only double precision is run, real and complex: the others differ by the type. Left out too:
//! BLACS' own testers and `xdhseqr`, which call MPICH's Fortran library (the MPICH ABI does not
//! include that), and two that cannot be trusted.

use super::hpcc::counts;
use super::{Purpose, Run};
use crate::sources::unpacked;
use crate::world::World;
use std::path::{Path, PathBuf};

/// Testers for the nodes, and to be timed.
const FEW: [&str; 2] = ["PBLAS/dpb2tst", "PBLAS/zpb3tst"];

/// The testers that are not run: the first calls `mpi_wtime_`; the others compare VL and VU, which
/// they never set for their first request, with themselves ("IL, IU, VL or VU altered"), so what
/// they say depends on whether there is a NaN in that memory.
const LEFT_OUT: [&str; 3] = ["xdhseqr", "xdsyevr", "xzheevr"];

/// The number of ranks that Debian runs them with.
const RANKS: u32 = 4;

/// The folder with the testers for this ABI.
fn testers(abi: &str) -> PathBuf {
    unpacked("scalapack-mpi-test").join("usr/lib/x86_64-linux-gnu/scalapack").join(format!("{abi}-tests"))
}

/// The names of the testers in double precision, those in a folder with the folder.
fn names(testers: &Path) -> Vec<String> {
    let within = |folder: &str, starts: &[&str]| {
        let entries = std::fs::read_dir(testers.join(folder)).expect("the package has this folder");
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let names = names.filter(|name| {
            starts.iter().any(|start| name.starts_with(start)) && !LEFT_OUT.contains(&name.as_str())
        });
        names.map(|name| Path::new(folder).join(name).display().to_string()).collect::<Vec<_>>()
    };
    let mut names = [within("", &["xd", "xz"]), within("PBLAS", &["dpb", "zpb"])].concat();
    names.sort();
    assert!(names.len() > 30, "{names:?}");
    names
}

/// Returns the runs.
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

/// The testers of ScaLAPACK count at their end, but one; those of PBLAS have a table: subroutine,
/// tests, passed, failed, skipped.
fn judge(said: &str) {
    assert!(said.to_uppercase().contains("END OF TESTS"), "{said}");
    let row = |line: &str| {
        let numbers = line.trim().strip_prefix('|')?.split_whitespace().skip(1).map(str::parse::<u64>);
        let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().ok()?;
        <[u64; 4]>::try_from(numbers).ok()
    };
    let rows: Vec<[u64; 4]> = said.lines().filter_map(row).collect();
    let of = |words: &str| counts(said, words).into_iter();
    // The singular value tester has one line a test instead.
    let lines = said.lines().filter(|line| line.starts_with("Passed ")).count() as u64;
    let passed =
        of("tests completed and passed residual checks").chain(rows.iter().map(|row| row[1])).chain([lines]);
    assert!(passed.sum::<u64>() > 0, "{said}");
    let failed = of("tests completed and failed residual checks").chain(of("tests completed and failed"));
    assert_eq!(failed.chain(rows.iter().map(|row| row[2])).sum::<u64>(), 0, "{said}");
    let is_failure =
        |line: &&str| (line.contains("*****") && line.contains("FAILED")) || line.starts_with("Failed");
    assert_eq!(said.lines().find(is_failure), None, "{said}");
}

#[cfg(test)]
mod tests {
    use super::judge;

    const TABLE: &str = "  |  PDGER            16        16        0       0\n\n  End of Tests.\n";
    const COUNTED: &str = "  42 tests completed and passed residual checks.\n   0 tests completed and failed residual checks.\n\
                           END OF TESTS.\n";

    #[test]
    fn both_kinds_of_summary_are_understood() {
        judge(TABLE);
        judge(COUNTED);
    }

    #[test]
    #[should_panic(expected = "PDGER")]
    fn a_failure_in_the_table_is_one() {
        judge(&TABLE.replace("16        0", "15        1"));
    }

    #[test]
    #[should_panic(expected = "42 tests")]
    fn a_counted_failure_is_one() {
        judge(&COUNTED.replace("   0 tests", "   2 tests"));
    }

    #[test]
    #[should_panic(expected = "nothing")]
    fn nothing_passed_is_no_success() {
        judge("nothing\nEND OF TESTS.\n");
    }
}
