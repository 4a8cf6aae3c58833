//! `verbena bench`: micro-benchmarks of an MPI library on this machine.
//!
//! | module | job |
//! | --- | --- |
//! | [`metric`] | what can be measured, units, points |
//! | [`pair`], [`threads`], [`collective`], [`kernel`], [`mixed`], [`overlap`], [`floor`] | the loops and the methods |
//! | [`timing`] | warm-up, calibration, repetition, median |
//! | [`worker`] | one rank, started by an `mpiexec` |
//! | [`job`] | one job of workers under a time limit |
//! | [`busy`] | other work on the machine meanwhile |
//! | [`campaign`] | all points, all numbers of ranks, all rounds |
//! | [`report`] | the result, as JSON |
//! | [`command`] | the command line |
//! | [`rc`] | the comparisons of papers 1 and 2 over the channel `rc` |
//! | [`polling`] | the comparisons of paper 3: which channel is looked at how often |
//! | [`threshold`] | what each channel is good for |
//! | [`papers`] | every figure and table of the five papers in one report |
//! | [`candidate`] | one way of doing things, and a bar that shows how far it is |
//! | [`table`], [`chart`], [`plot`], [`bars`] | showing it |

mod bars;
pub mod busy;
mod campaign;
pub mod candidate;
mod chart;
mod collective;
pub mod command;
pub mod floor;
pub mod job;
mod kernel;
pub mod metric;
mod mixed;
mod overlap;
mod pair;
mod papers;
pub mod plot;
mod polling;
mod rc;
pub mod report;
pub mod table;
mod threads;
pub mod threshold;
mod timing;
pub mod worker;
