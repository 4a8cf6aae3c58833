//! The operands of a reduction.

use super::plan::Plan;
use verbena_memory::elements::Elements;

/// A reduction's operands and result.
#[derive(Clone, Copy)]
pub struct Operands<'a> {
    /// This rank's operand; `None` for `MPI_IN_PLACE` (the operand is in `recv`).
    pub send: Option<Elements<'a>>,
    /// The place of the result; `None` where it is not significant.
    pub recv: Option<Elements<'a>>,
    /// Number of elements.
    pub count: usize,
    /// True if the operation is commutative.
    pub commutative: bool,
}

impl<'a> Operands<'a> {
    /// The place of this rank's operand.
    pub(crate) fn input(&self) -> Elements<'a> {
        self.send.or(self.recv).expect("a rank has an operand")
    }

    /// The place of the result, on a rank that has one.
    pub(crate) fn output(&self) -> Elements<'a> {
        self.recv.expect("a receive buffer is significant on every rank")
    }

    pub(crate) fn bytes(&self) -> usize {
        self.input().bytes(self.count)
    }

    /// Copies a single operand, which is the result.
    pub(super) fn copy_alone(&self, plan: &mut Plan) {
        if let (Some(send), Some(recv)) = (self.send, self.recv) {
            plan.copy(send.buffer(0, self.count), recv.buffer(0, self.count));
        }
    }
}
