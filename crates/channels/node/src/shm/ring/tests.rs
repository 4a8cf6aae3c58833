//! The ring's protocol under loom, which tries the interleavings and the reorderings that the
//! memory model allows, and reports bytes that one end touches while the other may.

use super::*;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*};

/// A ring whose lines each carry one word besides the flag.
struct Model {
    flags: Vec<AtomicU64>,
    words: Vec<UnsafeCell<u64>>,
    consumed: AtomicU64,
}

// SAFETY: the test is about just this: loom reports it if two threads use a word at the same time.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

impl Model {
    fn new(lines: u64, position: u64) -> Arc<Model> {
        Arc::new(Model {
            flags: (0..lines).map(|_| AtomicU64::new(0)).collect(),
            words: (0..lines).map(|_| UnsafeCell::new(0)).collect(),
            consumed: AtomicU64::new(position),
        })
    }

    fn write(&self, line: u64, lines: u64, value: u64) {
        for line in line..line + lines {
            // SAFETY: checked by loom.
            self.words[line as usize].with_mut(|word| unsafe { *word = value });
            if line + 1 < lines {
                // A payload covers the flag words of a record's further lines.
                self.flags[line as usize + 1].store(u64::MAX, Relaxed);
            }
        }
    }

    fn read(&self, line: u64, lines: u64) -> Vec<u64> {
        // SAFETY: checked by loom.
        (line..line + lines).map(|line| self.words[line as usize].with(|word| unsafe { *word })).collect()
    }
}

impl Lines for Model {
    fn count(&self) -> u64 {
        self.flags.len() as u64
    }

    fn flag(&self, line: u64) -> u64 {
        self.flags[line as usize].load(Acquire)
    }

    fn publish(&self, line: u64, flag: u64) {
        self.flags[line as usize].store(flag, Release);
    }

    fn clear(&self, line: u64) {
        self.flags[line as usize].store(0, Relaxed);
    }

    fn consumed(&self) -> u64 {
        self.consumed.load(Acquire)
    }

    fn tell_consumed(&self, position: u64) {
        self.consumed.store(position, Release);
    }
}

/// The payload that makes a record of this many lines.
fn payload_bytes(lines: u64) -> usize {
    (lines as usize - 1) * LINE_BYTES + 8
}

fn produce(ring: &Model, mut producer: Producer, records: &[u64]) {
    for (number, &lines) in (1..).zip(records) {
        if let Some(line) = producer.quick_line(ring).filter(|_| lines == 1) {
            ring.write(line, lines, number);
            producer.commit_quick_line(ring, line, payload_bytes(lines));
            continue;
        }
        let claim = loop {
            match producer.claim(ring, lines) {
                Some(claim) => break claim,
                None => loom::thread::yield_now(),
            }
        };
        ring.write(claim.line, lines, number);
        producer.commit(ring, claim, payload_bytes(lines));
    }
}

fn consume(ring: &Model, mut consumer: Consumer, records: &[u64]) {
    for (number, &lines) in (1..).zip(records) {
        let (line, bytes) = loop {
            match consumer.look(ring) {
                Found::Record { line, payload_bytes } => break (line, payload_bytes),
                Found::Nothing => loom::thread::yield_now(),
                Found::Note { line } => panic!("a note at {line}"),
                Found::Corrupt(flag) => panic!("flag {flag:#x}"),
            }
        };
        assert_eq!(bytes, payload_bytes(lines));
        assert_eq!(ring.read(line, lines), vec![number; lines as usize]);
        consumer.advance(ring, bytes);
    }
    assert_eq!(consumer.look(ring), Found::Nothing);
}

/// Sends `records` (their lines) through a ring of `lines` lines whose ends stand at `position`.
fn check(lines: u64, position: u64, records: &'static [u64]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let ring = Model::new(lines, position);
        let producer = Producer {
            head: position,
            clean: position + lines,
            limit: position + lines,
            quick: 0,
            may_be_quick: true,
        };
        let consumer = Consumer { tail: position, told: position };
        let sender = {
            let ring = ring.clone();
            loom::thread::spawn(move || produce(&ring, producer, records))
        };
        consume(&ring, consumer, records);
        sender.join().unwrap();
    });
}

#[test]
fn loom_records_of_one_line_pass_a_ring_that_fills() {
    check(4, 0, &[1, 1, 1, 1, 1, 1]);
}

#[test]
fn loom_quick_lines_pass_a_ring_that_wraps() {
    check(8, 6, &[1, 1, 1, 1, 2, 1, 1]);
}

#[test]
fn loom_a_record_that_would_wrap_skips_to_the_start() {
    check(8, 7, &[2, 1]);
}

#[test]
fn loom_long_and_short_records_pass_a_ring_that_fills() {
    check(8, 5, &[2, 2, 2, 1, 2]);
}

/// A ring without atomics, for checks in one thread.
fn quiet(lines: u64, run: impl Fn(&Model) + Sync + Send + 'static) {
    loom::model(move || run(&Model::new(lines, 0)));
}

#[test]
fn a_full_ring_has_room_again_after_a_quarter() {
    quiet(16, |ring| {
        let (mut producer, mut consumer) = (Producer::new(ring, true), Consumer::new());
        let mut sent = 0;
        while let Some(claim) = producer.claim(ring, 1) {
            producer.commit(ring, claim, 0);
            sent += 1;
        }
        assert_eq!(sent, 15);
        for taken in 1..=4 {
            assert!(producer.claim(ring, 1).is_none());
            assert!(matches!(consumer.look(ring), Found::Record { .. }));
            assert_eq!(consumer.advance(ring, 0), taken == 4);
        }
        assert!(producer.claim(ring, 3).is_some());
    });
}

/// Rule 3: an empty ring takes the largest record, wherever the ends stand and whatever was not
/// told yet.
#[test]
fn an_empty_ring_always_has_room_for_the_largest_record() {
    quiet(16, |ring| {
        for told in 0..16 {
            for untold in 0..4 {
                let at = told + untold;
                ring.consumed.store(told, Relaxed);
                let mut producer = Producer { head: at, clean: at, limit: 0, quick: 0, may_be_quick: true };
                assert!(producer.claim(ring, 4).is_some(), "told {told}, at {at}");
            }
        }
    });
}

#[test]
fn nonsense_is_called_corrupt() {
    let quarter = 16 * LINE_BYTES as u64 / 4;
    quiet(16, move |ring| {
        for flag in [3, u64::MAX, SKIP, quarter << 2 | 1, u64::MAX << 2 | 1, 1 << 63 | 1] {
            ring.flags[0].store(flag, Relaxed);
            assert_eq!(Consumer::new().look(ring), Found::Corrupt(flag));
        }
        // Longer than what is left before the end.
        ring.flags[15].store(64 << 2 | 1, Relaxed);
        assert!(matches!(Consumer { tail: 15, told: 15 }.look(ring), Found::Corrupt(_)));
    });
}

#[test]
fn a_position_that_cannot_be_gives_no_room() {
    quiet(16, |ring| {
        let mut producer = Producer::new(ring, true);
        while let Some(claim) = producer.claim(ring, 1) {
            producer.commit(ring, claim, 0);
        }
        for position in [16, 1000, u64::MAX] {
            ring.consumed.store(position, Relaxed);
            assert!(producer.claim(ring, 1).is_none());
        }
    });
}
