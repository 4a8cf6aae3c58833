//! The number of fragments that may be under way. It grows by one for each acknowledged one until
//! the first loss, then by one for each window. A loss halves it, once for all losses of a window;
//! a wait without result sets it to one (RFC 5681). A floor keeps losses that are no congestion
//! from slowing everything down.

use super::{Rules, distance};

/// The window.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    size: u32,
    /// The size beyond which it grows slowly.
    threshold: u32,
    /// The fragments acknowledged since it last grew slowly.
    counted: u32,
    /// Losses of fragments before this number belong to one that was answered already.
    answered_upto: u32,
}

impl Window {
    /// Begins before the first fragment.
    pub fn new(rules: &Rules) -> Window {
        Window { size: rules.window_start, threshold: rules.window_max, counted: 0, answered_upto: 0 }
    }

    /// Returns how many fragments may be under way.
    #[inline]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Takes in that `count` fragments were acknowledged while the window was what held the sender
    /// back.
    pub fn acknowledged(&mut self, rules: &Rules, count: u32) {
        if self.size < self.threshold {
            self.size += count;
        } else {
            self.counted += count;
            self.size += self.counted / self.size;
            self.counted %= self.size;
        }
        self.size = self.size.min(rules.window_max);
    }

    /// Takes in that this fragment was lost; the next new one has the number `next`.
    pub fn lost(&mut self, rules: &Rules, number: u32, next: u32) {
        if distance(self.answered_upto, number) < 0 {
            return;
        }
        self.answered_upto = next;
        self.size = (self.size / 2).max(rules.window_min);
        self.threshold = self.size;
        self.counted = 0;
    }

    /// Takes in that a wait was without result.
    pub fn timed_out(&mut self, rules: &Rules, next: u32) {
        self.threshold = (self.size / 2).max(rules.window_min);
        self.answered_upto = next;
        self.size = 1;
        self.counted = 0;
    }
}
