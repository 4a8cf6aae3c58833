//! The settings and the hints of files act: two values leave other counts behind.

use std::sync::atomic::{AtomicU32, Ordering};
use verbena_tests::{count_of, job, program, scratch};

const WRITTEN: &str = "file_bytes_written";
const SIEVED_READS: &str = "file_sieved_reads";
const SIEVED_WRITES: &str = "file_sieved_writes";
const ROUNDS: &str = "file_rounds";
const HELD_BACK: &str = "file_held_back";
const THREADS: &str = "file_threads";
const RING: &str = "file_ring_pieces";

/// Runs a job of two ranks with these settings (names without `VERBENA_`) and hints; returns what
/// rank 0 counted.
fn count(settings: &[(&str, &str)], hints: &str, counter: &str) -> u64 {
    count_with(&[], settings, hints, counter)
}

/// Does the work of [`count`], with other variables as well.
fn count_with(variables: &[(&str, &str)], settings: &[(&str, &str)], hints: &str, counter: &str) -> u64 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // On a disk: a file system in memory uses no ring.
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = scratch(&format!("file-settings-{}-{number}", std::process::id()));
    let mut job = job(2, program("file_counts")).arg(&folder).args([hints, counter]);
    for (name, value) in variables {
        job = job.env(name, value);
    }
    for (name, value) in settings {
        job = job.env(&format!("VERBENA_{name}"), value);
    }
    let count = count_of(&job.run().ok().stdout, counter);
    std::fs::remove_dir(&folder).expect("nothing is left in the folder");
    println!("{counter}: {count} with {settings:?} and {hints}");
    count
}

/// Checks that the second hints count more than the first.
fn grows(counter: &str, [less, more]: [&str; 2]) {
    let [less, more] = [less, more].map(|hints| count(&[], hints, counter));
    assert!(less < more, "{counter}: {less} is not below {more}");
}

/// A variable with which the program finds its file on a file system with stripes.
const STRIPED: (&str, &str) = ("FILE_COUNTS_STRIPED", "1");

/// Checks that the second hints count more than the first, on a file system with stripes alone.
fn grows_with_stripes(counter: &str, hints: [&str; 2]) {
    let [less, more] = hints.map(|hints| count_with(&[STRIPED], &[], hints, counter));
    assert!(less < more, "{counter}: {less} is not below {more}");
    let [one, other] = hints.map(|hints| count(&[], hints, counter));
    assert_eq!(one, other, "there are no stripes");
}

/// Returns whether the kernel gives this process a ring: it then complains of the arguments.
fn has_io_uring() -> bool {
    // SAFETY: the kernel refuses null parameters.
    let refused = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, std::ptr::null::<u8>()) };
    let error = std::io::Error::last_os_error().raw_os_error();
    refused < 0 && error == Some(libc::EFAULT)
}

#[test]
fn hints_choose_how_pieces_are_moved_alone() {
    for way in ["read", "write"] {
        let counter = if way == "read" { SIEVED_READS } else { SIEVED_WRITES };
        let alone = "romio_cb_read=disable,romio_cb_write=disable";
        let hints = |choice: &str| format!("{alone},romio_ds_{way}={choice}");
        grows(counter, [&hints("disable"), &hints("enable")]);
        let size = if way == "read" { "ind_rd_buffer_size" } else { "ind_wr_buffer_size" };
        let sized = |bytes: &str| format!("{},{size}={bytes}", hints("enable"));
        grows(counter, [&sized("1048576"), &sized("4096")]);
    }
}

#[test]
fn hints_choose_how_pieces_are_moved_together() {
    grows("file_aggregated", ["romio_cb_read=disable,romio_cb_write=disable", "romio_cb_write=enable"]);
    grows(
        "file_aggregated",
        ["romio_cb_read=disable,romio_cb_write=enable", "romio_cb_read=enable,romio_cb_write=enable"],
    );
    let sized = |bytes: &str| format!("romio_cb_write=enable,cb_buffer_size={bytes}");
    grows(ROUNDS, [&sized("1048576"), &sized("16384")]);
    // Rank 0 writes all, or a half.
    let nodes = |nodes: &str, unit: &str| {
        format!("romio_cb_write=enable,romio_cb_read=disable,striping_unit={unit},cb_nodes={nodes}")
    };
    let [one, two] = ["1", "2"].map(|most| count_with(&[STRIPED], &[], &nodes(most, "4096"), WRITTEN));
    assert!(two < one, "{two} is not below {one}");
    grows_with_stripes(WRITTEN, [&nodes("2", "4096"), &nodes("2", "16777216")]);
    let stripes =
        |stripes: &str| format!("romio_cb_write=enable,striping_unit=4096,striping_factor={stripes}");
    grows_with_stripes(WRITTEN, [&stripes("2"), &stripes("1")]);
}

#[test]
fn threads_and_waiting_operations_have_a_limit() {
    let [one, four] = ["1", "4"].map(|most| count(&[("FILE_THREADS_MAX", most)], "-", THREADS));
    assert!(one == 1 && (2..=4).contains(&four), "{one} {four}");
    let held = |most| count(&[("FILE_JOBS_MAX", most), ("FILE_THREADS_MAX", "1")], "-", HELD_BACK);
    let [many, none] = ["1", "256"].map(held);
    assert!(many > 0 && none == 0, "{many} {none}");
}

/// Many short pieces of each rank, in turns.
#[test]
fn short_pieces_close_together_are_stored_in_pages() {
    let alone = "romio_cb_write=disable,romio_cb_read=disable";
    assert!(count(&[], alone, "file_mapped_pieces") > 0);
    assert_eq!(count(&[], &format!("{alone},romio_ds_write=enable"), "file_mapped_pieces"), 0);
}

#[test]
fn lists_of_pieces_go_through_a_ring_where_there_is_one() {
    let alone = "romio_cb_write=disable,romio_cb_read=disable,romio_ds_read=disable";
    let [with, without] = ["1", "0"].map(|uses| count(&[("FILE_IO_URING", uses)], alone, RING));
    assert_eq!(without, 0);
    assert_eq!(with > 0, has_io_uring(), "{with} pieces");
}
