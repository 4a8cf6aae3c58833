//! `verbena-papers rc`: the measurements of papers 1 and 2, on the verbs device of this machine.
//!
//! It runs where verbs devices are: on a cluster's node, or inside Soft-RoCE
//! (`cargo xtask softroce -- verbena-papers rc`). [`verbena_lab::experiment`] describes experiments
//! and the result file.
//!
//! | module | job |
//! | --- | --- |
//! | [`experiments`] | what is compared with what, as data |
//! | [`pipe_experiments`] | those of paper 2's RDMA Channel |
//! | [`variants`] | our library over `rc` |
//! | [`goals`] | what must be true of it |
//! | [`command`] | the command line |

pub(crate) mod command;
pub(crate) mod experiments;
mod goals;
mod pipe_experiments;
pub(crate) mod variants;
