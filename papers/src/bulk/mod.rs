//! `verbena-papers bulk`: paper 5's measurements of long messages, on the verbs devices of this
//! machine.
//!
//! It runs where verbs devices are: `cargo xtask softroce -- verbena-papers bulk`, for two rails
//! with `--rails 2`. What goes on within one node (overlap over shared memory) is measured
//! everywhere. [`verbena_lab::experiment`] describes experiments and the result file.
//!
//! | module | job |
//! | --- | --- |
//! | [`experiments`] | what is compared with what, as data, and what must be true |
//! | [`command`] | the command line |

pub(crate) mod command;
pub(crate) mod experiments;
