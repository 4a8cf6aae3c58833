//! The proof that two variants differ: what their jobs counted.
//!
//! Counts are those of an iteration that nobody timed ([`verbena_lab::witness`]). Two variants
//! differ if the counts of one of the counters do: no job of one lies within the jobs of the other,
//! and the medians are further apart than what a credit or an acknowledgement more makes. They are
//! identical if no counter's medians are that far apart. Else the jobs of a variant differ as much
//! among themselves, and nothing is known.
//!
//! The number of looks at a channel tells how long somebody waited. How the looks are shared out
//! among the channels tells how they are polled: that is compared in place of the number. It is the
//! looks of rank 0 where they are known: the others may nap, and look around between their naps.

use super::results::Measured;
use std::collections::{BTreeMap, BTreeSet};
use verbena_lab::table::format_value;
use verbena_lab::timing::median;
use verbena_lab::witness::Witness;

/// Counters that tell of time, not of traffic: they differ between two jobs of one variant.
const OF_TIME: [&str; 2] = ["matching_steps", "waits_slept"];
/// Counters of the device that tell of packets that were lost, late or doubled.
const OF_LOSSES: [&str; 9] = [
    "device ack_deferred",
    "device completer_retry_err",
    "device duplicate_request",
    "device out_of_seq_request",
    "device rcvd_rnr_err",
    "device rcvd_seq_err",
    "device retry_exceeded_err",
    "device retry_rnr_exceeded_err",
    "device send_rnr_err",
];
/// The end of the names of counters of looks, and the parts of a channel that are looked at.
const LOOKS: &str = "_looks";
const LOOKS_OF_PARTS: [&str; 2] = ["_ring_looks", "_queue_looks"];
/// The part by which medians must differ.
const PART: f64 = 0.02;

/// The conclusion from the counters.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Proof {
    /// The variants differ, for example in this.
    Differ(String),
    /// Every counter is alike.
    Identical,
    /// This counter differs, but between the jobs of one variant too.
    Overlapping(String),
    /// Nothing was counted on one side.
    Unknown,
}

/// Returns whether a counter was looked at.
pub(super) fn has(side: &Measured, counter: &str) -> bool {
    counters(side).any(|name| name == counter)
}

/// Compares what two variants counted at one place.
pub(super) fn compare(one: &Measured, other: &Measured) -> Proof {
    let names: BTreeSet<&str> = [one, other].into_iter().flat_map(counters).collect();
    if [one, other].into_iter().any(|side| counters(side).next().is_none()) {
        return Proof::Unknown;
    }
    let traffic = names.into_iter().filter(|name| !OF_TIME.contains(name) && !OF_LOSSES.contains(name));
    let differing =
        traffic.filter_map(|name| Some((name, differ(&counts(one, name), &counts(other, name))?)));
    let (overlapping, apart): (Vec<_>, Vec<_>) = differing.partition(|(_, pair)| pair.overlaps);
    match (clearest(apart), clearest(overlapping)) {
        (Some(text), _) => Proof::Differ(text),
        (None, Some(text)) => Proof::Overlapping(text),
        (None, None) => Proof::Identical,
    }
}

/// The counter that differs most, in words.
fn clearest(all: Vec<(&str, Pair)>) -> Option<String> {
    let most = all.into_iter().max_by(|(_, one), (_, other)| one.apart.total_cmp(&other.apart));
    most.map(|(name, pair)| {
        let [one, other] = [pair.one, pair.other].map(format_value);
        let unit = if sort_of_looks(name).is_some() { "% of all looks" } else { "an iteration" };
        format!("{name} {one} to {other} {unit}")
    })
}

fn counters(side: &Measured) -> impl Iterator<Item = &str> {
    let witnesses = side.jobs.iter().filter_map(|job| job.witness.as_ref());
    witnesses.flat_map(|witness| witness.counted.keys().map(String::as_str))
}

/// The counts of a counter, job by job; a counter that a job lacks has counted nothing. Of looks it
/// is the share in percent of all looks of their sort.
fn counts(side: &Measured, name: &str) -> Vec<f64> {
    let witnesses = side.jobs.iter().filter_map(|job| job.witness.as_ref());
    witnesses.map(|witness| count(witness, name)).collect()
}

fn count(witness: &Witness, name: &str) -> f64 {
    let of = |counted: &BTreeMap<String, f64>| counted.get(name).copied().unwrap_or(0.0);
    let Some(sort) = sort_of_looks(name) else { return of(&witness.counted) };
    let counted = if witness.root_looks.is_empty() { &witness.counted } else { &witness.root_looks };
    let own = of(counted);
    let alike = counted.iter().filter(|(other, _)| sort_of_looks(other) == Some(sort));
    let all: f64 = alike.map(|(_, looks)| looks).sum();
    if all > 0.0 { 100.0 * own / all } else { 0.0 }
}

/// The sort of looks that a counter counts, if any: at channels, or at parts of a channel.
fn sort_of_looks(name: &str) -> Option<bool> {
    name.ends_with(LOOKS).then(|| LOOKS_OF_PARTS.iter().any(|part| name.ends_with(part)))
}

/// The medians of two sides that differ.
struct Pair {
    one: f64,
    other: f64,
    apart: f64,
    /// Set if some job of one lies within the jobs of the other.
    overlaps: bool,
}

fn differ(one: &[f64], other: &[f64]) -> Option<Pair> {
    let range = |all: &[f64]| {
        let least = all.iter().copied().reduce(f64::min)?;
        Some((least, all.iter().copied().reduce(f64::max)?))
    };
    let ((low, high), (least, most)) = (range(one)?, range(other)?);
    let (one, other) = (median(one)?, median(other)?);
    let apart = (one - other).abs() / one.abs().max(other.abs());
    (apart > PART).then_some(Pair { one, other, apart, overlaps: low <= most && least <= high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_lab::report::Job;

    fn side(counts: &[(&str, &[f64])]) -> Measured {
        let jobs = counts.first().map_or(0, |(_, jobs)| jobs.len());
        let job = |at: usize| {
            let counted = counts.iter().map(|(name, jobs)| (name.to_string(), jobs[at])).collect();
            Job { value: 1.0, witness: Some(Witness { counted, ..Witness::default() }) }
        };
        Measured { jobs: (0..jobs).map(job).collect(), ..Measured::default() }
    }

    #[test]
    fn variants_that_count_alike_are_identical() {
        let one = side(&[("rc_packets_sent", &[2.0, 2.01]), ("matching_steps", &[5.0, 5.0])]);
        let other = side(&[("rc_packets_sent", &[2.01, 2.0]), ("matching_steps", &[9.0, 9.0])]);
        assert_eq!(compare(&one, &other), Proof::Identical);
        // A credit more in 64 messages.
        let credit = side(&[("rc_packets_sent", &[2.02, 2.02])]);
        assert_eq!(compare(&one, &credit), Proof::Identical);
    }

    #[test]
    fn a_counter_proves_a_difference() {
        let one = side(&[("device rdma_sends", &[2.0, 2.0])]);
        let other = side(&[("device rdma_sends", &[0.1, 0.2])]);
        assert!(matches!(compare(&one, &other), Proof::Differ(text) if text.contains("rdma_sends")));
        let none = side(&[("rc_read_bytes", &[0.0, 0.0])]);
        assert!(matches!(compare(&one, &none), Proof::Differ(_)));
    }

    #[test]
    fn looks_prove_a_scheme_and_not_a_longer_wait() {
        let looks = |near: [f64; 2], far: [f64; 2]| side(&[("shm_looks", &near), ("rc_looks", &far)]);
        let each = looks([100.0, 101.0], [100.0, 101.0]);
        assert_eq!(compare(&each, &looks([900.0, 910.0], [900.0, 910.0])), Proof::Identical);
        let seldom = looks([100.0, 101.0], [2.0, 2.1]);
        assert!(
            matches!(compare(&each, &seldom), Proof::Differ(text) if text.contains("rc_looks 50.0 to") && text.contains('%'))
        );
        let rings = side(&[("rc_ring_looks", &[0.0, 0.0]), ("rc_queue_looks", &[9.0, 9.0])]);
        let queues = side(&[("rc_ring_looks", &[8.0, 8.0]), ("rc_queue_looks", &[1.0, 1.0])]);
        assert!(matches!(compare(&rings, &queues), Proof::Differ(_)));
    }

    #[test]
    fn the_looks_of_those_that_nap_do_not_count() {
        let looks = |of_all: f64, of_root: f64| {
            let mut side = side(&[("shm_looks", &[100.0, 100.0]), ("ofi_looks", &[of_all, of_all + 1.0])]);
            for witness in side.jobs.iter_mut().filter_map(|job| job.witness.as_mut()) {
                witness.root_looks =
                    [("shm_looks".to_string(), 100.0), ("ofi_looks".to_string(), of_root)].into();
            }
            side
        };
        // The others look at the network all the time, rank 0 does so seldom.
        let each = looks(500.0, 100.0);
        assert!(
            matches!(compare(&each, &looks(500.0, 2.0)), Proof::Differ(what) if what.contains("ofi_looks"))
        );
        assert_eq!(compare(&each, &looks(9000.0, 100.0)), Proof::Identical);
    }

    #[test]
    fn overlapping_counts_prove_nothing() {
        let one = side(&[("rc_full", &[0.0, 9.0, 3.0])]);
        let other = side(&[("rc_full", &[4.0, 5.0, 6.0])]);
        assert!(matches!(compare(&one, &other), Proof::Overlapping(text) if text.contains("3.00 to 5.00")));
    }

    #[test]
    fn lost_packets_prove_nothing() {
        let one = side(&[("device duplicate_request", &[0.0, 1.0]), ("rc_packets_sent", &[2.0, 2.0])]);
        let other = side(&[("device duplicate_request", &[19.0, 20.0]), ("rc_packets_sent", &[2.0, 2.0])]);
        assert_eq!(compare(&one, &other), Proof::Identical);
    }

    #[test]
    fn without_counters_nothing_is_known() {
        assert_eq!(compare(&Measured::default(), &side(&[("a", &[1.0])])), Proof::Unknown);
    }
}
