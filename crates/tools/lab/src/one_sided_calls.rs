//! The one-sided calls of traces, and how long they took.

use crate::components::median;
use serde::Serialize;
use std::collections::BTreeMap;
use verbena_channel::trace::Log;
use verbena_channel::trace::one_sided::{Call, OneSided, Way};

/// Calls of one kind from one origin on one target, of one length and way. Times are in
/// nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct CallRow {
    /// The call.
    pub call: Call,
    /// The process that called.
    pub origin: u32,
    /// The process whose memory the call was about; `None` if about all members of the window.
    pub target: Option<u32>,
    /// Bytes at the target.
    pub bytes: u64,
    /// The way that the calls went; `None` for calls about several targets.
    pub way: Option<Way>,
    /// The number of calls.
    pub calls: usize,
    /// The median of the time from the call to its return.
    pub median_ns: f64,
    /// The longest of these times.
    pub longest_ns: f64,
}

/// Returns the rows, by origin, target, call, length and way.
pub fn call_rows(logs: &[Log]) -> Vec<CallRow> {
    let mut times: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for log in logs {
        for &OneSided { call, target, bytes, way, entered, left } in &log.one_sided {
            let ns = left.saturating_sub(entered) as f64 * log.tick_ns;
            times.entry((log.rank, target, call, bytes, way)).or_default().push(ns);
        }
    }
    let row = |((origin, target, call, bytes, way), times): (_, Vec<f64>)| {
        let (calls, longest_ns) = (times.len(), times.iter().copied().fold(0.0, f64::max));
        let median_ns = median(times)?;
        Some(CallRow { call, origin, target, bytes, way, calls, median_ns, longest_ns })
    };
    times.into_iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_gathered_by_origin_target_kind_length_and_way() {
        let call = |call, target, bytes, way, [entered, left]: [u64; 2]| OneSided {
            call,
            target,
            bytes,
            way,
            entered,
            left,
        };
        let one_sided = vec![
            call(Call::Put, Some(1), 8, Some(Way::Mapped), [100, 140]),
            call(Call::Put, Some(1), 8, Some(Way::Mapped), [200, 300]),
            call(Call::Put, Some(1), 8, Some(Way::Mapped), [400, 420]),
            call(Call::Put, Some(1), 8, Some(Way::Messages), [500, 502]),
            call(Call::Flush, None, 0, None, [600, 610]),
        ];
        let log = Log { rank: 2, tick_ns: 0.5, stamp_ns: 1.0, one_sided, ..Log::default() };
        let rows = call_rows(&[log]);
        let seen: Vec<_> = rows.iter().map(|row| (row.call, row.way, row.calls)).collect();
        let expected =
            [(Call::Flush, None, 1), (Call::Put, Some(Way::Mapped), 3), (Call::Put, Some(Way::Messages), 1)];
        assert_eq!(seen, expected);
        assert_eq!((rows[1].origin, rows[1].target, rows[1].bytes), (2, Some(1), 8));
        assert_eq!((rows[1].median_ns, rows[1].longest_ns), (20.0, 50.0));
    }
}
