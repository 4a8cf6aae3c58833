//! The rights of a peer over memory that it was shown: no more than these, though it has a
//! connection and knows the key.

use super::rig::{Rig, settings};
use verbena_channel::{Access, Atomic, Key, RemoteMemory, Transfer};
use verbena_memory::{Owned, Region};
use verbena_sim::over_rc::keep_registrations;
use verbena_sim::verbs::DeviceFaults;

const BYTES: usize = 5000;

/// Two connected channels that keep registrations.
fn connected() -> Rig {
    let mut rig = Rig::new(2, 7, &settings(), DeviceFaults::NONE);
    rig.channels.iter_mut().for_each(keep_registrations);
    rig.send(0, 1, 0, 10);
    rig.send(1, 0, 1, 10);
    rig.await_packets(0, 1);
    rig.await_packets(1, 1);
    rig
}

/// Lets rank 1 show this memory for each of these uses in turn, and rank 0 read (or write) by the
/// key of the last.
fn use_by_last(uses: &[Access], is_read: bool) -> ([u8; 2], usize, Rig) {
    let mut rig = connected();
    let [there, here] = [1, 2].map(|byte| Owned::from(&[byte; BYTES][..]));
    let (theirs, mine) = (there.lend(), here.lend());
    let shown: Vec<Key> =
        uses.iter().map(|access| rig.channels[1].expose(0, theirs, *access).expect("shown")).collect();
    let key = shown.last().expect("some use");
    let begun = match is_read {
        true => rig.channels[0].get(1, key, 0, mine, 9),
        false => rig.channels[0].put(1, key, 0, mine, 9),
    };
    assert_eq!(begun.expect("begun"), Transfer::Pending);
    rig.steps(2000);
    let [there, here] = [theirs, mine].map(|region| region.to_vec());
    assert!(there.iter().all(|byte| *byte == there[0]) && here.iter().all(|byte| *byte == here[0]));
    let broken = rig.logs[0].broken.len();
    ([there[0], here[0]], broken, rig)
}

#[test]
fn memory_is_moved_in_the_direction_for_which_it_is_shown() {
    for (access, is_read, expected) in [(Access::READ, true, [1, 1]), (Access::WRITE, false, [2, 2])] {
        let (bytes, broken, rig) = use_by_last(&[access], is_read);
        assert_eq!((bytes, broken), (expected, 0), "{access:?}");
        assert_eq!(rig.subnet.violations(), Vec::<String>::new());
    }
}

/// A key opens one direction, even if the same memory is, or was, shown for the other one by
/// another key.
#[test]
fn no_key_opens_the_other_direction() {
    for (last, is_read) in [(Access::READ, false), (Access::WRITE, true)] {
        for uses in [&[last][..], &[Access::READ, last], &[Access::WRITE, last], &[Access::READ_WRITE, last]]
        {
            let (bytes, broken, rig) = use_by_last(uses, is_read);
            assert_eq!((bytes, broken), ([1, 2], 1), "{uses:?}");
            assert_eq!(rig.subnet.violations().len(), 1);
        }
    }
}

/// An atomic operation needs a right of its own, and with it a number is added to. Reads, writes
/// and atomic operations that are under way at once keep to the device's limits.
#[test]
fn no_key_but_an_atomic_one_opens_atomic_operations() {
    for access in Access::ALL {
        let mut rig = connected();
        let [there, here] = [8 * 50, 8 * 50].map(Owned::zeroed);
        let (theirs, mine) = (there.lend(), here.lend());
        let key = rig.channels[1].expose(0, theirs, access).expect("shown");
        let adds = if access.atomic { 50 } else { 1 };
        for at in 0..adds {
            let former = mine.part(8 * at, 8);
            let atomics = rig.channels[0].atomics().expect("the simulated device has them");
            let begun = atomics.atomic(1, &key, 8, Atomic::FetchAdd(3), former, at as u64);
            assert_eq!(begun.expect("begun"), Transfer::Pending);
        }
        rig.steps(2000);
        let number = |region: Region, at| {
            let mut bytes = [0; 8];
            region.read(8 * at, &mut bytes);
            u64::from_ne_bytes(bytes)
        };
        let refused = usize::from(!access.atomic);
        assert_eq!(number(theirs, 1), if access.atomic { 150 } else { 0 }, "{access:?}");
        assert_eq!((0..adds).map(|at| number(mine, at)).max(), Some(147 * u64::from(access.atomic)));
        assert_eq!(
            (rig.logs[0].broken.len(), rig.subnet.violations().len()),
            (refused, refused),
            "{access:?}"
        );
        assert_eq!(rig.subnet.counts().atomics, adds as u64);
    }
}
