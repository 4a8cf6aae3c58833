//! Files of MPI (MPI-5.0, chapter 14).

use std::fs;
use verbena_tests::memory::Folder;
use verbena_tests::{build_dir, job, program};

#[test]
fn files_have_hints_representations_and_errors() {
    let (program, folder) = (program("files"), Folder::new("files"));
    for ranks in [1, 2, 3, 4] {
        let ended = job(ranks, &program).arg(&*folder).run().ok();
        assert!(ended.stdout.contains(&format!("files: ok with {ranks} ranks")), "{ended:?}");
    }
}

/// Runs a program in a folder, at these numbers of ranks.
fn passes(name: &str, ranks: &[u32]) {
    let (program, folder) = (program(name), Folder::new(name));
    for &ranks in ranks {
        let ended = job(ranks, &program).arg(&*folder).run().ok();
        assert!(ended.stdout.contains(&format!("{name}: ok with {ranks} ranks")), "{ended:?}");
    }
    let files = fs::read_dir(&*folder).expect("the folder").count();
    assert_eq!(files, 0, "something was left behind in {folder:?}");
}

#[test]
fn a_wrong_argument_of_one_rank_keeps_nobody_waiting() {
    passes("file_wrong", &[1, 2, 4]);
}

#[test]
fn accesses_under_way_keep_their_hints_and_wait_for_no_rank_to_begin() {
    passes("file_pending", &[1, 2, 4]);
}

#[test]
fn rounds_between_bytes_that_lie_far_apart_are_left_out() {
    passes("file_sparse", &[1, 2, 3]);
}

#[test]
fn an_appended_file_has_its_pointers_at_the_end_on_each_rank() {
    passes("file_append", &[1, 2, 4]);
}

#[test]
fn pipes_keep_the_order_of_ranks_and_of_calls_and_hold_up_no_other_file() {
    passes("file_streams", &[1, 2, 4]);
}

#[test]
fn what_the_system_refuses_is_an_error_with_its_reason() {
    passes("file_bounds", &[1, 2]);
}

#[test]
fn a_sync_shows_what_others_wrote_where_machines_keep_what_they_read() {
    passes("file_looks", &[1, 3]);
}

/// The program opens several files; the hints come from outside each time.
#[test]
fn a_mistyped_hint_from_outside_is_told_once() {
    let (program, folder) = (program("file_model"), Folder::new("mistyped"));
    let hints = build_dir().join(format!("mistyped-hints.{}", std::process::id()));
    fs::write(&hints, "romio_cb_raed enable\n").expect("writable");
    let job = job(2, &program).arg(&*folder).args(["0", "3"]).env("ROMIO_HINTS", &hints);
    let ended = job.run().ok();
    let told = ended.stderr.matches("line 1: romio_cb_raed enable: no such hint here").count();
    assert_eq!(told, 1, "{}", ended.stderr);
    fs::remove_file(hints).expect("removable");
}

/// Thousands of accesses: 25 in each of these files.
#[test]
fn random_accesses_leave_what_a_plain_array_says() {
    let (program, folder) = (program("file_model"), Folder::new("model"));
    for (ranks, seeds) in [(1, 60), (2, 60), (3, 40), (4, 40)] {
        let ended = job(ranks, &program).arg(&*folder).args(["0", &seeds.to_string()]).run().ok();
        assert!(ended.stdout.contains(&format!("file_model: ok with {ranks} ranks")), "{ended:?}");
    }
    let files = fs::read_dir(&*folder).expect("the folder").count();
    assert_eq!(files, 0, "something was left behind in {folder:?}");
}

/// Accesses with one thread beside the program and room for one job, so that operations are held
/// back; and without shared memory between the ranks.
#[test]
fn random_accesses_are_right_where_threads_and_memory_are_short() {
    let (program, folder) = (program("file_model"), Folder::new("short"));
    for (name, value) in
        [("VERBENA_FILE_JOBS_MAX", "1"), ("VERBENA_WINDOW_HEAP", "0"), ("VERBENA_BOARDS", "0")]
    {
        let job = job(2, &program).arg(&*folder).args(["1000", "20"]).env(name, value);
        let ended = job.env("VERBENA_FILE_THREADS_MAX", "1").run().ok();
        assert!(ended.stdout.contains("file_model: ok with 2 ranks"), "{name}: {ended:?}");
    }
}

#[test]
fn random_accesses_are_right_though_the_disk_is_short_and_interrupted() {
    let (program, folder) = (program("file_model"), Folder::new("faults"));
    for ranks in [1, 3] {
        let job = job(ranks, &program).arg(&*folder).args(["2000", "30"]).env("FILE_MODEL_FAULTS", "1");
        let ended = job.run().ok();
        assert!(ended.stdout.contains(&format!("file_model: ok with {ranks} ranks")), "{ended:?}");
    }
}

#[test]
fn a_disk_that_fails_is_told_to_every_rank_whose_bytes_it_was_to_hold() {
    let (program, folder) = (program("file_faults"), Folder::new("broken"));
    for ranks in [1, 2, 4] {
        let ended = job(ranks, &program).arg(&*folder).run().ok();
        assert!(ended.stdout.contains(&format!("file_faults: ok with {ranks} ranks")), "{ended:?}");
    }
}

#[test]
fn a_planted_fault_is_seen() {
    let (program, folder) = (program("file_model"), Folder::new("planted"));
    let ended = job(2, &program).arg(&*folder).args(["0", "5"]).env("FILE_MODEL_PLANTED", "1").run();
    assert!(ended.stderr.contains("a byte of the file"), "{ended:?}");
}
