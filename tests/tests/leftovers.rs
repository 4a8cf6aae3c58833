//! Nothing is left behind, however a job ends: no process, file, socket or shared memory.

use verbena_tests::room::{left, room};
use verbena_tests::{program, staged};

/// Runs this in a room, with `$mpiexec` and the programs `$busy`, `$collectives` and `$kills` set;
/// nothing may be left.
#[track_caller]
fn leaves_nothing(script: &str) {
    let ended = room(&format!("{}\n{script}\nlook", variables()));
    assert_eq!(left(&ended), "", "{ended:?}");
}

fn variables() -> String {
    let mpiexec = staged("bin/mpiexec");
    let [busy, collectives, kills] = ["busy", "collectives", "window_kills"].map(program);
    format!(
        "mpiexec='{}' busy='{}' collectives='{}' kills='{}'",
        mpiexec.display(),
        busy.display(),
        collectives.display(),
        kills.display()
    )
}

#[test]
fn the_room_shows_what_is_left() {
    for (script, word) in [
        ("touch file", "file"),
        ("touch /dev/shm/segment", "segment"),
        ("sleep 100 & sleep 0.1", "process sleep"),
        (
            "python3 -c 'import socket, time
s = socket.socket(socket.AF_UNIX); s.bind(\"\\0verbena-canary\"); s.listen(); time.sleep(100)' & sleep 1",
            "@verbena-canary",
        ),
    ] {
        let ended = room(&format!("{script}\nlook"));
        assert!(left(&ended).contains(word), "{script}: {ended:?}");
    }
}

#[test]
fn after_a_good_end() {
    leaves_nothing("$mpiexec -n 4 $collectives 5 || exit 1");
}

#[test]
fn after_an_abort() {
    leaves_nothing("$mpiexec -n 4 $busy abort; [ $? = 9 ] || exit 1");
}

#[test]
fn after_a_time_limit() {
    leaves_nothing("$mpiexec --timeout 1 -n 4 $busy large; [ $? != 0 ] || exit 1");
}

/// Starts the job, and waits until every rank has reported its process and has talked for a while.
const START: &str = r#"
$mpiexec -n 4 $busy large 2>/dev/shm/said & job=$!
until [ "$(grep -c 'is process' /dev/shm/said)" = 4 ]; do sleep 0.01; done
sleep 0.2
"#;

#[test]
fn after_a_rank_was_killed() {
    let kill =
        "kill -9 $(sed -n 's/^rank 2 is process //p' /dev/shm/said); wait $job && exit 1; rm /dev/shm/said";
    leaves_nothing(&format!("{START}{kill}"));
}

#[test]
fn after_every_rank_was_killed() {
    let kill =
        "kill -9 $(sed -n 's/^rank . is process //p' /dev/shm/said); wait $job && exit 1; rm /dev/shm/said";
    leaves_nothing(&format!("{START}{kill}"));
}

#[test]
fn after_mpiexec_was_killed() {
    leaves_nothing(&format!("{START}kill -9 $job; wait $job; rm /dev/shm/said; true"));
}

#[test]
fn after_mpiexec_was_told_to_end() {
    leaves_nothing(&format!("{START}kill -TERM $job; wait $job && exit 1; rm /dev/shm/said"));
}

/// A rank that starts processes of its own and ends: they go with the job.
#[test]
fn after_ranks_that_leave_children() {
    leaves_nothing("$mpiexec -n 2 sh -c 'sleep 100 & setsid sleep 101 & exit 0' || exit 1");
}

/// A rank dies with a lock, under a stripe, as a target: over mapped memory and over messages.
#[test]
fn after_a_rank_was_killed_in_a_window() {
    let script = r#"
for heap in 1 0; do for way in alone queue change serve compute; do
  VERBENA_WINDOW_HEAP=$heap VERBENA_CMA=$heap $mpiexec -n 3 $kills $way 2>/dev/shm/said
  [ $? = 137 ] || { cat /dev/shm/said >&2; exit 1; }
done; done
rm /dev/shm/said"#;
    leaves_nothing(script);
}

/// The ranks of a window whose `mpiexec` dies.
#[test]
fn after_mpiexec_was_killed_with_windows() {
    let script = "VERBENA_WINDOW_HEAP=0 VERBENA_CMA=0 $mpiexec -n 2 $kills never 2>/dev/shm/said & job=$!
sleep 1; kill -9 $job; wait $job; rm /dev/shm/said; true";
    leaves_nothing(script);
}
