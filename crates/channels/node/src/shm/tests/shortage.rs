//! Behaviour when memory is short, or when a process does not do its part at connect.

use super::*;
use crate::shm::connect::{default_ring_log2, log2_of};
use crate::shm::handover::{self, Gift};
use std::time::Instant;
use verbena_testing::files::take_over;
use verbena_testing::refusal::{Call, refuse};

/// Runs in a thread of its own, since a seccomp filter stays.
pub(super) fn apart(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work).join().unwrap();
}

#[test]
fn rings_get_smaller_where_memory_is_short() {
    apart(|| {
        let (mut a, mut b) = pair();
        refuse(&[Call::POPULATE_MUCH], libc::EFAULT);
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
        refuse(&[Call::POPULATE_MEMORY], libc::EFAULT);
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
        refuse(&[Call::POPULATE_MEMORY], libc::EFAULT);
        for result in connect_all(3, 3, Duration::from_secs(20)) {
            let fault = result.unwrap_err();
            assert!(fault.to_string().contains("No space left on device"), "{fault}");
        }
    });
}

/// A kernel without the advice: the descriptor is kept, and used as long as it is the memory's.
#[test]
fn an_old_kernel_needs_the_descriptor_and_meets_no_other_file() {
    apart(|| {
        refuse(&[Call::POPULATE], libc::EINVAL);
        let (segment, _) = segment::Segment::create(1 << 16).unwrap();
        segment.reserve(0, 8192).unwrap();
        let file = data_file(1 << 16);
        take_over(segment.kept_descriptor().expect("it is kept"), &file);
        for outcome in [segment.reserve(8192, 8192), segment.release(0, 1 << 16)] {
            assert!(verbena_machine::kept::is_lost(&outcome.unwrap_err()));
        }
        assert_eq!(whole(&file), vec![7; 1 << 16]);
    });
}

/// An unnamed file with this many sevens.
pub(super) fn data_file(bytes: usize) -> std::fs::File {
    // SAFETY: makes a descriptor, which the file owns.
    let mut file = unsafe {
        <std::fs::File as std::os::fd::FromRawFd>::from_raw_fd(libc::memfd_create(c"data".as_ptr(), 0))
    };
    std::io::Write::write_all(&mut file, &vec![7; bytes]).unwrap();
    file
}

pub(super) fn whole(file: &std::fs::File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, 0).unwrap();
    bytes
}

/// No descriptor is kept where the kernel knows the advice, and pages given back are zero.
#[test]
fn no_descriptor_is_kept() {
    let (segment, memory) = segment::Segment::create(1 << 16).unwrap();
    assert!(segment.kept_descriptor().is_none());
    drop(memory);
    segment.reserve(4096, 8192).unwrap();
    let byte = segment.at(4096, 1).unwrap();
    // SAFETY: reserved above, and only this test uses it.
    unsafe { byte.write(9) };
    segment.release(4096, 8192).unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { byte.read() }, 0);
}

/// Opens `ranks` ranks; only the first `present` connect.
fn connect_all(ranks: u32, present: usize, limit: Duration) -> Vec<Result<ShmChannel, Fault>> {
    let mut openings: Vec<ShmOpening> = (0..ranks).map(|me| ShmOpening::new(me, 0, limit).unwrap()).collect();
    let cards: Vec<Option<Vec<u8>>> =
        openings.iter().map(|o| Some(verbena_channel::Opening::card(o))).collect();
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
    let openings = [0, 1].map(|me| ShmOpening::new(me, 0, Duration::from_millis(300)).unwrap());
    let cards: Vec<_> = openings.iter().map(|o| Some(verbena_channel::Opening::card(o))).collect();
    let [server, client] = openings;
    let fault = client.connect_shm(&cards, &Load::measure(2)).unwrap_err();
    assert!(fault.on.contains("process 1, asking process 0"), "{fault}");
    drop(server);
    let client = ShmOpening::new(1, 0, Duration::from_secs(20)).unwrap();
    let cards = [cards[0].clone(), Some(verbena_channel::Opening::card(&client))];
    assert!(client.connect_shm(&cards, &Load::measure(2)).unwrap_err().what.contains("refused"));
}

#[test]
fn a_stranger_without_the_secret_gets_nothing() {
    let name = verbena_machine::random::word().unwrap();
    let listener = handover::listen(name).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let (_segment, memory) = segment::Segment::create(4096).unwrap();
    std::thread::scope(|s| {
        let offer = handover::Offer::Memory(std::os::fd::AsFd::as_fd(&memory), Err("none here"));
        let server = s.spawn(move || handover::serve(&listener, 7, 2, offer, deadline));
        assert!(handover::ask(name, 8, 1, deadline).is_err());
        let gift = handover::ask(name, 7, 1, deadline).unwrap();
        assert!(matches!(gift, Gift::Memory(_, Err(why)) if why == "none here"));
        assert!(server.join().unwrap().unwrap().is_empty());
    });
}

/// Programs of the same user that connect and say nothing, or not all.
#[test]
fn silent_connections_hold_up_nobody() {
    let limit = Duration::from_secs(20);
    let openings = [0, 1].map(|me| ShmOpening::new(me, 0, limit).unwrap());
    let cards: Vec<Option<Vec<u8>>> =
        openings.iter().map(|o| Some(verbena_channel::Opening::card(o))).collect();
    let server = card::Card::parse(cards[0].as_ref().unwrap()).unwrap().socket;
    let connect = |_| handover::connect(server, Instant::now() + limit).unwrap();
    let mut silent: Vec<_> = (0..6).map(connect).collect();
    std::io::Write::write_all(&mut silent[0], b"no").unwrap();
    std::thread::scope(|s| {
        let connect = |o: ShmOpening| s.spawn(|| o.connect_shm(&cards, &Load::measure(2)).map(drop));
        let threads = openings.map(connect);
        threads.into_iter().for_each(|t| t.join().unwrap().unwrap());
    });
}

/// A server that accepts nobody, and whose queue is full.
#[test]
fn a_connection_is_not_waited_for_longer_than_the_limit() {
    let name = verbena_machine::random::word().unwrap();
    let listener = handover::listen(name).unwrap();
    // SAFETY: a call on our own socket.
    assert_eq!(unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&listener), 0) }, 0);
    let connect = || handover::connect(name, Instant::now() + Duration::from_millis(50));
    let _queued = connect().unwrap();
    assert_eq!(connect().unwrap_err().kind(), std::io::ErrorKind::TimedOut);
}

#[test]
fn memory_of_another_job_is_refused() {
    let measures = control::Measures {
        ranks: 2,
        ring_log2: 14,
        boards: 1,
        cells: cell_layout::CellMeasures { small: 3, large: 2 },
        engines: 2,
    };
    let make = || segment::Segment::create(measures.total_bytes()).unwrap();
    let (segment, memory) = make();
    let again = || segment::Segment::adopt(memory.try_clone().unwrap()).unwrap();
    let _control = Control::create(segment, measures, 7).unwrap();
    assert!(Control::adopt(again(), 2, 7).is_some());
    assert!(Control::adopt(again(), 2, 8).is_none());
    assert!(Control::adopt(again(), 3, 7).is_none());
    assert!(Control::adopt(make().0, 2, 7).is_none());
}

#[test]
fn nobody_can_shrink_the_segment() {
    use std::os::fd::AsRawFd;
    let (_segment, memory) = segment::Segment::create(8192).unwrap();
    // SAFETY: a call on our own descriptor.
    assert_eq!(unsafe { libc::ftruncate(memory.as_raw_fd(), 0) }, -1);
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
    let opening = ShmOpening::new(1, 0, Duration::from_secs(20)).unwrap();
    let own = verbena_channel::Opening::card(&opening);
    let mut far = own.clone();
    far[1] ^= 1;
    let mut end = opening.connect_shm(&[Some(far), Some(own), None], &Load::measure(1)).unwrap();
    assert_eq!([0, 1, 2, 77].map(|peer| end.reach(peer)), [None; 4]);
    assert!(matches!(end.send(0, &header(0), Payload::Bytes(&[])), Err(SendError::Broken(_))));
}
