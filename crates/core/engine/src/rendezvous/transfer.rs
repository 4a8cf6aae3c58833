//! A transfer of memory that a channel does in the background, as it is noted meanwhile.

use super::Piece;
use crate::slab::Id;

/// The transfer that a token given to a channel stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransferNote {
    pub request: Id,
    pub piece: Piece,
    /// A write by the sender; else a read by the receiver.
    pub put: bool,
    pub channel: usize,
}
