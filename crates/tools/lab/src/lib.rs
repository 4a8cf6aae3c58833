//! The laboratory: the code by which `verbena bench`, `verbena tune` and the papers' comparisons
//! measure.
//!
//! | module | job |
//! | --- | --- |
//! | [`mpi`], [`buffer`] | an MPI library, opened at run time, and memory for its messages |
//! | [`metric`] | what can be measured, units, points |
//! | `pair`, `pairs`, `threads`, `collective`, `one_sided`, `overlap`, `everyone` | the loops |
//! | `mixed`, `discovery`, `few_talk` | the loops about polling |
//! | `turns` | ranks that wait without a processor until it is their turn |
//! | [`kernels`], [`floor`] | small computations; what the machine can do without MPI |
//! | [`verbs`] | the bare verbs device |
//! | [`timing`], `spent` | warm-up, calibration, repetition, median; the processor's time |
//! | [`witness`], `watch` | the circumstances of a point: disturbances, and what was counted |
//! | [`observer`] | those of a program of others |
//! | [`devices`] | the counters of verbs devices |
//! | [`worker`] | one rank, started by an `mpiexec` |
//! | [`helper`] | the hidden commands of a program that measures |
//! | [`job`] | one job of workers under a time limit |
//! | [`busy`] | other work on the machine meanwhile |
//! | [`campaign`] | all points, all numbers of ranks, all rounds |
//! | `room` | whether the machine has the memory for a point |
//! | [`report`] | the result, as JSON |
//! | [`experiment`] | what comparisons are made of, and their result file |
//! | [`components`] | where the time of a traced message went |
//! | [`one_sided_calls`] | traced calls of one-sided communication |
//! | [`table`], [`chart`], [`output`] | showing it |
//! | [`place`] | the installation that is measured, and the machine |

pub mod buffer;
pub mod busy;
pub mod campaign;
pub mod chart;
mod collective;
pub mod components;
pub mod devices;
mod discovery;
mod everyone;
pub mod experiment;
mod few_talk;
pub mod files;
pub mod floor;
pub mod helper;
pub mod job;
pub mod kernels;
pub mod metric;
mod mixed;
pub mod mpi;
pub mod observer;
mod one_sided;
pub mod one_sided_calls;
pub mod output;
mod overlap;
mod pair;
mod pairs;
pub mod place;
pub mod report;
mod room;
mod spent;
pub mod table;
mod threads;
pub mod timing;
mod turns;
pub mod verbs;
mod watch;
pub mod witness;
pub mod worker;
