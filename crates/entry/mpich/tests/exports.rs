//! The library of the MPICH ABI is named `libmpi.so.12`. It exports every function of the standard
//! ABI, the removed ones, MPICH's further functions for C programs, their PMPI twins, and its
//! variables.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// The functions of the MPI-5.0 standard ABI, one per line: independent of the API table.
const STANDARD: &str = include_str!("../../abi/tests/mpi50-symbols.txt");

/// Further functions that MPICH 5.0.2 exports with an `MPI_` or `MPIX_` name and a twin for tools.
const MORE: [&str; 53] = [
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
    "MPIX_GPU_query_support",
    "MPIX_Query_cuda_support",
    "MPIX_Query_hip_support",
    // Of Open MPI; here it comes with the table of both faces.
    "MPIX_Query_rocm_support",
    "MPIX_Query_ze_support",
    "MPI_Address",
    "MPI_Comm_c2f",
    "MPI_Comm_f2c",
    "MPI_Errhandler_c2f",
    "MPI_Errhandler_create",
    "MPI_Errhandler_f2c",
    "MPI_Errhandler_get",
    "MPI_Errhandler_set",
    "MPI_File_c2f",
    "MPI_File_f2c",
    "MPI_Group_c2f",
    "MPI_Group_f2c",
    "MPI_Info_c2f",
    "MPI_Info_f2c",
    "MPI_Message_c2f",
    "MPI_Message_f2c",
    "MPI_Op_c2f",
    "MPI_Op_f2c",
    "MPI_Request_c2f",
    "MPI_Request_f2c",
    "MPI_Session_c2f",
    "MPI_Session_f2c",
    "MPI_Status_c2f",
    "MPI_Status_c2f08",
    "MPI_Status_f082c",
    "MPI_Status_f082f",
    "MPI_Status_f2c",
    "MPI_Status_f2f08",
    "MPI_Type_c2f",
    "MPI_Type_extent",
    "MPI_Type_f2c",
    "MPI_Type_hindexed",
    "MPI_Type_hvector",
    "MPI_Type_lb",
    "MPI_Type_struct",
    "MPI_Type_ub",
    "MPI_Win_c2f",
    "MPI_Win_f2c",
];

/// Variables, and the one function that stands for a constant.
const VARIABLES: [&str; 8] = [
    "MPIR_Dup_fn",
    "MPI_F08_STATUSES_IGNORE",
    "MPI_F08_STATUS_IGNORE",
    "MPI_F_STATUSES_IGNORE",
    "MPI_F_STATUS_IGNORE",
    "MPI_T_PVAR_ALL_HANDLES",
    "MPI_UNWEIGHTED",
    "MPI_WEIGHTS_EMPTY",
];

/// A tool's output about the staged library: Cargo does not build this crate for its tests, since
/// it is a shared library only.
fn output(command: &str, arguments: &[&str]) -> String {
    let stage = std::env::var_os("VERBENA_STAGE")
        .map_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../target/stage").into(), PathBuf::from);
    let library = stage.join("lib/libmpi.so.12");
    let output = Command::new(command).args(arguments).arg(library).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn exactly_what_programs_of_the_abi_need_is_exported() {
    let names = STANDARD.lines().chain(MORE).flat_map(|name| [name.to_string(), format!("P{name}")]);
    let expected: BTreeSet<String> = names.chain(VARIABLES.map(String::from)).collect();
    let table = output("nm", &["--dynamic", "--defined-only"]);
    let exported: BTreeSet<String> =
        table.lines().filter_map(|line| line.split_whitespace().last()).map(String::from).collect();
    let missing: Vec<_> = expected.difference(&exported).collect();
    let surplus: Vec<_> = exported.difference(&expected).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing: {missing:?}, surplus: {surplus:?}");
}

#[test]
fn the_soname_is_that_of_the_abi_and_the_standard_face_is_not_linked() {
    let dynamic = output("readelf", &["--dynamic", "--wide"]);
    assert!(dynamic.contains("[libmpi.so.12]"), "{dynamic}");
    // Both export the same names: if linked, one would get the calls of the other.
    assert!(!dynamic.contains("libmpi_abi"), "{dynamic}");
}
