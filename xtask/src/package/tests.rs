//! The packages that are quick to make, from the staged installation, tried as
//! `cargo xtask package --check` does. The others are tried by that command alone.

use super::Kind;
use super::ground::Ground;
use super::verdict::Verdict;
use verbena_tests::{scratch, staged_build};

/// Makes a package of what the stage has, and tries it.
fn is_sound(kind: Kind) {
    let folder = scratch(&format!("package-{kind:?}"));
    let build = folder.join("build");
    staged_build(&build);
    let top = verbena_codegen::root();
    let ground = Ground::new(&top, &folder.join("out"), Some(&build), None).expect("the tree");
    let files = kind.make(&ground).expect("a package");
    let verdicts = kind.check(&ground, &files);
    assert!(verdicts.len() > 1, "{verdicts:?}");
    verdicts.iter().for_each(Verdict::assert);
    // A copy of all libraries is left otherwise.
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn the_wheel_runs_in_a_fresh_environment() {
    is_sound(Kind::Wheel);
}

#[test]
fn the_tarball_runs_where_it_is_unpacked_and_where_it_is_installed() {
    is_sound(Kind::Tarball);
}
