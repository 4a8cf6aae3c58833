//! The order of an origin's operations where they go different ways: puts and gets by the origin's
//! device overtake messages, so none is begun while an operation is under way that nothing may
//! overtake. The standard promises order of accumulates only (MPI-5.0, 12.7.2); programs take more
//! for granted.

use super::request::Action;
use std::collections::BTreeMap;

/// The last operation on each target that nothing may overtake, if it may be under way.
#[derive(Default)]
pub(super) struct Order(BTreeMap<i32, Last>);

struct Last {
    /// The number of operations that the origin began before it.
    begun: u64,
    /// Set if it is done once its answer is there; else a flush tells.
    is_answered: bool,
}

impl Order {
    /// Notes that an operation was begun, after this many others.
    pub(super) fn begun(&mut self, target: i32, begun: u64, action: &Action, is_answered: bool) {
        let before = self.0.get(&target);
        let last = match action {
            Action::Accumulate { .. }
            | Action::GetAccumulate { .. }
            | Action::CompareAndSwap(_)
            | Action::Lock(_) => {
                Last { begun, is_answered: is_answered && before.is_none_or(|last| last.is_answered) }
            }
            // Everything before it is done when it is answered.
            Action::Flush | Action::Unlock if before.is_some() => Last { begun, is_answered: true },
            Action::Flush | Action::Unlock | Action::Put(_) | Action::Get(_) | Action::Show => return,
        };
        self.0.insert(target, last);
    }

    /// Returns whether such an operation may be under way at the target, where `first` is the
    /// number of the first that is not over at the origin.
    pub(super) fn must_be_followed(&mut self, target: i32, first: Option<u64>) -> bool {
        let Some(last) = self.0.get(&target) else { return false };
        let is_under_way = !last.is_answered || first.is_some_and(|first| first <= last.begun);
        if !is_under_way {
            self.0.remove(&target);
        }
        is_under_way
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::Elements;
    use super::*;
    use crate::window::lock;

    const ELEMENTS: Elements =
        Elements { displacement: 0, count: 1, bytes: 8, piece: 0, is_within: true, kept: 0, datatype: &[] };

    #[test]
    fn an_accumulate_is_followed_until_a_flush_is_answered() {
        let mut order = Order::default();
        order.begun(1, 0, &Action::Put(ELEMENTS), false);
        assert!(!order.must_be_followed(1, None));
        order.begun(1, 1, &Action::Accumulate { op: 2, elements: ELEMENTS }, false);
        assert!(order.must_be_followed(1, None) && !order.must_be_followed(2, None));
        order.begun(1, 2, &Action::Flush, true);
        assert!(order.must_be_followed(1, Some(2)));
        assert!(!order.must_be_followed(1, Some(3)) && !order.must_be_followed(1, Some(2)));
    }

    #[test]
    fn what_is_answered_is_followed_until_then() {
        let mut order = Order::default();
        order.begun(1, 5, &Action::Lock(lock::Kind::Writer), true);
        assert!(order.must_be_followed(1, Some(4)) && order.must_be_followed(1, Some(5)));
        order.begun(1, 6, &Action::CompareAndSwap(ELEMENTS), true);
        assert!(order.must_be_followed(1, Some(6)) && !order.must_be_followed(1, Some(7)));
    }

    #[test]
    fn an_answer_does_not_hide_what_has_none() {
        let mut order = Order::default();
        order.begun(1, 0, &Action::Accumulate { op: 2, elements: ELEMENTS }, false);
        order.begun(1, 1, &Action::GetAccumulate { op: 2, elements: ELEMENTS }, true);
        assert!(order.must_be_followed(1, None));
    }
}
