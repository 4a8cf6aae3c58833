//! The seven components of a message's time (paper 1, section 6.3.2, figure 16), and their medians
//! for each length and way.
//!
//! They come from what sender and receiver of each message traced (the setting `VERBENA_TRACE`),
//! joined by the two processes and the packet's number.

use anyhow::{Context, Result};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use verbena_channel::trace::{Log, Received, Sent, Way, read};

/// The components, in the order in which they follow each other, by the names of paper 1.
pub const COMPONENTS: [&str; 7] =
    ["s_mpitoadi", "s_protocol", "s_post", "IBA", "r_completion", "r_protocol", "r_aditompi"];

/// Messages of one length that went one way. Times are medians in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Length of the messages.
    pub bytes: u64,
    /// The way that the messages went.
    pub way: Way,
    /// The number of messages.
    pub messages: usize,
    /// The number of messages that their receiver found before the sender's post returned. The rest
    /// of such a post is not on the message's way, and is not counted.
    pub overtaken: usize,
    /// The number of messages left out because their stamps are not in order: the clocks of the two
    /// sides disagree.
    pub disordered: usize,
    /// The [`COMPONENTS`].
    pub components_ns: [f64; 7],
    /// The time from the call of the sender to the return of the receiver.
    pub total_ns: f64,
    /// Half the time from one send to the next to the same process; `None` if there was only one.
    pub half_round_trip_ns: Option<f64>,
}

/// The times of one message.
#[derive(Clone, Copy, Debug)]
struct Message {
    components_ns: [f64; 7],
    overtaken: bool,
}

/// The values gathered for a row.
#[derive(Debug, Default)]
struct Sample {
    messages: Vec<Message>,
    disordered: usize,
    periods_ns: Vec<f64>,
}

/// Reads the traces that the ranks of one job wrote to these files.
///
/// # Errors
/// If a file cannot be read.
pub fn logs(files: &[PathBuf]) -> Result<Vec<Log>> {
    let log = |file: &PathBuf| {
        read(file).with_context(|| format!("{} is no trace that can be read", file.display()))
    };
    files.iter().map(log).collect()
}

/// Returns the rows, by length and way, without the first `skip` messages of each.
pub fn rows(logs: &[Log], skip: usize) -> Vec<Row> {
    let mut samples: BTreeMap<(u64, Way), Sample> = BTreeMap::new();
    for log in logs {
        let mut own: BTreeMap<(u64, Way), Sample> = BTreeMap::new();
        gather(log, logs, &mut own);
        for (key, sample) in own {
            let whole = samples.entry(key).or_default();
            whole.messages.extend(sample.messages.into_iter().skip(skip));
            whole.disordered += sample.disordered;
            whole.periods_ns.extend(sample.periods_ns.into_iter().skip(skip));
        }
    }
    samples.into_iter().filter_map(|((bytes, way), sample)| row(bytes, way, &sample)).collect()
}

/// Gathers the messages that this process sent.
fn gather(log: &Log, logs: &[Log], samples: &mut BTreeMap<(u64, Way), Sample>) {
    let arrivals: HashMap<(u32, u32), &Received> = logs
        .iter()
        .flat_map(|other| other.received.iter().map(|got| (got, (other.rank, got.sequence))))
        .filter(|(got, _)| got.peer == log.rank && got.awaited)
        .map(|(got, key)| (key, got))
        .collect();
    let mut last: HashMap<u32, &Sent> = HashMap::new();
    for sent in &log.sent {
        let before = last.insert(sent.peer, sent);
        let Some(got) = arrivals.get(&(sent.peer, sent.sequence)) else { continue };
        let sample = samples.entry((sent.bytes, sent.way)).or_default();
        match message(sent, got, log.tick_ns) {
            Some(message) => sample.messages.push(message),
            None => sample.disordered += 1,
        }
        if let Some(before) = before.filter(|before| (before.bytes, before.way) == (sent.bytes, sent.way)) {
            sample.periods_ns.push((sent.entered - before.entered) as f64 * log.tick_ns);
        }
    }
}

/// The components; `None` if the clocks of the two sides disagree, or these are not two sides of
/// one message.
fn message(sent: &Sent, got: &Received, tick_ns: f64) -> Option<Message> {
    // A receiver may find the packet before the sender's post returns. And the look that finds it
    // may have begun before it was there.
    let posted = sent.posted.min(got.seen);
    let arrived = got.looked.max(posted);
    let points =
        [sent.entered, sent.engine, sent.posting, posted, arrived, got.handed, got.delivered, got.left];
    let fits = sent.bytes == got.bytes && points.is_sorted();
    let components_ns = std::array::from_fn(|i| points[i + 1].saturating_sub(points[i]) as f64 * tick_ns);
    fits.then_some(Message { components_ns, overtaken: posted < sent.posted })
}

fn row(bytes: u64, way: Way, sample: &Sample) -> Option<Row> {
    let of = |part: &dyn Fn(&Message) -> f64| median(sample.messages.iter().map(part).collect());
    let mut components_ns = [0.0; 7];
    for (i, component) in components_ns.iter_mut().enumerate() {
        *component = of(&|message| message.components_ns[i])?;
    }
    Some(Row {
        bytes,
        way,
        messages: sample.messages.len(),
        disordered: sample.disordered,
        overtaken: sample.messages.iter().filter(|message| message.overtaken).count(),
        components_ns,
        total_ns: of(&|message| message.components_ns.iter().sum())?,
        half_round_trip_ns: median(sample.periods_ns.clone()).map(|period| period / 2.0),
    })
}

/// The value in the middle; `None` if there are none.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(sequence: u32, at: u64) -> Sent {
        let way = Way::RdmaEager;
        let [entered, engine, posting, posted] = [0, 10, 30, 60].map(|ns| at + ns);
        Sent { peer: 1, sequence, bytes: 8, way, entered, engine, posting, posted }
    }

    fn received(sequence: u32, at: u64) -> Received {
        let [looked, seen, handed, delivered, left] = [100, 110, 150, 210, 280].map(|ns| at + ns);
        let (way, awaited) = (Way::RdmaEager, true);
        Received { peer: 0, sequence, bytes: 8, way, looked, seen, handed, delivered, left, awaited }
    }

    fn log(rank: u32, sent: Vec<Sent>, received: Vec<Received>) -> Log {
        Log { rank, tick_ns: 0.5, stamp_ns: 1.0, sent, received, ..Log::default() }
    }

    #[test]
    fn a_message_is_divided_where_its_stamps_say() {
        let logs = [
            log(0, (0..3).map(|n| sent(n, 560 * u64::from(n))).collect(), vec![]),
            log(1, vec![], (0..3).map(|n| received(n, 560 * u64::from(n))).collect()),
        ];
        let [row] = &rows(&logs, 1)[..] else { panic!("one row") };
        assert_eq!(row.components_ns, [5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0]);
        assert_eq!((row.total_ns, row.half_round_trip_ns, row.messages), (140.0, Some(140.0), 2));
    }

    #[test]
    fn what_is_seen_before_the_post_returns_takes_no_time_on_the_wire() {
        let got = Received { looked: 35, seen: 45, ..received(0, 0) };
        let message = message(&sent(0, 0), &got, 1.0).expect("one message");
        assert_eq!(message.components_ns, [10.0, 20.0, 15.0, 0.0, 105.0, 60.0, 70.0]);
        assert!(message.overtaken);
    }

    #[test]
    fn what_is_not_awaited_or_comes_before_it_was_sent_does_not_count() {
        let early = Received { seen: 5, ..received(0, 0) };
        assert!(message(&sent(0, 0), &early, 1.0).is_none());
        let late = Received { awaited: false, ..received(0, 0) };
        assert!(rows(&[log(0, vec![sent(0, 0)], vec![]), log(1, vec![], vec![late])], 0).is_empty());
    }
}
