//! The settings of long and short messages act on every channel that one machine has: two values
//! leave other counts behind. Over `rc` and `ud` the same is tested in the simulator (`sim`,
//! `tests/settings`).

use verbena_testing::{Lack, skip};
use verbena_tests::cable::has_libfabric;
use verbena_tests::{Job, count_of, program, staged};

/// Messages each way.
const MESSAGES: u64 = 10;
const MIDDLE: u64 = 8 << 10;
const LONG: u64 = 1 << 20;

/// Two values of a setting, of which the second leaves more of a count behind.
struct Case {
    /// The setting, without `VERBENA_`.
    setting: &'static str,
    values: [&'static str; 2],
    /// The other settings that count.
    beside: &'static [(&'static str, &'static str)],
    bytes: u64,
    /// The counter of rank 0.
    count: &'static str,
}

/// The channels of a job of two ranks on this machine, and its counter of packets.
struct Way {
    channels: &'static str,
    packets: &'static str,
    has_memory: bool,
}

const SHM: Way = Way { channels: "loopback,shm", packets: "shm_packets_sent", has_memory: false };
const CMA: Way = Way { channels: "loopback,shm,cma", packets: "shm_packets_sent", has_memory: true };
const OFI: Way = Way { channels: "loopback,ofi", packets: "ofi_packets_sent", has_memory: true };

const ALONE: &[(&str, &str)] = &[("COPY_BY_BOTH", "0")];
const PIPELINE: &[(&str, &str)] = &[("LARGE", "pipeline")];

/// Returns the count of a job with this value.
fn count(way: &Way, case: &Case, value: &str) -> u64 {
    let mut job = Job::under(&staged("bin/mpiexec"), 2).arg(program("message_counts"));
    job = job.args([case.bytes.to_string(), MESSAGES.to_string(), case.count.to_string()]);
    job = job.env("VERBENA_CHANNELS", way.channels).env(&format!("VERBENA_{}", case.setting), value);
    for (name, value) in case.beside {
        job = job.env(&format!("VERBENA_{name}"), value);
    }
    count_of(&job.run().ok().stdout, case.count)
}

fn check(way: &Way, case: &Case) {
    let [less, more] = case.values.map(|value| count(way, case, value));
    let told = format!("{} {:?} over {}: {}", case.setting, case.values, way.channels, case.count);
    println!("{told} {less} and {more}");
    assert!(less < more, "the setting does not act: {told} {less} and {more}");
}

fn eager(way: &Way) {
    let case = Case {
        setting: "EAGER_BYTES_MAX",
        values: ["100", "8192"],
        beside: &[],
        bytes: MIDDLE,
        count: "eager_sent",
    };
    check(way, &case);
}

fn chunks(way: &Way) {
    let case = Case {
        setting: "CHUNK_BYTES",
        values: ["32768", "2048"],
        beside: PIPELINE,
        bytes: LONG,
        count: way.packets,
    };
    check(way, &case);
}

fn large(way: &Way) {
    assert!(way.has_memory);
    let case = |values, count| Case { setting: "LARGE", values, beside: ALONE, bytes: LONG, count };
    check(way, &case(["pipeline", "read"], "rendezvous_pulled"));
    check(way, &case(["read", "pipeline"], "rendezvous_streamed"));
    check(way, &case(["read", "copy"], "rendezvous_streamed"));
    check(way, &case(["read", "write"], "rendezvous_written"));
}

#[test]
fn within_shared_memory() {
    eager(&SHM);
    chunks(&SHM);
}

#[test]
fn where_a_process_reads_another_ones_memory() {
    eager(&CMA);
    chunks(&CMA);
    large(&CMA);
}

#[test]
fn over_libfabric() {
    if !has_libfabric() {
        return skip(Lack::Installed, "libfabric is not there (Debian: libfabric1)");
    }
    eager(&OFI);
    chunks(&OFI);
    large(&OFI);
    let bulk = |setting, values| Case {
        setting,
        values,
        beside: &[("LARGE", "read")],
        bytes: LONG,
        count: "rendezvous_pulled",
    };
    check(&OFI, &bulk("BULK", ["0", "1"]));
    let automatic = |setting, values| Case { beside: &[], ..bulk(setting, values) };
    check(&OFI, &automatic("BULK_BYTES_MIN", ["4194304", "16384"]));
}
