//! The lock under loom, and its counts when they wrap around.

use super::*;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use verbena_memory::Owned;

/// A lock, a number that only writers change, and a bell that wakes one who sleeps.
struct Model {
    lock: Lock<AtomicU64>,
    /// Two halves of one number. Loom lets a thread see an old one if the lock does not order them.
    halves: [AtomicU64; 2],
    /// The tickets of those who sleep.
    asleep: Mutex<Vec<Ticket>>,
    bell: Condvar,
    inside: Mutex<u32>,
    met: Condvar,
}

impl Word for AtomicU64 {
    fn load(&self) -> u64 {
        AtomicU64::load(self, Acquire)
    }

    fn compare_exchange(&self, current: u64, new: u64) -> Result<u64, u64> {
        AtomicU64::compare_exchange(self, current, new, AcqRel, Acquire)
    }
}

impl Model {
    fn new(word: u64) -> Arc<Model> {
        Arc::new(Model {
            lock: Lock(AtomicU64::new(word)),
            halves: [AtomicU64::new(0), AtomicU64::new(0)],
            asleep: Mutex::new(Vec::new()),
            bell: Condvar::new(),
            inside: Mutex::new(0),
            met: Condvar::new(),
        })
    }

    /// Wakes the holder of a ticket. One who does not sleep yet looks before.
    fn wake(&self, next: Option<Ticket>) {
        if let Some(next) = next {
            self.asleep.lock().unwrap().retain(|ticket| *ticket != next);
            self.bell.notify_all();
        }
    }

    /// Waits asleep until the ticket's turn.
    fn enter(&self, kind: Kind) {
        let ticket = self.lock.ticket();
        let mut asleep = self.asleep.lock().unwrap();
        loop {
            match self.lock.try_enter(ticket, kind) {
                Attempt::Entered { next } => {
                    drop(asleep);
                    return self.wake(next);
                }
                Attempt::Early => {
                    asleep.push(ticket);
                    while asleep.contains(&ticket) {
                        asleep = self.bell.wait(asleep).unwrap();
                    }
                }
            }
        }
    }

    fn write(&self) {
        let number = self.halves[0].load(Relaxed);
        assert_eq!(self.halves[1].load(Relaxed), number);
        self.halves.iter().for_each(|half| half.store(number + 1, Relaxed));
    }

    fn read(&self) {
        assert_eq!(self.halves[0].load(Relaxed), self.halves[1].load(Relaxed));
    }

    /// Waits until two are here.
    fn meet(&self) {
        let mut inside = self.inside.lock().unwrap();
        *inside += 1;
        self.met.notify_all();
        while *inside < 2 {
            inside = self.met.wait(inside).unwrap();
        }
    }

    fn visit(&self, kind: Kind) {
        self.enter(kind);
        self.work(kind);
    }

    fn work(&self, kind: Kind) {
        match kind {
            Kind::Writer => self.write(),
            Kind::Reader => self.read(),
        }
        let next = self.lock.leave(kind);
        self.wake(next);
    }
}

/// Runs a thread of each kind, with all interleavings of so many switches.
fn check(switches: usize, word: u64, kinds: &'static [Kind]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(move || {
        let lock = Model::new(word);
        let others: Vec<_> = kinds[1..]
            .iter()
            .map(|&kind| {
                let lock = lock.clone();
                thread::spawn(move || lock.visit(kind))
            })
            .collect();
        lock.visit(kinds[0]);
        others.into_iter().for_each(|other| other.join().unwrap());
        let writers = kinds.iter().filter(|&&kind| kind == Kind::Writer).count() as u64;
        assert_eq!(lock.halves[1].load(Relaxed), writers);
        let end = Counts::of(lock.lock.0.load(Relaxed));
        assert!(end.next == end.readers && end.next == end.writers);
    });
}

use Kind::{Reader, Writer};

#[test]
fn loom_writers_exclude_each_other() {
    check(3, 0, &[Writer, Writer]);
    check(2, 0, &[Writer, Writer, Writer]);
}

#[test]
fn loom_writers_exclude_readers_and_all_who_sleep_are_woken() {
    check(2, 0, &[Writer, Reader, Reader]);
    check(2, 0, &[Reader, Writer, Writer]);
}

/// Two readers wait for a writer, and then inside for each other, as in a barrier. Each would sleep
/// for ever if the first did not wake the second.
#[test]
fn loom_readers_share() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let lock = Model::new(0);
        assert!(lock.lock.try_lock(Writer));
        let readers = [(); 2].map(|()| {
            let lock = lock.clone();
            thread::spawn(move || {
                lock.enter(Reader);
                lock.meet();
                lock.work(Reader);
            })
        });
        lock.work(Writer);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn loom_counts_wrap_around() {
    let last = Counts { next: COUNT, readers: COUNT, writers: COUNT }.word();
    check(2, last, &[Writer, Reader, Writer]);
}

/// Attempts neither wait nor get in while another is inside.
#[test]
fn loom_attempts_exclude_each_other_and_those_who_wait() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let lock = Model::new(0);
        let other = {
            let lock = lock.clone();
            thread::spawn(move || lock.visit(Writer))
        };
        for kind in [Writer, Reader] {
            if lock.lock.try_lock(kind) {
                lock.work(kind);
            }
        }
        other.join().unwrap();
    });
}

fn in_memory() -> (Owned, Lock<Region>) {
    let owned = Owned::zeroed(8);
    let lock = Lock(owned.lend());
    (owned, lock)
}

#[test]
fn nobody_overtakes() {
    let (_owned, lock) = in_memory();
    assert!(lock.try_lock(Reader) && lock.try_lock(Reader));
    assert!(!lock.try_lock(Writer));
    let writer = lock.ticket();
    let reader = lock.ticket();
    assert!(!lock.try_lock(Reader), "a writer waits");
    assert_eq!(lock.try_enter(reader, Reader), Attempt::Early);
    assert_eq!(lock.try_enter(writer, Writer), Attempt::Early);
    assert_eq!(lock.leave(Reader), None, "another reader is inside");
    assert_eq!(lock.leave(Reader), Some(writer), "the writer may enter");
    assert_eq!(lock.try_enter(reader, Reader), Attempt::Early);
    assert_eq!(lock.try_enter(writer, Writer), Attempt::Entered { next: None });
    assert_eq!(lock.leave(Writer), Some(reader));
    assert_eq!(lock.try_enter(reader, Reader), Attempt::Entered { next: None });
    assert_eq!(lock.leave(Reader), None, "nobody waits");
}

#[test]
fn a_reader_that_entered_lets_the_next_one_in() {
    let (_owned, lock) = in_memory();
    assert!(lock.try_lock(Writer));
    let tickets = [lock.ticket(), lock.ticket()];
    assert_eq!(lock.leave(Writer), Some(tickets[0]));
    assert_eq!(lock.try_enter(tickets[1], Reader), Attempt::Early);
    assert_eq!(lock.try_enter(tickets[0], Reader), Attempt::Entered { next: Some(tickets[1]) });
    assert_eq!(lock.try_enter(tickets[1], Reader), Attempt::Entered { next: None });
    assert_eq!([lock.leave(Reader), lock.leave(Reader)], [None; 2]);
    assert!(lock.try_lock(Writer));
}
