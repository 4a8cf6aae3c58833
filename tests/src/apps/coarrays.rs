//! Coarrays of Fortran: OpenCoarrays' own tests, as Debian ships them. They are binaries that were
//! built for MPICH or Open MPI, and run unchanged on any library of that ABI. Each checks its
//! results and says so.
//!
//! Images put and get, convert, lock, post events, form teams, and use atomics and collectives: all
//! of it by windows.

use super::{Purpose, Run};
use crate::sources::unpacked;
use crate::world::World;
use std::fs;
use std::path::{Path, PathBuf};

/// The tests that are not run, by the beginning of their names, and why not.
const LEFT_OUT: [(&str, &str); 6] = [
    ("coarray_burgers_pde", "the first and the last image read each other's values and never synchronise"),
    ("get_communicator", "it calls MPICH's Fortran library, which the MPICH ABI does not include"),
    ("image_", "it needs failed images, without which Debian builds OpenCoarrays"),
    ("increment_my_neighbor", "it reads what its neighbour writes meanwhile, and fails on MPICH as well"),
    ("initialize_mpi", "it calls MPICH's Fortran library, which the MPICH ABI does not include"),
    ("issue-493-coindex-slice", "it does not say whether it passed"),
];

/// The number of images of most tests.
const IMAGES: u32 = 4;

/// Those that want another number, and their argument.
const OTHERS: [(&str, u32, &str); 5] = [
    ("issue-488-multi-dim-cobounds", 8, "true"),
    ("issue-515-mimic-mpi-gatherv", 2, ""),
    ("issue-552-send_by_ref-singleton", 2, ""),
    ("sync_team", 8, ""),
    ("team_number", 8, ""),
];

/// Tests for the nodes, and to be timed. Not among them are `sendget_convert_*`, which read what
/// they get before they unlock its window: that is right only where a get is over at once.
const FEW: [&str; 6] =
    ["allocatable_p2p_event_post", "atomics", "co_sum_test", "get_array", "send_array", "syncimages"];

/// The folder with the tests for this ABI.
fn tests(abi: &str) -> PathBuf {
    let home = unpacked(&format!("libcoarrays-{abi}-dev"));
    let home = home.join("usr/lib/x86_64-linux-gnu/open-coarrays").join(abi).join("bin");
    let name = names(&home).into_iter().find(|name| name.ends_with("-tests"));
    home.join(name.expect("the package has tests"))
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the package has this folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the runs.
pub fn runs(world: &World, purpose: Purpose) -> Vec<Run> {
    let tests = tests(world.stock.abi);
    let names: Vec<String> = match purpose {
        Purpose::Checked => names(&tests).into_iter().filter(|name| is_run(name)).collect(),
        _ => FEW.map(str::to_owned).to_vec(),
    };
    assert!(names.len() >= FEW.len(), "{names:?}");
    names.iter().map(|name| run(world, &tests, name)).collect()
}

fn is_run(name: &str) -> bool {
    !LEFT_OUT.iter().any(|(start, _)| name.starts_with(start))
}

fn run(world: &World, tests: &Path, name: &str) -> Run {
    let other = OTHERS.iter().find(|other| other.0 == name);
    let (images, argument) = other.map_or((IMAGES, ""), |&(_, images, argument)| (images, argument));
    let folders: Vec<String> =
        world.stock.folders.iter().map(|folder| folder.display().to_string()).collect();
    let (folders, program) = (folders.join(":"), tests.join(name));
    Run {
        name: format!("coarrays-{name}"),
        ranks: images,
        seconds_max: 120,
        files: vec![],
        script: format!(
            "LD_LIBRARY_PATH={folders} $LAUNCH {images} env LD_LIBRARY_PATH={folders} {} {argument} 2>&1",
            program.display()
        ),
        judge: Box::new(|ended| {
            judge(&ended.stdout);
            vec![]
        }),
    }
}

/// A test that fails stops with an error, or says what failed and then that it did not pass. Some
/// that stop leave the exit code at 0.
fn judge(said: &str) {
    let words = said.to_lowercase();
    assert!(words.contains("test passed"), "{said}");
    assert!(!words.contains("test failed") && !words.contains("error stop"), "{said}");
}

#[cfg(test)]
mod tests {
    use super::{is_run, judge};

    #[test]
    fn one_that_passed_says_so() {
        judge(" me=   1\n Test passed.\n");
        judge("test passed:  tran_time    4.602\n");
    }

    #[test]
    #[should_panic(expected = "concave")]
    fn one_that_stops_before_the_end_has_failed() {
        judge("Assertion failed with message:  Test failed: right half not concave up.\n");
    }

    #[test]
    #[should_panic(expected = "ERROR STOP")]
    fn an_image_that_stops_with_an_error_counts() {
        judge(" Test passed.\nERROR STOP Test did not pass\n");
    }

    #[test]
    fn what_is_left_out_is_named_by_its_beginning() {
        assert!(!is_run("image_fail_test_1") && is_run("syncimages") && is_run("get_array"));
    }
}
