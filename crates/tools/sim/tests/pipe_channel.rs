//! Paper 2's RDMA Channel by its five functions, over simulated devices: partial counts, the pipe
//! that stands while memory is read, the rights of what is offered, and memory that cannot be
//! registered.

use verbena_channel::{Access, Payload, Peer};
use verbena_infiniband::pipe::rdma_channel::Beginning;
use verbena_infiniband::pipe::{Design, Pipes, RdmaChannel, Settings};
use verbena_infiniband::rc::adapter::Adapter;
use verbena_memory::{Owned, Region};
use verbena_sim::over_pipe::PipeFaults;
use verbena_sim::verbs::{Costs, DeviceFaults, SimAdapter, Subnet};

/// Virtual time between two calls, in nanoseconds.
const STEP_NS: u64 = 20_000;
/// Calls after which something that should happen has not.
const CALLS_MAX: usize = 1000;

/// Two processes that are connected.
struct Two {
    pipes: Vec<Pipes<SimAdapter>>,
    subnet: Subnet,
}

impl Two {
    fn new(settings: &Settings, device: DeviceFaults) -> Two {
        let subnet = Subnet::new(1, 2, Costs::PLAIN, device);
        let adapters = [0, 1].map(|rank| subnet.adapter(rank));
        let cards: Vec<_> = adapters.iter().map(|adapter| Some(adapter.address())).collect();
        let begin = |(me, adapter)| {
            Pipes::initialize(Beginning { me, adapter, cards: cards.clone(), settings: settings.clone() })
        };
        let pipes = (0..).zip(adapters).map(begin).collect();
        let mut two = Two { pipes, subnet };
        two.put_all(0, &[1]);
        two.get_all(1, 1);
        two.put_all(1, &[2]);
        two.get_all(0, 1);
        two
    }

    fn of(design: Design) -> Two {
        Two::new(&PipeFaults::none(design).settings, DeviceFaults::NONE)
    }

    /// Lets time pass, and both manage their processes.
    fn pass(&mut self) {
        self.subnet.run_until(self.subnet.now_ns() + STEP_NS);
        self.pipes.iter_mut().for_each(|pipes| _ = pipes.manage());
    }

    fn put(&mut self, end: usize, from: &[Payload<'_>]) -> usize {
        self.pipes[end].put(1 - end as Peer, from).expect("connected")
    }

    fn get(&mut self, end: usize, into: Region) -> usize {
        self.pipes[end].get(1 - end as Peer, into).expect("connected")
    }

    fn put_all(&mut self, end: usize, bytes: &[u8]) {
        let mut put = 0;
        for _ in 0..CALLS_MAX {
            put += self.put(end, &[Payload::Bytes(&bytes[put..])]);
            if put == bytes.len() {
                return;
            }
            self.pass();
        }
        panic!("{put} bytes of {} were put", bytes.len());
    }

    fn get_all(&mut self, end: usize, bytes: usize) -> Vec<u8> {
        let into = Owned::zeroed(bytes);
        let (region, mut got) = (into.lend(), 0);
        for _ in 0..CALLS_MAX {
            got += self.get(end, region.part(got, bytes - got));
            if got == bytes {
                return region.to_vec();
            }
            self.pass();
        }
        panic!("{got} bytes of {bytes} were got");
    }
}

fn numbered(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at + at / 251) as u8).collect()
}

/// Paper 2, 3.2: put returns what fitted, get what was there, and both go on with the rest.
#[test]
fn bytes_go_in_parts_and_in_order() {
    for design in [Design::Basic, Design::Piggyback, Design::Pipeline] {
        let (mut two, bytes, into) = (Two::of(design), numbered(3000), Owned::zeroed(3000));
        let first = two.put(0, &[Payload::Bytes(&bytes[..10]), Payload::Bytes(&bytes[10..])]);
        assert!((500..=1024).contains(&first), "{design:?}: {first} bytes in a ring of 1024");
        assert_eq!(two.put(0, &[Payload::Bytes(&bytes[first..])]), 0, "{design:?}: the ring is full");
        assert_eq!(two.get(1, into.lend()), 0, "{design:?}: nothing has come yet");
        two.pass();
        let got = two.get(1, into.lend());
        assert_eq!(got, first, "{design:?}");
        assert_eq!(two.get(1, into.lend().part(got, 3000 - got)), 0, "{design:?}: the ring is empty");
        two.pass();
        let second = two.put(0, &[Payload::Bytes(&bytes[first..])]);
        assert!(second > 0, "{design:?}: there is room again");
        two.pass();
        let rest = two.get_all(1, second);
        assert_eq!([&into.lend().to_vec()[..got], &rest].concat(), bytes[..got + second], "{design:?}");
    }
}

/// Paper 2, 5: put and get return 0 until the memory was read, the sender until it was told; what
/// comes behind waits.
#[test]
fn the_pipe_stands_while_memory_is_read() {
    let mut two = Two::of(Design::ZeroCopy);
    let (long, into) = (Owned::from(&numbered(5000)[..]), Owned::zeroed(5000));
    let before = two.subnet.counts();
    let list = [Payload::Region(long.lend()), Payload::Bytes(&[9])];
    assert_eq!(two.put(0, &list), 0);
    assert_eq!(two.put(0, &list), 0);
    assert_eq!(two.subnet.counts().since(&before).writes, 1, "one special packet");
    two.pass();
    assert_eq!(two.get(1, into.lend()), 0, "the device reads");
    assert_eq!(two.put(0, &list), 0);
    let mut calls = 0;
    while two.get(1, into.lend()) == 0 {
        two.pass();
        assert_eq!(two.put(0, &list), 0, "the receiver has not said that it has all");
        calls += 1;
        assert!(calls < CALLS_MAX, "the memory is never read");
    }
    assert_eq!(into.lend().to_vec(), numbered(5000));
    two.pass();
    let nothing = Owned::zeroed(1);
    assert_eq!(two.get(0, nothing.lend()), 0, "the acknowledgement is no byte of the pipe");
    assert_eq!(two.put(0, &list), 5001, "the memory, and what waited behind it");
    two.pass();
    assert_eq!(two.get_all(1, 1), [9]);
    let counts = two.subnet.counts().since(&before);
    assert_eq!((counts.reads, two.subnet.violations().len()), (1, 0));
}

/// A peer may write into its pipe and read what it is offered, and nothing else, for no longer than
/// it must.
#[test]
fn keys_give_no_more_rights_than_are_needed() {
    let mut two = Two::of(Design::ZeroCopy);
    let (long, into) = (Owned::from(&numbered(5000)[..]), Owned::zeroed(5000));
    assert_eq!(two.put(0, &[Payload::Region(long.lend())]), 0);
    assert_eq!(two.subnet.rights(0, long.lend()), [Access::READ]);
    two.pass();
    assert_eq!(two.get(1, into.lend()), 0);
    assert_eq!(two.subnet.rights(1, into.lend()), [Access::WRITE], "as memory to receive in has");
    while two.get(1, into.lend()) == 0 {
        two.pass();
    }
    assert_eq!(two.subnet.rights(1, into.lend()), [], "nothing is kept without a watch");
    two.pass();
    two.get(0, Owned::zeroed(1).lend());
    assert_eq!(two.subnet.rights(0, long.lend()), []);
}

/// Memory that the limit leaves no room to register is copied; the receiver need not know.
#[test]
fn memory_that_cannot_be_registered_is_copied() {
    let settings = PipeFaults::none(Design::ZeroCopy).settings;
    let mut device = DeviceFaults::NONE;
    let two = Two::new(&settings, device);
    device.limits.register_bytes_max = two.subnet.registered_bytes(0).0 + 1000;
    drop(two);
    let mut two = Two::new(&settings, device);
    let long = Owned::from(&numbered(5000)[..]);
    let first = two.put(0, &[Payload::Region(long.lend())]);
    assert!(first > 0, "a part was copied");
    let mut got = Vec::new();
    let mut put = first;
    while got.len() < 5000 {
        two.pass();
        let left = long.lend().part(put, 5000 - put);
        put += if put < 5000 { two.put(0, &[Payload::Region(left)]) } else { 0 };
        two.pass();
        got.extend(two.get_all(1, put - got.len()));
    }
    assert_eq!((got, two.subnet.counts().reads), (numbered(5000), 0));
}

/// Paper 2, 3.2: who finalises waits until all is there.
#[test]
fn a_process_leaves_when_all_has_arrived() {
    for design in Design::ALL {
        let mut two = Two::of(design);
        two.put_all(0, &numbered(100));
        let mut calls = 0;
        while !two.pipes[0].finalize() {
            two.pass();
            calls += 1;
            assert!(calls < CALLS_MAX, "{design:?}: it never becomes quiet");
        }
        assert!(calls > 0, "{design:?}: the bytes were on their way");
        two.subnet.kill(0);
        assert_eq!(two.get_all(1, 100), numbered(100), "{design:?}");
    }
}
