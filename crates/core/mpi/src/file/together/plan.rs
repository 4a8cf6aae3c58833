//! The plan of a collective access, which all processes make alike: who accesses which part of the
//! file, and which processes move the bytes of all.

use crate::file::hints::Choice;
use crate::file::representation::Direction;
use verbena_storage::Extent;

/// The bytes of a run, on average, from which a process had better move its own: a call for each
/// costs less than to send the bytes to another process and to copy them there.
const LONG_RUN_BYTES: u64 = 64 << 10;

/// The bytes of the file for each run, on average, from which the runs lie too far apart for rounds
/// over all that is between them.
const SPARSE_BYTES: u64 = 1 << 20;

/// The bytes of a block of most file systems, and of a page of most machines: what begins and ends
/// within one is read before it is written.
const BLOCK_BYTES: u64 = 4096;

/// The words that a process tells of its part of a collective access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    /// The part of the file in which its bytes lie; empty if there are none.
    pub extent: Extent,
    /// Number of bytes.
    pub bytes: u64,
    /// Bytes of a run on average.
    pub run_bytes: u64,
    /// False if it must move its own bytes: its view shows a byte twice, or the file is atomic.
    pub may_share: bool,
    /// The size of the file, as it sees it.
    pub size: u64,
}

/// The words of a wish that travel.
pub(super) const WISH_WORDS: usize = 6;

impl Wish {
    /// The wish of a process that takes part without bytes.
    pub(super) const NOTHING: Wish =
        Wish { extent: Extent { start: 0, end: 0 }, bytes: 0, run_bytes: 0, may_share: true, size: 0 };

    /// The words that travel.
    pub(super) fn words(&self) -> [u64; WISH_WORDS] {
        let Wish { extent, bytes, run_bytes, may_share, size } = *self;
        [extent.start, extent.end, bytes, run_bytes, may_share.into(), size]
    }

    /// The wish of these words.
    pub(super) fn of_words(words: &[u64]) -> Wish {
        Wish {
            extent: Extent { start: words[0], end: words[1].max(words[0]) },
            bytes: words[2],
            run_bytes: words[3],
            may_share: words[4] != 0,
            size: words[5],
        }
    }

    fn is_solid(&self) -> bool {
        self.bytes == self.extent.end - self.extent.start
    }
}

/// Returns whether some processes had better move the bytes of all.
pub(super) fn is_shared(wishes: &[Wish], direction: Direction, choice: Choice) -> bool {
    let busy = || wishes.iter().filter(|wish| wish.bytes > 0);
    if choice == Choice::Disable || busy().any(|wish| !wish.may_share) || busy().next().is_none() {
        return false;
    }
    // A file that tells no size is none that could be read elsewhere than at its beginning.
    if direction == Direction::Read && wishes.iter().all(|wish| wish.size == 0) {
        return false;
    }
    if choice == Choice::Enable {
        return true;
    }
    if busy().all(Wish::is_solid) {
        return false;
    }
    are_mixed(busy().map(|wish| wish.extent))
        && busy().any(|wish| wish.run_bytes < LONG_RUN_BYTES)
        && are_dense(busy())
}

/// Returns whether the runs of all fill enough of the part of the file in which they lie.
fn are_dense<'a>(busy: impl Iterator<Item = &'a Wish> + Clone) -> bool {
    let start = busy.clone().map(|wish| wish.extent.start).min().unwrap_or(0);
    let end = busy.clone().map(|wish| wish.extent.end).max().unwrap_or(start);
    let runs = busy.map(|wish| wish.bytes.div_ceil(wish.run_bytes.max(1))).fold(0, u64::saturating_add);
    end - start <= runs.saturating_mul(SPARSE_BYTES)
}

/// Returns whether parts of the file overlap.
fn are_mixed(extents: impl Iterator<Item = Extent>) -> bool {
    let mut extents: Vec<Extent> = extents.collect();
    extents.sort_unstable_by_key(|extent| extent.start);
    extents.windows(2).any(|pair| pair[1].start < pair[0].end)
}

/// The way in which some processes move the bytes of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The part of the file of each rank.
    pub extents: Vec<Extent>,
    /// The ranks that move bytes, each with its domain: the part of the file that it alone moves.
    pub domains: Vec<(usize, Extent)>,
    /// Bytes of a domain that are moved in a round, the first one perhaps less: the others begin at
    /// borders. A multiple of `border`.
    pub round_bytes: u64,
    /// Rounds begin at multiples of this many bytes.
    border: u64,
}

impl Plan {
    /// Divides the part of the file that is accessed among the first of these ranks, as many as
    /// there is work for; borders lie at multiples of `align` bytes. A round moves at most
    /// `round_bytes`: less if it would not end at such a border, or, where it is shorter than what
    /// lies between two, at the border of a block.
    pub(super) fn new(wishes: &[Wish], aggregators: &[usize], align: u64, round_bytes: u64) -> Plan {
        let (align, most) = (align.max(1), round_bytes.max(1));
        let border = [align, BLOCK_BYTES].into_iter().find(|&border| border <= most).unwrap_or(1);
        let round_bytes = most - most % border;
        let extents: Vec<Extent> = wishes.iter().map(|wish| wish.extent).collect();
        let busy = || wishes.iter().filter(|wish| wish.bytes > 0).map(|wish| wish.extent);
        let start = busy().map(|extent| extent.start).min().unwrap_or(0);
        let end = busy().map(|extent| extent.end).max().unwrap_or(start);
        let share = ((end - start).div_ceil(aggregators.len().max(1) as u64)).max(1);
        let (mut domains, mut at) = (Vec::new(), start);
        for &rank in aggregators {
            if at < end {
                let fair = at.saturating_add(share);
                let domain_end = fair.checked_next_multiple_of(align).unwrap_or(u64::MAX).min(end);
                domains.push((rank, Extent { start: at, end: domain_end }));
                at = domain_end;
            }
        }
        Plan { extents, domains, round_bytes, border }
    }

    /// The place from which a domain's rounds are counted: the border at or before its beginning.
    fn base(&self, domain: Extent) -> u64 {
        domain.start - domain.start % self.border
    }

    /// Number of rounds, alike for all ranks.
    pub(super) fn rounds(&self) -> u64 {
        let rounds =
            |(_, domain): &(usize, Extent)| (domain.end - self.base(*domain)).div_ceil(self.round_bytes);
        self.domains.iter().map(rounds).max().unwrap_or(0)
    }

    /// The stretch of the file that an aggregator moves in a round; `None` if its domain is done.
    pub(super) fn stretch(&self, aggregator: usize, round: u64) -> Option<Extent> {
        let (_, domain) = self.domains[aggregator];
        let start = self.base(domain).checked_add(self.round_bytes.checked_mul(round)?)?;
        let end = start.saturating_add(self.round_bytes).min(domain.end);
        (start < domain.end).then(|| Extent { start: start.max(domain.start), end })
    }

    /// Returns whether a rank may have bytes in a stretch.
    pub(super) fn meets(&self, rank: usize, stretch: Extent) -> bool {
        let own = self.extents[rank];
        own.start < stretch.end && stretch.start < own.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(start: u64, end: u64, bytes: u64, run_bytes: u64) -> Wish {
        Wish { extent: Extent { start, end }, bytes, run_bytes, may_share: true, size: 1000 }
    }

    #[test]
    fn short_runs_that_are_mixed_are_moved_together_and_others_alone() {
        let mixed = [wish(0, 1000, 500, 10), wish(10, 1010, 500, 10)];
        let apart = [wish(0, 1000, 500, 10), wish(1000, 2000, 500, 10)];
        let solid = [wish(0, 1000, 1000, 1000), wish(500, 1500, 1000, 1000)];
        let long = [wish(0, 1 << 30, 1 << 29, 1 << 20), wish(1 << 20, 1 << 30, 1 << 29, 1 << 20)];
        let is_shared = |wishes: &[Wish], choice| super::is_shared(wishes, Direction::Write, choice);
        assert!(is_shared(&mixed, Choice::Automatic));
        let sparse = [wish(0, 4 << 40, 16, 8), wish(8, (4 << 40) + 8, 16, 8)];
        for wishes in [apart, solid, long, sparse] {
            assert!(!is_shared(&wishes, Choice::Automatic));
            assert!(is_shared(&wishes, Choice::Enable));
        }
        assert!(!is_shared(&mixed, Choice::Disable));
        let alone = Wish { may_share: false, ..mixed[0] };
        assert!(!is_shared(&[alone, mixed[1]], Choice::Enable));
        assert!(!is_shared(&[Wish::NOTHING; 3], Choice::Enable));
        let empty = mixed.map(|wish| Wish { size: 0, ..wish });
        assert!(!super::is_shared(&empty, Direction::Read, Choice::Enable));
    }

    #[test]
    fn domains_cover_what_is_accessed_each_byte_once_and_rounds_do_so_too() {
        for (start, end, aggregators, align, round, border) in [
            (0, 1000, 3, 64, 100, 64),
            (7, 8, 5, 64, 10, 1),
            (100, 100_000, 7, 4096, 8192, 4096),
            (5, 500, 1, 1, 1, 1),
            (63, 900, 2, 64, 64, 64),
            // Longer than a stripe and no multiple of it; shorter than one; than a block.
            (5000, 10_000_000, 2, 1 << 20, (1 << 20) + 5000, 1 << 20),
            (5000, 3_000_000, 2, 1 << 20, 100_000, 4096),
            (5000, 30_000, 3, 10_000, 9000, 4096),
            (5000, 30_000, 2, 10_000, 4000, 1),
        ] {
            let wishes = [wish(start, end, 1, 1), Wish::NOTHING];
            let ranks: Vec<usize> = (0..aggregators).collect();
            let plan = Plan::new(&wishes, &ranks, align, round);
            let mut at = start;
            for (i, (_, domain)) in plan.domains.iter().enumerate() {
                assert_eq!(domain.start, at);
                for turn in 0..plan.rounds() {
                    let Some(stretch) = plan.stretch(i, turn) else { continue };
                    assert_eq!(stretch.start, at);
                    assert!(stretch.end - stretch.start <= round && plan.meets(0, stretch));
                    assert!(stretch.start == domain.start || stretch.start % border == 0);
                    assert!(stretch.start == start || stretch.start != domain.start || at % align == 0);
                    assert!(!plan.meets(1, stretch));
                    at = stretch.end;
                }
                assert_eq!(domain.end, at);
            }
            assert_eq!(at, end);
        }
    }

    #[test]
    fn a_wish_travels() {
        let own = wish(3, 99, 40, 8);
        assert_eq!(Wish::of_words(&own.words()), own);
        let damaged = Wish::of_words(&[50, 10, 0, 0, 0, 0]);
        assert_eq!(damaged.extent, Extent { start: 50, end: 50 });
    }
}
