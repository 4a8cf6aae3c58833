//! The losses between virtual nodes, and how the job ends: an answer, the wire, a device. Also the
//! parts of a message's time there. As in `softroce.rs`, one boot serves many checks.

use serde::Deserialize;
use verbena_tests::softroce::Boot;
use verbena_tests::{Ended, program};

/// The messages of one length and way in the output of `verbena trace --json`.
#[derive(Debug, Deserialize)]
struct Row {
    bytes: u64,
    way: String,
    messages: usize,
    components_ns: [f64; 7],
    total_ns: f64,
    half_round_trip_ns: Option<f64>,
}

/// Round trips of each length.
const ROUNDS: usize = 200;

#[test]
fn losses_between_nodes() {
    Boot::new(&["--nodes", "4"])
        .check("the seven components of a message over rc", 120, trace(), is_whole)
        .check("a hello that nobody answers ends in time", 60, hello(), |ended| {
            ends_with(ended, "did not answer for 3 s when a connection was to be made");
        })
        .check("ranks that only wait miss those behind a cut wire", 90, waiting("wire loss 100%"), |ended| {
            ends_with(ended, "does not acknowledge what is sent to it");
        })
        // A device in use cannot be deleted itself: the kernel waits for its users (Linux 6.1).
        .check(
            "a device loses its interface under traffic",
            90,
            deleted("node2,node3", "small", "e3"),
            |ended| {
                ends_with(ended, "the connection from rank");
            },
        )
        .check(
            "a device loses its interface while ranks wait",
            90,
            deleted("node0,node1", "listen", "e1"),
            |ended| {
                ends_with(ended, "the connection from rank");
            },
        )
        .run();
}

/// The job ended with these words, which name both ends, and not by its time limit.
fn ends_with(ended: Ended, words: &str) {
    assert!(ended.code != 0 && !ended.hung, "{ended:?}");
    ended.complains(words).complains("the connection from rank").complains("GID ").complains("likely cause");
}

const JOB: &str = "VERBENA_CHANNELS=loopback,rc VERBENA_RC_KEEPALIVE_SECONDS=1 mpiexec -n 2";

fn busy() -> String {
    program("busy").display().to_string()
}

/// Rank 1 never calls MPI again after `MPI_Init`.
fn hello() -> String {
    format!("VERBENA_RC_CONNECT_SECONDS_MAX=3 {JOB} -hosts node0,node1 {} deaf 1", busy())
}

/// Returns a script whose ranks have all spoken and wait for a message that never comes.
fn waiting(then: &str) -> String {
    format!("{JOB} -hosts node0,node1 {} listen & job=$!\nsleep 8\n{then}\nwait $job", busy())
}

/// The interface under a node's device is deleted.
fn deleted(nodes: &str, way: &str, interface: &str) -> String {
    format!("{JOB} -hosts {nodes} {} {way} & job=$!\nsleep 8\nip link del {interface}\nwait $job", busy())
}

fn trace() -> String {
    let pingpong = program("pingpong").display().to_string();
    format!(
        "VERBENA_TRACE=/out/trace {JOB} -hosts node0,node1 {pingpong} {ROUNDS} || exit\n\
         verbena trace --json /out/trace.0.json /out/trace.1.json"
    )
}

/// Every way is one of the two of `rc`, and the ring is one of them. The lengths are those of the
/// program, most messages of both sides are there, every step but those of the hardware takes time,
/// and the sum is about half a round trip.
fn is_whole(ended: Ended) {
    let said = ended.ok().stdout;
    let rows: Vec<Row> = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert!(rows.iter().all(|row| ["rdma-eager", "send-receive"].contains(&row.way.as_str())), "{rows:?}");
    assert!(rows.iter().any(|row| row.way == "rdma-eager"), "{rows:?}");
    for bytes in [4, 64, 1024] {
        let of_it: Vec<&Row> = rows.iter().filter(|row| row.bytes == bytes).collect();
        let messages: usize = of_it.iter().map(|row| row.messages).sum();
        assert!(messages > 2 * ROUNDS * 8 / 10, "{messages} of {bytes} bytes: {rows:?}");
        let most = of_it.iter().max_by_key(|row| row.messages).expect("a way");
        assert!(most.components_ns.iter().filter(|ns| **ns > 0.0).count() >= 6, "{most:?}");
        // All of these are medians, on an emulated machine beside others: sums are true only
        // roughly.
        let sum = most.components_ns.iter().sum::<f64>() / most.total_ns;
        let part = most.total_ns / most.half_round_trip_ns.expect("many messages");
        assert!((0.2..5.0).contains(&sum) && (0.2..5.0).contains(&part), "{sum}, {part}: {most:?}");
    }
}
