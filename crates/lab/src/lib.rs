//! `verbena bench`: micro-benchmarks of an MPI library on this machine.
//!
//! | module | job |
//! | --- | --- |
//! | [`metric`] | what can be measured, units, points |
//! | [`pair`], [`pairs`], [`threads`], [`collective`], [`kernels`], [`mixed`], [`overlap`], [`everyone`], [`floor`] | the loops and the methods |
//! | [`timing`] | warm-up, calibration, repetition, median |
//! | [`worker`] | one rank, started by an `mpiexec` |
//! | [`job`] | one job of workers under a time limit |
//! | [`busy`] | other work on the machine meanwhile |
//! | [`campaign`] | all points, all numbers of ranks, all rounds |
//! | [`room`] | whether the machine has the memory for a point |
//! | [`report`] | the result, as JSON |
//! | [`command`] | the command line |
//! | [`experiment`] | what comparisons are made of, and their result file |
//! | [`rc`] | the comparisons of papers 1 and 2 over the channel `rc` |
//! | [`polling`] | those of paper 3: which channel is looked at how often |
//! | [`threshold`] | what each channel is good for (paper 3) |
//! | [`ud`] | the comparisons of paper 4: datagrams against connections |
//! | [`bulk`] | those of paper 5: long messages by RDMA, rails, overlap |
//! | [`papers`] | every figure and table of the five papers in one report |
//! | [`table`], [`chart`], [`plot`], [`bars`] | showing it |

mod bars;
mod bulk;
pub mod busy;
mod campaign;
mod chart;
mod collective;
pub mod command;
mod everyone;
pub mod experiment;
pub mod floor;
pub mod job;
pub mod kernels;
pub mod metric;
mod mixed;
mod overlap;
mod pair;
mod pairs;
mod papers;
pub mod plot;
mod polling;
mod rc;
pub mod report;
mod room;
mod spent;
pub mod table;
mod threads;
mod threshold;
pub mod timing;
mod ud;
pub mod worker;
