//! The shared library exports the names of the standard ABI, the ten removed ones, those
//! about lost processes and GPUs, their PMPI twins, the table for the MPICH face, and nothing else.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// The functions of the MPI-5.0 standard ABI, one to a line: written down apart from the API table.
const STANDARD: &str = include_str!("mpi50-symbols.txt");

const REMOVED: [&str; 10] = [
    "MPI_Address",
    "MPI_Errhandler_create",
    "MPI_Errhandler_get",
    "MPI_Errhandler_set",
    "MPI_Type_extent",
    "MPI_Type_hindexed",
    "MPI_Type_hvector",
    "MPI_Type_lb",
    "MPI_Type_struct",
    "MPI_Type_ub",
];

/// The functions about lost processes, which are no part of MPI-5.0.
const FAULT: [&str; 10] = [
    "MPIX_Comm_ack_failed",
    "MPIX_Comm_agree",
    "MPIX_Comm_failure_ack",
    "MPIX_Comm_failure_get_acked",
    "MPIX_Comm_get_failed",
    "MPIX_Comm_iagree",
    "MPIX_Comm_is_revoked",
    "MPIX_Comm_ishrink",
    "MPIX_Comm_revoke",
    "MPIX_Comm_shrink",
];

/// The questions about GPUs of MPICH and Open MPI.
const GPU: [&str; 4] =
    ["MPIX_Query_cuda_support", "MPIX_Query_hip_support", "MPIX_Query_rocm_support", "MPIX_Query_ze_support"];

/// The library that Cargo built with this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.with_file_name("libmpi_abi.so")
}

fn output(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).arg(library()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn exactly_the_functions_of_the_abi_are_exported() {
    let names = STANDARD.lines().chain(REMOVED).chain(FAULT).chain(GPU);
    let mut expected: BTreeSet<String> =
        names.flat_map(|name| [name.to_string(), format!("P{name}")]).collect();
    assert_eq!(expected.len(), 2 * (662 + 10 + 10 + 4));
    expected.insert("verbena_entries".into());
    let table = output("nm", &["--dynamic", "--defined-only"]);
    let exported: BTreeSet<String> =
        table.lines().filter_map(|line| line.split_whitespace().last()).map(String::from).collect();
    let missing: Vec<_> = expected.difference(&exported).collect();
    let surplus: Vec<_> = exported.difference(&expected).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing: {missing:?}, surplus: {surplus:?}");
}

#[test]
fn the_soname_is_that_of_the_abi() {
    let dynamic = output("readelf", &["--dynamic", "--wide"]);
    assert!(dynamic.contains("[libmpi_abi.so.1]"), "{dynamic}");
}
