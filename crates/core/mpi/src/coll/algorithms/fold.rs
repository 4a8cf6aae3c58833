//! Folds any number of ranks into a power of two: of the first ranks, each odd one speaks for two.

use crate::coll::plan::Plan;
use verbena_memory::elements::Elements;

/// The power of two of ranks that an algorithm runs on, in rank order.
#[derive(Clone, Copy)]
pub struct Fold {
    /// Largest power of two that is not above the number of ranks.
    pub size: usize,
    /// The number of pairs among the first ranks in which only the odd one takes part.
    pairs: usize,
}

impl Fold {
    /// The fold of `size` ranks.
    pub fn new(size: usize) -> Fold {
        let power = 1 << size.ilog2();
        Fold { size: power, pairs: size - power }
    }

    /// The number among those that take part; `None` for a rank for which another speaks.
    pub fn number(&self, rank: usize) -> Option<usize> {
        match rank {
            _ if rank >= 2 * self.pairs => Some(rank - self.pairs),
            _ if !rank.is_multiple_of(2) => Some(rank / 2),
            _ => None,
        }
    }

    /// The rank with this number among those that take part.
    pub fn rank(&self, number: usize) -> usize {
        if number < self.pairs { 2 * number + 1 } else { number + self.pairs }
    }

    /// The ranks that number `number` speaks for: the first one, and how many.
    pub fn members(&self, number: usize) -> (usize, usize) {
        if number < self.pairs { (2 * number, 2) } else { (number + self.pairs, 1) }
    }

    /// The rank that this one speaks for besides itself.
    pub fn ward(&self, rank: usize) -> Option<usize> {
        (rank < 2 * self.pairs && rank % 2 == 1).then(|| rank - 1)
    }

    /// The rank that speaks for this one.
    pub fn guardian(&self, rank: usize) -> Option<usize> {
        (rank < 2 * self.pairs && rank.is_multiple_of(2)).then_some(rank + 1)
    }

    /// Reduces the operands of a pair at the odd rank, into `out`. Returns the place of this rank's
    /// operand afterwards.
    pub fn reduce_pairs<'e>(
        &self,
        plan: &mut Plan,
        send: Elements<'e>,
        out: Elements<'e>,
        count: usize,
    ) -> Elements<'e> {
        let rank = plan.rank();
        if let Some(guardian) = self.guardian(rank) {
            plan.send(guardian, send.buffer(0, count));
        } else if let Some(ward) = self.ward(rank) {
            let other = plan.temporary_elements(send.layout(), count);
            plan.receive(ward, other.buffer(0, count));
            plan.fence();
            plan.combine(other, send, out, count);
            return out;
        }
        send
    }

    /// Gives the result to those that did not take part.
    pub fn hand_back(&self, plan: &mut Plan, result: Elements<'_>, count: usize) {
        let rank = plan.rank();
        if let Some(ward) = self.ward(rank) {
            plan.send(ward, result.buffer(0, count));
        } else if let Some(guardian) = self.guardian(rank) {
            plan.fence();
            plan.receive(guardian, result.buffer(0, count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fold;

    #[test]
    fn numbers_and_ranks_agree() {
        for size in 1..40 {
            let fold = Fold::new(size);
            let mut next = 0;
            for number in 0..fold.size {
                assert_eq!(fold.number(fold.rank(number)), Some(number));
                let (first, members) = fold.members(number);
                assert_eq!(first, next);
                assert_eq!(fold.rank(number), first + members - 1);
                next += members;
            }
            assert_eq!(next, size);
            assert!((0..size).all(|r| fold.number(r).is_none() == fold.guardian(r).is_some()));
        }
    }
}
