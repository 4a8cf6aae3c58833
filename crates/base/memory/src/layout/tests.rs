//! Layouts against a reference that spells out every byte.

use super::*;

/// A small generator (xorshift), so that a seed replays a failure.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides) as usize
    }
}

/// A layout and the displacement of each of its packed bytes.
struct Pair {
    layout: Layout,
    bytes: Vec<isize>,
}

fn leaf(dice: &mut Dice) -> Pair {
    let len = [1, 2, 3, 4, 8, 12, 16, 24, 40][dice.roll(9)];
    Pair { layout: Layout::contiguous(len), bytes: (0..len as isize).collect() }
}

fn extent(dice: &mut Dice) -> isize {
    dice.roll(120) as isize - 40
}

fn repeat(dice: &mut Dice, inner: Pair) -> Pair {
    let count = dice.roll(6);
    let extent = extent(dice);
    let step = [inner.layout.extent(), extent][dice.roll(2)];
    let bytes = (0..count as isize).flat_map(|i| inner.bytes.iter().map(move |b| b + i * step)).collect();
    Pair { layout: inner.layout.repeat(count, step, extent).unwrap(), bytes }
}

fn list(dice: &mut Dice, depth: usize) -> Pair {
    let (mut builder, mut bytes) = (Builder::default(), Vec::new());
    let shared = random(dice, depth);
    for _ in 0..dice.roll(12) {
        let own = if dice.roll(4) == 0 { Some(random(dice, depth)) } else { None };
        let inner = own.as_ref().unwrap_or(&shared);
        let (at, count) = (extent(dice) * 3, dice.roll(4));
        builder.add(at, count, &inner.layout).unwrap();
        for i in 0..count as isize {
            bytes.extend(inner.bytes.iter().map(|b| b + at + i * inner.layout.extent()));
        }
    }
    Pair { layout: builder.finish(extent(dice)).unwrap(), bytes }
}

fn random(dice: &mut Dice, depth: usize) -> Pair {
    match dice.roll(4) {
        _ if depth == 0 => leaf(dice),
        0 => leaf(dice),
        1 => list(dice, depth - 1),
        _ => {
            let inner = random(dice, depth - 1);
            repeat(dice, inner)
        }
    }
}

/// Displacements of all packed bytes of `count` elements.
fn places(pair: &Pair, count: usize) -> Vec<isize> {
    (0..count as isize).flat_map(|i| pair.bytes.iter().map(move |b| b + i * pair.layout.extent())).collect()
}

#[test]
fn random_layouts_agree_with_the_reference() {
    for seed in 1..3000u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let pair = random(&mut dice, 3);
        let count = dice.roll(4);
        let places = places(&pair, count);
        check_bounds(&pair, count, &places, seed);
        check_copies(&mut dice, &pair.layout, count, &places, seed);
    }
}

fn check_bounds(pair: &Pair, count: usize, places: &[isize], seed: u64) {
    assert_eq!(pair.layout.size(), pair.bytes.len(), "seed {seed}");
    let low = pair.bytes.iter().min().copied().unwrap_or(0);
    let high = pair.bytes.iter().max().map_or(0, |b| b + 1);
    assert_eq!(pair.layout.bounds(), (low, high), "seed {seed}");
    let span = (places.iter().min().copied().unwrap_or(0), places.iter().max().map_or(0, |b| b + 1));
    assert_eq!(pair.layout.span(count), Some(span), "seed {seed}");
    if let Some((at, len)) = pair.layout.contiguous_span(count) {
        assert_eq!(places, (at..at + len as isize).collect::<Vec<_>>(), "seed {seed}");
    }
}

fn check_copies(dice: &mut Dice, layout: &Layout, count: usize, places: &[isize], seed: u64) {
    let (low, high) = layout.span(count).unwrap();
    let mut memory: Vec<u8> = (0..high - low).map(|_| dice.roll(256) as u8).collect();
    let origin = memory.as_mut_ptr().wrapping_offset(-low);
    let at = |place: isize| (place - low) as usize;
    for _ in 0..4 {
        let offset = dice.roll(places.len() as u64 + 1);
        let len = dice.roll((places.len() - offset) as u64 + 1);
        let range = &places[offset..offset + len];
        let mut packed = vec![0; len];
        // SAFETY: `memory` covers the span of the layout.
        unsafe { layout.pack(origin, count, offset, Region::of(&mut packed)) };
        let expected: Vec<u8> = range.iter().map(|&p| memory[at(p)]).collect();
        assert_eq!(packed, expected, "seed {seed} offset {offset}");

        let mut data: Vec<u8> = (0..len).map(|_| dice.roll(256) as u8).collect();
        let mut expected = memory.clone();
        range.iter().zip(&data).for_each(|(&p, &d)| expected[at(p)] = d);
        // SAFETY: as above.
        unsafe { layout.unpack(origin, count, offset, Region::of(&mut data)) };
        assert_eq!(memory, expected, "seed {seed} offset {offset}");
    }
}

#[test]
fn a_vector_of_ten_million_blocks_is_one_node() {
    let vector = Layout::contiguous(8).repeat(10_000_000, 24, 240_000_000).unwrap();
    assert!(matches!(vector.tree.shape, tree::Shape::Strided { count: 10_000_000, stride: 24, len: 8, .. }));
    let plane = vector.repeat(100, 240_000_000, 8).unwrap();
    assert!(matches!(plane.tree.shape, tree::Shape::Strided { count: 1_000_000_000, .. }));
}

#[test]
fn regular_lists_become_strides_and_neighbours_join() {
    let double = Layout::contiguous(8);
    let mut builder = Builder::default();
    (0..1000).for_each(|i| builder.add(i * 32, 2, &double).unwrap());
    let layout = builder.finish(0).unwrap();
    assert!(matches!(layout.tree.shape, tree::Shape::Strided { count: 1000, stride: 32, len: 16, .. }));
    let joined = Layout::new(vec![(0, 4), (4, 4), (8, 1)], 16);
    assert_eq!(joined.contiguous_span(1), Some((0, 9)));
    assert_eq!(joined.contiguous_span(2), None);
}

#[test]
fn bounds_that_overflow_are_refused() {
    let byte = Layout::contiguous(1);
    assert!(byte.repeat(3, isize::MAX / 2 + 1, 1).is_none());
    assert!(Layout::contiguous(1 << 40).repeat(1 << 40, 1 << 40, 0).is_none());
    assert!(Builder::default().add(isize::MAX, 1, &byte).is_none());
    assert!(Layout::new(vec![(0, 1)], isize::MAX).span(3).is_none());
}

#[test]
fn fragments_of_a_long_list_are_found_by_search() {
    let blocks: Vec<(isize, usize)> = (0..200_000).map(|i| (i * 20, 4 + (i % 3) as usize * 4)).collect();
    let total: usize = blocks.iter().map(|b| b.1).sum();
    let layout = Layout::new(blocks, 4_000_000);
    let memory = vec![7u8; 4_000_012];
    let start = std::time::Instant::now();
    let mut out = [0; 64];
    for offset in (0..total - 64).step_by(64) {
        // SAFETY: `memory` covers the layout's bounds.
        unsafe { layout.pack(memory.as_ptr(), 1, offset, Region::of(&mut out)) };
    }
    assert!(start.elapsed().as_secs() < 5, "fragments are walked once, not from the start each time");
}

#[test]
fn elements_are_copied_without_the_gaps() {
    let layout = Arc::new(Layout::new(vec![(-4, 4), (4, 4)], 24));
    let (mut from, mut to) = ([1u8; 64], [0u8; 64]);
    // SAFETY: both arrays outlive the copy; the elements lie within them.
    let regions = unsafe { (Region::of(&mut from).part(4, 48), Region::of(&mut to).part(4, 48)) };
    copy_elements(regions.0, regions.1, 2, &layout);
    let named: Vec<usize> = (0..64).filter(|&i| to[i] == 1).collect();
    assert_eq!(named, [0, 1, 2, 3, 8, 9, 10, 11, 24, 25, 26, 27, 32, 33, 34, 35]);
}
