//! ARMCI-MPI, the one-sided communication under Global Arrays and NWChem, on windows alone: its
//! tests, from a folder in which the user has built them by `make checkprogs`. Each checks its
//! results and tells by its exit code.

use super::{Purpose, Run};
use crate::world::World;
use crate::{shell, top};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// The programs that are not run: the first two are there to fail, the others measure. Of those,
/// `overlap` also accumulates with strides that ARMCI-MPI itself refuses, before it calls MPI.
const LEFT_OUT: [&str; 9] = [
    "test_assert",
    "test_malloc",
    "ARMCI_PutS_latency",
    "ARMCI_AccS_latency",
    "armci-perf",
    "copy_bench",
    "overlap",
    "pgroup_bench",
    "ping-pong-mpi",
];

/// The tests for the nodes, and to be timed.
const FEW: [&str; 4] = ["test_location_consistency", "test_mutex_rmw", "test_onesided", "test_puts_gets"];

/// The settings that are tried: a name, and variables. All that ARMCI-MPI has are among them but
/// those of MEMKIND and of what it prints, and `ARMCI_NONCOLLECTIVE_GROUPS`: with that, it ends by
/// freeing a communicator that it never made, which is an error on any library.
const SETTINGS: [(&str, &str); 16] = [
    ("default", ""),
    ("create", "ARMCI_USE_WIN_ALLOCATE=0"),
    ("limit", "ARMCI_SHM_LIMIT=100000000 ARMCI_USE_ALLOC_SHM=0"),
    ("batched", "ARMCI_STRIDED_METHOD=IOV ARMCI_IOV_METHOD=BATCHED ARMCI_IOV_BATCHED_LIMIT=3"),
    ("direct", "ARMCI_STRIDED_METHOD=IOV ARMCI_IOV_METHOD=DIRECT"),
    ("chunks", "ARMCI_STRIDED_METHOD=IOV ARMCI_IOV_METHOD=DIRECT ARMCI_IOV_DTYPE_CHUNK=3"),
    ("conservative", "ARMCI_STRIDED_METHOD=IOV ARMCI_IOV_METHOD=CONSRV"),
    ("auto", "ARMCI_STRIDED_METHOD=IOV ARMCI_IOV_METHOD=AUTO ARMCI_IOV_CHECKS=1"),
    ("copies", "ARMCI_SHR_BUF_METHOD=COPY ARMCI_DISABLE_SHM_ACC=1"),
    ("atomic", "ARMCI_RMA_ATOMICITY=1 ARMCI_ACCUMULATE_GRANULARITY=8"),
    ("ordered", "ARMCI_RMA_ORDERING=rar,raw,war,waw ARMCI_USE_SAME_OP=1 ARMCI_ACCUMULATE_GRANULARITY=0"),
    ("plain-atomics", "ARMCI_USE_REQUEST_ATOMICS=0"),
    ("flushed-atomics", "ARMCI_USE_REQUEST_ATOMICS=1 ARMCI_FLUSH_REQUEST_ATOMICS=1"),
    ("unflushed", "ARMCI_NO_FLUSH_LOCAL=1 ARMCI_RMA_NOCHECK=0 ARMCI_MSG_BARRIER_SYNCS=1"),
    ("groups", "ARMCI_CACHE_RANK_TRANSLATION=0"),
    ("progress", "ARMCI_PROGRESS_THREAD=1 ARMCI_EXPLICIT_NB_PROGRESS=0"),
];

/// The programs, without the `.c`, that show what is wrong in other libraries, with arguments. They
/// are for two ranks.
const REPRODUCERS: [&str; 11] = [
    "armci-request-depth",
    "mpich-ofi-rput-minimal",
    "mpich-ucx-rget-vector",
    "ompi-ofi-win-allocate allocate",
    "ompi-ofi-win-allocate create",
    "ompi-ucx-rput-minimal",
    "rput-indexed",
    "rput-indexed 64 100 3 1 1 5 raccumulate",
    "rput-many 10000",
    "swap-lock rget 200 allocate",
    "swap-lock getacc 200 create",
];

/// The folder with their sources.
const REPRODUCED: &str = "validation/request-rma-matrix/mcve";

/// Returns the runs: one for each setting and number of ranks, and one for the reproducers. On the
/// nodes four ranks have the default setting alone.
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
    let default = &SETTINGS[..1];
    let settings: &[(u32, &[(&str, &str)])] = match purpose {
        Purpose::Checked => &[(2, &SETTINGS), (4, &SETTINGS)],
        Purpose::Nodes => &[(2, &SETTINGS), (4, default)],
        Purpose::Timed => &[(4, default)],
    };
    let all: Vec<String> = programs.iter().map(|program| program.display().to_string()).collect();
    // Where ARMCI-MPI was built as a shared library.
    let library = format!("LD_LIBRARY_PATH={}:$LD_LIBRARY_PATH", home.join(".libs").display());
    let run_of = |ranks: u32, (name, variables): &(&str, &str)| {
        run(&format!("{name}-{ranks}"), &all, &format!("{library} {variables}"), ranks)
    };
    let each = settings.iter().flat_map(|(ranks, settings)| settings.iter().map(|it| run_of(*ranks, it)));
    let mut runs: Vec<Run> = each.collect();
    if purpose != Purpose::Timed {
        runs.push(run("reproducers", &reproducers(home, world), &library, 2));
    }
    runs
}

/// Builds the reproducers and returns their command lines.
fn reproducers(home: &Path, world: &World) -> Vec<String> {
    let folder = top().join("target/apps/armci");
    fs::create_dir_all(&folder).expect("target/ is writable");
    let line = |words: &str| {
        let name = words.split_whitespace().next().expect("a name");
        let (source, program) = (home.join(REPRODUCED).join(name).with_extension("c"), folder.join(name));
        let mut compiler = Command::new(&world.tools.mpicc);
        compiler.args(["-std=c99", "-O2", "-w", "-o"]).arg(&program).arg(source);
        compiler.arg("-I").arg(home.join("src")).arg(home.join(".libs/libarmci.a")).arg("-lm");
        shell(&mut compiler);
        format!("{}/{words}", folder.display())
    };
    REPRODUCERS.map(line).into()
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

/// A run of these command lines, one after the other.
fn run(name: &str, lines: &[String], variables: &str, ranks: u32) -> Run {
    let number = lines.len();
    Run {
        name: format!("armci-{name}"),
        ranks,
        seconds_max: 600,
        files: vec![],
        script: format!(
            "export {variables}\n\
             while read -r line; do\n\
             if said=$($LAUNCH {ranks} $line 2>&1 </dev/null); then echo \"passed $line\"\n\
             else echo \"FAILED $line: $said\"; fi\ndone <<'END'\n{}\nEND",
            lines.join("\n")
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
