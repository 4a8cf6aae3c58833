//! The words of ranks about themselves, in memory that a program gone wild may write over.

use verbena_hang::{Rank, RunState, Snapshot, Stage, explain};

/// The ranks of the job.
const RANKS: usize = 3;

/// Each rank says a part of the bytes, in which `|` separates the parts: what is no snapshot is
/// refused, and whatever is one is explained in few lines of text.
pub fn snapshot(data: &[u8]) {
    let mut parts = data.splitn(RANKS, |&byte| byte == b'|');
    let mut rank = |number: u32| Rank {
        stage: Stage::Initialised,
        state: RunState::Sleeping,
        snapshot: parts.next().and_then(Snapshot::decode),
        is_answered: true,
        ..Rank::new(number, "host", 7)
    };
    let ranks: Vec<Rank> = (0..RANKS as u32).map(&mut rank).collect();
    for snapshot in ranks.iter().filter_map(|rank| rank.snapshot.clone()) {
        let bytes = snapshot.encode();
        assert_eq!(Snapshot::decode(&bytes), Some(snapshot.clone()));
        assert!(snapshot.encode_within(100).len() <= 100);
    }
    if let Some(report) = explain(&ranks, Some(1000)) {
        assert!(report.lines.len() <= RANKS && !report.cause.is_empty());
        assert!(report.lines.iter().all(|line| !line.contains(char::is_control)));
    }
}
