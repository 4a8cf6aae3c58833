//! Errors of partitioned communication, in words.

use crate::error::Error;
use crate::generated::constants as mpi;

#[cold]
pub(super) fn no_partition(partition: i32, count: usize) -> Error {
    let range = match count {
        0 => "the request has no partitions: do not name any".to_string(),
        _ => format!("give a number from 0 to {}", count - 1),
    };
    Error::new(
        mpi::MPI_ERR_ARG,
        format!("there is no partition {partition}"),
        format!("a request of {count} partitions"),
        "the number is out of range, or the partition is one of the other side's, which may have another number of them",
        range,
    )
}

#[cold]
pub(super) fn ready_already(partition: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "a partition was made ready twice",
        format!("partition {partition} of an active send"),
        "two threads or two loops mark the same partition, or a list names it twice",
        "mark each partition once between MPI_Start and the completion of the request",
    )
}

#[cold]
pub(super) fn wrong_side(what: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_REQUEST,
        what,
        "a partitioned request",
        "the requests of the two directions were mixed up",
        "MPI_Pready is for requests of MPI_Psend_init, MPI_Parrived for those of MPI_Precv_init",
    )
}

#[cold]
pub(super) fn too_long(sent: usize, room: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_TRUNCATE,
        "a partitioned message is longer than its receive, so nothing was received",
        format!("{sent} bytes are sent, there is room for {room}"),
        "partitions times count times the size of the datatype is less here than at the sender, or initialisations with the same tag were made in different order",
        "give both sides the same total; only its division into partitions may differ",
    )
}

#[cold]
pub(super) fn garbled() -> Error {
    Error::new(
        mpi::MPI_ERR_INTERN,
        "the other side of a partitioned message says what makes no sense",
        "its number of partitions and bytes",
        "the ranks use different versions of the library, or memory was overwritten",
        "let all ranks use one installation; if they do, report this",
    )
}
