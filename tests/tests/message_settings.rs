//! The settings of long and short messages act on every channel that one machine has: two values
//! leave other counts behind. Over `rc`, `ud` and `pipe` the same is tested in the simulator
//! (`sim`, `tests/settings`).

use verbena_testing::{Lack, skip};
use verbena_tests::cable::has_libfabric;
use verbena_tests::{Job, count_of, program, staged};

/// Messages each way.
const MESSAGES: u64 = 10;
const MIDDLE: u64 = 8 << 10;
const LONG: u64 = 1 << 20;

const EAGER: &str = "eager_sent";
const PULLED: &str = "rendezvous_pulled";
const STREAMED: &str = "rendezvous_streamed";
const WRITTEN: &str = "rendezvous_written";

/// The channels of a job of two ranks on this machine, and its counter of packets.
struct Way {
    channels: &'static str,
    packets: &'static str,
}

const SHM: Way = Way { channels: "loopback,shm", packets: "shm_packets_sent" };
const CMA: Way = Way { channels: "loopback,shm,cma", packets: "shm_packets_sent" };
const OFI: Way = Way { channels: "loopback,ofi", packets: "ofi_packets_sent" };

/// The counts of rank 0 in a job.
struct Counts {
    of: String,
    said: String,
}

impl Counts {
    /// Checks that the job with the other value of the setting counted more.
    fn below(&self, more: &Counts, counter: &str) {
        let [less, most] = [self, more].map(|counts| count_of(&counts.said, counter));
        println!("{counter}: {less} with {}, {most} with {}", self.of, more.of);
        assert!(less < most, "{counter}: {less} with {}, {most} with {}", self.of, more.of);
    }
}

/// Runs a job with these settings, the names without `VERBENA_`.
fn counts(way: &Way, settings: &[(&str, &str)], bytes: u64) -> Counts {
    let job = Job::under(&staged("bin/mpiexec"), 2).arg(program("message_counts"));
    let mut job = job.args([bytes.to_string(), MESSAGES.to_string()]);
    job = job.args([EAGER, PULLED, STREAMED, WRITTEN, way.packets]);
    job = job.env("VERBENA_CHANNELS", way.channels);
    for (name, value) in settings {
        job = job.env(&format!("VERBENA_{name}"), value);
    }
    Counts { of: format!("{settings:?} over {}", way.channels), said: job.run().ok().stdout }
}

fn eager(way: &Way) {
    let [less, more] = ["100", "8192"].map(|limit| counts(way, &[("EAGER_BYTES_MAX", limit)], MIDDLE));
    less.below(&more, EAGER);
}

fn chunks(way: &Way) {
    let of = |bytes| counts(way, &[("LARGE", "pipeline"), ("CHUNK_BYTES", bytes)], LONG);
    let [less, more] = ["32768", "2048"].map(of);
    less.below(&more, way.packets);
}

/// Checks the ways of long messages on a channel that moves memory.
fn large(way: &Way) {
    let of = |how| counts(way, &[("COPY_BY_BOTH", "0"), ("LARGE", how)], LONG);
    let [read, write, pipeline, copy] = ["read", "write", "pipeline", "copy"].map(of);
    pipeline.below(&read, PULLED);
    read.below(&pipeline, STREAMED);
    read.below(&copy, STREAMED);
    read.below(&write, WRITTEN);
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
    // Packets are the way of the first messages where the ways are learnt.
    let [none, some] = ["0", "1"].map(|learn| counts(&CMA, &[("NODE_LEARN", learn)], LONG));
    none.below(&some, STREAMED);
}

#[test]
fn over_libfabric() {
    if !has_libfabric() {
        return skip(Lack::Installed, "libfabric is not there (Debian: libfabric1)");
    }
    eager(&OFI);
    chunks(&OFI);
    large(&OFI);
    let [none, some] = ["0", "1"].map(|bulk| counts(&OFI, &[("LARGE", "read"), ("BULK", bulk)], LONG));
    none.below(&some, PULLED);
    let [none, some] = ["4194304", "16384"].map(|least| counts(&OFI, &[("BULK_BYTES_MIN", least)], LONG));
    none.below(&some, PULLED);
}
