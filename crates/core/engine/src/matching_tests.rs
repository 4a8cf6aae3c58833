//! Matching alone: order, wildcards, and that a deep queue costs no quadratic time.

use super::*;
use crate::queue::Queue;

const DEEP: i32 = 100_000;

fn key(source: i32, tag: i32) -> MatchKey {
    MatchKey { context: 5, source, tag }
}

fn posted(keys: impl IntoIterator<Item = MatchKey>) -> Queue<usize, true> {
    let mut queue = Queue::new();
    keys.into_iter().enumerate().for_each(|(i, key)| {
        queue.push(key, i);
    });
    queue
}

fn messages(keys: impl IntoIterator<Item = MatchKey>) -> Queue<usize, false> {
    let mut queue = Queue::new();
    keys.into_iter().enumerate().for_each(|(i, key)| {
        queue.push(key, i);
    });
    queue
}

/// Drains `queue` with these questions; returns what was found and the steps of filling and
/// draining.
fn drain<const P: bool>(
    mut queue: Queue<usize, P>,
    asked: impl Iterator<Item = MatchKey>,
) -> (Vec<usize>, u64) {
    let found = asked
        .map(|key| {
            let node = queue.find(&key).expect("a match");
            queue.remove(node)
        })
        .collect();
    (found, queue.steps())
}

fn assert_linear(steps: u64) {
    assert!(steps <= 15 * DEEP as u64, "{steps} steps for {DEEP} entries");
}

#[test]
fn deep_posted_exact_in_order_and_reversed() {
    let (found, steps) = drain(posted((0..DEEP).map(|t| key(1, t))), (0..DEEP).map(|t| key(1, t)));
    assert!(found.iter().copied().eq(0..DEEP as usize));
    assert_linear(steps);
    let (found, steps) = drain(posted((0..DEEP).map(|t| key(1, t))), (0..DEEP).rev().map(|t| key(1, t)));
    assert!(found.iter().copied().eq((0..DEEP as usize).rev()));
    assert_linear(steps);
}

#[test]
fn deep_unexpected_exact_in_order_and_reversed() {
    let (found, steps) = drain(messages((0..DEEP).map(|t| key(1, t))), (0..DEEP).map(|t| key(1, t)));
    assert!(found.iter().copied().eq(0..DEEP as usize));
    assert_linear(steps);
    let (found, steps) = drain(messages((0..DEEP).map(|t| key(1, t))), (0..DEEP).rev().map(|t| key(1, t)));
    assert!(found.iter().copied().eq((0..DEEP as usize).rev()));
    assert_linear(steps);
}

#[test]
fn deep_posted_with_wildcards_mixed_in() {
    let patterns = (0..DEEP).map(|t| match t % 4 {
        0 => key(1, t),
        1 => key(ANY_SOURCE, t),
        2 => key(1, ANY_TAG),
        _ => key(ANY_SOURCE, ANY_TAG),
    });
    // Every message matches all the wildcards of both tags: they must go in posting order.
    let (found, steps) = drain(posted(patterns), (0..DEEP / 2).map(|_| key(1, -77)));
    assert!(found.iter().copied().eq((0..DEEP as usize).filter(|i| i % 4 >= 2)));
    assert_linear(steps);
}

#[test]
fn deep_unexpected_asked_with_wildcards() {
    let arrived = || messages((0..DEEP).map(|i| key(i % 10, i / 10 % 10)));
    let (found, steps) = drain(arrived(), (0..DEEP).map(|_| key(ANY_SOURCE, ANY_TAG)));
    assert!(found.iter().copied().eq(0..DEEP as usize));
    assert_linear(steps);
    let (found, steps) = drain(arrived(), (0..DEEP / 10).map(|_| key(ANY_SOURCE, 7)));
    assert!(found.iter().copied().eq((0..DEEP as usize).filter(|i| i / 10 % 10 == 7)));
    assert_linear(steps);
    let (found, steps) = drain(arrived(), (0..DEEP / 10).map(|_| key(9, ANY_TAG)));
    assert!(found.iter().copied().eq((0..DEEP as usize).filter(|i| i % 10 == 9)));
    assert_linear(steps);
}

#[test]
fn deep_posted_cancelled_in_any_order() {
    let mut queue: Queue<usize, true> = Queue::new();
    let mut nodes: Vec<_> = (0..DEEP).map(|t| queue.push(key(1, t), t as usize)).collect();
    nodes.sort_by_key(|n| n.wrapping_mul(0x9e37_79b9));
    nodes.into_iter().for_each(|node| {
        queue.remove(node);
    });
    assert_eq!(queue.len(), 0);
    assert_linear(queue.steps());
}

#[test]
fn the_first_entry_costs_one_step() {
    let mut queue = posted((0..1000).map(|t| key(1, t)));
    let before = queue.steps();
    assert!(queue.find(&key(1, 0)).is_some());
    assert_eq!(queue.steps() - before, 1);
}

#[test]
fn a_context_separates() {
    let mut queue = posted([MatchKey { context: 1, source: ANY_SOURCE, tag: ANY_TAG }]);
    assert_eq!(queue.find(&MatchKey { context: 2, source: 0, tag: 0 }), None);
    assert!(queue.find(&MatchKey { context: 1, source: 0, tag: 0 }).is_some());
}

/// A plain list searched from its beginning: what the standard says, without any cleverness.
struct Plain<const PATTERNS: bool>(Vec<(MatchKey, usize)>);

impl<const PATTERNS: bool> Plain<PATTERNS> {
    fn take(&mut self, asked: &MatchKey) -> Option<usize> {
        let at =
            self.0.iter().position(|(k, _)| if PATTERNS { k.accepts(asked) } else { asked.accepts(k) })?;
        Some(self.0.remove(at).1)
    }
}

fn agree_with_a_plain_list<const PATTERNS: bool>(seed: u64) {
    let mut random = seed;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % below
    };
    let mut queue: Queue<usize, PATTERNS> = Queue::new();
    let mut plain = Plain::<PATTERNS>(Vec::new());
    for i in 0..4000 {
        let (mut pattern, message) =
            (key(next(3) as i32, next(3) as i32), key(next(3) as i32, next(3) as i32));
        pattern = pattern.masked(next(4) as usize);
        let (entry, asked) = if PATTERNS { (pattern, message) } else { (message, pattern) };
        // Phases of growth and of shrinking, so that the index comes and goes.
        if next(10) < if i / 400 % 2 == 0 { 7 } else { 3 } {
            queue.push(entry, i);
            plain.0.push((entry, i));
        } else {
            let found = queue.find(&asked).map(|node| queue.remove(node));
            assert_eq!(found, plain.take(&asked), "seed {seed}, step {i}");
        }
        assert_eq!(queue.len(), plain.0.len());
    }
}

#[test]
fn order_is_that_of_a_plain_list() {
    for seed in 0..40 {
        agree_with_a_plain_list::<true>(seed);
        agree_with_a_plain_list::<false>(seed);
    }
}

#[test]
fn find_exact_looks_at_values_too() {
    for extra in [0, 100] {
        let mut queue = messages((0..3).map(|_| key(1, 1)).chain((0..extra).map(|t| key(2, t))));
        let node = queue.find_exact(&key(1, 1), |value| *value == 2).expect("there");
        assert_eq!(queue.remove(node), 2);
        assert_eq!(queue.find_exact(&key(1, 1), |value| *value == 2), None);
    }
}
