//! Two adapters, and connections between them.

use std::time::{Duration, Instant};
use verbena_channel::Access;
use verbena_infiniband::device::options::{Named, Options};
use verbena_infiniband::device::{Completion, Failed, Post, QueuePair, Registration};
use verbena_infiniband::rc::adapter::{Adapter, Operation, Work};
use verbena_infiniband::rc::verbs::Verbs;
use verbena_memory::{Owned, Region};

/// The longest that anything may take.
const LIMIT: Duration = Duration::from_secs(20);

/// Two adapters.
pub(crate) struct Both {
    pub names: [String; 2],
    pub a: Verbs,
    pub b: Verbs,
}

/// Memory of one adapter.
pub(crate) struct Memory {
    pub registration: Registration,
    pub region: Region,
    _owner: Owned,
}

impl Both {
    /// Opens both, with other options if `change` says so.
    pub(crate) fn open(one: &str, other: &str, change: impl Fn(&mut Options)) -> Both {
        let open = |name: &str| {
            let mut options = Options::current();
            options.devices = vec![Named { device: name.into(), port: None }];
            change(&mut options);
            Verbs::open(&options)
                .unwrap_or_else(|fault| panic!("{fault}"))
                .expect("a named device or a fault")
        };
        Both { names: [one.into(), other.into()], a: open(one), b: open(other) }
    }

    /// Opens both again with other options.
    pub(crate) fn with(&self, change: impl Fn(&mut Options)) -> Both {
        Both::open(&self.names[0], &self.names[1], change)
    }

    /// Prints what they are.
    pub(crate) fn show(&self) {
        for adapter in [&self.a, &self.b] {
            println!("{}: {:?}", adapter.place(), adapter.limits());
        }
    }

    /// Makes a connection.
    pub(crate) fn connect(&mut self, shared: bool) -> (QueuePair, QueuePair) {
        let (one, here) = self.a.open_pair(shared).expect("a queue pair");
        let (other, there) = self.b.open_pair(shared).expect("a queue pair");
        self.a.connect_pair(one, &there).expect("connected");
        self.b.connect_pair(other, &here).expect("connected");
        (one, other)
    }
}

impl Memory {
    pub(crate) fn new(adapter: &mut Verbs, bytes: usize) -> Memory {
        Memory::shown_for(Access::READ_WRITE, adapter, bytes)
    }

    pub(crate) fn shown_for(access: Access, adapter: &mut Verbs, bytes: usize) -> Memory {
        let owner = Owned::zeroed(bytes);
        let region = owner.lend();
        let registration = adapter.register(region, access).expect("registered");
        Memory { registration, region, _owner: owner }
    }

    /// Fills the memory with a pattern.
    pub(crate) fn fill(&self, seed: u8) {
        self.region.write(0, &pattern(self.region.len(), seed));
    }

    pub(crate) fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        self.region.read(offset, &mut out);
        out
    }

    /// Makes work over all of the memory.
    pub(crate) fn work(&self, id: u64, operation: Operation) -> Work {
        Work { id, operation, local: self.region, local_key: self.registration.local_key }
    }
}

pub(crate) fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(7).wrapping_add(seed)).collect()
}

/// Posts work over the first `bytes` of `memory`.
pub(crate) fn post(
    adapter: &mut Verbs,
    pair: QueuePair,
    memory: &Memory,
    work: (u64, Operation),
    bytes: usize,
    how: Post,
) {
    let mut descriptor = adapter.describe(&memory.work(work.0, work.1));
    adapter.post(pair, &mut descriptor, bytes, how).unwrap_or_else(|refused| panic!("{refused:?}"));
}

pub(crate) const SIGNALLED: Post = Post { signalled: true, inline: false };

/// Calls `look` until it finds something. Yields in between, since the device's driver needs the
/// processor too.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "nothing after {} s: {what}", LIMIT.as_secs());
        std::thread::yield_now();
    }
}

/// Waits for the next completion.
pub(crate) fn completion(adapter: &mut Verbs) -> Completion {
    until("a completion", || adapter.poll())
}

/// Waits for the next completion, which is a success of this work.
pub(crate) fn done(adapter: &mut Verbs, id: u64) -> u32 {
    let completion = completion(adapter);
    assert_eq!(completion.id, id, "{completion:?}");
    completion.outcome.unwrap_or_else(|failed| panic!("{failed:?}"))
}

/// Waits for the next completion, which is a failure of this work.
pub(crate) fn failed(adapter: &mut Verbs, id: u64) -> Failed {
    let completion = completion(adapter);
    assert_eq!(completion.id, id, "{completion:?}");
    completion.outcome.expect_err("a failure")
}

/// Checks that nothing completes for a while.
pub(crate) fn silent(adapter: &mut Verbs) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(20) {
        assert_eq!(adapter.poll(), None);
        std::thread::yield_now();
    }
}
