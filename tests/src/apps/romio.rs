//! ROMIO's own tests of files, from `src/mpi/romio/test` of an MPICH source (5.0 or later) that the
//! user has. Each checks what it reads and says so.

use super::{Purpose, Run};
use crate::sources::Tools;
use crate::world::World;
use crate::{shell, top};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, with its ranks and arguments as ROMIO's `runtests` has them, and the words that say
/// that it passed.
struct Test {
    program: &'static str,
    ranks: u32,
    arguments: &'static str,
    passed: &'static str,
}

const fn test(program: &'static str, ranks: u32, arguments: &'static str, passed: &'static str) -> Test {
    Test { program, ranks, arguments, passed }
}

/// The tests. Programs that only measure are not run: they check nothing. `large_array` with one
/// rank moves 4 GiB in one call.
const TESTS: [Test; 34] = [
    test("simple", 4, "-fname f", CLEAN),
    test("psimple", 4, "-fname f", CLEAN),
    test("async", 4, "-fname f", CLEAN),
    test("async-multiple", 4, "-fname f", CLEAN),
    test("atomicity", 4, "-fname f", CLEAN),
    test("coll_test", 4, "-fname f", CLEAN),
    test("excl", 4, "-fname f", CLEAN),
    test("creat_excl", 4, "-fname f", CLEAN),
    test("file_info", 4, "-fname f", CLEAN),
    test("file_info", 4, "-u -fname f", CLEAN),
    test("file_info", 4, "-l -fname f", CLEAN),
    test("noncontig", 2, "-fname f", CLEAN),
    test("i_noncontig", 2, "-fname f", CLEAN),
    test("noncontig_coll", 2, "-fname f", CLEAN),
    test("noncontig_coll2", 4, "-fname f", CLEAN),
    test("noncontig_coll2", 7, "-fname f", CLEAN),
    test("aggregation1", 4, "-f f", CLEAN),
    test("aggregation1", 4, "-h -f f", CLEAN),
    test("aggregation2", 4, "-fname f", CLEAN),
    test("hindexed", 4, "-fname f", CLEAN),
    test("misc", 4, "-fname f", CLEAN),
    test("shared_fp", 4, "-fname f", CLEAN),
    test("ordered_fp", 4, "-fname f", CLEAN),
    test("split_coll", 4, "-fname f", CLEAN),
    test("error", 1, "-fname f", CLEAN),
    test("status", 1, "-fname f", CLEAN),
    test("types_with_zeros", 2, "-fname f", CLEAN),
    test("darray_read", 4, "-fname f", CLEAN),
    test("syshints", 1, "-fname hints", CLEAN),
    test("fstype_prefix", 2, "-fname f", CLEAN),
    test("external32", 2, "", "external32 datarep is BIG ENDIAN"),
    test("big_extents", 4, "f", CLEAN),
    test("large_array", 1, "-fname f", "file deleted"),
    test("large_array", 4, "-fname f", "file deleted"),
];
const CLEAN: &str = "No Errors";

/// Those that are short on virtual nodes, and need several processes.
const ON_NODES: [&str; 6] = ["coll_test", "aggregation2", "shared_fp", "ordered_fp", "split_coll", "misc"];

/// The types of file systems that these tests may name, as ROMIO's `configure` would write them.
const ROMIO_CONFIGURATION: &str = "#define ROMIO_UFS 1\n#define ROMIO_NFS 1\n#define ROMIO_XFS 1\n\
     #define ROMIO_PVFS2 1\n#define ROMIO_GPFS 1\n#define ROMIO_PANFS 1\n#define ROMIO_LUSTRE 1\n";

/// Builds the programs of the user's source, in which `configure` would fill one of them in: how a
/// long number is printed.
fn built(home: &Path, tools: &Tools) -> PathBuf {
    let tests = home.join("src/mpi/romio/test");
    assert!(tests.is_dir(), "{} is no folder: name MPICH's source", tests.display());
    let folder = top().join("target/apps/romio");
    fs::create_dir_all(&folder).expect("target/ is writable");
    fs::write(folder.join("romioconf.h"), ROMIO_CONFIGURATION).expect("target/ is writable");
    let misc = fs::read_to_string(tests.join("misc.c.in")).expect("ROMIO has it");
    fs::write(folder.join("misc.c"), misc.replace("@LL@", "lld")).expect("target/ is writable");
    fs::copy(tests.join("test_hintfile"), folder.join("test_hintfile")).expect("ROMIO has it");
    let names: BTreeSet<&str> = TESTS.iter().map(|test| test.program).collect();
    for name in names {
        let source = if name == "misc" { &folder } else { &tests }.join(name).with_extension("c");
        let mut compiler = Command::new(&tools.mpicc);
        compiler.args(["-O1", "-w", "-I"]).arg(&folder).arg(source);
        shell(compiler.arg("-lm").arg("-o").arg(folder.join(name)));
    }
    folder
}

/// Returns the runs: all tests in one, between nodes a few of them.
pub fn runs(home: &Path, world: &World, purpose: Purpose) -> Vec<Run> {
    let numbers = 0..TESTS.len();
    match purpose {
        Purpose::Checked => vec![run("romio", &built(home, &world.tools), numbers.collect())],
        Purpose::Nodes => {
            let few = numbers.filter(|&number| ON_NODES.contains(&TESTS[number].program));
            vec![run("romio-nodes", &built(home, &world.tools), few.collect())]
        }
        Purpose::Timed => Vec::new(),
    }
}

fn run(name: &str, folder: &Path, numbers: Vec<usize>) -> Run {
    let folder = folder.display();
    let line = |&number: &usize| {
        let Test { program, ranks, arguments, .. } = TESTS[number];
        format!(
            "echo \"== {number}\"; cp {folder}/test_hintfile hints\n\
             $LAUNCH {ranks} {folder}/{program} {arguments} 2>&1 </dev/null || echo failed with $?\nrm -rf f*"
        )
    };
    Run {
        name: name.to_owned(),
        ranks: numbers.iter().map(|&number| TESTS[number].ranks).max().unwrap_or(1),
        seconds_max: 600,
        files: vec![],
        script: numbers.iter().map(line).collect::<Vec<_>>().join("\n"),
        judge: Box::new(move |ended| {
            numbers.iter().for_each(|&number| judge(number, &ended.stdout));
            vec![]
        }),
    }
}

/// Panics unless a program said that it passed.
fn judge(number: usize, said: &str) {
    let Test { program, ranks, arguments, passed } = TESTS[number];
    let own = said.split("== ").find(|text| text.lines().next() == Some(&number.to_string()));
    let has_passed = own.is_some_and(|own| own.contains(passed) && !own.contains("failed with"));
    assert!(has_passed, "{program} {arguments} with {ranks} ranks: {}", own.unwrap_or(said));
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn one_that_passed_says_so() {
        judge(1, "== 0\nFound 3 errors\nfailed with 1\n== 1\n No Errors\n== 10\n");
    }

    #[test]
    #[should_panic(expected = "Found 3 errors")]
    fn one_that_found_errors_is_shown() {
        judge(0, "== 0\nFound 3 errors\nfailed with 1\n== 1\n No Errors\n");
    }

    #[test]
    #[should_panic(expected = "psimple -fname f with 4 ranks")]
    fn one_that_is_missing_is_noticed() {
        judge(1, "== 0\n No Errors\n== 10\n No Errors\n");
    }
}
