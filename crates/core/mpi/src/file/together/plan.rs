//! The plan of a collective access, which all processes make alike: who accesses which part of the
//! file, and which processes move the bytes of all.

use crate::error::Result;
use crate::file::access::Access;
use crate::file::hints::Choice;
use crate::file::representation::Direction;
use verbena_storage::Extent;

/// The bytes of a run, on average, from which a process had better move its own: a call for each
/// costs less than to send the bytes to another process and to copy them there.
const LONG_RUN_BYTES: u64 = 64 << 10;

/// The bytes that processes access for each byte between them, from which the part of the file in
/// which they lie counts as filled.
const FILLED: u64 = 8;

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
    /// The widest gap between runs, in bytes, on average, with which others had better move them: 0
    /// on a local file system, where each process is as fast as one for all.
    pub cheap_gap: u64,
}

/// The words of a wish that travel.
pub(super) const WISH_WORDS: usize = 7;

impl Wish {
    /// The wish of a process that takes part without bytes.
    pub(super) const NOTHING: Wish = Wish {
        extent: Extent { start: 0, end: 0 },
        bytes: 0,
        run_bytes: 0,
        may_share: true,
        size: 0,
        cheap_gap: 0,
    };

    /// The words that travel.
    pub(super) fn words(&self) -> [u64; WISH_WORDS] {
        let Wish { extent, bytes, run_bytes, may_share, size, cheap_gap } = *self;
        [extent.start, extent.end, bytes, run_bytes, may_share.into(), size, cheap_gap]
    }

    /// The wish of these words.
    pub(super) fn of_words(words: &[u64]) -> Wish {
        Wish {
            extent: Extent { start: words[0], end: words[1].max(words[0]) },
            bytes: words[2],
            run_bytes: words[3],
            may_share: words[4] != 0,
            size: words[5],
            cheap_gap: words[6],
        }
    }

    fn is_solid(&self) -> bool {
        self.bytes == self.extent.end - self.extent.start
    }
}

/// Returns whether some processes had better move the bytes of all.
pub(super) fn is_shared(wishes: &[Wish], direction: Direction, choice: Choice) -> bool {
    let busy = || wishes.iter().filter(|wish| wish.bytes > 0);
    // A process that is alone has nobody to share with.
    if wishes.len() < 2 {
        return false;
    }
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

/// Returns whether the runs of all fill the part of the file in which they lie, but for a few
/// holes, or the gaps between them are short enough. If not, the process that moves those of all
/// makes as many calls as each for its own would, one after the other, and the bytes travel
/// besides.
fn are_dense<'a>(busy: impl Iterator<Item = &'a Wish> + Clone) -> bool {
    let start = busy.clone().map(|wish| wish.extent.start).min().unwrap_or(0);
    let end = busy.clone().map(|wish| wish.extent.end).max().unwrap_or(start);
    let (runs, bytes) = runs_and_bytes(busy.clone());
    let gap = busy.map(|wish| wish.cheap_gap).min().unwrap_or(0);
    let holes = (end - start).saturating_sub(bytes);
    holes <= (bytes / FILLED).max(runs.saturating_mul(gap))
}

/// The number of runs of all, about, and of their bytes.
fn runs_and_bytes<'a>(busy: impl Iterator<Item = &'a Wish> + Clone) -> (u64, u64) {
    let runs = busy.clone().map(|wish| wish.bytes.div_ceil(wish.run_bytes.max(1)));
    (runs.fold(0, u64::saturating_add), busy.map(|wish| wish.bytes).fold(0, u64::saturating_add))
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
    /// The parts of the file that some rank accesses, apart from each other and going up.
    busy: Vec<Extent>,
    /// True if most rounds there would be without bytes: the ranks had better tell each other
    /// before each one where their next bytes are.
    pub is_sparse: bool,
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
        let busy = joined(busy().collect());
        let (runs, bytes) = runs_and_bytes(wishes.iter());
        let reached = busy.iter().map(|part| part.end - part.start).sum::<u64>() / round_bytes;
        let is_sparse = reached / 2 > runs.saturating_add(bytes / round_bytes);
        Plan { extents, domains, round_bytes, border, busy, is_sparse }
    }

    /// The place from which a domain's rounds are counted: the border at or before its beginning.
    fn base(&self, domain: Extent) -> u64 {
        domain.start - domain.start % self.border
    }

    /// The place from which a domain's rounds from this number on go on.
    fn place_from(&self, domain: Extent, number: u64) -> Option<u64> {
        let from = self.base(domain).checked_add(self.round_bytes.checked_mul(number)?)?;
        Some(from.max(domain.start))
    }

    /// The first round from this number on in which some rank may have bytes in some domain, alike
    /// for all ranks; `None` if there is none.
    pub(super) fn round_from(&self, number: u64) -> Option<u64> {
        let first = |&(_, domain): &(usize, Extent)| {
            let from = self.place_from(domain, number)?;
            let met = self.busy[self.busy.partition_point(|part| part.end <= from)..].first()?;
            let at = met.start.max(from);
            (at < domain.end).then(|| self.round_of(domain, at))
        };
        self.domains.iter().filter_map(first).min()
    }

    /// The round of a place in a domain.
    fn round_of(&self, domain: Extent, at: u64) -> u64 {
        (at - self.base(domain)) / self.round_bytes
    }

    /// The first round from this number on in which an access has bytes in some domain; `None` if
    /// there is none. The bytes of its view go up.
    pub(super) fn round_of_bytes(&self, access: &Access, number: u64) -> Result<Option<u64>> {
        let (mut first, end) = (None, access.start + access.bytes as u64);
        for &(_, domain) in &self.domains {
            let Some(from) = self.place_from(domain, number) else { continue };
            let byte = access.view.before(from).max(access.start);
            if byte >= end {
                continue;
            }
            let at = access.view.place(byte)?;
            if at < domain.end {
                let round = self.round_of(domain, at);
                first = Some(first.map_or(round, |first: u64| first.min(round)));
            }
        }
        Ok(first)
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

/// Joins parts of the file that overlap or touch.
fn joined(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.sort_unstable_by_key(|extent| extent.start);
    extents.dedup_by(|behind, before| {
        let is_one = behind.start <= before.end;
        before.end = if is_one { before.end.max(behind.end) } else { before.end };
        is_one
    });
    extents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{Datatype, Form};
    use crate::file::representation::Data;
    use crate::file::view::View;
    use crate::generated::constants::MPI_INT;
    use std::sync::Arc;

    fn wish(start: u64, end: u64, bytes: u64, run_bytes: u64) -> Wish {
        Wish { extent: Extent { start, end }, bytes, run_bytes, may_share: true, size: 1000, cheap_gap: 4096 }
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
        // One byte in 8 KiB: each is a call, whoever makes it.
        let loose = [wish(0, 8 << 20, 1000, 1), wish(4096, (8 << 20) + 4096, 1000, 1)];
        for wishes in [apart, solid, long, sparse, loose] {
            assert!(!is_shared(&wishes, Choice::Automatic));
            assert!(is_shared(&wishes, Choice::Enable));
        }
        assert!(!is_shared(&mixed, Choice::Disable));
        let alone = Wish { may_share: false, ..mixed[0] };
        assert!(!is_shared(&[alone, mixed[1]], Choice::Enable));
        assert!(!is_shared(&[mixed[0]], Choice::Enable), "it is the only process");
        // Every other four bytes are nobody's, on a local file system.
        let local = |wish: Wish| Wish { cheap_gap: 0, ..wish };
        let hollow = [wish(0, 1200, 300, 4), wish(4, 1204, 300, 4)].map(local);
        assert!(!is_shared(&hollow, Choice::Automatic));
        assert!(is_shared(&mixed.map(local), Choice::Automatic), "it is nearly filled");
        let near = loose.map(|wish| Wish { cheap_gap: 64 << 10, ..wish });
        assert!(is_shared(&near, Choice::Automatic));
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
                for turn in rounds_of(&plan) {
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

    /// The numbers of all rounds.
    fn rounds_of(plan: &Plan) -> Vec<u64> {
        std::iter::successors(plan.round_from(0), |number| plan.round_from(number + 1)).collect()
    }

    #[test]
    fn rounds_in_which_nobody_has_bytes_are_left_out() {
        let far = [wish(10, 20, 10, 10), Wish::NOTHING, wish(1 << 50, (1 << 50) + 2000, 2000, 2000)];
        let plan = Plan::new(&far, &[0], 1024, 1024);
        let number = (1 << 50) / 1024;
        assert_eq!(rounds_of(&plan), [0, number, number + 1]);
        assert!(!plan.is_sparse);
        assert_eq!(plan.stretch(0, number).unwrap().start, 1 << 50);
        // Of two domains, the second is busy at its end only.
        let plan = Plan::new(&far, &[0, 1], 1024, 1024);
        assert_eq!(rounds_of(&plan).len(), 3);
        assert!(rounds_of(&Plan::new(&[Wish::NOTHING; 2], &[0], 1024, 1024)).is_empty());
        let near = [wish(0, 3000, 1, 1), wish(1000, 5000, 1, 1), wish(5000, 5001, 1, 1)];
        assert_eq!(rounds_of(&Plan::new(&near, &[1], 1024, 1024)), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_rank_tells_where_its_next_bytes_are_if_most_rounds_have_none() {
        let datatype = |at| Datatype::predefined(at).unwrap();
        let comb = Arc::new(Datatype::resized(Form::Large, 0, 1 << 30, datatype(MPI_INT)).unwrap());
        let view = View::new(100, datatype(MPI_INT), &comb, b"native", true).unwrap();
        let access = Access {
            direction: Direction::Write,
            view,
            start: 4,
            bytes: 16,
            asked: 16,
            data: Data::nothing(),
        };
        let place = |number: u64| 100 + (number << 30);
        let wishes = [wish(place(1), place(4) + 4, 16, 4), wish(place(2), place(4), 16, 4)];
        for aggregators in [&[0][..], &[0, 1], &[0, 1, 2]] {
            let plan = Plan::new(&wishes, aggregators, 1 << 20, 1 << 20);
            assert!(plan.is_sparse);
            let next = |number| plan.round_of_bytes(&access, number).unwrap();
            let mut rounds: Vec<u64> = (1..=4)
                .map(|i| {
                    let holds = |domain: &Extent| (domain.start..domain.end).contains(&place(i));
                    let (_, domain) = *plan.domains.iter().find(|(_, domain)| holds(domain)).unwrap();
                    plan.round_of(domain, place(i))
                })
                .collect();
            rounds.sort_unstable();
            rounds.dedup();
            let found = std::iter::successors(next(0), |number| next(number + 1));
            assert_eq!(found.collect::<Vec<_>>(), rounds);
        }
        // Long runs: a round may be empty here and there.
        let long = wishes.map(|wish| Wish { bytes: 1 << 30, run_bytes: 1 << 20, ..wish });
        assert!(!Plan::new(&long, &[0], 1 << 20, 1 << 20).is_sparse);
    }

    #[test]
    fn a_wish_travels() {
        let own = wish(3, 99, 40, 8);
        assert_eq!(Wish::of_words(&own.words()), own);
        let damaged = Wish::of_words(&[50, 10, 0, 0, 0, 0, 0]);
        assert_eq!(damaged.extent, Extent { start: 50, end: 50 });
    }
}
