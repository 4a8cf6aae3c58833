//! The fingerprint of the table: a hash of every source file that says what the table is, and of
//! its layout.

use crate::{Entries, Fallbacks, Services};
use std::mem::offset_of;

/// The fingerprint: two libraries fit together only if it is the same in both.
pub const FINGERPRINT: u64 = {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut file = 0;
    while file < SOURCES.len() {
        hash = fnv1a(hash, SOURCES[file]);
        file += 1;
    }
    let mut number = 0;
    while number < LAYOUT.len() {
        hash = fnv1a(hash, &(LAYOUT[number] as u64).to_le_bytes());
        number += 1;
    }
    hash
};

/// All files of this crate but this one, which decides nothing that the two libraries share.
const SOURCES: [&[u8]; 6] = [
    include_bytes!("lib.rs"),
    include_bytes!("standard.rs"),
    include_bytes!("mpich.rs"),
    include_bytes!("generated/mod.rs"),
    include_bytes!("generated/calls.rs"),
    include_bytes!("generated/functions.rs"),
];

const LAYOUT: [usize; 6] = [
    size_of::<Entries>(),
    size_of::<Services>(),
    size_of::<Fallbacks>(),
    offset_of!(Entries, services),
    offset_of!(Entries, calls),
    offset_of!(Entries, functions),
];

/// Continues the 64-bit hash FNV-1a.
const fn fnv1a(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x100_0000_01b3);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The bytes of every file below a folder of this crate.
    fn files(folder: &Path, found: &mut BTreeSet<Vec<u8>>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => files(&path, found),
                false if path.ends_with("fingerprint.rs") => {}
                false => drop(found.insert(std::fs::read(&path).unwrap())),
            }
        }
    }

    #[test]
    fn every_source_file_counts() {
        let mut found = BTreeSet::new();
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        assert_eq!(found, SOURCES.iter().map(|source| source.to_vec()).collect());
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // The vectors of the hash's authors.
        assert_eq!(fnv1a(0xcbf2_9ce4_8422_2325, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(0xcbf2_9ce4_8422_2325, b"foobar"), 0x8594_4171_f739_67e8);
    }
}
