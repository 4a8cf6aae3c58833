//! Exchanges that carry failures: a process that cannot take part in making a communicator says so
//! instead of leaving the others waiting for it.
//!
//! A contribution on the wire is an error class, 0 for none, followed by the bytes. The process
//! that failed reports its own error; all others report that somebody failed, with the same class.

use super::words::garbled;
use super::{Comm, Exchange};
use crate::error::{Class, Error, Result};

/// Writes a contribution, or why there is none, for the wire.
pub(super) fn said(mine: &Result<Vec<u8>>) -> Vec<u8> {
    match mine {
        Ok(bytes) => [&0_i32.to_le_bytes(), &bytes[..]].concat(),
        Err(error) => error.class.to_le_bytes().to_vec(),
    }
}

/// Reads what another process [`said`]; its rank is told if it is known.
pub(super) fn heard(rank: Option<usize>, bytes: &[u8]) -> Result<Vec<u8>> {
    let (class, rest) = bytes.split_first_chunk::<4>().ok_or_else(|| garbled(bytes.len()))?;
    match Class::from_le_bytes(*class) {
        0 => Ok(rest.to_vec()),
        class => Err(other_failed(rank, class)),
    }
}

impl Comm {
    /// Gathers everybody's contribution in rank order (in the [inner](Comm::inner) communicator),
    /// or an error on all ranks if one of them gave one.
    pub(crate) fn gather(&self, mine: Result<Vec<u8>>, exchange: &dyn Exchange) -> Result<Vec<Vec<u8>>> {
        let table = exchange.allgather(self.inner(), &said(&mine))?;
        mine?;
        table.iter().enumerate().map(|(rank, bytes)| heard(Some(rank), bytes)).collect()
    }
}

#[cold]
fn other_failed(rank: Option<usize>, class: Class) -> Error {
    let which = rank.map_or("a rank".to_string(), |rank| format!("rank {rank}"));
    Error::new(
        class,
        "another process could not take part in making a communicator",
        format!("{which} of the communicator that all make the call on"),
        "that process passed a wrong argument; its own error says which",
        "correct what the error on the other process names",
    )
}
