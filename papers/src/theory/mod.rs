//! `verbena-papers theory`: the simulator's model as a theory that can fail. Every constant with
//! its origin, numbers of the papers that it was not fitted to, and, for a device on which
//! `verbena bench verbs` was run, the ladder of designs that it predicts beside the measured one.
//!
//! | module | job |
//! | --- | --- |
//! | [`device`] | the numbers of the bare device that the model needs |
//! | [`predict`] | what the calibrated model says of the ladder, beside the measurement |
//! | [`ladder`] | a measured ladder from a result file |
//! | [`text`] | all of it for people |
//! | [`command`] | the command line |

pub(crate) mod command;
pub(crate) mod device;
pub(crate) mod ladder;
pub(crate) mod predict;
mod text;
