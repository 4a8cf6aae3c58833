//! Numbers and lists as bytes, for the exchanges that make communicators.

use crate::error::{Error, Result};
use crate::generated::constants as mpi;

/// Packs the numbers one behind the other.
pub(crate) fn pack(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Unpacks the output of [`pack`], any number of them.
pub(crate) fn unpack_all(bytes: &[u8]) -> Result<Vec<u64>> {
    let (words, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(garbled(bytes.len()));
    }
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// Unpacks the output of [`pack`], which must be `N` numbers.
pub(crate) fn unpack<const N: usize>(bytes: &[u8]) -> Result<[u64; N]> {
    unpack_all(bytes)?.try_into().map_err(|_| garbled(bytes.len()))
}

/// Joins a list of byte strings into one.
pub(crate) fn join(list: &[Vec<u8>]) -> Vec<u8> {
    list.iter().flat_map(|item| [&(item.len() as u64).to_le_bytes(), &item[..]].concat()).collect()
}

/// Splits the output of [`join`].
pub(crate) fn part(mut bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut list = Vec::new();
    while !bytes.is_empty() {
        let (len, rest) = bytes.split_first_chunk::<8>().ok_or_else(|| garbled(bytes.len()))?;
        let len = usize::try_from(u64::from_le_bytes(*len)).unwrap_or(usize::MAX);
        let (item, rest) = rest.split_at_checked(len).ok_or_else(|| garbled(bytes.len()))?;
        list.push(item.to_vec());
        bytes = rest;
    }
    Ok(list)
}

/// A number that distinguishes byte strings, within the limits of 64 bits (FNV-1a).
pub(crate) fn fingerprint(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// A tag in the messages' range for a tag of any length among these members. If two groups that
/// share a member get the same number at the same time, what they say must tell them apart.
pub(crate) fn tag_number(tag: &[u8], members: &[i32]) -> i32 {
    let bytes = tag.iter().copied().chain(members.iter().flat_map(|rank| rank.to_le_bytes()));
    let hash = fingerprint(bytes);
    ((hash ^ hash >> 32) & 0x3fff_ffff) as i32
}

/// The error of a contribution that is not of the expected form.
#[cold]
pub(crate) fn garbled(bytes: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_OTHER,
        "processes do not agree on the communicator that they make",
        format!("a contribution of {bytes} bytes from another process"),
        "the processes of a communicator called different collective calls, or in a different order",
        "let all processes of the communicator make the same collective calls in the same order",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_lists_survive() {
        assert_eq!(unpack::<3>(&pack(&[1, u64::MAX, 0])).unwrap(), [1, u64::MAX, 0]);
        let list = vec![vec![1, 2, 3], vec![], vec![9; 300]];
        assert_eq!(part(&join(&list)).unwrap(), list);
        assert_eq!(part(&[]).unwrap(), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn wrong_lengths_are_noticed() {
        assert_eq!(unpack::<2>(&pack(&[1])).unwrap_err().class, mpi::MPI_ERR_OTHER);
        assert_eq!(unpack_all(&[1, 2, 3]).unwrap_err().class, mpi::MPI_ERR_OTHER);
        assert!(part(&[1, 0, 0]).is_err());
        assert!(part(&pack(&[5])).is_err());
        assert!(part(&pack(&[u64::MAX])).is_err());
    }
}
