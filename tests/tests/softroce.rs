//! Tests on virtual nodes with real kernel verbs devices (Soft-RoCE in QEMU): the nodes themselves,
//! and programs over them.
//!
//! To add a check, add a line: one boot serves them all. By hand:
//! `cargo xtask softroce -- mpiexec -hosts node0:2,node1:2 -n 4 PROGRAM`.

use std::process::Command;
use verbena_tests::softroce::{self, Boot};
use verbena_tests::{Ended, count_of, program, top};

fn succeeds(ended: Ended) {
    ended.ok();
}

#[test]
fn nodes_in_one_guest() {
    let hello = program("hello").display().to_string();
    Boot::new(&["--nodes", "2"])
        .check(
            "each node sees one device, its own",
            20,
            "for n in 0 1; do enter node$n ibv_devices; done",
            |ended| {
                let seen = ended.ok().stdout;
                let devices: Vec<_> =
                    seen.split_whitespace().filter(|word| word.starts_with("rxe")).collect();
                assert_eq!(devices, ["rxe0", "rxe1"], "{seen}");
            },
        )
        .check("the raw device writes and sends between nodes", 60, RAW, |ended| {
            let said = ended.ok().stdout;
            assert_eq!(
                said.lines().filter(|line| typical_us(line).is_some_and(|us| us > 0.0)).count(),
                2,
                "{said}"
            );
        })
        .check("a bad wire loses nothing on a reliable connection", 60, BAD_WIRE, succeeds)
        .check("the adapter of rc does all that it promises", 180, adapter_check(), |ended| {
            assert!(ended.ok().stdout.contains("checks passed"));
        })
        .check("nodes have host names, processes and shared memory of their own", 30, ROOMS, |ended| {
            assert_eq!(ended.ok().stdout, "node0 node1\n");
        })
        .check(
            "ranks of one node share memory",
            30,
            format!("{SHM} mpiexec -hosts node1 -n 2 {hello}"),
            |ended| {
                assert!(ended.ok().stdout.contains("hello: ok with 2 ranks"));
            },
        )
        .check(
            "ranks of two nodes do not",
            30,
            format!("{SHM} mpiexec -hosts node0,node1 -n 2 {hello}"),
            |ended| {
                assert_ne!(ended.code, 0);
                ended.complains("no channel reaches the process");
            },
        )
        .check("long messages go by RDMA write", 60, long_messages("write"), go_by_write)
        .check("long messages go by RDMA read", 60, long_messages("read"), go_by_read)
        .check("none is written unless that is wanted, on this device", 60, long_messages("auto"), go_by_read)
        .check("long messages go in packets", 120, long_messages("pipeline"), |ended| {
            let said = ended.ok().stdout;
            assert_eq!(count_of(&said, "rc_read_bytes") + count_of(&said, "rc_written_bytes"), 0, "{said}");
        })
        .check("registrations are kept only if that is wanted", 60, uncached(), |ended| {
            let said = ended.ok().stdout;
            assert_eq!(count_of(&said, "rc_registration_hits"), 0, "{said}");
            assert!(count_of(&said, "rc_registration_misses") > 0, "{said}");
        })
        .check("of a short send queue every packet is signalled", 120, short_queue(), |ended| {
            let said = ended.ok().stdout;
            let (usual, short) = said.split_once("short queue").expect("runs of both sorts");
            let told = |run| count_of(run, "rc_completions");
            let sent = count_of(short, "rc_packets_sent");
            // The usual queue signals one packet in 32, beside those with a buffer of their own.
            assert!(told(short) > sent * 9 / 10 && told(usual) < told(short) / 2, "{said}");
        })
        .run();
}

fn go_by_read(ended: Ended) {
    let said = ended.ok().stdout;
    let (read, written) = (count_of(&said, "rc_read_bytes"), count_of(&said, "rc_written_bytes"));
    assert!(read > 1 << 20 && written == 0, "{said}");
}

fn go_by_write(ended: Ended) {
    let said = ended.ok().stdout;
    let (read, written) = (count_of(&said, "rc_read_bytes"), count_of(&said, "rc_written_bytes"));
    assert!(written > 1 << 20 && read == 0, "{said}");
    // The program frees its memory between messages, and uses some again and again.
    assert!(count_of(&said, "rc_registration_hits") > 5, "{said}");
    assert!(count_of(&said, "rc_registrations_invalidated") > 0, "{said}");
}

/// MPI programs over the channel `rc`: alone, beside shared memory, on a bad wire, and when a rank
/// dies.
#[test]
fn programs_over_reliable_connections() {
    let (point, collectives, busy) = (path("point"), path("collectives"), path("busy"));
    let progress = path("progress_thread");
    Boot::new(&["--nodes", "2"])
        .check("point to point over rc alone, 2 ranks", 60, format!("{RC} {TWO} {point}"), says_ok)
        .check("collectives over rc alone, 4 ranks", 60, format!("{RC} {FOUR} {collectives}"), says_ok)
        .check(
            "collectives over rc between nodes, shared memory on them",
            60,
            format!("{FOUR} {collectives}"),
            says_ok,
        )
        .check("point to point on a bad wire", 90, format!("{WIRE}\n{RC} {TWO} {point}"), says_ok)
        .check(
            "collectives on a bad wire, 4 ranks",
            120,
            format!("{WIRE}\n{RC} {FOUR} {collectives}"),
            says_ok,
        )
        .check("point to point over ud alone, 2 ranks", 60, format!("{UD} {TWO} {point}"), says_ok)
        .check("collectives over ud alone, 4 ranks", 60, format!("{UD} {FOUR} {collectives}"), says_ok)
        .check(
            "point to point over ud on a wire that loses, doubles, swaps and garbles",
            120,
            format!("{BAD}\n{UD} VERBENA_UD_CHECKSUM=1 {TWO} {point}"),
            says_ok,
        )
        .check(
            "collectives over ud on such a wire, 4 ranks",
            120,
            format!("{BAD}\n{UD} VERBENA_UD_CHECKSUM=1 {FOUR} {collectives}"),
            says_ok,
        )
        .check(
            "a long message arrives over rc while its receiver computes",
            60,
            format!("{THREAD} {RC} {TWO} {progress}"),
            says_ok,
        )
        .check("the same over ud", 60, format!("{THREAD} {UD} {TWO} {progress}"), says_ok)
        .check("the ratio of polls acts on rc", 60, looks("rc"), looks_seldom)
        .check("the ratio of polls acts on ud", 60, looks("ud"), looks_seldom)
        .check("a killed rank ends the job", 60, killed(&busy), |ended| {
            assert_eq!(ended.code, 128 + libc::SIGKILL);
            ended.complains("was killed by signal 9 (SIGKILL)");
        })
        .check("a port that goes down ends the job, and both ends are named", 40, port_down(&busy), |ended| {
            assert!(ended.code != 0 && !ended.hung, "{ended:?}");
            ended.complains("the connection from rank").complains("GID ").complains("likely cause");
        })
        .run();
}

/// MPI programs over paper 2's RDMA Channel: all designs, long messages, more ranks than
/// processors, beside shared memory.
#[test]
fn programs_over_pipes() {
    let (point, collectives, busy) = (path("point"), path("collectives"), path("busy"));
    let boot = Boot::new(&["--nodes", "2"])
        .check("point to point over pipe alone, 2 ranks", 60, format!("{PIPE} {TWO} {point}"), says_ok)
        .check("collectives over pipe alone, 4 ranks", 60, format!("{PIPE} {FOUR} {collectives}"), says_ok)
        .check(
            "collectives over pipe between nodes, shared memory on them",
            60,
            format!("VERBENA_CHANNELS=loopback,shm,cma,pipe {FOUR} {collectives}"),
            says_ok,
        )
        .check(
            "point to point over pipe on a bad wire",
            90,
            format!("{WIRE}\n{PIPE} {TWO} {point}"),
            says_ok,
        );
    let copying = |boot: Boot, design: &str| {
        let name = format!("long messages are copied through a pipe, {design}");
        boot.check(&name, 60, long_through_pipe(design), |ended| {
            let said = ended.ok().stdout;
            assert_eq!(count_of(&said, "pipe_registration_misses"), 0, "{said}");
        })
    };
    ["basic", "piggyback", "pipeline"]
        .into_iter()
        .fold(boot, copying)
        .check(
            "long messages are read in place of a pipe's bytes",
            60,
            long_through_pipe("zero-copy"),
            |ended| {
                let said = ended.ok().stdout;
                assert!(count_of(&said, "pipe_registration_misses") > 5, "{said}");
                assert!(count_of(&said, "pipe_registration_hits") > 5, "{said}");
            },
        )
        .check("a killed rank ends a job over pipe", 60, killed_over(PIPE, &busy), |ended| {
            assert_eq!(ended.code, 128 + libc::SIGKILL);
            ended.complains("was killed by signal 9 (SIGKILL)");
        })
        .run();
}

/// Returns a script for long messages between two nodes, through a pipe of this design.
fn long_through_pipe(design: &str) -> String {
    format!("VERBENA_PIPE_DESIGN={design} {PIPE} {TWO} {} pipe", path("large"))
}

fn path(name: &str) -> String {
    program(name).display().to_string()
}

fn says_ok(ended: Ended) {
    let said = ended.ok().stdout;
    assert!(said.contains(": ok with "), "{said}");
}

/// A job whose first rank waits for messages of its node while it has a connection to the other.
fn looks(network: &str) -> String {
    let channels = format!("VERBENA_CHANNELS=loopback,shm,cma,{network}");
    let ratio = "VERBENA_POLLING=ratio VERBENA_POLLING_RATIO=20 VERBENA_WAIT_SPINS=100000000";
    format!("{channels} {ratio} mpiexec -hosts node0:2,node1:1 -n 3 {} {network} 50 30 any", path("polling"))
}

fn looks_seldom(ended: Ended) {
    let said = ended.ok().stdout;
    let (near, far) = (count_of(&said, "near"), count_of(&said, "far"));
    assert!(far > 0 && near > 10 * far && near < 21 * far, "{said}");
    assert!(count_of(&said, "far_ns") > 0 && count_of(&said, "near_ns") > 0, "{said}");
}

const RC: &str = "VERBENA_CHANNELS=loopback,rc";
const PIPE: &str = "VERBENA_CHANNELS=loopback,pipe";
const UD: &str = "VERBENA_CHANNELS=loopback,ud";
const THREAD: &str = "VERBENA_PROGRESS_THREAD=1";
const TWO: &str = "mpiexec -hosts node0,node1 -n 2";
const FOUR: &str = "mpiexec -hosts node0:2,node1:2 -n 4";

/// One packet in a hundred is lost, and one comes half a millisecond late.
const WIRE: &str = "wire delay 500us loss 1% reorder 99%";

/// The rates on a bad wire: of a hundred packets five are lost, five come twice, five overtake the
/// others and one is garbled.
const BAD: &str = "wire delay 500us loss 5% duplicate 5% reorder 95% corrupt 1%";

/// A job that talks for ever, until the last of its ranks that started is killed. The search uses
/// only builtins of the shell: the ranks leave little time to other processes.
fn killed(busy: &str) -> String {
    killed_over(RC, busy)
}

fn killed_over(channels: &str, busy: &str) -> String {
    format!("{channels} {TWO} {busy} small & job=$!\n{KILL_ONE}\nwait $job")
}

/// The port of the second node goes down under traffic; the last check of its boot, since it stays
/// down.
fn port_down(busy: &str) -> String {
    format!("{RC} {TWO} {busy} small & job=$!\nsleep 5\nip link set e1 down\nwait $job")
}

const KILL_ONE: &str = r"
sleep 5
for process in /proc/[0-9]*; do
  read -r name <$process/comm && [ $name = busy ] && victim=${process#/proc/}
done
kill -KILL $victim";

/// The half round trip in microseconds of a line of figures: bytes, iterations, least, most,
/// typical, ...
fn typical_us(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    (words.len() > 8 && words[1] == "300").then(|| words[4].parse().ok()).flatten()
}

/// Returns a script for long messages between two nodes, going that way.
fn long_messages(way: &str) -> String {
    let large = program("large").display().to_string();
    format!("VERBENA_LARGE={way} VERBENA_CHANNELS=loopback,rc mpiexec -hosts node0,node1 -n 2 {large}")
}

/// Returns a script in which each operation registers its memory anew.
fn uncached() -> String {
    format!("VERBENA_RC_CACHE=0 {}", long_messages("write"))
}

/// Returns a script that runs with the usual send queue, and then with one of two places.
fn short_queue() -> String {
    let run = format!("{TWO} {} 8 500 rc_packets_sent rc_completions", path("message_counts"));
    format!("export {RC}\n{run} && echo short queue && VERBENA_RC_WORK_MAX=2 {run}")
}

/// The program that tries the real device, `crates/channels/infiniband/examples/adapter_check`.
fn adapter_check() -> String {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    // With the features of the whole workspace, `cargo test` has built it already.
    command.args(["build", "--quiet", "--workspace", "--example", "adapter_check"]);
    assert!(command.current_dir(top()).status().expect("cargo starts").success());
    // A guest has all that the program may lack elsewhere.
    format!("VERBENA_NO_SKIP=1 {}", top().join("target/debug/examples/adapter_check").display())
}

/// The channels of one machine.
const SHM: &str = "VERBENA_CHANNELS=loopback,shm,cma";

const RAW: &str = r"
for test in ib_write_lat ib_send_lat; do
  enter node0 $test -s 8 -n 300 -F >/dev/null &
  until enter node1 $test -s 8 -n 300 -F node0; do sleep 0.2; done
  wait
done";

const BAD_WIRE: &str = r"
wire delay 500us loss 1% reorder 99%
enter node0 ib_send_bw -s 4096 -n 2000 -t 16 -u 12 -F >/dev/null &
until enter node1 ib_send_bw -s 4096 -n 2000 -t 16 -u 12 -F node0; do sleep 0.2; done
wait
tc -s qdisc show dev e1 | grep -E 'dropped [1-9]'";

const ROOMS: &str = r"
enter node0 touch /dev/shm/left
[ -e /dev/shm/left ] && exit 1
enter node1 test -e /dev/shm/left && exit 2
[ $(enter node0 sh -c 'ls -d /proc/[0-9]*' | wc -l) -lt 9 ] || exit 3
echo $(enter node0 hostname) $(enter node1 hostname)";

/// The other shape: two guests, and logins between them.
#[test]
fn a_node_may_be_a_guest_of_its_own() {
    Boot::new(&["--nodes", "2", "--shape", "many", "--cpus", "1"])
        .check("the raw device sends between guests", 90, FAR, |ended| {
            assert!(ended.ok().stdout.starts_with("node0 node1\n"));
        })
        .check("mpiexec starts ranks by ssh", 60, "mpiexec -l -hosts node0,node1 -n 2 hostname", |ended| {
            let said = ended.ok().stdout;
            assert!(said.contains("[0] node0\n") && said.contains("[1] node1\n"), "{said}");
        })
        .run();
}

const FAR: &str = r"
echo $(hostname) $(enter node1 hostname)
ib_send_lat -s 8 -n 200 -F >/dev/null &
until enter node1 ib_send_lat -s 8 -n 200 -F node0; do sleep 0.2; done
wait";

/// The task's promise for a command that does not end: what was running, and exit code 124.
#[test]
fn a_time_limit_says_what_was_running() {
    let ended = softroce::run(&["--limit", "2", "--", "bash", "-c", "echo so >&2; sleep 1000"]);
    assert_eq!(ended.code, 124, "{ended:?}");
    ended.complains("so\n").complains("hrtimer_nanosleep  sleep 1000");
}
