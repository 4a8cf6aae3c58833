//! Words of every width, changed by one thread and by several.

use super::*;
use crate::Owned;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use verbena_testing::meetings::{THREADS, at_once};

const WIDTHS: [usize; 4] = [1, 2, 4, 8];
fn ones(width: usize) -> u64 {
    u64::MAX >> (64 - 8 * width)
}

#[test]
fn each_width_changes_its_own_bytes_only() {
    for width in WIDTHS {
        let owned = Owned::from(&[0xff; 24][..]);
        let region = owned.lend();
        assert_eq!(region.peek(8, width), ones(width));
        assert_eq!(region.fetch_add(8, width, 2), ones(width));
        assert_eq!(region.swap(8, width, 0x0102_0304_0506_0708), 1);
        let now = 0x0102_0304_0506_0708 & ones(width);
        assert_eq!(region.compare_exchange(8, width, now + 1, 5), Err(now));
        assert_eq!(region.compare_exchange(8, width, now, 5), Ok(now));
        assert_eq!(region.update(8, width, |word| word * 3), 5);
        assert_eq!(region.fetch(Native::Xor, 8, width, 1), 15);
        assert_eq!(region.fetch(Native::Or, 8, width, 0x20), 14);
        assert_eq!(region.fetch(Native::And, 8, width, 0x28), 0x2e);
        let mut bytes = [0xff; 24];
        bytes[8..8 + width].copy_from_slice(&0x28u64.to_le_bytes()[..width]);
        assert_eq!(region.to_vec(), bytes, "width {width}");
    }
}

#[test]
fn words_that_are_not_aligned_or_out_of_range_are_refused() {
    let owned = Owned::zeroed(16);
    let region = owned.lend();
    for (offset, width) in [(4, 8), (1, 2), (2, 4), (16, 1), (9, 8), (0, 3), (0, 16)] {
        let refused = std::panic::catch_unwind(|| region.fetch_add(offset, width, 1)).is_err();
        assert!(refused, "{width} bytes at {offset}");
    }
    assert!(region.is_aligned(8, 8) && !region.is_aligned(4, 8) && region.part(4, 4).is_aligned(4, 8));
    let odd = region.part(2, 8);
    let sum = |a: u64, b: u64| a + b;
    assert!(std::panic::catch_unwind(|| fold(region, odd, None, sum)).is_err());
    assert!(std::panic::catch_unwind(|| fold(odd, region, None, sum)).is_err(), "too short");
    let wide = |a: u128, _| a;
    assert!(std::panic::catch_unwind(|| fold(region, region, None, wide)).is_err());
}

#[test]
fn no_change_of_a_word_is_lost() {
    let owned = Owned::zeroed(64);
    let region = owned.lend();
    let calls = at_once(|_| {
        region.fetch_add(0, 8, 1);
        region.update(8, 4, |word| word + 1);
        while region.compare_exchange(16, 8, 0, 1).is_err() {
            std::thread::yield_now();
        }
        // The word is a lock: these two are one change.
        region.store::<u64>(24, region.load::<u64>(24) + 1);
        region.word_store(16, 0);
    });
    assert_eq!((region.word_load(0), region.peek(8, 4), region.word_load(24)), (calls, calls, calls));
}

#[test]
fn no_change_of_a_loop_is_lost() {
    const FLOATS: usize = 32;
    let (target, floats) = (Owned::zeroed(8 * FLOATS + 32), Owned::zeroed(8 * FLOATS + 1));
    (0..FLOATS).for_each(|i| floats.lend().store(1 + 8 * i, 1.0f64));
    let integers = Owned::from(&[1; 33][..]);
    let (sums, counts) = (target.lend().part(0, 8 * FLOATS), target.lend().part(8 * FLOATS, 32));
    let calls = at_once(|_| {
        fold(floats.lend().part(1, 8 * FLOATS), sums, None, |a: f64, b: f64| a + b);
        apply(Native::Add, 4, integers.lend().part(1, 32), counts, None);
    });
    assert_eq!((0..FLOATS).find(|i| sums.load::<f64>(8 * i) != calls as f64), None, "{calls} calls");
    assert!((0..8).all(|i| counts.load::<u32>(4 * i) == 0x0101_0101u32.wrapping_mul(calls as u32)));
}

/// Words of several widths at one place are no memory model's, but every processor's; Miri refuses
/// them.
#[test]
#[cfg(not(miri))]
fn wide_words_lose_no_change_of_a_narrow_one() {
    let (target, ones) = (Owned::zeroed(64), Owned::from(&[1; 64][..]));
    let (all, ones) = (target.lend(), ones.lend());
    let calls = at_once(|_| {
        apply(Native::Add, 1, ones, all, None);
        (1..64).step_by(8).for_each(|at| _ = all.fetch_add(at, 1, 1));
        fold(ones.part(0, 60), all.part(4, 60), None, |a: u8, b: u8| a.wrapping_add(b));
    });
    let changes = |at: usize| calls * (1 + u64::from(at % 8 == 1) + u64::from(at >= 4));
    let expected: Vec<u8> = (0..64).map(|at| changes(at) as u8).collect();
    assert_eq!(all.to_vec(), expected, "{calls} calls");
}

/// Integers of each width, at every place that it allows, beside a sum of one after another.
#[test]
fn several_integers_of_a_word_change_as_each_alone() {
    let pattern: Vec<u8> = (0..64u8).map(|i| i.wrapping_mul(0x9d) ^ 0xa5).collect();
    let natives = [Native::Add, Native::And, Native::Or, Native::Xor];
    for (width, first, len) in WIDTHS.into_iter().flat_map(|width| {
        (0..16).step_by(width).flat_map(move |f| (0..40).step_by(width).map(move |l| (width, f, l)))
    }) {
        for native in natives {
            let [target, alone] = [(); 2].map(|()| Owned::from(&pattern[..]));
            let (input, former) = (Owned::from(&pattern[7..]), Owned::zeroed(64));
            let keep = former.lend().part(3, len);
            apply(native, width, input.lend().part(1, len), target.lend().part(first, len), Some(keep));
            assert_eq!(keep.to_vec(), pattern[first..first + len]);
            for at in (0..len).step_by(width) {
                let mut value = [0; 8];
                value[..width].copy_from_slice(&pattern[8 + at..8 + at + width]);
                alone.lend().fetch(native, first + at, width, u64::from_le_bytes(value));
            }
            assert_eq!(
                target.lend().to_vec(),
                alone.lend().to_vec(),
                "{native:?}: {len} at {first} by {width}"
            );
        }
    }
}

#[test]
fn several_values_of_a_word_are_combined_each_with_its_like() {
    let floats =
        |first: u8| (first..first + 16).flat_map(|i| f32::from(i).to_le_bytes()).collect::<Vec<u8>>();
    for (first, count) in (0..4).flat_map(|first| (0..8).map(move |count| (first, count))) {
        let (target, input, former) =
            (Owned::from(&floats(0)[..]), Owned::from(&floats(50)[..]), Owned::zeroed(64));
        let (inout, keep) = (target.lend().part(4 * first, 4 * count), former.lend().part(1, 4 * count));
        fold(input.lend().part(0, 4 * count), inout, Some(keep), |a: f32, b: f32| 100.0 * a + b);
        for i in 0..16 {
            let is_changed = (first..first + count).contains(&i);
            let added = if is_changed { 100.0 * (50 + i - first) as f32 } else { 0.0 };
            assert_eq!(target.lend().load::<f32>(4 * i), i as f32 + added, "{count} at {first}");
        }
        assert!((0..count).all(|i| keep.load::<f32>(4 * i) == (first + i) as f32));
    }
}

#[test]
fn every_value_is_somebodys_former_one() {
    let owned = Owned::zeroed(8);
    let one = Owned::from(&1u64.to_le_bytes()[..]);
    let formers = [(); THREADS].map(|()| Owned::zeroed(8));
    let seen = [(); THREADS].map(|()| Mutex::new(Vec::new()));
    let calls = at_once(|thread| {
        let former = formers[thread].lend();
        fold(one.lend(), owned.lend(), Some(former), |a: u64, b: u64| a + b);
        seen[thread].lock().unwrap().push(former.load::<u64>(0));
    });
    let mut all: Vec<u64> = seen.into_iter().flat_map(|mine| mine.into_inner().unwrap()).collect();
    all.sort_unstable();
    assert_eq!((0..calls).find(|&i| all[i as usize] != i), None, "{calls} calls");
}

/// Bytes at any alignment of the operands, and at every one that the width allows.
#[test]
fn replacing_and_loading_move_the_bytes_of_the_range() {
    let pattern: Vec<u8> = (0..64).collect();
    for (width, first, len) in
        WIDTHS.into_iter().flat_map(|w| (0..16).flat_map(move |f| (0..40).map(move |l| (w, f, l))))
    {
        if first % width != 0 || len % width != 0 {
            continue;
        }
        let (target, input) = (Owned::from(&[0xee; 64][..]), Owned::from(&pattern[..]));
        let former = Owned::zeroed(64);
        let (inout, keep) = (target.lend().part(first, len), former.lend().part(3, len));
        replace(width, input.lend().part(1, len), inout, Some(keep));
        assert_eq!(keep.to_vec(), vec![0xee; len]);
        load(width, inout, keep);
        assert_eq!(keep.to_vec(), pattern[1..1 + len]);
        replace(width, input.lend().part(5, len), inout, None);
        let mut expected = [0xee; 64];
        expected[first..first + len].copy_from_slice(&pattern[5..5 + len]);
        assert_eq!(target.lend().to_vec(), expected, "{len} bytes at {first} by {width}");
        assert!(former.lend().to_vec()[3 + len..].iter().all(|&byte| byte == 0));
    }
}

#[test]
fn no_word_is_seen_in_part() {
    const BYTES: usize = 128;
    let owned = Owned::zeroed(BYTES);
    let values = [0, 1, 2, 3].map(|thread| Owned::from(&[thread; BYTES + 1][..]));
    let rooms = [(); THREADS].map(|()| Owned::zeroed(BYTES));
    let is_torn = AtomicBool::new(false);
    at_once(|thread| {
        let (mine, seen) = (values[thread].lend().part(1, BYTES), rooms[thread].lend());
        replace(8, mine, owned.lend(), None);
        load(8, owned.lend(), seen);
        let torn = |word: [u8; 8]| word != [word[0]; 8];
        if (0..BYTES).step_by(8).any(|at| torn(seen.load(at))) {
            is_torn.store(true, Ordering::Relaxed);
        }
    });
    assert!(!is_torn.into_inner());
}

#[test]
fn integers_in_one_word_are_added_each_by_itself() {
    for (width, skew, len) in [(1, 0, 64), (1, 3, 61), (2, 2, 62), (2, 6, 10), (4, 4, 60), (8, 0, 64)] {
        let bytes = |seed: usize| (0..64).map(|i| (i * i * 37 + seed * 101) as u8).collect::<Vec<u8>>();
        let (input, inout, former) =
            (Owned::from(&bytes(1)[..]), Owned::from(&bytes(2)[..]), Owned::zeroed(64));
        let (given, changed, was) = (input.lend(), inout.lend().part(skew, len), former.lend());
        let before = changed.to_vec();
        apply(Native::Add, width, given, changed, Some(was));
        for at in (0..len).step_by(width) {
            let number = |bytes: &[u8]| {
                let mut wide = [0; 8];
                wide[..width].copy_from_slice(&bytes[at..at + width]);
                u64::from_le_bytes(wide)
            };
            let sum = number(&before).wrapping_add(number(&bytes(1))) & ones(width);
            assert_eq!(number(&changed.to_vec()), sum, "width {width} at {at}");
        }
        assert_eq!(was.to_vec()[..len], before);
        assert_eq!(inout.lend().to_vec()[..skew], bytes(2)[..skew]);
        let sums = changed.to_vec();
        apply(Native::Xor, width, given, changed, None);
        let exclusive: Vec<u8> = sums.iter().zip(bytes(1)).map(|(sum, given)| sum ^ given).collect();
        assert_eq!(changed.to_vec(), exclusive);
        apply(Native::Xor, width, given, changed, Some(was));
        assert_eq!((changed.to_vec(), &was.to_vec()[..len]), (sums, &exclusive[..]));
    }
}
