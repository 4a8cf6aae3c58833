//! New inputs: random ones, and changes of those that are kept.

use crate::Target;
use verbena_sim::Random;

/// The longest input that is made, in bytes.
const BYTES_MAX: u64 = 600;

/// Bytes and words at the edges of their ranges.
const EDGES: [&[u8]; 8] = [
    &[0],
    &[0xff],
    &[0x7f, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0xff],
    &[0, 0, 0, 0x80],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    &[0xff; 8],
    &[0, 0, 0, 0, 0, 0, 0, 0x80],
];

/// A new input for the target: a kept one with some changes, words of its language, or random
/// bytes.
pub fn input(random: &mut Random, target: &Target, kept: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = match random.below(4) {
        0 | 1 if !kept.is_empty() => kept[random.below(kept.len() as u64) as usize].clone(),
        2 if !target.words.is_empty() => sentence(random, target.words),
        _ => noise(random),
    };
    for _ in 0..random.below(5) {
        change(random, target, kept, &mut bytes);
    }
    bytes
}

fn noise(random: &mut Random) -> Vec<u8> {
    let most = random.pick(&[8, 40, 120, BYTES_MAX]);
    (0..random.below(most)).map(|_| random.word() as u8).collect()
}

fn sentence(random: &mut Random, words: &[&[u8]]) -> Vec<u8> {
    (0..random.between(1, 12)).flat_map(|_| random.pick(words).to_vec()).collect()
}

fn change(random: &mut Random, target: &Target, kept: &[Vec<u8>], bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len() as u64 + 1) as usize;
    match random.below(7) {
        0 => overwrite(bytes, at, &[random.word() as u8]),
        1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        2 => overwrite(bytes, at, random.pick(&EDGES)),
        3 if !target.words.is_empty() => drop(bytes.splice(at..at, random.pick(target.words).to_vec())),
        4 => {
            let end = (at + random.below(16) as usize).min(bytes.len());
            bytes.drain(at..end);
        }
        5 if !kept.is_empty() => {
            let other = &kept[random.below(kept.len() as u64) as usize];
            bytes.truncate(at);
            bytes.extend(&other[at.min(other.len())..]);
        }
        _ => {
            let end = (at + random.below(32) as usize).min(bytes.len());
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
    }
}

fn overwrite(bytes: &mut Vec<u8>, at: usize, with: &[u8]) {
    let end = (at + with.len()).min(bytes.len());
    bytes.splice(at..end, with.iter().copied());
}
