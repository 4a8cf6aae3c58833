//! The logs under loom, and in one thread with many sizes.

use super::*;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use std::cell::RefCell;

/// Logs whose every 8 bytes are an atomic word, so that head and payload may be mistaken.
struct Model {
    words: Vec<Vec<AtomicU64>>,
    closed: Vec<AtomicU64>,
    entered: Vec<AtomicU64>,
    latest: Vec<AtomicU64>,
}

/// One member's view. Payload is read and written through `words` by the test, not through regions.
struct View {
    model: Arc<Model>,
    me: usize,
    /// The place of the last payload that was asked for.
    asked: RefCell<(usize, u64)>,
}

impl Words for View {
    fn head(&self, rank: usize, offset: u64) -> u64 {
        self.model.words[rank][offset as usize / 8].load(Acquire)
    }
    fn publish(&self, offset: u64, head: u64) {
        self.model.words[self.me][offset as usize / 8].store(head, Release);
    }
    fn erase(&self, offset: u64, bytes: usize) {
        for word in offset as usize / 8..(offset as usize + bytes) / 8 {
            self.model.words[self.me][word].store(0, Relaxed);
        }
    }
    fn entered(&self, rank: usize) -> u64 {
        self.model.entered[rank].load(Acquire)
    }
    fn tell_entered(&self, quarters: u64) {
        self.model.entered[self.me].store(quarters, Release);
        loom::sync::atomic::fence(Release);
    }
    fn latest(&self, rank: usize) -> u64 {
        self.model.latest[rank].load(Acquire)
    }
    fn tell_latest(&self, latest: u64) {
        self.model.latest[self.me].store(latest, Release);
    }
    fn payload(&self, rank: usize, offset: u64, _bytes: usize) -> Region {
        *self.asked.borrow_mut() = (rank, offset + HEAD_BYTES as u64);
        Region::EMPTY
    }
    fn closed(&self, rank: usize) -> u64 {
        self.model.closed[rank].load(Acquire)
    }
    fn tell_closed(&self, collectives: u64) {
        self.model.closed[self.me].store(collectives, Release);
    }
    /// All calls match here: what is closed says it all.
    fn has_left(&self, _: usize, _: u64) -> bool {
        false
    }
}

/// Payload that looks like a head of the collective `closed + 1`, the one that could be mistaken.
fn payload(closed: u64) -> u64 {
    (closed + 2) << LENGTH_BITS | TIGHT | 8
}

/// A collective: who appends, how many words of payload, and whether the other one reads it.
type Turn = (usize, usize, bool);

/// A member that runs collectives.
fn run(view: View, ranks: usize, capacity: usize, turns: &[Turn]) {
    let mut logs = Logs::new(view.me, ranks, capacity);
    for (closed, &(writer, words, is_read)) in (0..).zip(turns) {
        let shape = Shape { bytes: 8 * words, packing: Packing::Tight, meets: false };
        logs.open(closed as u32 + 1);
        if writer == view.me {
            write(&view, &mut logs, shape, closed);
        } else if is_read {
            read(&view, &mut logs, writer, shape, closed);
        }
        logs.pass(writer, shape);
        logs.close(&view);
    }
}

fn write(view: &View, logs: &mut Logs, shape: Shape, closed: u64) {
    while logs.claim(view, shape).is_none() {
        loom::thread::yield_now();
    }
    let (_, at) = *view.asked.borrow();
    for word in 0..shape.bytes / 8 {
        view.model.words[view.me][at as usize / 8 + word].store(payload(closed), Relaxed);
    }
    logs.publish(view);
}

fn read(view: &View, logs: &mut Logs, writer: usize, shape: Shape, closed: u64) {
    while logs.look(view, writer, shape) == Look::Nothing {
        loom::thread::yield_now();
    }
    assert_eq!(logs.look(view, writer, shape), Look::Record(Region::EMPTY));
    let (_, at) = *view.asked.borrow();
    for word in 0..shape.bytes / 8 {
        let found = view.model.words[writer][at as usize / 8 + word].load(Relaxed);
        assert_eq!(found, payload(closed), "collective {closed}");
    }
}

fn check(capacity: usize, turns: &'static [Turn]) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let words = || (0..capacity / 8).map(|_| AtomicU64::new(0)).collect();
        let model = Arc::new(Model {
            words: vec![words(), words()],
            closed: vec![AtomicU64::new(0), AtomicU64::new(0)],
            entered: vec![AtomicU64::new(0), AtomicU64::new(0)],
            latest: vec![AtomicU64::new(0), AtomicU64::new(0)],
        });
        let view = |me| View { model: model.clone(), me, asked: RefCell::default() };
        let there = view(1);
        let other = loom::thread::spawn(move || run(there, 2, capacity, turns));
        run(view(0), 2, capacity, turns);
        other.join().unwrap();
    });
}

const R: bool = true;
/// Not read.
const N: bool = false;

#[test]
fn a_writer_that_runs_ahead_overwrites_nothing() {
    check(128, &[(0, 1, R), (0, 3, R), (0, 1, R), (0, 1, R), (0, 2, R), (0, 1, R)]);
}

#[test]
fn writers_take_turns() {
    check(128, &[(0, 3, R), (1, 3, R), (0, 3, R), (1, 1, R), (0, 3, R), (1, 3, R), (0, 3, R)]);
}

#[test]
fn a_reader_that_skips_records_takes_no_old_payload_for_a_head() {
    check(128, &[(0, 3, R), (0, 3, R), (0, 3, N), (0, 3, N), (0, 1, N), (0, 1, R), (0, 1, R)]);
}

/// A writer goes on while the reader waits for messages in collective 5, behind a record that did
/// not fill its quarter: the next one did not fit before the end of the log.
#[test]
fn a_reader_that_was_lapped_takes_no_payload_for_a_head() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let words = || (0..512 / 8).map(|_| AtomicU64::new(0)).collect();
        let zeros = || vec![AtomicU64::new(0), AtomicU64::new(0)];
        let model =
            Arc::new(Model { words: vec![words()], closed: zeros(), entered: zeros(), latest: zeros() });
        let view = |me| View { model: model.clone(), me, asked: RefCell::default() };
        let shape = |bytes| Shape { bytes, packing: Packing::Tight, meets: false };
        let (mut writer, mut reader) = (Logs::new(0, 2, 512), Logs::new(1, 2, 512));
        let (here, there) = (view(0), view(1));
        for (number, bytes) in [(1, 120), (2, 120), (3, 56), (4, 120)] {
            for logs in [&mut writer, &mut reader] {
                logs.open(number);
            }
            write(&here, &mut writer, shape(bytes), 3);
            for (logs, view) in [(&mut writer, &here), (&mut reader, &there)] {
                logs.pass(0, shape(bytes));
                logs.close(view);
            }
        }
        let other = loom::thread::spawn(move || {
            for number in 6..=9 {
                writer.open(number);
                write(&here, &mut writer, shape(120), 3);
                writer.pass(0, shape(120));
                writer.close(&here);
            }
        });
        reader.open(5);
        assert_eq!(reader.find(&there, 0), None);
        other.join().unwrap();
        assert_eq!((there.entered(0), reader.find(&there, 0)), (4, None));
    });
}
