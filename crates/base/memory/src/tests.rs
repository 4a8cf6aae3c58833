//! Tests of regions and buffers.

use super::*;

/// Pairs of bytes with a gap of one behind each: 0 1 . 3 4 . 6 7 .
fn pairs(memory: &mut [u8]) -> Buffer {
    let layout = Arc::new(Layout::new(vec![(0, 2)], 3));
    // SAFETY: the elements lie within the slice, which outlives the buffer in each test.
    unsafe { Buffer::strided(memory.as_mut_ptr(), memory.len() / 3, &layout) }
}

#[test]
fn a_part_of_scattered_bytes_is_a_buffer_of_its_own() {
    let mut memory: Vec<u8> = (0..12).collect();
    let part = pairs(&mut memory).part(1, 6).part(1, 4);
    let mut out = [0; 4];
    part.copy_out(0, &mut out);
    assert_eq!((part.len(), out), (4, [3, 4, 6, 7]));
    part.copy_in(1, &[40, 60]);
    assert_eq!(memory, [0, 1, 2, 3, 40, 5, 60, 7, 8, 9, 10, 11]);
}

#[test]
fn buffers_are_copied_whatever_their_forms() {
    let (mut from, mut to) = ((0..12).collect::<Vec<u8>>(), vec![99; 12]);
    let (scattered, other) = (pairs(&mut from), pairs(&mut to));
    other.copy_from(&scattered);
    assert_eq!(to, [0, 1, 99, 3, 4, 99, 6, 7, 99, 9, 10, 99]);
    let mut packed = [0; 8];
    // SAFETY: the array outlives the region.
    let contiguous = Buffer::Contiguous(unsafe { Region::of(&mut packed) });
    contiguous.copy_from(&scattered);
    assert_eq!(packed, [0, 1, 3, 4, 6, 7, 9, 10]);
    packed.reverse();
    pairs(&mut to).copy_from(&contiguous);
    assert_eq!(to, [10, 9, 99, 7, 6, 99, 4, 3, 99, 1, 0, 99]);
}

#[test]
fn the_runs_of_a_part_are_its_bytes() {
    let mut memory: Vec<u8> = (0..12).collect();
    let runs = pairs(&mut memory).part(1, 5).runs();
    assert_eq!(runs.iter().map(Region::to_vec).collect::<Vec<_>>(), [vec![1], vec![3, 4], vec![6, 7]]);
    let whole = Buffer::Contiguous(runs[1]).runs();
    assert_eq!(whole, [runs[1]]);
}

#[test]
#[should_panic(expected = "part 5+2 of a scattered buffer of 6 bytes")]
fn a_part_stays_within() {
    let mut memory = vec![0; 12];
    pairs(&mut memory).part(2, 6).copy_in(5, &[1, 1]);
}
