//! Denials of machines: shared memory file systems that are full, tiny, read-only or missing, no
//! copying from one process to another in one step, and no cores of one's own.

use std::process::{Child, Command};
use verbena_tests::room::room;
use verbena_tests::{job, program, staged};

#[test]
fn dev_shm_may_be_full_tiny_read_only_or_missing() {
    let (mpiexec, point) = (staged("bin/mpiexec"), program("point"));
    for (name, prepare) in [
        ("full", "cat /dev/zero >/dev/shm/full 2>/dev/null; df /dev/shm | grep -q 100% || exit 1"),
        ("tiny", "mount -t tmpfs -o size=4k tmpfs /dev/shm"),
        ("read-only", "mount -o remount,ro /dev/shm"),
        (
            "missing",
            "mkdir dev && mount --bind dev /dev/shm && umount /dev/shm && mount -t tmpfs tmpfs /dev && mknod /dev/null c 1 3",
        ),
    ] {
        let limit = "mount -o remount,size=64k /dev/shm";
        let script = format!("{limit}; {prepare}; {} -n 4 {} || exit 1", mpiexec.display(), point.display());
        let ended = room(&script);
        assert!(ended.stdout.contains("point: ok with 4 ranks"), "{name}: {ended:?}");
    }
}

/// These programs must die if the kernel kills a process that copies from another: or the tests
/// below would refuse what nobody asks for.
#[test]
fn single_copy_is_used_where_it_may_be() {
    let ended = job(2, program("refuse")).arg("kill").arg(program("point")).run();
    assert!(ended.code != 0 && ended.stderr.contains("SIGSYS"), "{ended:?}");
}

#[test]
fn single_copy_refused_to_all_ranks() {
    for way in ["eperm", "enosys", "read", "write"] {
        let ended = job(3, program("refuse")).arg(way).arg(program("point")).run().ok();
        assert!(ended.stdout.contains("point: ok with 3 ranks"), "{way}: {ended:?}");
    }
}

/// A target of windows that computes must not hold up those who would have copied.
#[test]
fn single_copy_refused_to_windows() {
    for (name, way) in [("window_ends", "computes"), ("window_ends", "dynamic"), ("window_operations", "")] {
        let job = job(3, program("refuse")).arg("eperm").arg(program(name));
        let ended = if way.is_empty() { job } else { job.arg(way) }.run().ok();
        assert!(ended.stdout.contains(&format!("{name}: ok with 3 ranks")), "{way}: {ended:?}");
    }
}

/// One side may then copy and the other may not.
#[test]
fn single_copy_refused_to_some_ranks() {
    let (refuse, point) = (program("refuse"), program("point"));
    for way in ["eperm", "read", "write"] {
        let first = job(1, &refuse).arg(way).arg(&point).arg(":").args(["-n", "2"]).arg(&point);
        let last = job(2, &point).arg(":").args(["-n", "1"]).arg(&refuse).arg(way).arg(&point);
        for job in [first, last] {
            let ended = job.run().ok();
            assert!(ended.stdout.contains("point: ok with 3 ranks"), "{way}: {ended:?}");
        }
    }
}

/// A container's policy may change, or a program may give up its rights, after `MPI_Init`.
#[test]
fn single_copy_refused_after_it_worked() {
    for (ranks, who) in [(2, None), (3, None), (2, Some("0")), (2, Some("1")), (4, Some("2"))] {
        let ended = job(ranks, program("late_refusal")).args(who).run().ok();
        assert!(ended.stdout.contains(&format!("late_refusal: ok with {ranks} ranks")), "{ended:?}");
    }
}

/// A program of somebody else that keeps a core busy until this is dropped.
struct OtherProgram(Child);

impl OtherProgram {
    fn start() -> OtherProgram {
        OtherProgram(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell"))
    }
}

impl Drop for OtherProgram {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("it runs");
    }
}

/// Waiting ranks then sleep where they otherwise yield. Whatever they wait for must still wake
/// them.
#[test]
fn cores_may_be_kept_busy_by_other_programs() {
    let cores = std::thread::available_parallelism().expect("a number of cores").get();
    let _others: Vec<OtherProgram> = (0..cores).map(|_| OtherProgram::start()).collect();
    for (ranks, name) in [(2, "point"), (4, "point"), (4, "collectives"), (3, "threads")] {
        let ended = job(ranks, program(name)).run().ok();
        assert!(ended.stdout.contains(&format!("{name}: ok with {ranks} ranks")), "{ended:?}");
    }
}
