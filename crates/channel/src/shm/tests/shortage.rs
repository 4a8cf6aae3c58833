//! What happens when memory is short, or when a process does not do its part at connect.

use super::*;
use crate::cma::refusal::{Call, refuse};
use crate::shm::connect::{default_ring_log2, log2_of};
use crate::shm::handover::{self, Gift};
use std::time::Instant;

/// Runs in a thread of its own, since a seccomp filter stays.
fn apart(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work).join().unwrap();
}

#[test]
fn rings_get_smaller_where_memory_is_short() {
    apart(|| {
        let (mut a, mut b) = pair();
        refuse(&[Call::fallocate_above(140_000)], libc::ENOSPC);
        let max = a.packet_bytes_max;
        assert!(send(&mut a, 1, 0, max) && send(&mut a, 1, 1, max));
        assert_eq!(ring::Lines::count(&ring_of(&a)), (128 << 10) / 64);
        assert_eq!(sequences(&drain(&mut b)), [0, 1]);
    });
}

#[test]
fn no_memory_for_any_ring_is_a_fault_with_the_numbers() {
    apart(|| {
        let (mut a, _b) = pair();
        refuse(&[Call::any(libc::SYS_fallocate)], libc::ENOSPC);
        for _ in 0..2 {
            let Err(SendError::Broken(fault)) = a.send(1, &header(0), Payload::Bytes(&[])) else { panic!() };
            assert!(fault.what.contains("266240 bytes"), "{fault}");
            assert!(fault.remedy.contains("VERBENA_SHM_RING_BYTES"), "{fault}");
        }
        assert_eq!(a.reach(1), None);
    });
}

#[test]
fn no_memory_at_connect_is_told_to_all() {
    apart(|| {
        refuse(&[Call::any(libc::SYS_fallocate)], libc::ENOSPC);
        for result in connect_all(3, 3, Duration::from_secs(20)) {
            let fault = result.unwrap_err();
            assert!(fault.to_string().contains("No space left on device"), "{fault}");
        }
    });
}

/// Opens `ranks` ranks, of which only the first `present` connect.
fn connect_all(ranks: u32, present: usize, limit: Duration) -> Vec<Result<Shm, Fault>> {
    let mut openings: Vec<ShmOpening> = (0..ranks).map(|me| ShmOpening::new(me, limit).unwrap()).collect();
    let cards: Vec<Option<Vec<u8>>> = openings.iter().map(|o| Some(crate::Opening::card(o))).collect();
    let _absent = openings.split_off(present);
    std::thread::scope(|s| {
        let connect = |o: ShmOpening| s.spawn(|| o.connect_shm(&cards, &Load::measure(ranks)));
        let threads: Vec<_> = openings.into_iter().map(connect).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

#[test]
fn ranks_that_do_not_come_are_named() {
    let results = connect_all(4, 2, Duration::from_millis(300));
    let fault = results[0].as_ref().unwrap_err();
    assert!(fault.what.contains("0.3 s") && fault.on.contains("[2, 3]"), "{fault}");
    assert!(results[1].is_ok());
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    let openings = [0, 1].map(|me| ShmOpening::new(me, Duration::from_millis(300)).unwrap());
    let cards: Vec<_> = openings.iter().map(|o| Some(crate::Opening::card(o))).collect();
    let [server, client] = openings;
    let fault = client.connect_shm(&cards, &Load::measure(2)).unwrap_err();
    assert!(fault.on.contains("process 1, asking process 0"), "{fault}");
    drop(server);
    let client = ShmOpening::new(1, Duration::from_secs(20)).unwrap();
    let cards = [cards[0].clone(), Some(crate::Opening::card(&client))];
    assert!(client.connect_shm(&cards, &Load::measure(2)).unwrap_err().what.contains("refused"));
}

#[test]
fn a_stranger_without_the_secret_gets_nothing() {
    let name = node::random_word().unwrap();
    let listener = handover::listen(name).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let segment = segment::Segment::create(4096).unwrap();
    std::thread::scope(|s| {
        let offer = handover::Offer::Memory(std::os::fd::AsFd::as_fd(&segment));
        let server = s.spawn(move || handover::serve(&listener, 7, 2, offer, deadline));
        assert!(handover::ask(name, 8, 1, deadline).is_err());
        assert!(matches!(handover::ask(name, 7, 1, deadline), Ok(Gift::Memory(_))));
        assert!(server.join().unwrap().unwrap().is_empty());
    });
}

#[test]
fn memory_of_another_job_is_refused() {
    let measures = control::Measures { ranks: 2, ring_log2: 14, boards: 1 };
    let make = || segment::Segment::create(measures.total_bytes()).unwrap();
    let again = |c: &Control| {
        let fd = std::os::fd::AsFd::as_fd(c.segment()).try_clone_to_owned().unwrap();
        segment::Segment::adopt(fd).unwrap()
    };
    let control = Control::create(make(), measures, 7).unwrap();
    assert!(Control::adopt(again(&control), 2, 7).is_some());
    assert!(Control::adopt(again(&control), 2, 8).is_none());
    assert!(Control::adopt(again(&control), 3, 7).is_none());
    assert!(Control::adopt(make(), 2, 7).is_none());
}

#[test]
fn nobody_can_shrink_the_segment() {
    use std::os::fd::{AsFd, AsRawFd};
    let segment = segment::Segment::create(8192).unwrap();
    // SAFETY: a call on our own descriptor.
    assert_eq!(unsafe { libc::ftruncate(segment.as_fd().as_raw_fd(), 0) }, -1);
}

#[test]
fn a_ring_holds_what_was_set() {
    assert_eq!([65536, 70000, 1].map(log2_of), [16, 17, 12]);
}

#[test]
fn rings_are_chosen_by_ranks_and_free_memory() {
    let plenty = u64::MAX;
    assert_eq!(
        [1, 2, 16, 64, 256, 1024].map(|ranks| default_ring_log2(ranks, plenty)),
        [18, 18, 18, 16, 14, 14]
    );
    assert_eq!(default_ring_log2(64, 256 << 20), 14);
    assert_eq!(default_ring_log2(2, 0), 12);
}

#[test]
fn processes_elsewhere_are_not_reached() {
    let opening = ShmOpening::new(1, Duration::from_secs(20)).unwrap();
    let own = crate::Opening::card(&opening);
    let mut far = own.clone();
    far[1] ^= 1;
    let mut end = opening.connect_shm(&[Some(far), Some(own), None], &Load::measure(1)).unwrap();
    assert_eq!([0, 1, 2, 77].map(|peer| end.reach(peer)), [None; 4]);
    assert!(matches!(end.send(0, &header(0), Payload::Bytes(&[])), Err(SendError::Broken(_))));
}
