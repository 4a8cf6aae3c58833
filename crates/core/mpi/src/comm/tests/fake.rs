//! An [`Exchange`] through a shared table: every call of an exchange fills a place, and waits until
//! all places of that exchange are filled.

use super::super::*;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Condvar;
use std::time::Duration;

/// An exchange: context, kind, tag, which one of its kind, and the place in it.
type Key = (u64, char, i64, u64, i64);

/// The place where all ranks of a test meet.
#[derive(Default)]
struct Hub {
    places: Mutex<HashMap<Key, Vec<u8>>>,
    filled: Condvar,
}

/// One rank's view of the hub.
pub(crate) struct Fake {
    hub: Arc<Hub>,
    me: Peer,
    contexts: Cell<u64>,
    calls: RefCell<HashMap<(u64, char, i64), u64>>,
}

impl Fake {
    /// Counts this exchange, and returns the number of exchanges of its sort by this rank.
    fn count(&self, context: u64, kind: char, tag: i64) -> u64 {
        let mut calls = self.calls.borrow_mut();
        let count = calls.entry((context, kind, tag)).or_default();
        *count += 1;
        *count
    }

    fn put(&self, key: Key, data: &[u8]) {
        let old = self.hub.places.lock().unwrap().insert(key, data.to_vec());
        assert_eq!(old, None, "place {key:?} is filled twice: two communicators share a context");
        self.hub.filled.notify_all();
    }

    fn get(&self, key: Key) -> Vec<u8> {
        let places = self.hub.places.lock().unwrap();
        let limit = Duration::from_secs(20);
        let (places, waited) =
            self.hub.filled.wait_timeout_while(places, limit, |places| !places.contains_key(&key)).unwrap();
        assert!(!waited.timed_out(), "nobody filled {key:?}");
        places[&key].clone()
    }
}

impl Exchange for Fake {
    fn new_context(&self) -> u64 {
        self.contexts.set(self.contexts.get() + 1);
        u64::from(self.me) << 34 | self.contexts.get() << 2
    }

    fn allgather(&self, comm: &Comm, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        assert!(!comm.is_inter());
        let all: Vec<i32> = (0..comm.size()).collect();
        self.allgather_group(comm, &all, -1, mine)
    }

    fn bcast(&self, comm: &Comm, root: i32, data: Vec<u8>) -> Result<Vec<u8>> {
        assert!(!comm.is_inter());
        let context = comm.context(Traffic::Collective);
        let key = (context, 'b', 0, self.count(context, 'b', 0), 0);
        if comm.rank() == root {
            self.put(key, &data);
        }
        Ok(self.get(key))
    }

    fn sendrecv(&self, comm: &Comm, peer: i32, tag: i32, mine: &[u8]) -> Result<Vec<u8>> {
        let context = comm.context(Traffic::Collective);
        let (me, other) = (i64::from(self.me), i64::from(comm.peer(peer)));
        let count = self.count(context, 's', i64::from(tag) << 32 | other);
        self.put((context, 's', i64::from(tag), count, me << 32 | other), mine);
        Ok(self.get((context, 's', i64::from(tag), count, other << 32 | me)))
    }

    fn allgather_group(&self, comm: &Comm, members: &[i32], tag: i32, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let context = comm.context(Traffic::Collective);
        let set = members.iter().fold(i64::from(tag) << 40, |set, &member| set | 1 << member);
        let count = self.count(context, 'g', set);
        self.put((context, 'g', set, count, i64::from(comm.rank())), mine);
        Ok(members.iter().map(|&member| self.get((context, 'g', set, count, i64::from(member)))).collect())
    }
}

/// Runs `body` on `size` ranks at once, each with its world communicator, and returns what each
/// returned.
pub(crate) fn run<T: Send>(size: u32, body: impl Fn(&Comm, &Fake) -> T + Sync) -> Vec<T> {
    let hub = Arc::new(Hub::default());
    std::thread::scope(|scope| {
        let start = |me| {
            let (hub, body) = (hub.clone(), &body);
            scope.spawn(move || {
                let world = Comm::new(0, Arc::new(Group::new((0..size).collect(), me)), None);
                body(&world, &Fake { hub, me, contexts: Cell::new(1), calls: RefCell::default() })
            })
        };
        let threads: Vec<_> = (0..size).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Lets the ranks of `comm` meet, which fails if they are not all of it, or share a context with
/// others.
pub(crate) fn meet(comm: &Comm, fake: &Fake) {
    let inner = comm.inner();
    let all = fake.allgather(inner, &inner.rank().to_le_bytes()).unwrap();
    let expected: Vec<Vec<u8>> = (0..inner.size()).map(|rank| rank.to_le_bytes().to_vec()).collect();
    assert_eq!(all, expected);
    if comm.is_inter() && comm.rank() < comm.targets().size() {
        let theirs = fake.sendrecv(comm, comm.rank(), 9, &fake.me.to_le_bytes());
        assert_eq!(theirs.unwrap(), comm.peer(comm.rank()).to_le_bytes());
    }
}
