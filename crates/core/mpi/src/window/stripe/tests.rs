//! The stripes under loom, and what they cover.

use super::*;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::thread;
use verbena_memory::Owned;

/// The words of the first three stripes.
struct Model(Vec<AtomicU64>);

impl Words for Arc<Model> {
    fn take(&self, stripe: usize, holder: u64) -> u64 {
        self.0[stripe].compare_exchange(0, holder, AcqRel, Acquire).err().unwrap_or(0)
    }

    fn free(&self, stripe: usize) {
        self.0[stripe].store(0, Release);
    }

    fn holder(&self, stripe: usize) -> u64 {
        thread::yield_now();
        self.0[stripe].load(Acquire)
    }

    fn inherit(&self, stripe: usize, dead: u64, holder: u64) -> bool {
        self.0[stripe].compare_exchange(dead, holder, AcqRel, Acquire).is_ok()
    }
}

/// A value of two words for each stripe. Loom lets a thread see old ones if the stripes do not
/// order them.
type Values = Arc<Vec<[AtomicU64; 2]>>;

/// Bytes of a granule.
const GRANULE_BYTES: u64 = 256;

fn extent(position: u64, bytes: u64) -> Extent {
    Extent { position, bytes, granule_bytes: GRANULE_BYTES }
}

fn mask(position: u64, bytes: u64) -> u32 {
    extent(position, bytes).mask()
}

/// Adds one to the values that lie in these bytes.
fn add(stripes: &Stripes<'_, Arc<Model>>, values: &Values, address: u64, bytes: u64) {
    let _held = stripes.hold(extent(address, bytes));
    for granule in address / GRANULE_BYTES..(address + bytes).div_ceil(GRANULE_BYTES) {
        let [low, high] = &values[granule as usize];
        let number = low.load(Relaxed);
        assert_eq!(high.load(Relaxed), number);
        low.store(number + 1, Relaxed);
        high.store(number + 1, Relaxed);
    }
}

fn check(ranges: &'static [(u64, u64)], sums: &'static [u64]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let words = Arc::new(Model((0..sums.len()).map(|_| AtomicU64::new(0)).collect()));
        let values: Values =
            Arc::new((0..sums.len()).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect());
        let work = |me: usize| {
            let (words, values) = (words.clone(), values.clone());
            let (address, bytes) = ranges[me];
            move || add(&Stripes::new(words, me as u32, &yield_core), &values, address, bytes)
        };
        let others: Vec<_> = (1..ranges.len()).map(|me| thread::spawn(work(me))).collect();
        work(0)();
        others.into_iter().for_each(|other| other.join().unwrap());
        let found: Vec<u64> = values.iter().map(|value| value[1].load(Relaxed)).collect();
        assert_eq!(found, sums);
        assert!(words.0.iter().all(|word| word.load(Relaxed) == 0), "all are free again");
    });
}

#[test]
fn loom_holders_of_a_stripe_exclude_each_other() {
    check(&[(0, 16), (8, 16)], &[2]);
}

#[test]
fn loom_holders_of_several_stripes_do_not_wait_for_each_other_for_ever() {
    check(&[(0, 512), (255, 2)], &[2, 2]);
    check(&[(0, 300), (300, 400), (600, 8)], &[1, 2, 2]);
}

#[test]
fn bytes_have_the_stripes_of_their_granules() {
    assert_eq!(mask(0, 1), 1);
    assert_eq!(mask(0, 0), 1);
    assert_eq!(mask(255, 1), 1);
    assert_eq!(mask(255, 2), 0b11);
    assert_eq!(mask(4096 * 77 + 15 * 256, 256), 1 << 15);
    assert_eq!(mask(4096 * 77 + 15 * 256, 257), 1 << 15 | 1);
    assert_eq!(mask(512, 15 * 256), 0xffff & !0b10);
    assert_eq!(mask(512, 15 * 256 + 1), 0xffff);
    assert_eq!(mask(7, 1 << 40), 0xffff);
    assert_eq!(mask(u64::MAX - 1, 100), 1 << 15);
    let wide = |position, bytes| Extent { position, bytes, granule_bytes: 4096 }.mask();
    assert_eq!((wide(4095, 1), wide(4095, 2), wide(17 * 4096, 4096)), (1, 0b11, 0b10));
}

#[test]
fn a_waiter_yields_to_the_holder_that_it_names() {
    let owned = Owned::zeroed(STRIPES_BYTES);
    let words = owned.lend();
    let stripes = Stripes::new(words, 7, &yield_core);
    let held = stripes.hold(extent(0, 8));
    assert_eq!(words.holder(0), 8);
    let asked = std::sync::atomic::AtomicU32::new(0);
    let pause = |holder: u32| {
        assert_eq!(holder, 7);
        asked.fetch_add(1, Relaxed);
        words.free(0);
        false
    };
    drop(Stripes::new(words, 3, &pause).hold(extent(0, 8)));
    assert_eq!(asked.into_inner(), 1);
    drop(held);
}

/// A way to wait long: the second stripe is given back meanwhile.
struct Long<'a> {
    words: Region,
    asked: &'a std::sync::atomic::AtomicU32,
}

impl Pause for Long<'_> {
    fn pause(&self, _: u32) -> bool {
        false
    }

    fn outlast(&self, holder: u32, is_over: &dyn Fn() -> bool) {
        assert_eq!((holder, is_over()), (7, false));
        assert_eq!((self.words.holder(0), self.words.holder(1)), (0, 8), "the waiter holds none");
        self.asked.fetch_add(1, Relaxed);
        self.words.free(1);
        assert!(is_over());
    }
}

#[test]
fn whoever_waits_long_for_a_stripe_holds_none() {
    let owned = Owned::zeroed(STRIPES_BYTES);
    let words = owned.lend();
    std::mem::forget(Stripes::new(words, 7, &yield_core).hold(extent(256, 8)));
    let asked = std::sync::atomic::AtomicU32::new(0);
    let long = Long { words, asked: &asked };
    let stripes = Stripes::new(words, 3, &long);
    let held = stripes.hold(extent(0, 512));
    assert_eq!([0, 1, 2].map(|stripe| words.holder(stripe)), [4, 4, 0]);
    drop(held);
    assert_eq!(asked.load(Relaxed), 1);
}

#[test]
fn the_stripe_of_a_dead_holder_goes_to_the_next_one() {
    let owned = Owned::zeroed(STRIPES_BYTES);
    let words = owned.lend();
    let dead = Stripes::new(words, 7, &yield_core);
    std::mem::forget(dead.hold(extent(0, 8)));
    let is_dead = |holder: u32| holder == 7;
    let next = Stripes::new(words, 3, &is_dead);
    let held = next.hold(extent(0, 8));
    assert_eq!(words.holder(0), 4);
    drop(held);
    assert_eq!(words.holder(0), 0);
}

#[test]
fn stripes_are_kept_for_pieces_that_have_the_same_and_given_back_before_others_are_taken() {
    let owned = Owned::zeroed(STRIPES_BYTES);
    let words = owned.lend();
    let stripes = Stripes::new(words, 7, &yield_core);
    let held = || (0..STRIPES).filter(|&stripe| words.holder(stripe) != 0).collect::<Vec<_>>();
    let mut holding = Holding::new(&stripes);
    for (position, bytes, expected) in [(0, 8, &[0][..]), (16, 8, &[0]), (250, 8, &[0, 1]), (256, 8, &[1])] {
        holding.cover(extent(position, bytes));
        assert_eq!(held(), expected);
    }
    (0..3 * PIECES_MAX).for_each(|_| holding.cover(extent(256, 8)));
    assert_eq!(held(), [1]);
    holding.release();
    assert!(held().is_empty());
    holding.cover(extent(0, 1 << 20));
    assert_eq!(held().len(), STRIPES);
    drop(holding);
    assert!(held().is_empty());
}
