//! Collectives of files and windows, which are named by them.

use super::hangs;

/// Rank 0 misses a collective call on a file, and is in another one.
#[test]
fn a_collective_of_a_file_that_a_rank_misses() {
    hangs(
        3,
        "misses_write",
        &[
            "ranks 1, 2 wait in MPI_File_write_at_all (collective",
            "rank 0 waits in MPI_File_close (collective",
            "misses-write.data) for rank",
            "likely cause: rank",
            "are in different collectives (MPI_File_",
        ],
    );
}

/// Rank 1 misses a fence of a window that has a name.
#[test]
fn a_fence_that_a_rank_misses() {
    hangs(
        2,
        "misses_fence",
        &[
            "rank 0 waits in MPI_Win_fence (collective",
            "on window halo) for rank 1",
            "likely cause: rank 1 is not in MPI_Win_fence (collective",
            "it waits in MPI_Recv for a message from rank 0 with tag 77",
        ],
    );
}
