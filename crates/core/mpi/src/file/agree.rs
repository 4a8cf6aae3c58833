//! Agreement: all processes of a file hear how each one fared, and fail together.

use super::fault;
use crate::comm::words::{garbled, pack, unpack_all};
use crate::comm::{Comm, Exchange};
use crate::error::{Class, Result};
use crate::generated::constants as mpi;
use std::path::Path;

/// Tells all processes how each one fared, with a word each. Returns the words in rank order if it
/// went well everywhere.
pub(super) fn agree<T>(
    comm: &Comm,
    path: &Path,
    own: Result<T>,
    word: u64,
    exchange: &dyn Exchange,
) -> Result<(T, Vec<u64>)> {
    let (own, told) = agree_words(comm, path, own, &[word], exchange)?;
    Ok((own, told.iter().map(|words| words[0]).collect()))
}

/// Like [`agree`] with several words, as many in each process.
pub(super) fn agree_words<T>(
    comm: &Comm,
    path: &Path,
    own: Result<T>,
    words: &[u64],
    exchange: &dyn Exchange,
) -> Result<(T, Vec<Vec<u64>>)> {
    let class = own.as_ref().err().map_or(mpi::MPI_SUCCESS, |error| error.class);
    let mine = [&[u64::from(class as u32)][..], words].concat();
    comm.check_usable()?;
    let told = exchange.allgather(comm, &pack(&mine))?;
    let own = own?;
    let mut all = Vec::with_capacity(told.len());
    for (rank, bytes) in told.iter().enumerate() {
        let mut theirs = unpack_all(bytes)?;
        if theirs.len() != mine.len() {
            return Err(garbled(bytes.len()));
        }
        match theirs.remove(0) as Class {
            mpi::MPI_SUCCESS => all.push(theirs),
            class => return Err(fault::elsewhere(rank, class, path)),
        }
    }
    Ok((own, all))
}
