//! IS: integers are sorted over all ranks by buckets. Each rank counts its keys by bucket, the
//! histograms are added up, buckets are handed to ranks so that all get about as many keys, the
//! keys are moved, and each rank sorts what it got by counting.

use super::Kernel;
use super::comm::Comm;
use crate::kernels::grid::hash;
use anyhow::{Result, ensure};

/// Buckets, and the exponent of their number.
const BUCKETS: usize = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 8;

/// The sort.
pub(super) struct Sort {
    keys: Vec<u32>,
    /// Bits of a key.
    bits: u32,
    sorted: Vec<u32>,
}

impl Sort {
    /// Keys by chance, the same in every run.
    pub(super) fn new(bytes: usize, rank: usize, ranks: usize) -> Sort {
        let count = (bytes / size_of::<u32>()).max(1);
        let bits = (count * ranks).ilog2().saturating_sub(1).clamp(BUCKET_BITS + 2, 24);
        let key = |at: usize| (hash((rank * count + at) as u64) >> (64 - bits)) as u32;
        Sort { keys: (0..count).map(key).collect(), bits, sorted: Vec::new() }
    }

    fn bucket(&self, key: u32) -> usize {
        (key >> (self.bits - BUCKET_BITS)) as usize
    }

    /// Returns the rank that gets each bucket, by the histogram of all keys.
    fn owners(all: &[f64], ranks: usize) -> Vec<usize> {
        let total: f64 = all.iter().sum();
        let before = all.iter().scan(0.0, |before, count| {
            let own = *before;
            *before += count;
            Some(own)
        });
        before.map(|before| ((before * ranks as f64 / total) as usize).min(ranks - 1)).collect()
    }

    /// The keys in the order of their buckets.
    fn by_bucket(&self, histogram: &[f64]) -> Vec<u32> {
        let mut places = Vec::with_capacity(BUCKETS);
        histogram.iter().fold(0, |at, count| {
            places.push(at);
            at + *count as usize
        });
        let mut ordered = vec![0; self.keys.len()];
        for &key in &self.keys {
            let place = &mut places[self.bucket(key)];
            ordered[*place] = key;
            *place += 1;
        }
        ordered
    }
}

/// Sorts by counting, since keys have few values.
fn counted(keys: &[u32], bits: u32) -> Result<Vec<u32>> {
    let mut counts = vec![0usize; 1 << bits];
    for &key in keys {
        ensure!((key as usize) < counts.len(), "a key of {key} was never sent");
        counts[key as usize] += 1;
    }
    let of = |(key, count): (usize, &usize)| std::iter::repeat_n(key as u32, *count);
    Ok(counts.iter().enumerate().flat_map(of).collect())
}

/// Returns the number, sum, and sum of the hashes of keys: the same for the same keys in any order,
/// and exact as long as it is below 2^53.
fn sums(keys: &[u32]) -> [f64; 3] {
    let mixed = |key: &u32| (hash(u64::from(*key)) >> 40) as f64;
    [keys.len() as f64, keys.iter().map(|key| f64::from(*key)).sum(), keys.iter().map(mixed).sum()]
}

impl Kernel for Sort {
    fn round(&mut self, comm: &dyn Comm) -> Result<()> {
        let ranks = comm.size();
        let mut own = vec![0.0; BUCKETS];
        self.keys.iter().for_each(|key| own[self.bucket(*key)] += 1.0);
        let mut all = own.clone();
        comm.sum(&mut all)?;
        let mut own_counts = vec![0u64; ranks];
        for (bucket, owner) in Sort::owners(&all, ranks).into_iter().enumerate() {
            own_counts[owner] += own[bucket] as u64;
        }
        let mut to_counts = vec![0u64; ranks];
        comm.counts(&own_counts, &mut to_counts)?;
        let [own_counts, to_counts] = [own_counts, to_counts]
            .map(|counts| counts.iter().map(|count| *count as usize).collect::<Vec<_>>());
        let mut came = vec![0; to_counts.iter().sum()];
        comm.keys(&self.by_bucket(&own), &own_counts, &mut came, &to_counts)?;
        self.sorted = counted(&came, self.bits)?;
        Ok(())
    }

    fn verify(&mut self, comm: &dyn Comm) -> Result<()> {
        let mut both = [sums(&self.keys), sums(&self.sorted)].concat();
        comm.sum(&mut both)?;
        let in_order = self.sorted.is_sorted();
        // The largest key so far goes from rank to rank, past those that got none.
        let mut before = [-1.0];
        if comm.rank() > 0 {
            comm.recv(&mut before, comm.rank() - 1)?;
        }
        let follows = self.sorted.first().is_none_or(|key| f64::from(*key) >= before[0]);
        let largest = self.sorted.last().map_or(before[0], |key| f64::from(*key));
        if comm.rank() + 1 < comm.size() {
            comm.send(&[largest], comm.rank() + 1)?;
        }
        ensure!(in_order && follows, "the keys of rank {} are not in order", comm.rank());
        ensure!(both[..3] == both[3..], "other keys came out than went in: {both:?}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_shared_out_evenly_and_in_order() {
        let owners = Sort::owners(&[1.0, 1.0, 5.0, 1.0], 4);
        assert!(owners.is_sorted() && owners[0] == 0 && owners.iter().all(|owner| *owner < 4));
    }

    #[test]
    fn counting_sorts_and_refuses_what_is_too_large() {
        assert_eq!(counted(&[3, 0, 3, 1], 2).expect("small keys"), [0, 1, 3, 3]);
        assert!(counted(&[4], 2).is_err());
    }
}
