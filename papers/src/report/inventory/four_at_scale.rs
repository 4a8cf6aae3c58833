//! Paper 4 from section 5.2.2 on: start-up and memory by the number of processes, and programs.

use super::Claimed::{AtMost, Below};
use super::four::SHARED;
use super::{Item, against, ratio, value};
use crate::report::pick::At::{Ranks, Row, SizeRanks};
use crate::report::pick::{Pick, pick};

const fn sim(experiment: &'static str, series: &'static str, row: &'static str) -> Pick {
    pick(experiment, series, "", Row(row))
}

/// The items.
pub(super) fn items() -> Vec<Item> {
    [scale(), programs()].concat()
}

fn scale() -> Vec<Item> {
    let real = |series, ranks| pick("ud everyone", series, "connect", Ranks(ranks));
    let memory = |series, ranks| pick("ud everyone", series, "connect_memory", Ranks(ranks));
    let spent = |series, ranks| pick("ud everyone", series, "connect_processor", Ranks(ranks));
    vec![
        Item::new(4, "figure 5", "5.2.2", "Time until every process has sent an empty message to every other one, by the number of processes")
            .claim("16 processes: datagrams to connections", Below(1.0), [
                ratio(real("ud", 16), real("rc SRQ", 16)).but("16 ranks on 2 nodes of one emulated machine"),
            ])
            .claim("4 processes: datagrams to connections", Below(1.0), [ratio(real("ud", 4), real("rc SRQ", 4))])
            .claim("1024 processes, simulated: datagrams to connections", Below(1.0), [
                ratio(sim("sim connect", "ud", "1024"), sim("sim connect", "rc SRQ", "1024")),
            ])
            .ours("a process's processor time for it by datagrams, 16 processes to 4", [
                ratio(spent("ud", 16), spent("ud", 4)).but("16 ranks share two processors: the clock counts all of them"),
            ])
            .ours("by connections: the same", [ratio(spent("rc SRQ", 16), spent("rc SRQ", 4))])
            .ours("start-up of 8 ranks of a node, mpiexec to its end", [
                value(pick("node startup", "Verbena", "startup", Ranks(8))).but("another quantity: the whole job, without a network"),
            ])
            .show_over("ranks", "ud everyone", "connect").show_over("processes", "sim connect", "")
            .show_over("ranks", "node startup", "startup"),
        Item::new(4, "figure 6", "5.2.2", "Memory of a process after that benchmark, by the number of processes")
            .number("datagrams, 1024 processes", 8.8, "MiB").number("connections with shared receive queue, 1024", 14.75, "MiB")
            .number("connections without, 1024", 25.0, "MiB")
            .claim("1024 processes: datagrams to connections with shared receive queue", AtMost(0.597), [
                ratio(sim("sim memory", "ud", "1024"), sim("sim memory", "rc SRQ", "1024")).but("registered memory alone, by the simulator; the paper counts the whole process"),
            ])
            .claim("1024 processes: datagrams to connections without shared receive queue", AtMost(0.352), [
                ratio(sim("sim memory", "ud", "1024"), sim("sim memory", "rc no SRQ", "1024")),
            ])
            .claim("1024 processes: connections with shared receive queue to those without", AtMost(0.59), [
                ratio(sim("sim memory", "rc SRQ", "1024"), sim("sim memory", "rc no SRQ", "1024")).but("registered memory alone, by the simulator; the paper counts the whole process"),
            ])
            .claim("8 processes between nodes: a process's own memory, with shared receive queue to without", Below(1.0), [
                ratio(memory("rc SRQ", 8), memory("rc no SRQ", 8)).told_by(SHARED),
            ])
            .claim("16 processes: the same", Below(1.0), [ratio(memory("rc SRQ", 16), memory("rc no SRQ", 16)).told_by(SHARED)])
            .ours("1024 processes: registered memory of our datagrams, to the 8.8 MiB of the paper's whole process", [
                against(sim("sim memory", "ud", "1024"), 8.8)
                    .but("no comparison of alike things: a process has its program, libraries and tables besides"),
            ])
            .ours("16 processes between nodes: a process's own memory by datagrams", [
                value(memory("ud", 16)).but("private pages of the whole process, as the paper counts; it has 1024 processes"),
            ])
            .ours("4 processes between nodes: a process's own memory, with shared receive queue to without", [
                ratio(memory("rc SRQ", 4), memory("rc no SRQ", 4)).told_by(SHARED)
                    .but("the pool has 1 MiB of buffers whatever the number of peers: with three of them it costs more than it saves"),
            ])
            .ours("8 processes between nodes: a process's own memory, datagrams to connections", [
                ratio(memory("ud", 8), memory("rc SRQ", 8)),
            ])
            .show_over("processes", "sim memory", "").show_over("ranks", "ud everyone", "connect_memory"),
        Item::new(4, "text", "5.1", "The machine: 1152 nodes with eight cores each")
            .number("nodes", 1152.0, "nodes").number("largest run", 1024.0, "processes")
            .lacks("one machine with 2 cores is here: what needs more nodes is simulated"),
    ]
}

fn programs() -> Vec<Item> {
    let smg = |series| pick("ud multigrid", series, "kernel_smg", SizeRanks(2 << 10, 4));
    let hypre = |series, row| pick("smg", series, "", Row(row));
    vec![
        Item::new(
            4,
            "figure 7",
            "5.3.1",
            "Time of ABINIT, a program of electronic structure: alike over datagrams and connections",
        )
        .lacks("ABINIT is not here: `packaging/debian-source abinit` finds no archive (abinit_9.6.2.orig.tar.gz answers 404), and the binary package wants Open MPI's ABI; the paper itself had one run of each"),
        Item::new(
            4,
            "figure 8",
            "5.3.2",
            "Time of the solver of SMG2000 by the number of processes: datagrams are ahead",
        )
        .claim(
            "SMG2000's solver as hypre has it, 4 ranks: datagrams to connections",
            Below(1.0),
            [
                ratio(hypre("ud", "solver"), hypre("rc SRQ", "solver"))
                    .but("the time that the program states: setting up and solving"),
                ratio(hypre("ud", "job"), hypre("rc SRQ", "job"))
                    .but("the whole job: MPI_Init and the making of connections are counted"),
            ],
        )
        .claim(
            "our kernel SMG, 4 ranks: datagrams to connections",
            Below(1.0),
            [ratio(smg("ud"), smg("rc SRQ")).but(
                "our kernel with the communication of SMG2000; connections are made before the clock starts",
            )],
        )
        .show_over("design", "smg", "time")
        .show_over("kernel", "ud multigrid", "kernel_smg")
        .lacks("the paper has up to 1024 processes"),
    ]
}
