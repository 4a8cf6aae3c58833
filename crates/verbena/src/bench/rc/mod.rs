//! `verbena bench rc`: what papers 1 and 2 measured, on the verbs device of this machine.
//!
//! It runs where verbs devices are: on a cluster's node, or inside Soft-RoCE (`cargo xtask softroce -- verbena bench rc`). An
//! *experiment* is a few points under several *variants*: settings of our channel `rc`, the bare device (perftest), or another
//! MPI library. The variants of all experiments take turns, round by round, so that what disturbs the machine disturbs all alike;
//! a value is the median of all rounds. Each variant carries the command that measured it.
//!
//! | module | job |
//! | --- | --- |
//! | [`experiment`], [`variant`] | what is compared with what, as data |
//! | [`device`] | the bare device, by perftest |
//! | [`series`] | the measurements of one variant |
//! | [`goals`] | what must be true of them |
//! | [`quick`] | which samples may be compared |
//! | [`record`] | the result file |
//! | [`model`] | the simulator's figures beside them |
//! | [`command`], [`show`] | the command line; tables and plots |

pub mod command;
mod device;
mod experiment;
mod goals;
pub mod model;
mod quick;
mod record;
mod series;
mod show;
mod variant;
