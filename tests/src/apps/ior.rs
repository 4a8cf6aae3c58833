//! IOR, the benchmark of parallel file systems, over MPI-IO, from the user's copy of its source. It
//! checks each byte that it reads; here it checks them once more by calls of the system, without
//! MPI.

use super::{Purpose, Run};
use crate::sources::Tools;
use crate::world::World;
use crate::{shell, top};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A test: hints, how IOR accesses the file (`over`), and which parts each rank does (`parts`):
/// these hold for the second look without MPI, too, since each piece says who wrote it.
struct Test {
    hints: &'static str,
    over: &'static str,
    parts: &'static str,
}

const fn test(hints: &'static str, over: &'static str, parts: &'static str) -> Test {
    Test { hints, over, parts }
}

/// Hints for aggregators, in rounds whose length is no multiple of a block.
const AGGREGATED: &str = "IOR_HINT__MPI__romio_cb_write=enable IOR_HINT__MPI__romio_cb_read=enable IOR_HINT__MPI__cb_buffer_size=100001";
/// Hints to read gaps and to write them back.
const SIEVED: &str = "IOR_HINT__MPI__romio_ds_write=enable IOR_HINT__MPI__romio_ds_read=enable";

/// The tests: each rank alone and all together, a file for all and one for each, in blocks, in
/// pieces that take turns, by views and by datatypes, in order and not, with and without hints.
const TESTS: [Test; 19] = [
    test("", "", "-t 256k -b 4m -C"),
    test("", "-c", "-t 256k -b 4m -C"),
    test("", "", "-t 1k -b 1k -s 500 -C"),
    test("", "-c", "-t 1k -b 1k -s 500 -C"),
    test("", "", "-t 47008 -b 47008 -s 100 -C"),
    test("", "-c", "-t 47008 -b 47008 -s 100 -C"),
    test("", "", "-t 8 -b 4096 -s 4"),
    test("", "-c", "-t 8 -b 4096 -s 4"),
    test("", "", "-F -t 64k -b 4m -C"),
    test("", "-c", "-F -t 64k -b 4m -C"),
    test("", "--mpiio.useFileView", "-t 16k -b 64k -s 8 -C"),
    test("", "-c --mpiio.useFileView", "-t 16k -b 64k -s 8 -C"),
    test("", "-c --mpiio.useStridedDatatype", "-t 16k -b 64k -s 8 -C"),
    test("", "-c --mpiio.preallocate -e", "-t 16k -b 64k -s 8 -Z"),
    test("", "", "-z --random-offset-seed=3 -t 4k -b 1m -s 2"),
    test(AGGREGATED, "-c", "-t 1k -b 1k -s 500 -C"),
    test(AGGREGATED, "-c", "-t 64k -b 1m -s 2 -C"),
    test(AGGREGATED, "-c --mpiio.useFileView", "-t 4k -b 64k -s 8 -C"),
    test(SIEVED, "--mpiio.useFileView", "-t 4k -b 64k -s 8 -C"),
];

/// The numbers of ranks here.
const RANKS: [u32; 3] = [1, 2, 4];

/// The tests between nodes: few, and without hints.
const ON_NODES: [usize; 4] = [1, 3, 9, 11];

/// The files of its source for POSIX and MPI-IO.
const SOURCES: [&str; 12] = [
    "ior-main",
    "ior",
    "utilities",
    "parse_options",
    "ior-output",
    "option",
    "mdtest",
    "md-workbench",
    "aiori",
    "aiori-DUMMY",
    "aiori-MPIIO",
    "aiori-POSIX",
];

/// The findings of its `configure`.
const CONFIGURATION: &str = "#define META_VERSION \"by hand\"\n#define PACKAGE_NAME \"ior\"\n\
     #define PACKAGE_VERSION \"by hand\"\n#define HAVE_STRINGS_H 1\n#define HAVE_SYS_PARAM_H 1\n\
     #define HAVE_SYS_MOUNT_H 1\n#define HAVE_SYS_STATFS_H 1\n#define HAVE_SYS_STATVFS_H 1\n\
     #define HAVE_STATVFS 1\n#define HAVE_SYSCONF 1\n#define HAVE_MPI_FILE_READ_C 1\n\
     #define HAVE_STRUCT_STAT_ST_MTIM_TV_NSEC 1\n#define USE_MPIIO_AIORI 1\n#define USE_POSIX_AIORI 1\n";

/// Builds the program of the user's source.
fn built(home: &Path, tools: &Tools) -> PathBuf {
    let source = home.join("src");
    assert!(source.join("ior.c").exists(), "{} is not IOR's source", home.display());
    let folder = top().join("target/apps/ior");
    fs::create_dir_all(&folder).expect("target/ is writable");
    fs::write(folder.join("config.h"), CONFIGURATION).expect("target/ is writable");
    let program = folder.join("ior");
    let mut compiler = Command::new(&tools.mpicc);
    compiler
        .args(["-O1", "-w", "-D_GNU_SOURCE", "-DHAVE_CONFIG_H", "-I"])
        .arg(&folder)
        .arg("-I")
        .arg(&source);
    compiler.args(SOURCES.map(|name| source.join(name).with_extension("c")));
    shell(compiler.arg("-lm").arg("-o").arg(&program));
    program
}

/// Returns the runs: all tests in one, between nodes a few of them.
pub fn runs(home: &Path, world: &World, purpose: Purpose) -> Vec<Run> {
    let all = |tests: &[usize], ranks: &[u32]| -> Vec<(u32, usize)> {
        ranks.iter().flat_map(|&ranks| tests.iter().map(move |&test| (ranks, test))).collect()
    };
    match purpose {
        Purpose::Checked => {
            let tests: Vec<usize> = (0..TESTS.len()).collect();
            vec![run("ior", &built(home, &world.tools), all(&tests, &RANKS))]
        }
        Purpose::Nodes => vec![run("ior-nodes", &built(home, &world.tools), all(&ON_NODES, &[4]))],
        Purpose::Timed => Vec::new(),
    }
}

/// A run of these tests, each with its number of ranks.
fn run(name: &str, program: &Path, each: Vec<(u32, usize)>) -> Run {
    let program = program.display();
    let line = |&(ranks, number): &(u32, usize)| {
        let Test { hints, over, parts } = TESTS[number];
        let launch = format!("$LAUNCH {ranks} {program}");
        format!(
            "echo \"== {ranks} {number}\"\n\
             env {hints} {launch} -a MPIIO -o f -G 7 -k -w -W -r -R {over} {parts} 2>&1 </dev/null || echo failed with $?\n\
             {launch} -a POSIX -o f -G 7 -k -r -R {parts} 2>&1 </dev/null || echo failed with $?\nrm -f f*"
        )
    };
    Run {
        name: name.to_owned(),
        ranks: each.iter().map(|&(ranks, _)| ranks).max().unwrap_or(1),
        seconds_max: 300,
        files: vec![],
        script: each.iter().map(line).collect::<Vec<_>>().join("\n"),
        judge: Box::new(move |ended| {
            each.iter().for_each(|&test| judge(test, &ended.stdout));
            vec![]
        }),
    }
}

/// Panics unless both programs of a test ran to their end and found nothing wrong.
fn judge((ranks, number): (u32, usize), said: &str) {
    let Test { hints, over, parts } = TESTS[number];
    let title = format!("{ranks} {number}");
    let own = said.split("== ").find(|text| text.lines().next() == Some(&title)).unwrap_or_default();
    let count = |word| own.lines().filter(|line| line.starts_with(word)).count();
    // Each operation has a line in the table, and one in the summary.
    let is_whole = count("Finished") == 2 && count("write ") == 2 && count("read ") == 4;
    let is_clean = !["WARNING", "ERROR", "failed with"].iter().any(|word| own.contains(word));
    assert!(is_whole && is_clean, "{hints} {over} {parts} with {ranks} ranks: {own}");
}

#[cfg(test)]
mod tests {
    use super::judge;

    const WELL: &str =
        "== 2 1\nwrite 1\nread 2\nwrite 1\nread 2\nFinished\nread 1\nread 1\nFinished\n== 2 10\n";

    #[test]
    fn both_looks_count() {
        judge((2, 1), WELL);
    }

    #[test]
    #[should_panic(expected = "Incorrect data")]
    fn a_wrong_byte_is_shown() {
        judge((2, 1), &WELL.replace("== 2 10", "WARNING: Incorrect data on read (1 errors found)."));
    }

    #[test]
    #[should_panic(expected = "with 2 ranks")]
    fn one_that_ended_early_is_noticed() {
        judge((2, 1), &WELL.replacen("Finished", "", 1));
    }

    #[test]
    #[should_panic(expected = "with 4 ranks")]
    fn one_that_is_missing_is_noticed() {
        judge((4, 1), WELL);
    }
}
