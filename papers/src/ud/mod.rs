//! `verbena-papers ud`: paper 4's measurements of datagrams, on the verbs device of this machine.
//!
//! It runs where verbs devices are: on a cluster's node, or inside Soft-RoCE
//! (`cargo xtask softroce -- verbena-papers ud`); for a wire that loses packets
//! `cargo xtask softroce --loss 1% -- verbena-papers ud --lossy --note "1% loss"`.
//! [`verbena_lab::experiment`] describes experiments and the result file. `--model` adds the
//! simulator's figures for up to 4,096 ranks.
//!
//! | module | job |
//! | --- | --- |
//! | [`experiments`] | what is compared with what, as data, and what must be true |
//! | [`command`] | the command line |

pub(crate) mod command;
pub(crate) mod experiments;
