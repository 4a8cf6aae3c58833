//! `verbena bench`: micro-benchmarks of an MPI library on this machine.
//!
//! | module | job |
//! | --- | --- |
//! | [`metric`] | what can be measured, units, points |
//! | [`pair`], [`threads`], [`collective`], [`kernel`], [`floor`] | the loops and the methods |
//! | [`timing`] | warm-up, calibration, repetition, median |
//! | [`worker`] | one rank, started by an `mpiexec` |
//! | [`job`] | one job of workers under a time limit |
//! | [`busy`] | other work on the machine meanwhile |
//! | [`campaign`] | all points, all numbers of ranks, all rounds |
//! | [`report`] | the result, as JSON |
//! | [`command`] | the command line |
//! | [`rc`] | the comparisons of papers 1 and 2 over the channel `rc` |
//! | [`table`], [`chart`], [`plot`] | showing it |

pub mod busy;
mod campaign;
mod chart;
mod collective;
pub mod command;
pub mod floor;
mod job;
mod kernel;
pub mod metric;
mod pair;
mod plot;
mod rc;
mod report;
mod table;
mod threads;
mod timing;
pub mod worker;
