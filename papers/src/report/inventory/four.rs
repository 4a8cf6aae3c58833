//! Paper 4 up to section 5.2.1: datagrams, several sending queue pairs, latency and bandwidth.

use super::Claimed::{About, Above, Below};
use super::{Item, ratio, value};
use crate::report::pick::At::{Most, Row, Size};
use crate::report::pick::{Pick, pick};

const fn latency(series: &'static str, bytes: usize) -> Pick {
    pick("ud latency", series, "latency", Size(bytes))
}

const fn bandwidth(series: &'static str, bytes: usize) -> Pick {
    pick("ud bandwidth", series, "bandwidth", Size(bytes))
}

const SOFT: &str =
    "Soft-RoCE: a send costs a system call, and a datagram as much as a packet of a connection";

const CHECKSUM: &str =
    "the paper's DR compares checksums from memory to memory (3.1), and gives no number of its price";
/// The counters that tell such variants apart, which move the same packets.
const CHECKSUMMED: &str = "ud_datagrams_checksummed";
pub(super) const SHARED: &str = "rc_shared_receives";
/// The device of the papers, which works for four queue pairs at once.
const SIDE_BY_SIDE: &str = "four started side by side";

/// The items.
pub(super) fn items() -> Vec<Item> {
    let drop = |series, bytes| pick("ud drop", series, "bandwidth", Size(bytes));
    let sim_pairs = |series, row| pick("sim pairs", series, "", Row(row));
    let pairs = |most, least| ratio(sim_pairs(SIDE_BY_SIDE, most), sim_pairs(SIDE_BY_SIDE, least));
    let peak = |series| pick("ud senders", series, "bandwidth", Most);
    vec![
        Item::new(4, "figure 1", "3.1", "The layers of Open MPI between MPI and the network")
            .lacks("a drawing of another library's layers, without numbers"),
        Item::new(4, "figure 2", "4", "Peak bandwidth by the number of queue pairs through which datagrams are sent in turn")
            .number("chosen", 4.0, "queue pairs")
            .claim("4 queue pairs to 1", Above(1.0), [ratio(peak("4 pairs"), peak("1 pairs")).but(SOFT)])
            .claim("8 queue pairs to 4: nothing more", About(1.0), [ratio(peak("8 pairs"), peak("4 pairs"))])
            .claim("4 queue pairs to 1, by the model of a device that starts four side by side", Above(1.0), [pairs("4", "1")])
            .claim("8 to 4, by that model: nothing more", About(1.0), [pairs("8", "4")])
            .ours("4 queue pairs to 1, where the device starts one at a time", [
                ratio(sim_pairs("one started at a time", "4"), sim_pairs("one started at a time", "1")),
            ])
            .show("ud senders", "bandwidth").show_over("queue pairs", "sim pairs", "bandwidth"),
        Item::new(4, "figure 3", "5.2.1", "Latency by size: datagrams with and without reliability, connections with and without shared receive queue")
            .claim("8 B: unreliable datagrams to connections", About(1.0), [
                ratio(latency("ud unreliable", 8), latency("rc SRQ", 8)).but(SOFT),
            ])
            .claim("1 KiB: unreliable datagrams to connections", About(1.0), [
                ratio(latency("ud unreliable", 1024), latency("rc SRQ", 1024)),
            ])
            .claim("8 B: what reliability adds, reliable to unreliable datagrams", Above(1.0), [
                ratio(latency("ud", 8), latency("ud unreliable", 8)).but("the less the better for us"),
            ])
            .claim("8 B: the price of DR's checksum, to datagrams that are only reliable", Above(1.0), [
                ratio(latency("ud DR", 8), latency("ud", 8)).but(CHECKSUM).told_by(CHECKSUMMED),
            ])
            .claim("16 KiB: the same", Above(1.0), [ratio(latency("ud DR", 16 << 10), latency("ud", 16 << 10)).but(CHECKSUM).told_by(CHECKSUMMED)])
            .claim("8 B: connections with shared receive queue to those without", About(1.0), [
                ratio(latency("rc SRQ", 8), latency("rc no SRQ", 8)).told_by(SHARED),
            ])
            .ours("bare datagrams by perftest, 8 B", [value(latency("ib_send UD", 8))])
            .show("ud latency", "latency"),
        Item::new(4, "figure 4", "5.2.1", "Bandwidth by size of the same: alike below 2 KiB, a drop of datagrams at 2 KiB, less for long messages")
            .claim("1 KiB: unreliable datagrams to connections", About(1.0), [
                ratio(bandwidth("ud unreliable", 1024), bandwidth("rc SRQ", 1024)).but(SOFT),
            ])
            .claim("the drop: 2 KiB to 1 KiB, where rendezvous begins at 2 KiB as in the paper", Below(1.0), [
                ratio(drop("ud from 2 KiB", 2 << 10), drop("ud from 2 KiB", 1 << 10)).but("UD_EAGER_BYTES_MAX=2047"),
            ])
            .claim("the drop is overcome: 64 KiB to 1 KiB", Above(1.0), [
                ratio(drop("ud from 2 KiB", 64 << 10), drop("ud from 2 KiB", 1 << 10)),
            ])
            .ours("2 KiB: our own, eager up to 16 KiB in several datagrams, to rendezvous from 2 KiB on", [
                ratio(drop("ud", 2 << 10), drop("ud from 2 KiB", 2 << 10)),
            ])
            .claim("1 MiB: reliable datagrams to connections", Below(1.0), [
                ratio(bandwidth("ud", 1 << 20), bandwidth("rc SRQ", 1 << 20)),
            ])
            .claim("64 KiB: the price of DR's checksum, to datagrams that are only reliable", Below(1.0), [
                ratio(bandwidth("ud DR", 64 << 10), bandwidth("ud", 64 << 10)).but(CHECKSUM).told_by(CHECKSUMMED),
            ])
            .claim("1 MiB: the same", Below(1.0), [ratio(bandwidth("ud DR", 1 << 20), bandwidth("ud", 1 << 20)).but(CHECKSUM).told_by(CHECKSUMMED)])
            .show("ud bandwidth", "bandwidth").show("ud drop", "bandwidth"),
    ]
}
