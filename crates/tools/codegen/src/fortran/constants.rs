//! The constants that Fortran has, and their values there (MPI-5.0, 2.5.4 and appendix A.1).

use crate::table::{Constant, Group, Table};

/// Kinds, positions in a status and other numbers that only Fortran has; `true` and `false` are
/// LOGICALs.
pub(super) const KINDS: [(&str, i64); 8] = [
    ("MPI_INTEGER_KIND", 4),
    ("MPI_ADDRESS_KIND", 8),
    ("MPI_COUNT_KIND", 8),
    ("MPI_OFFSET_KIND", 8),
    ("MPI_STATUS_SIZE", 8),
    ("MPI_SOURCE", 1),
    ("MPI_TAG", 2),
    ("MPI_ERROR", 3),
];

/// Variables that are known by address: name, common block, declaration in `mpif.h` and `mpi` (its
/// type and the text after its name), type in `mpi_f08` where that differs.
pub(super) const BLOCKS: [(&str, &str, &str, &str, Option<&str>); 10] = [
    ("MPI_BOTTOM", "verbena_bottom", "INTEGER", "", None),
    ("MPI_IN_PLACE", "verbena_in_place", "INTEGER", "", None),
    ("MPI_BUFFER_AUTOMATIC", "verbena_automatic", "INTEGER", "", None),
    ("MPI_STATUS_IGNORE", "verbena_status_ignore", "INTEGER", "(8)", Some("TYPE(MPI_Status)")),
    ("MPI_STATUSES_IGNORE", "verbena_statuses_ignore", "INTEGER", "(8,1)", Some("TYPE(MPI_Status)")),
    ("MPI_ERRCODES_IGNORE", "verbena_errcodes_ignore", "INTEGER", "(1)", None),
    ("MPI_UNWEIGHTED", "verbena_unweighted", "INTEGER", "(1)", None),
    ("MPI_WEIGHTS_EMPTY", "verbena_weights_empty", "INTEGER", "(1)", None),
    ("MPI_ARGV_NULL", "verbena_argv_null", "CHARACTER", "(1)", None),
    ("MPI_ARGVS_NULL", "verbena_argvs_null", "CHARACTER", "(1,1)", None),
];

/// Predefined procedures for attributes: the last three of MPI-1 are not in `mpi_f08`.
pub(super) const PROCEDURES: [&str; 14] = [
    "MPI_COMM_NULL_COPY_FN",
    "MPI_COMM_DUP_FN",
    "MPI_COMM_NULL_DELETE_FN",
    "MPI_TYPE_NULL_COPY_FN",
    "MPI_TYPE_DUP_FN",
    "MPI_TYPE_NULL_DELETE_FN",
    "MPI_WIN_NULL_COPY_FN",
    "MPI_WIN_DUP_FN",
    "MPI_WIN_NULL_DELETE_FN",
    "MPI_NULL_COPY_FN",
    "MPI_DUP_FN",
    "MPI_NULL_DELETE_FN",
    "MPI_CONVERSION_FN_NULL",
    "MPI_CONVERSION_FN_NULL_C",
];

/// Integers that Fortran has, with their values there: no null byte ends a string, so lengths are
/// one less.
pub(super) fn integers(table: &Table) -> Vec<(&str, i64)> {
    let has = |group: &&Group| {
        group.name != "fortran" && !group.name.contains("tool") && !group.name.starts_with("MPI_T")
    };
    let all = table.integers.iter().filter(has).flat_map(|group| &group.constants);
    all.map(|c| (c.name.as_str(), c.value - i64::from(c.name.starts_with("MPI_MAX_")))).collect()
}

/// Predefined handles with their types.
pub(super) fn handles(table: &Table) -> impl Iterator<Item = (&str, &Constant)> {
    table.predefined.iter().flat_map(|group| group.constants.iter().map(|c| (group.name.as_str(), c)))
}

/// `MPI_DISPLACEMENT_CURRENT`.
pub(super) fn displacement_current(table: &Table) -> i64 {
    let offsets = table.pointers.iter().filter(|group| group.name == "MPI_Offset");
    offsets.flat_map(|group| &group.constants).map(|c| c.value).next().unwrap_or(-1)
}
