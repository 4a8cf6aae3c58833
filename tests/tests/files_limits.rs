//! Files of MPI at their limits: long accesses, folders that may not be written, the bytes of
//! `external32`, and nodes that share a folder.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use verbena_testing::{Lack, skip};
use verbena_tests::cable::{NAMED, has_libfabric};
use verbena_tests::memory::Folder;
use verbena_tests::peers::MPICH;
use verbena_tests::room::room;
use verbena_tests::{Ended, Job, count_of, job, program, scratch, staged};

#[track_caller]
fn says_ok(ended: Ended) -> String {
    let said = ended.ok().stdout;
    assert!(said.contains(": ok with "), "{said}");
    said
}

/// The loss of the computation is told and not judged: the machine may be busy.
#[test]
fn a_long_write_goes_on_beside_the_program_and_is_done_when_the_wait_returns() {
    let (program, folder) = (program("file_beside"), Folder::new("beside"));
    says_ok(job(2, &program).arg(&*folder).args(["16", "held"]).run());
    let said = says_ok(job(2, &program).arg(&*folder).arg("64").run());
    assert!(count_of(&said, "alone_us") > 0, "{said}");
    println!("{said}");
}

/// The C library tells where a thread is from its version 2.35 on, which is what runs here.
#[test]
fn a_long_write_keeps_off_the_core_that_the_program_computes_on() {
    let folder = Folder::new("pinned");
    says_ok(job(2, program("file_beside")).arg(&*folder).args(["16", "pinned"]).run());
}

/// GNU OpenMP binds the first thread while the program is loaded: no mask of the process is left
/// that tells of other cores.
#[test]
fn a_long_write_keeps_off_the_core_that_openmp_has_bound_the_program_to() {
    let (program, folder) = (program("file_beside"), Folder::new("bound"));
    let openmp = ["env", "OMP_PROC_BIND=true", "LD_PRELOAD=libgomp.so.1"];
    let all = Job::under(&staged("bin/mpiexec"), 2).args(openmp).arg(program);
    says_ok(all.arg(&*folder).args(["16", "bound"]).run());
}

/// The system refuses threads to one of the ranks: calls of the program carry all out.
#[test]
fn no_access_is_lost_where_the_system_refuses_threads() {
    let (program, folder) = (program("file_threadless"), Folder::new("threadless"));
    for mode in ["none", "one"] {
        says_ok(job(2, &program).arg(&*folder).arg(mode).run());
    }
}

#[test]
fn one_call_moves_more_than_2_gib() {
    let folder = Folder::new("large");
    says_ok(job(1, program("file_large")).arg(&*folder).run());
}

/// A folder and a file without permission to write; root goes without its power over permissions.
#[test]
fn a_folder_that_may_not_be_written_is_told_to_all_ranks() {
    let (program, folder) = (program("file_denied"), Folder::new("denied"));
    let there = folder.join("there");
    fs::write(&there, "text").expect("writable");
    fs::set_permissions(&there, Permissions::from_mode(0o444)).expect("our own file");
    fs::set_permissions(&*folder, Permissions::from_mode(0o555)).expect("our own folder");
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0);
    let all = Job::under(&staged("bin/mpiexec"), 2);
    let all = match is_root {
        true => all.args(["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]),
        false => all,
    };
    says_ok(all.arg(program).arg(&*folder).arg("access").run());
}

#[test]
fn a_file_system_that_may_not_be_written_is_told_to_all_ranks() {
    let (mpiexec, program) = (staged("bin/mpiexec"), program("file_denied"));
    says_ok(room(&format!(
        "mkdir ro\nmount -t tmpfs tmpfs ro\nprintf text >ro/there\nmount -o remount,ro ro\n\
         {} -n 2 {} ro read_only",
        mpiexec.display(),
        program.display()
    )));
}

/// The bytes of a slot of the program `file_external`.
const SLOT: usize = 256;

/// The slots that MPICH 5.0.2 cannot write, with the bytes that the standard asks for. It ends the
/// program in `MPI_WCHAR` and in a struct; a `long` has 4 bytes there too, but as many of its heap
/// follow; and it fills the holes of a view.
const BY_THE_STANDARD: [(&str, &str); 5] = [
    ("MPI_LONG", "fffffffc 01234567 00011170"),
    ("MPI_UNSIGNED_LONG", "00000005 7edcba98 00000002"),
    ("MPI_WCHAR", "0061 007a 0042"),
    ("struct", "78 3ff4000000000000 0001fffe0003 0000004d 79 bee4f8b588e368f1 00040005fffa ffffffb2"),
    ("view", "0000 0000 0001 0000 0002 0000 0003 0004 0000 0005"),
];

/// Writes the slots but those of these names in a job; returns the names and the bytes.
fn external(job: Job, folder: &str, left_out: &[&str]) -> (Vec<String>, Vec<u8>) {
    let folder = scratch(&format!("external-{folder}-{}", std::process::id()));
    let said = says_ok(job.arg(program("file_external")).arg(&folder).args(left_out).run());
    let bytes = fs::read(folder.join("external")).expect("the file");
    fs::remove_dir_all(folder).expect("removable");
    let names = said.lines().filter_map(|line| line.strip_prefix("slot ")?.split(' ').nth(1));
    (names.map(str::to_owned).collect(), bytes)
}

#[test]
fn external32_files_are_those_of_mpich_byte_for_byte() {
    let left_out = BY_THE_STANDARD.map(|(name, _)| name);
    let job = || Job::under(&staged("bin/mpiexec"), 1);
    let (names, all) = external(job(), "all", &[]);
    let (same, ours) = external(job(), "ours", &left_out);
    let (_, theirs) = external(MPICH.job(1), "mpich", &left_out);
    assert!(same.len() > 40 && names.len() == same.len() + left_out.len(), "{names:?}");
    assert_eq!((ours.len(), all.len()), (theirs.len(), SLOT * names.len()));
    let slot = |bytes: &[u8], name: &str| {
        let number = names.iter().position(|known| known == name).expect("a slot");
        bytes[SLOT * number..][..SLOT].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    for name in &same {
        assert_eq!(slot(&ours, name), slot(&theirs, name), "{name}");
        assert_eq!(slot(&ours, name), slot(&all, name), "{name}");
    }
    for (name, expected) in BY_THE_STANDARD {
        let expected = expected.replace(' ', "");
        assert!(slot(&all, name).trim_end_matches('0') == expected.trim_end_matches('0'), "{name}");
    }
}

/// Hosts of other names share a folder: its bytes, the shared pointer and the aggregators are
/// reached over the network.
#[test]
fn nodes_that_share_a_folder_share_its_files() {
    if !has_libfabric() {
        return skip(Lack::Installed, "libfabric is not there (Debian: libfabric1)");
    }
    let over = |hosts: &str, ranks, name: &str, words: &[&str]| {
        let options = ["--launcher", NAMED, "-host", hosts];
        let job = Job::under(&staged("bin/mpiexec"), ranks).args(options).arg(program(name));
        let folder = Folder::new(&format!("nodes-{name}-{ranks}"));
        says_ok(job.arg(&*folder).args(words).run())
    };
    over("a:2,b:2", 4, "files", &[]);
    over("a,b", 2, "file_model", &["3000", "5"]);
    over("a,b", 2, "file_faults", &[]);
}
