//! The times of the last few series.

/// The number of series of each way that are remembered.
pub const REMEMBERED: usize = 3;

/// The times of the last few series, for each of their messages, the newest last; 0 where there was
/// none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recent([u64; REMEMBERED]);

impl Recent {
    /// Adds a series that has ended; each of its messages took `ns`.
    pub fn add(&mut self, ns: u64) {
        self.0.rotate_left(1);
        // Never 0, which means that nothing is known.
        self.0[REMEMBERED - 1] = ns.max(1);
    }

    /// Returns the lowest; the highest number if there was no series yet.
    pub(super) fn lowest(&self) -> u64 {
        self.0.into_iter().filter(|ns| *ns > 0).min().unwrap_or(u64::MAX)
    }

    /// Returns the highest; 0 if there was no series yet.
    pub(super) fn highest(&self) -> u64 {
        self.0.into_iter().max().unwrap_or(0)
    }

    /// Returns how many series are remembered.
    pub(super) fn count(&self) -> usize {
        self.0.iter().filter(|ns| **ns > 0).count()
    }

    /// Returns the median, so that a single stall does not decide; `None` if there was no series
    /// yet.
    pub fn middle(&self) -> Option<u64> {
        let mut known = self.0;
        known.sort_unstable();
        let known = &known[known.iter().position(|ns| *ns > 0)?..];
        Some(known[(known.len() - 1) / 2])
    }
}
