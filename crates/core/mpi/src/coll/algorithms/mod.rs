//! The algorithms, one module for each collective. Each function fills the schedule of one rank;
//! all ranks call the same function with arguments that match, so that their messages do.
//!
//! `send` and `recv` name the program's buffers. If both are the same memory (`MPI_IN_PLACE`), an
//! algorithm must not write what it still has to read.

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
pub mod by_posts;
mod fold;
pub mod gather;
pub mod inter;
pub mod neighbor;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod scatter;
mod tree;

/// The `i`-th of `parts` nearly equal parts of `count` things: the first one, and how many.
pub(crate) fn part(count: usize, parts: usize, i: usize) -> (usize, usize) {
    let (quotient, remainder) = (count / parts, count % parts);
    (i * quotient + i.min(remainder), quotient + usize::from(i < remainder))
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts_cover_everything_once() {
        for (count, parts) in [(0, 3), (2, 3), (10, 3), (7, 7), (100, 9)] {
            let mut next = 0;
            for i in 0..parts {
                let (first, len) = part(count, parts, i);
                assert_eq!(first, next);
                next += len;
            }
            assert_eq!(next, count);
        }
    }
}
