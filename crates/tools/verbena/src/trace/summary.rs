//! A profile of the job: how long each rank was in MPI, and which calls took the time, by function,
//! communicator and size.

use serde::Serialize;
use std::collections::BTreeMap;
use verbena_channel::trace::Log;

/// A rank. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct RankRow {
    /// The rank in the job.
    pub rank: u32,
    /// The host.
    pub host: String,
    /// The time from the beginning of `MPI_Init` to the end of `MPI_Finalize`.
    pub run_ns: f64,
    /// The time in calls of MPI, of all threads.
    pub mpi_ns: f64,
    /// Calls of MPI.
    pub calls: usize,
    /// Messages sent.
    pub sent: usize,
    /// Bytes of these.
    pub sent_bytes: u64,
    /// Messages that came before their receive.
    pub unexpected: usize,
    /// Messages that came.
    pub came: usize,
}

/// Calls of one function on one communicator, window or file, of a class of sizes. Times are in
/// nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct CallsRow {
    /// The function.
    pub call: String,
    /// The communicator, window or file; none for calls about none.
    pub on: Option<String>,
    /// The number of processes of that.
    pub ranks_of_it: Option<u32>,
    /// The least and the most bytes of a call: of what it sends, else of its room for what it
    /// receives.
    pub bytes: [u64; 2],
    /// The bytes of all calls.
    pub bytes_in_all: u64,
    /// The number of calls.
    pub calls: usize,
    /// The number of ranks that called.
    pub ranks: usize,
    /// The time of all calls.
    pub total_ns: f64,
    /// The longest call.
    pub longest_ns: f64,
    /// The share of all time in MPI.
    pub share: f64,
    /// The unlikeness of the ranks: the standard deviation of the time of a rank, divided by the
    /// mean, over the ranks that called.
    pub spread: f64,
}

/// The profile.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    /// The ranks.
    pub ranks: Vec<RankRow>,
    /// The calls, those that took most first.
    pub calls: Vec<CallsRow>,
}

/// A function, its object by name and size, and the class of its length.
type Key = (String, Option<(String, u32)>, u64);

#[derive(Default)]
struct Sample {
    bytes: Option<[u64; 2]>,
    bytes_in_all: u64,
    calls: usize,
    longest_ns: f64,
    by_rank: BTreeMap<u32, f64>,
}

/// Adds the calls of all ranks up.
pub(super) fn summary(logs: &[Log]) -> Summary {
    let mut ranks: Vec<RankRow> = logs.iter().map(rank).collect();
    ranks.sort_by_key(|row| row.rank);
    let all_ns: f64 = ranks.iter().map(|row| row.mpi_ns).sum();
    let mut samples: BTreeMap<Key, Sample> = BTreeMap::new();
    for log in logs {
        for call in &log.calls {
            let object = call.object.and_then(|place| log.objects.get(place as usize));
            let object = object.map(|object| (object.name.clone(), object.size));
            // Lengths up to a power of two are one class.
            let class = if call.bytes == 0 { 0 } else { call.bytes.next_power_of_two() };
            let sample = samples.entry((call.name.to_string(), object, class)).or_default();
            let ns = call.left.saturating_sub(call.entered) as f64 * log.tick_ns;
            let [least, most] = sample.bytes.unwrap_or([call.bytes; 2]);
            sample.bytes = Some([least.min(call.bytes), most.max(call.bytes)]);
            sample.bytes_in_all += call.bytes;
            sample.calls += 1;
            sample.longest_ns = sample.longest_ns.max(ns);
            *sample.by_rank.entry(log.rank).or_default() += ns;
        }
    }
    let mut calls: Vec<CallsRow> =
        samples.into_iter().map(|(key, sample)| row(key, sample, all_ns)).collect();
    calls.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
    Summary { ranks, calls }
}

fn rank(log: &Log) -> RankRow {
    let ns = |[from, to]: [u64; 2]| to.saturating_sub(from) as f64 * log.tick_ns;
    RankRow {
        rank: log.rank,
        host: log.host.clone(),
        run_ns: ns(log.times),
        mpi_ns: log.calls.iter().map(|call| ns([call.entered, call.left])).sum(),
        calls: log.calls.len(),
        sent: log.departures.len(),
        sent_bytes: log.departures.iter().map(|departure| departure.bytes).sum(),
        unexpected: log.arrivals.iter().filter(|arrival| !arrival.expected).count(),
        came: log.arrivals.len(),
    }
}

fn row((call, object, _): Key, sample: Sample, all_ns: f64) -> CallsRow {
    let times: Vec<f64> = sample.by_rank.values().copied().collect();
    let total_ns: f64 = times.iter().sum();
    let mean = total_ns / times.len() as f64;
    let variance = times.iter().map(|ns| (ns - mean).powi(2)).sum::<f64>() / times.len() as f64;
    let (on, ranks_of_it) = object.unzip();
    CallsRow {
        call,
        on,
        ranks_of_it,
        bytes: sample.bytes.unwrap_or_default(),
        bytes_in_all: sample.bytes_in_all,
        calls: sample.calls,
        ranks: times.len(),
        total_ns,
        longest_ns: sample.longest_ns,
        share: if all_ns > 0.0 { total_ns / all_ns } else { 0.0 },
        spread: if mean > 0.0 { variance.sqrt() / mean } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::{call, job};
    use super::*;

    #[test]
    fn calls_are_added_up_by_function_communicator_and_size() {
        let mut logs = job();
        let mut long = call("MPI_Send", [1400, 1500], Some(0));
        long.bytes = 4096;
        logs[1].calls.push(long);
        let Summary { ranks, calls } = summary(&logs);
        assert_eq!((ranks[0].run_ns, ranks[0].mpi_ns, ranks[0].calls), (1000.0, 190.0, 4));
        assert_eq!((ranks[0].sent, ranks[0].sent_bytes, ranks[1].came), (3, 24, 3));
        assert_eq!((&*calls[0].call, calls[0].total_ns), ("MPI_Recv", 130.0));
        let sends: Vec<&CallsRow> = calls.iter().filter(|row| row.call == "MPI_Send").collect();
        assert_eq!(sends.iter().map(|row| row.bytes).collect::<Vec<_>>(), [[4096; 2], [8; 2]]);
        assert_eq!(sends[0].on.as_deref(), Some("MPI_COMM_WORLD"));
        let shares: f64 = calls.iter().map(|row| row.share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    }

    #[test]
    fn the_spread_is_over_the_ranks_that_called() {
        let mut logs = job();
        logs[0].calls = vec![call("MPI_Barrier", [1000, 1030], Some(0))];
        logs[1].calls = vec![call("MPI_Barrier", [1000, 1010], Some(0))];
        let Summary { calls, .. } = summary(&logs);
        assert_eq!((calls.len(), calls[0].ranks, calls[0].spread), (1, 2, 0.5));
    }
}
