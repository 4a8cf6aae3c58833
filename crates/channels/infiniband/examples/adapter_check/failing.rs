//! Checks of what fails, and how it says so.

use crate::pairing::{Both, Memory, SIGNALLED, completion, done, failed, post, silent};
use verbena_channel::{Access, Atomic};
use verbena_infiniband::device::{Failed, Post, Refused, Trouble};
use verbena_infiniband::rc::adapter::{Adapter, Operation, Remote};
use verbena_memory::Region;

fn write_to(memory: &Memory) -> Operation {
    Operation::Write(Remote { address: memory.region.address(), key: memory.registration.remote_key })
}

pub(crate) fn full_receives(both: &mut Both) {
    let (_, own) = both.connect(false);
    let into = Memory::new(&mut both.b, 64);
    let most = both.b.limits().receives_max;
    for queue in [None, Some(own)] {
        let mut posted = 0;
        let refused = loop {
            match both.b.post_receive(queue, 0, into.region, into.registration.local_key) {
                Ok(()) => posted += 1,
                Err(refused) => break refused,
            }
            assert!(posted <= 4 * most, "it takes {posted} buffers of {most}");
        };
        assert!(matches!(refused, Refused::Full) && posted >= most, "{posted} of {most}: {refused:?}");
    }
}

/// Checks that all work that the limits allow fails, and is heard of, when the peer is gone.
pub(crate) fn full_sends(both: &mut Both) {
    let connections: Vec<_> = (0..3).map(|_| both.connect(false)).collect();
    let (from, into) = (Memory::new(&mut both.a, 64), Memory::new(&mut both.b, 64));
    let mut descriptor = both.a.describe(&from.work(0, write_to(&into)));
    connections.iter().for_each(|&(_, there)| both.b.close_pair(there));
    let most = both.a.limits().work_max;
    for &(here, _) in &connections {
        for _ in 0..most {
            both.a.post(here, &mut descriptor, 64, Post::default()).expect("within the limit");
        }
    }
    let mut firsts = 0;
    for _ in 0..3 * most {
        match completion(&mut both.a).outcome.expect_err("the peer is gone") {
            Failed::RetriesExhausted => firsts += 1,
            other => assert_eq!(other, Failed::Flushed),
        }
    }
    assert_eq!(firsts, 3);
    silent(&mut both.a);
    assert!(both.a.trouble().is_none());
}

pub(crate) fn remote_access(both: &mut Both) {
    let (here, there) = both.connect(true);
    let (from, into) = (Memory::new(&mut both.a, 64), Memory::new(&mut both.b, 64));
    let wrong = Remote { address: into.region.address(), key: into.registration.remote_key ^ 0x5500 };
    post(&mut both.a, here, &from, (1, Operation::Write(wrong)), 64, Post::default());
    post(&mut both.a, here, &from, (2, write_to(&into)), 64, Post::default());
    assert_eq!(failed(&mut both.a, 1), Failed::RemoteAccess);
    assert_eq!(failed(&mut both.a, 2), Failed::Flushed);
    assert_eq!(into.bytes(0, 64), [0; 64]);
    // Later work is flushed, or refused at once.
    match both.a.post(here, &mut both.a.describe(&from.work(4, write_to(&into))), 64, SIGNALLED) {
        Ok(()) => assert_eq!(failed(&mut both.a, 4), Failed::Flushed),
        Err(Refused::Broken(fault)) => assert!(fault.cause.contains("in error"), "{fault}"),
        Err(Refused::Full) => panic!("a queue pair in error is full"),
    }
    match both.b.trouble() {
        Some(Trouble::Pair(pair, fault)) => assert!(pair == there && fault.to_string().contains("GID")),
        // Not every device tells the owner of the memory.
        other => assert!(other.is_none(), "{other:?}"),
    }
    // Another connection is not affected.
    let (here, _) = both.connect(true);
    post(&mut both.a, here, &from, (3, write_to(&into)), 64, SIGNALLED);
    done(&mut both.a, 3);
}

fn refuse_atomic(both: &mut Both, access: Access) {
    if both.a.limits().atomics.is_none() {
        return;
    }
    let (here, _) = both.connect(true);
    let (mine, theirs) = (Memory::new(&mut both.a, 8), Memory::shown_for(access, &mut both.b, 64));
    let remote = Remote { address: theirs.region.address(), key: theirs.registration.remote_key };
    let add = Operation::Atomic(remote, Atomic::FetchAdd(1));
    post(&mut both.a, here, &mine, (1, add), 8, SIGNALLED);
    assert_eq!(failed(&mut both.a, 1), Failed::RemoteAccess, "atomically, {access:?}");
    assert_eq!(theirs.bytes(0, 64), [0; 64]);
}

/// Checks that a key gives no more rights than it was made for.
pub(crate) fn remote_rights(both: &mut Both) {
    for access in [Access::NONE, Access::READ, Access::WRITE] {
        refuse_atomic(both, access);
        let (here, _) = both.connect(true);
        let mine = Memory::new(&mut both.a, 64);
        let theirs = Memory::shown_for(access, &mut both.b, 64);
        mine.fill(5);
        let remote = Remote { address: theirs.region.address(), key: theirs.registration.remote_key };
        let operation = if access.write { Operation::Read(remote) } else { Operation::Write(remote) };
        post(&mut both.a, here, &mine, (1, operation), 64, SIGNALLED);
        assert_eq!(failed(&mut both.a, 1), Failed::RemoteAccess, "{access:?}");
        assert_eq!(theirs.bytes(0, 64), [0; 64]);
    }
}

pub(crate) fn local_access(both: &mut Both) {
    let (here, _) = both.connect(true);
    let (from, into) = (Memory::new(&mut both.a, 64), Memory::new(&mut both.b, 64));
    let mut work = from.work(1, write_to(&into));
    work.local_key ^= 0x5500;
    let mut descriptor = both.a.describe(&work);
    both.a.post(here, &mut descriptor, 64, Post::default()).expect("posted");
    // Soft-RoCE calls it an error of the queue pair (IBV_WC_LOC_QP_OP_ERR, 2).
    let failed = failed(&mut both.a, 1);
    assert!(matches!(failed, Failed::LocalAccess | Failed::Other(2)), "{failed:?}");
}

pub(crate) fn receiver_not_ready(both: &mut Both) {
    let mut both = both.with(|options| options.receiver_retries = 0);
    let (here, _) = both.connect(true);
    let from = Memory::new(&mut both.a, 64);
    post(&mut both.a, here, &from, (1, Operation::Send), 64, Post::default());
    assert_eq!(failed(&mut both.a, 1), Failed::ReceiverNotReady);
}

pub(crate) fn retries_exhausted(both: &mut Both) {
    let (here, there) = both.connect(true);
    let (from, into) = (Memory::new(&mut both.a, 64), Memory::new(&mut both.b, 64));
    both.b.close_pair(there);
    post(&mut both.a, here, &from, (1, write_to(&into)), 64, Post::default());
    assert_eq!(failed(&mut both.a, 1), Failed::RetriesExhausted);
}

pub(crate) fn closing(both: &mut Both) {
    let (here, there) = both.connect(true);
    let (second, _) = both.connect(true);
    let (from, into) = (Memory::new(&mut both.a, 64), Memory::new(&mut both.b, 64));
    for id in 0..3 {
        both.b.post_receive(None, id, into.region, into.registration.local_key).expect("posted");
        let through = if id == 1 { second } else { here };
        post(&mut both.a, through, &from, (id, Operation::Send), 8, SIGNALLED);
        done(&mut both.a, id);
    }
    both.b.close_pair(there);
    let mut ends: Vec<_> = (0..3).map(|_| completion(&mut both.b)).collect();
    ends.sort_by_key(|end| end.id);
    assert_eq!((ends[0].pair, ends[0].outcome), (there, Err(Failed::Flushed)));
    assert_eq!(ends[1].outcome, Ok(8));
    assert_eq!((ends[2].pair, ends[2].outcome), (there, Err(Failed::Flushed)));
    // The side that closes never hears of what was under way.
    post(&mut both.a, second, &from, (9, write_to(&into)), 8, SIGNALLED);
    both.a.close_pair(second);
    silent(&mut both.a);
    let refused = both.a.post(second, &mut both.a.describe(&from.work(1, write_to(&into))), 8, SIGNALLED);
    let Err(Refused::Broken(fault)) = refused else { panic!("a closed queue pair takes work") };
    assert!(fault.what.contains("no such queue pair"), "{fault}");
    both.b.close_pair(there);
}

pub(crate) fn many_connections(both: &mut Both) {
    let connections: Vec<_> = (0..24).map(|round| both.connect(round % 8 != 0)).collect();
    let (from, into) = (Memory::new(&mut both.a, 64), Memory::new(&mut both.b, 64));
    for round in 0..20u64 {
        for (number, &(here, _)) in connections.iter().enumerate() {
            let id = round << 32 | number as u64;
            post(&mut both.a, here, &from, (id, write_to(&into)), 64, SIGNALLED);
        }
    }
    // None is taken before all are there: they must all fit.
    std::thread::sleep(std::time::Duration::from_millis(300));
    for _ in 0..20 * connections.len() {
        assert_eq!(completion(&mut both.a).outcome, Ok(0));
    }
    silent(&mut both.a);
    assert!(both.a.trouble().is_none());
}

pub(crate) fn unmapped(both: &mut Both) {
    // SAFETY: nothing is mapped at so low an address, and nobody reads or writes it.
    let region = unsafe { Region::new(std::ptr::without_provenance_mut(4096), 4096) };
    let fault = both.a.register(region, Access::READ_WRITE).expect_err("registered");
    assert!(fault.cause.contains("not mapped") && fault.on.contains("0x1000"), "{fault}");
}

pub(crate) fn fork(both: &mut Both) {
    let (here, _) = both.connect(true);
    let (from, into) = (Memory::new(&mut both.a, 4096), Memory::new(&mut both.b, 4096));
    // SAFETY: the child only writes to memory and leaves.
    let child = unsafe { libc::fork() };
    if child == 0 {
        into.region.write(0, &[9; 4096]);
        std::thread::sleep(std::time::Duration::from_millis(100));
        // SAFETY: no destructor runs in the child.
        unsafe { libc::_exit(0) }
    }
    // Where pages are shared with the child, a write of this process would part them from the
    // device's.
    into.region.write(0, &[1; 4096]);
    from.fill(7);
    post(&mut both.a, here, &from, (1, write_to(&into)), 64, SIGNALLED);
    done(&mut both.a, 1);
    assert_eq!(into.bytes(0, 64), from.bytes(0, 64));
    assert_eq!(into.bytes(64, 64), [1; 64]);
    // SAFETY: waits for the child.
    assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
}

pub(crate) fn no_such_device(both: &mut Both) {
    use verbena_infiniband::device::options::{Named, Options};
    use verbena_infiniband::rc::verbs::Verbs;
    let named = |port| Named { device: both.names[0].clone(), port };
    let refusal = |options: Options| Verbs::open(&options).err().expect("refused");
    let fault = refusal(Options { devices: vec![named(Some(7))], ..Options::current() });
    assert!(fault.cause.contains(&format!("{}:1", both.names[0])), "{fault}");
    let other = Options { devices: vec![named(None)], gid_index: Some(200), ..Options::current() };
    let fault = refusal(other);
    assert!(fault.cause.contains("VERBENA_RC_GID_INDEX=200"), "{fault}");
}
