//! ARMCI-MPI, the one-sided communication under Global Arrays and NWChem, on windows alone: its
//! tests, from a folder in which the user has built them by `make checkprogs`. Each checks its
//! results and tells by its exit code.

use super::{Purpose, Run};
use crate::world::World;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The folders with tests.
const FOLDERS: [&str; 7] = [
    "tests",
    "tests/mpi",
    "tests/ctree",
    "tests/contrib",
    "tests/contrib/lu",
    "tests/contrib/transp1D",
    "tests/contrib/non-blocking",
];

/// The programs that are not run: the first two are there to fail, the others measure.
const LEFT_OUT: [&str; 8] = [
    "test_assert",
    "test_malloc",
    "ARMCI_PutS_latency",
    "ARMCI_AccS_latency",
    "armci-perf",
    "copy_bench",
    "pgroup_bench",
    "ping-pong-mpi",
];

/// The tests for the nodes, and to be timed.
const FEW: [&str; 4] = ["test_location_consistency", "test_mutex_rmw", "test_onesided", "test_puts_gets"];

/// The settings that are tried: a name, and variables. Request-based operations are those of
/// non-blocking calls in all of them.
const SETTINGS: [(&str, &str); 8] = [
    ("default", ""),
    ("create", "ARMCI_USE_WIN_ALLOCATE=0"),
    ("batched", "ARMCI_STRIDED_METHOD=IOV ARMCI_IOV_METHOD=BATCHED"),
    ("atomic", "ARMCI_RMA_ATOMICITY=1"),
    ("request-atomics", "ARMCI_USE_REQUEST_ATOMICS=1"),
    ("flushed-atomics", "ARMCI_USE_REQUEST_ATOMICS=1 ARMCI_FLUSH_REQUEST_ATOMICS=1"),
    ("unflushed", "ARMCI_NO_FLUSH_LOCAL=1 ARMCI_SHR_BUF_METHOD=NOGUARD"),
    ("progress", "ARMCI_PROGRESS_THREAD=1"),
];

/// Returns the runs: one for each setting and number of ranks.
pub fn runs(home: &Path, world: &World, purpose: Purpose) -> Vec<Run> {
    assert!(
        world.tools.name != "openmpi",
        "the programs in {} are of the standard ABI, which this library does not speak",
        home.display()
    );
    let mut programs = programs(home);
    if purpose != Purpose::Checked {
        programs.retain(|program| FEW.iter().any(|name| program.ends_with(name)));
    }
    assert!(
        !programs.is_empty(),
        "no tests in {}: build them there by configure MPICC=mpicc, make and make checkprogs",
        home.display()
    );
    let (settings, numbers) = match purpose {
        Purpose::Checked => (&SETTINGS[..], &[2, 4][..]),
        _ => (&SETTINGS[..1], &[4][..]),
    };
    let each = |&(name, variables): &(&str, &str)| {
        numbers.iter().map(|&ranks| run(home, &programs, (name, variables), ranks)).collect::<Vec<_>>()
    };
    settings.iter().flat_map(each).collect()
}

/// The programs that were built, sorted.
fn programs(home: &Path) -> Vec<PathBuf> {
    let entries =
        FOLDERS.iter().filter_map(|folder| fs::read_dir(home.join(folder)).ok()).flatten().flatten();
    let mut programs: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| is_program(path)).collect();
    programs.sort();
    programs
}

fn is_program(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_executable =
        fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o100 != 0);
    is_executable && !name.contains('.') && !LEFT_OUT.contains(&&*name)
}

fn run(home: &Path, programs: &[PathBuf], (name, variables): (&str, &str), ranks: u32) -> Run {
    let all: Vec<String> = programs.iter().map(|program| program.display().to_string()).collect();
    let (number, library) = (programs.len(), home.join(".libs"));
    Run {
        name: format!("armci-{name}-{ranks}"),
        ranks,
        seconds_max: 600,
        files: vec![],
        script: format!(
            "export LD_LIBRARY_PATH={}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}} {variables}\n\
             for program in {}; do\n\
             if said=$($LAUNCH {ranks} $program 2>&1); then echo \"passed $program\"\n\
             else echo \"FAILED $program: $said\"; fi\ndone",
            library.display(),
            all.join(" ")
        ),
        judge: Box::new(move |ended| {
            judge(&ended.stdout, number);
            vec![]
        }),
    }
}

/// Panics unless so many programs passed.
fn judge(said: &str, number: usize) {
    let failed = said.lines().position(|line| line.starts_with("FAILED "));
    let why = failed.map(|first| said.lines().skip(first).take(20).collect::<Vec<_>>().join("\n"));
    assert_eq!(why, None, "a test failed");
    let passed = said.lines().filter(|line| line.starts_with("passed ")).count();
    assert_eq!(passed, number, "tests were lost on the way:\n{said}");
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn all_passed() {
        judge("passed tests/test_puts\npassed tests/test_mutex\n", 2);
    }

    #[test]
    #[should_panic(expected = "rank 1 int iteration 0")]
    fn one_that_fails_is_shown() {
        judge("passed a\nFAILED b: rank 1 int iteration 0\npassed c\n", 3);
    }

    #[test]
    #[should_panic(expected = "lost on the way")]
    fn one_that_is_missing_is_noticed() {
        judge("passed a\n", 2);
    }
}
