//! What goes wrong with partitions, in words.

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
pub(super) fn different_lengths(sent: u64, room: u64) -> Error {
    let class = if sent > room { mpi::MPI_ERR_TRUNCATE } else { mpi::MPI_ERR_COUNT };
    Error::new(
        class,
        "the two sides of a partitioned message differ in length, so nothing was received",
        format!("{sent} bytes are sent, {room} expected"),
        "partitions times count times the size of the datatype is not the same on both sides, or initialisations with the same tag were made in different order",
        "give both sides the same total; only its division into partitions may differ",
    )
}
