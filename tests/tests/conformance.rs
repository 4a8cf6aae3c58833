//! MPICH's own test suite on the staged installation, all families that are written, against
//! `tests/conformance-expectations.toml`.

use verbena_tests::conformance::{self, Options};

#[test]
fn the_suite_of_mpich_is_as_expected() {
    let report = conformance::run(&Options::default()).unwrap_or_else(|why| panic!("{why}"));
    println!("{}", report.text());
    assert!(report.is_fine(), "\n{}", report.text());
}
