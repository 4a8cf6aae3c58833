//! Cells in shared memory, as a program's counters tell of them, and their settings.

use verbena_tests::{Job, count_of, program, staged};

/// Messages each way.
const MESSAGES: u64 = 10;
const MIDDLE: u64 = 32 << 10;
const LONG: u64 = 200 << 10;

const HOT: &str = "shm_cells_hot";
const COLD: &str = "shm_cells_cold";
const NONTEMPORAL: &str = "shm_cells_nontemporal";
const NONE_FREE: &str = "shm_cells_none_free";
const TAKEN_BACK: &str = "shm_cells_taken_back";
const EAGER: &str = "eager_sent";
const RENDEZVOUS: &str = "rendezvous_sent";
const STREAMED: &str = "rendezvous_streamed";

/// Returns what two ranks count that answer each other with messages of `bytes`, under these
/// settings, the names without `VERBENA_`.
fn counts(settings: &[(&str, &str)], bytes: u64) -> impl Fn(&str) -> u64 + use<> {
    let job = Job::under(&staged("bin/mpiexec"), 2).arg(program("message_counts"));
    let mut job = job.args([bytes.to_string(), MESSAGES.to_string()]);
    job = job.args([HOT, COLD, NONTEMPORAL, NONE_FREE, TAKEN_BACK, EAGER, RENDEZVOUS, STREAMED]);
    for (name, value) in settings {
        job = job.env(&format!("VERBENA_{name}"), value);
    }
    let said = job.run().ok().stdout;
    println!("{settings:?}: {said}");
    move |name| count_of(&said, name)
}

#[test]
fn two_ranks_answer_in_the_same_cell() {
    let count = counts(&[], MIDDLE);
    assert_eq!((count(HOT), count(COLD) + count(NONTEMPORAL)), (MESSAGES - 1, 1));
    assert_eq!((count(NONE_FREE), count(TAKEN_BACK)), (0, 0));
    // The start sends short ones too.
    assert!(count(EAGER) >= MESSAGES && count(RENDEZVOUS) == 0);
}

#[test]
fn without_cells_longer_messages_are_announced() {
    for settings in
        [&[("SHM_CELLS", "0")][..], &[("CMA_BYTES_MIN", "16384")], &[("SHM_CELL_BYTES_MIN", "1M")]]
    {
        let count = counts(settings, MIDDLE);
        assert_eq!((count(HOT), count(COLD), count(NONTEMPORAL)), (0, 0, 0));
        assert_eq!(count(RENDEZVOUS), MESSAGES);
    }
}

#[test]
fn the_shortest_message_in_a_cell_is_what_the_setting_says() {
    let [long, short] = ["8192", "2048"].map(|least| counts(&[("SHM_CELL_BYTES_MIN", least)], 4096));
    assert_eq!((long(HOT), short(HOT)), (0, MESSAGES - 1));
}

#[test]
fn stores_into_cold_cells_are_what_the_setting_says() {
    let [plain, past] = ["plain", "nontemporal"].map(|stores| counts(&[("SHM_CELL_STORES", stores)], MIDDLE));
    assert_eq!((plain(COLD), plain(NONTEMPORAL)), (1, 0));
    assert_eq!((past(COLD), past(NONTEMPORAL)), (0, 1));
}

#[test]
fn parts_of_long_messages_go_in_cells_too() {
    // Without memory of the other process they go in packets that fill a cell.
    let alone = counts(&[("CHANNELS", "loopback,shm")], LONG);
    assert_eq!(alone(STREAMED), MESSAGES);
    assert!(alone(HOT) + alone(COLD) + alone(NONTEMPORAL) > 0);
    let none = counts(&[("NODE_LEARN", "0")], LONG);
    assert_eq!(none(HOT) + none(COLD) + none(NONTEMPORAL), 0);
}
