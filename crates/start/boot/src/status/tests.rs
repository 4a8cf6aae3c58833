//! The memory that ranks share with their launcher, written and read.

use super::*;

/// A rank's place in the memory, by a descriptor of its own.
fn place(memory: &StatusMemory, place: usize) -> Option<StatusPlace> {
    let own = std::os::fd::IntoRawFd::into_raw_fd(memory.memory.try_clone().expect("a descriptor"));
    StatusPlace::told(&format!("{own}:{}:{place}", memory.inode))
}

#[test]
fn the_launcher_reads_what_a_rank_says() {
    let memory = StatusMemory::create(2).expect("memory");
    let own = place(&memory, 1).expect("a place");
    assert_eq!(memory.read(1), None);
    own.beat();
    own.set_waits(3);
    let pulse = Pulse { beats: 1, waits: 3, pid: std::process::id().into() };
    assert_eq!((memory.pulse(1), memory.pulse(0)), (pulse, Pulse::default()));
    own.write(b"hello, launcher", own.question());
    assert_eq!(memory.read(1), Some((b"hello, launcher".to_vec(), true)));
    memory.ask();
    assert!(own.is_asked());
    assert_eq!(memory.read(1), Some((b"hello, launcher".to_vec(), false)));
    own.write(&[7; 2 * BYTES_MAX], own.question());
    assert_eq!(memory.read(1), Some((vec![7; BYTES_MAX], true)));
    assert!(!own.is_asked());
}

#[test]
fn frames_answer_one_question() {
    let memory = StatusMemory::create(1).expect("memory");
    let own = place(&memory, 0).expect("a place");
    assert!(!memory.offers_frames(0));
    own.offer_frames();
    memory.ask();
    assert!(memory.offers_frames(0) && memory.frames(0).is_empty());
    own.write_frames(b"in main", &[3, 4]);
    own.write(&[9; BYTES_MAX], 0);
    assert_eq!((memory.frames(0), memory.traceback(0)), (vec![3, 4], b"in main".to_vec()));
    own.write_frames(&[6; 2 * PYTHON_BYTES_MAX], &[5; 2 * FRAMES_MAX]);
    own.write(&[9; BYTES_MAX], 0);
    assert_eq!(memory.frames(0), [5; FRAMES_MAX]);
    assert_eq!(memory.traceback(0), [6; PYTHON_BYTES_MAX]);
    memory.ask();
    assert!(memory.frames(0).is_empty() && memory.traceback(0).is_empty());
}

#[test]
fn deaths_are_told_once_and_to_all() {
    let memory = StatusMemory::create(2).expect("memory");
    let all = [0, 1].map(|at| place(&memory, at).expect("a place"));
    assert!(!memory.goes_on(1));
    all[1].go_on(true);
    assert_eq!([0, 1].map(|at| memory.goes_on(at)), [false, true]);
    all[1].go_on(false);
    assert_eq!([0, 1].map(|at| memory.goes_on(at)), [false, false]);
    assert!(memory.bury(70) && memory.bury(3) && memory.bury(70) && !memory.bury(RANKS_MAX as u32));
    assert!(all.iter().all(|own| own.deaths() == 2 && own.dead() == [3, 70]));
    assert_eq!((memory.acknowledged(), memory.acknowledged_ranks()), (0, vec![]));
    all[0].acknowledge([70, RANKS_MAX as u32]);
    all[1].acknowledge([70]);
    assert_eq!((memory.acknowledged(), memory.acknowledged_ranks()), (1, vec![70]));
    let last = RANKS_MAX as u32 - 1;
    assert!(memory.bury(last) && all[0].dead() == [3, 70, last]);
    assert_eq!(memory.acknowledged_ranks(), [70], "the sets do not overlap");
}

#[test]
fn who_awaits_news_is_woken_by_it() {
    let memory = StatusMemory::create(2).expect("memory");
    let own = place(&memory, 1).expect("a place");
    // Without the bell this would last for hours.
    let hours = Duration::from_secs(7200);
    let await_change = |known: u64| {
        while own.news() == known {
            own.await_news(known, hours);
        }
        own.news()
    };
    std::thread::scope(|scope| {
        let known = own.news();
        let waiting = scope.spawn(move || await_change(known));
        std::thread::sleep(Duration::from_millis(20));
        assert!(memory.bury(0));
        let known = waiting.join().expect("no panic");
        assert_eq!(own.dead(), [0]);
        let waiting = scope.spawn(move || await_change(known));
        std::thread::sleep(Duration::from_millis(20));
        memory.part();
        assert!(waiting.join().expect("no panic") > known && own.is_parted());
    });
}

#[test]
fn all_ranks_hear_that_nobody_is_left_in_mpi() {
    let memory = StatusMemory::create(2).expect("memory");
    let all = [0, 1].map(|at| place(&memory, at).expect("a place"));
    assert!(!all[1].is_parted());
    memory.part();
    assert!(all.iter().all(StatusPlace::is_parted));
}

#[test]
fn a_crash_is_kept() {
    let memory = StatusMemory::create(1).expect("memory");
    let own = place(&memory, 0).expect("a place");
    assert_eq!(memory.crash(0), None);
    own.crash(11, b"here");
    assert_eq!(memory.crash(0), Some((11, b"here".to_vec())));
}

#[test]
fn a_place_that_does_not_exist_is_refused() {
    let memory = StatusMemory::create(2).expect("memory");
    assert!(place(&memory, 2).is_none());
    assert!(StatusPlace::told(&format!("{}:{}:0", memory.descriptor(), memory.inode + 1)).is_none());
    assert!(StatusPlace::told("nonsense").is_none());
}

#[test]
fn a_reader_never_sees_half_of_two_answers() {
    let memory = StatusMemory::create(1).expect("memory");
    let own = place(&memory, 0).expect("a place");
    std::thread::scope(|scope| {
        scope.spawn(|| (0..2000_u32).for_each(|n| own.write(&[n as u8; 100], 0)));
        let mut seen = 0;
        while seen < 500 {
            if let Some((bytes, _)) = memory.read(0) {
                assert!(bytes.iter().all(|&byte| byte == bytes[0]), "{bytes:?}");
                seen += 1;
            }
        }
    });
}
