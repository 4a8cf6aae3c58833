//! Two channels in one process read and write each other's memory through the system calls all the
//! same.

use super::*;
use std::sync::atomic::Ordering::*;
use verbena_channel::conformance;
use verbena_channel::neighbor::Refusal;
use verbena_testing::refusal::{Call, refuse};

const BOTH: [Call; 2] = [Call::any(libc::SYS_process_vm_readv), Call::any(libc::SYS_process_vm_writev)];

fn pair() -> (CmaChannel, CmaChannel) {
    let openings = [CmaOpening::new(0).unwrap(), CmaOpening::new(1).unwrap()];
    let cards: Vec<_> = openings.iter().map(|o| Some(o.card())).collect();
    let [a, b] = openings.map(|o| o.connect_cma(&cards));
    (a, b)
}

fn region(bytes: &mut [u8]) -> Region {
    // SAFETY: the tests keep the arrays until they end.
    unsafe { Region::of(bytes) }
}

#[test]
fn memory_is_read_and_written() {
    let (mut a, mut b) = pair();
    let reach = a.reach(1).unwrap();
    assert!(reach.get.is_some() && reach.put.is_some() && reach.packet_bytes_max == 0);
    let mut theirs: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
    let expected = theirs.clone();
    let key = b.expose(0, region(&mut theirs), Access::READ_WRITE).unwrap();
    let mut ours = vec![0; 90_000];
    assert_eq!(a.get(1, &key, 7, region(&mut ours), 0), Ok(Transfer::Done));
    assert_eq!(ours, expected[7..90_007]);
    assert_eq!(a.put(1, &key, 50_000, region(&mut [9; 50_000]), 0), Ok(Transfer::Done));
    assert_eq!(theirs[..50_000], expected[..50_000]);
    assert!(theirs[50_000..].iter().all(|&b| b == 9));
}

/// Paper 3, 4.1: the length from which the kernel's copy is used. The engine asks the channel for
/// that length (`engine`, `rendezvous/choice.rs`).
#[test]
fn the_shortest_message_is_what_the_setting_says() {
    let (mut a, _b) = pair();
    let mut least = |text: &str| {
        let mut all = verbena_settings::all();
        let setting = all.find(|setting| setting.about.name.ends_with("CMA_BYTES_MIN")).unwrap();
        setting.set_text(text, verbena_settings::Origin::Tool).unwrap();
        let least = a.reach(1).unwrap().memory_bytes_min;
        setting.set_word(setting.default_word(), verbena_settings::Origin::Default).unwrap();
        least
    };
    assert_eq!([least("4096"), least("1M")], [4096, 1 << 20]);
}

#[test]
fn nothing_outside_the_exposed_memory_is_touched() {
    let (mut a, mut b) = pair();
    let mut theirs = [1u8; 64];
    let key = b.expose(0, region(&mut theirs), Access::READ_WRITE).unwrap();
    for offset in [1, 64, u64::MAX] {
        assert!(a.get(1, &key, offset, region(&mut [0; 64]), 0).is_err());
        assert!(a.put(1, &key, offset, region(&mut [0; 64]), 0).is_err());
    }
    assert_eq!(theirs, [1; 64]);
}

#[test]
fn memory_that_is_gone_is_a_fault_and_not_the_end() {
    let (mut a, _b) = pair();
    let mut key = Key::default();
    key.0[8] = 64; // 64 bytes at address 0
    let fault = a.get(1, &key, 0, region(&mut [0; 64]), 0).unwrap_err();
    assert!(fault.cause.contains("freed"), "{fault}");
    assert!(a.reach(1).is_some());
}

#[test]
fn a_wrong_process_is_found_out() {
    let opening = CmaOpening::new(0).unwrap();
    let stranger = CmaOpening::new(1).unwrap();
    let liar = Card { word: !stranger.card.word, ..stranger.card.clone() };
    let mut a = opening.connect_cma(&[None, Some(liar.emit())]);
    assert_eq!(a.reach(1), None);
    assert!(a.report().findings[0].contains("pid namespace"), "{:?}", a.report().findings);
    assert_eq!(stranger.probes.scratch.load(Relaxed), 0);
}

#[test]
fn other_nodes_and_namespaces_are_not_tried() {
    let opening = CmaOpening::new(0).unwrap();
    let far = Card { node: !opening.card.node, ..opening.card.clone() };
    let boxed = Card { pid_namespace: !opening.card.pid_namespace, ..opening.card.clone() };
    let mut a = opening.connect_cma(&[None, Some(far.emit()), Some(boxed.emit()), Some(vec![0; 3])]);
    assert_eq!([0, 1, 2, 3, 99].map(|peer| a.reach(peer)), [None; 5]);
    assert_eq!(a.report().findings, ["process 2: refused: it is in another pid namespace (container)"]);
}

/// A job of many nodes costs a process of one node nothing.
#[test]
fn only_processes_of_the_node_are_kept() {
    let openings = [CmaOpening::new(0).unwrap(), CmaOpening::new(1).unwrap()];
    let far = Card { node: !openings[0].card.node, ..openings[0].card.clone() };
    let mut cards = vec![Some(far.emit()); 1000];
    (cards[0], cards[1]) = (Some(openings[0].card()), Some(openings[1].card()));
    let [mut a, _b] = openings.map(|opening| opening.connect_cma(&cards));
    assert_eq!(a.ways.keys().collect::<Vec<_>>(), [&1]);
    assert!(a.reach(1).is_some() && a.reach(999).is_none() && a.reach(0).is_none());
    let neighbors = a.shared().neighbors.unwrap();
    assert!(neighbors.neighbor(1).is_some() && neighbors.neighbor(999).is_none());
}

#[test]
fn a_seccomp_filter_is_noticed_and_named() {
    for errno in [libc::EPERM, libc::ENOSYS] {
        let work = move || {
            refuse(&BOTH, errno);
            let (mut a, _b) = pair();
            assert_eq!(a.reach(1), None);
            assert!(a.report().findings[0].contains("seccomp"), "{:?}", a.report().findings);
            assert_eq!(a.expose(1, Region::EMPTY, Access::READ), None);
        };
        std::thread::spawn(work).join().unwrap();
    }
}

#[test]
fn a_refusal_later_on_is_survived() {
    let work = || {
        let (mut a, mut b) = pair();
        let key = b.expose(0, region(Box::leak(Box::new([1; 64]))), Access::READ).unwrap();
        assert_eq!(a.get(1, &key, 0, region(&mut [0; 64]), 0), Ok(Transfer::Done));
        refuse(&BOTH, libc::EPERM);
        assert!(a.get(1, &key, 0, region(&mut [0; 64]), 0).is_err());
        assert_eq!(a.reach(1), None);
        assert!(a.report().findings[0].contains("refused later"), "{:?}", a.report().findings);
    };
    std::thread::spawn(work).join().unwrap();
}

#[test]
fn it_keeps_the_promises_of_a_channel() {
    conformance::memory_is_read(&mut pair());
    conformance::memory_is_written(&mut pair());
}

/// Lists that cut the same bytes at different places, with more runs than a call takes and holes on
/// both sides.
#[test]
fn lists_of_any_length_are_read_and_written() {
    let (a, _b) = pair();
    let neighbor = a.shared().neighbors.unwrap().neighbor(1).expect("it can be reached");
    for (theirs_by, ours_by) in [(3usize, 7usize), (7, 3), (10_000, 1), (1, 10_000), (5, 5)] {
        let (mut theirs, mut ours) = (vec![0u8; 60_000], vec![0u8; 60_000]);
        theirs.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 7 + i / 251) as u8);
        let before = theirs.clone();
        let cut = |memory: Region, by: usize| -> Vec<Region> {
            // Every second run of each `by` bytes, and a run of none among them.
            let runs = (0..30_000usize.div_ceil(by)).map(move |k| (k * 2 * by, by.min(30_000 - k * by)));
            runs.flat_map(|(at, len)| [memory.part(at, len), memory.part(at, 0)]).collect()
        };
        let (their_runs, our_runs) = (cut(region(&mut theirs), theirs_by), cut(region(&mut ours), ours_by));
        let addresses: Vec<_> = their_runs.iter().map(|run| (run.address(), run.len())).collect();
        let packed = |runs: &[Region]| runs.iter().flat_map(Region::to_vec).collect::<Vec<u8>>();
        neighbor.read_list(&addresses, &our_runs).unwrap();
        assert!(packed(&our_runs) == packed(&their_runs), "{theirs_by} {ours_by}");
        assert_eq!(packed(&our_runs).len(), 30_000);
        our_runs.iter().for_each(|run| run.fill(3));
        neighbor.write_list(&our_runs, &addresses).unwrap();
        assert!(packed(&their_runs).iter().all(|&byte| byte == 3));
        let rest = |bytes: &[u8]| bytes.iter().zip(&before).filter(|(now, then)| now != then).count();
        assert!(rest(&theirs) <= 30_000, "holes were written");
        neighbor.read_list(&[], &[]).unwrap();
    }
}

#[test]
fn a_list_that_leads_nowhere_is_a_fault() {
    let (a, _b) = pair();
    let neighbor = a.shared().neighbors.unwrap().neighbor(1).unwrap();
    let (mut theirs, mut ours) = ([1u8; 64], [0u8; 128]);
    let runs = [(region(&mut theirs).address(), 64), (8, 64)];
    let Refusal { is_gone, fault } = neighbor.read_list(&runs, &[region(&mut ours)]).unwrap_err();
    assert!(is_gone && fault.what.contains("reading 128 bytes") && fault.cause.contains("freed"), "{fault}");
    assert_eq!(ours[..64], [1; 64]);
}

#[test]
#[should_panic(expected = "lists of as many bytes")]
fn lists_of_different_lengths_are_a_defect() {
    let (a, _b) = pair();
    let neighbor = a.shared().neighbors.unwrap().neighbor(1).unwrap();
    let _ = neighbor.read_list(&[(8, 64)], &[]);
}
