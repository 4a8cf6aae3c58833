//! The seven components of a message's time (paper 1, section 6.3.2, figure 16), and their medians
//! for each length and way.
//!
//! They come from what sender and receiver of each message traced (the setting `VERBENA_TRACE`),
//! joined by the two processes and the packet's number.

use anyhow::Result;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use verbena_channel::trace::{Log, Received, Sent, Way, read};
use verbena_fault::Fault;

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
/// If a file cannot be read, or if the files are not of different ranks of one job.
pub fn logs(files: &[PathBuf]) -> Result<Vec<Log>> {
    let read = |file: &PathBuf| read(file).map_err(|error| no_trace(file, &error));
    let logs = files.iter().map(read).collect::<std::result::Result<Vec<Log>, Fault>>()?;
    compare(files, &logs)?;
    Ok(logs)
}

/// Refuses two files of one rank, and those of two jobs, which share nothing.
fn compare(files: &[PathBuf], logs: &[Log]) -> std::result::Result<(), Fault> {
    for (place, (file, log)) in files.iter().zip(logs).enumerate() {
        for (other, theirs) in files.iter().zip(logs).take(place) {
            let on = format!("the files {} and {}", other.display(), file.display());
            // A trace of an earlier Verbena does not name its job.
            let have_jobs = !log.job.is_empty() && !theirs.job.is_empty();
            if have_jobs && log.job != theirs.job {
                return Err(Fault::new(
                    "the traces are of two jobs",
                    on,
                    "a job left files of the same name behind, which a smaller one has replaced in part",
                    "name the files of one job alone, or trace the job again after removing the old ones",
                ));
            }
            if log.rank == theirs.rank {
                return Err(Fault::new(
                    format!("rank {} is there twice", log.rank),
                    on,
                    "a file was named twice, or copied",
                    "name each file once",
                ));
            }
        }
    }
    Ok(())
}

/// The error of a file that is no trace. A timeline that was made of traces has a name like theirs.
fn no_trace(file: &Path, error: &std::io::Error) -> Fault {
    let mut start = [0; 256];
    let read = std::fs::File::open(file).and_then(|mut file| file.read(&mut start));
    let is_there = read.is_ok();
    let start = String::from_utf8_lossy(&start[..read.unwrap_or(0)]);
    let (cause, remedy) = if !is_there {
        ("the name is mistyped, or the job ran in another folder", "name the files that the ranks wrote")
    } else if start.contains("\"traceEvents\"") {
        (
            "it is a timeline for a viewer in a browser, which verbena trace --chrome made of traces",
            "name the files of the ranks alone, as in t.[0-9]*.json; open this one in chrome://tracing",
        )
    } else {
        (
            "it is another file, or its rank ended before it had written all",
            "name the files of the ranks: VERBENA_TRACE=t makes t.0.json, t.1.json, ...",
        )
    };
    Fault::new("a trace cannot be read", format!("the file {}: {error}", file.display()), cause, remedy)
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

    #[test]
    fn the_files_must_be_of_different_ranks_of_one_job() {
        let of = |job: &str, rank: u32| Log { job: job.into(), ..log(rank, vec![], vec![]) };
        let said = |logs: &[Log]| {
            let files: Vec<PathBuf> = (0..logs.len()).map(|at| format!("t.{at}.json").into()).collect();
            compare(&files, logs).err().map(|fault| fault.to_string())
        };
        assert_eq!(said(&[of("a", 0), of("a", 1)]), None);
        assert_eq!(said(&[of("", 0), of("a", 1)]), None, "an old trace names no job");
        let jobs = said(&[of("a", 0), of("a", 1), of("b", 2)]).expect("two jobs");
        assert!(jobs.contains("of two jobs") && jobs.contains("t.0.json and t.2.json"), "{jobs}");
        let twice = said(&[of("a", 0), of("a", 1), of("a", 1)]).expect("a rank twice");
        assert!(twice.contains("rank 1 is there twice") && twice.contains("t.2.json"), "{twice}");
    }

    #[test]
    fn a_timeline_is_told_from_a_trace() {
        let folder = std::env::temp_dir().join(format!("verbena-no-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("writable");
        let said = |name: &str, text: Option<&str>| {
            let path = folder.join(name);
            if let Some(text) = text {
                std::fs::write(&path, text).expect("writable");
            }
            logs(&[path]).expect_err("no trace").to_string()
        };
        let timeline = said("t.chrome.json", Some("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}"));
        assert!(
            timeline.contains("t.chrome.json") && timeline.contains("a viewer in a browser"),
            "{timeline}"
        );
        for text in [timeline, said("other.json", Some("{}")), said("none.json", None)] {
            assert_eq!(text.lines().count(), 4, "{text}");
        }
        std::fs::remove_dir_all(folder).expect("removable");
    }
}
