//! The errors of members whose calls or lengths do not match.

use crate::coll::call::{Members, mismatch};
use crate::coll::tags::{numbered, tag_of_blocking};
use crate::error::Error;
use crate::generated::constants::{MPI_ERR_COUNT, MPI_ERR_OTHER, MPI_ERR_TRUNCATE};
use verbena_channel::board::{ANY_BYTES, Board, Clash};
use verbena_channel::mark::Mark;

/// The error of another member that is in another collective than this one, which waits long in it,
/// or goes another way through it.
#[cold]
pub fn sign(board: &dyn Board) -> Option<Error> {
    board.clash().or_else(|| board.sign_of_other_way()).map(|clash| differing(board, &clash))
}

/// A member that has left the open collective although this one awaited it at its last look. If it
/// still does at the next one, what it waits for will never come ([`differing_ways`]).
#[cold]
pub fn left_behind(board: &dyn Board, awaits: impl Fn(usize) -> bool) -> Option<usize> {
    (0..board.ranks()).find(|&rank| board.has_left(rank) && awaits(rank))
}

/// The error of two members whose calls or lengths do not match, or of whom one gave up.
#[cold]
pub(crate) fn differing(board: &dyn Board, clash: &Clash) -> Error {
    let tag = tag_of_blocking(clash.number);
    if clash.mine.is_unlike(clash.theirs) {
        let members = Members { me: board.me(), ranks: board.ranks(), is_first_group: None };
        let other = format!("rank {}", clash.rank);
        return mismatch(&members, &other, [clash.mine, clash.theirs], &numbered(tag));
    }
    // A member that goes another way may tell its length elsewhere.
    let clashes = [Some(*clash), board.clash()].into_iter().flatten();
    let mut known =
        clashes.filter(|clash| clash.bytes[0] != clash.bytes[1] && !clash.bytes.contains(&ANY_BYTES));
    match known.next() {
        Some(Clash { rank, bytes: [own, theirs], .. }) => {
            lengths(rank, theirs, own, &format!("here; {}", numbered(tag)))
        }
        None => other_way(clash.rank, &numbered(tag)),
    }
}

/// The error of a member that goes another way than `rank`, or was left by it.
#[cold]
pub fn differing_ways(board: &dyn Board, rank: usize) -> Error {
    let [mine, theirs] = [Mark::NONE; 2];
    differing(board, &Clash { number: board.number(), rank, mine, theirs, bytes: [ANY_BYTES; 2] })
}

/// The error of a record that has not the length that it should.
#[cold]
pub(super) fn of_other_length(rank: usize, sent: usize, expected: usize) -> Error {
    lengths(rank, sent as u64, expected as u64, "here")
}

/// The error of a rank that reduces in other pieces: of the same lengths, so their settings differ.
/// `theirs` and `own` say how long they are, or how many at once.
#[cold]
pub(super) fn of_other_pieces(rank: usize, theirs: u64, own: u64) -> Error {
    Error::new(
        MPI_ERR_OTHER,
        "the ranks of a communicator have different settings for a reduction",
        format!("pieces of {theirs} at rank {rank} of the communicator, of {own} here"),
        "a setting VERBENA_COLL_*_PIECE_BYTES_* is not the same for all ranks",
        "give the settings to mpiexec, which passes them to all ranks",
    )
}

/// The error of a rank that gave `theirs` bytes, where this one has `own`.
#[cold]
pub(crate) fn lengths(rank: usize, theirs: u64, own: u64, which: &str) -> Error {
    Error::new(
        if theirs > own { MPI_ERR_TRUNCATE } else { MPI_ERR_COUNT },
        "the ranks of a communicator gave different lengths to a collective",
        format!("{theirs} bytes from rank {rank} of the communicator, {own} {which}"),
        "counts or datatypes of the ranks do not match",
        "give counts and datatypes of the same total size on all ranks",
    )
}

/// The error of a sender of a message in a collective in which this rank, which has `own` bytes,
/// expects none.
#[cold]
pub(super) fn sent_elsewise(sender: &str, bytes: u64, own: u64, which: &str) -> Error {
    Error::new(
        MPI_ERR_OTHER,
        "the ranks of a communicator gave different lengths to a collective",
        format!(
            "{sender} sent a message of {bytes} bytes, this rank, with {own} bytes, goes through shared memory; {which}"
        ),
        "counts or datatypes of the ranks do not match",
        "give counts and datatypes of the same total size on all ranks",
    )
}

/// The error of a rank that went another way through a collective, or left it, without having said
/// how its call differs.
#[cold]
pub(crate) fn other_way(rank: usize, which: &str) -> Error {
    Error::new(
        MPI_ERR_OTHER,
        "the ranks of a communicator do not agree about a collective",
        format!(
            "rank {rank} of the communicator went another way through it than this rank, or gave it up; {which}"
        ),
        "counts, datatypes or other arguments of the ranks do not match",
        "give arguments that match on all ranks, as the message of that rank says",
    )
}
