//! `verbena-papers threshold`: the uses of each channel (paper 3, section 4): latency and bandwidth
//! by size (figure 5), the processor time that a transfer takes (figure 4), and what it takes from
//! a computation beside it, with and without the progress thread.
//!
//! On one node that is `shm` and `cma`; with `--hosts` also `rc` by read, by write and as a stream,
//! `ud` and `ofi` between the first two. What an experiment is, and how the result is written, is
//! said in [`verbena_lab::experiment`].
//!
//! | module | job |
//! | --- | --- |
//! | [`ways`] | the channels as variants, and their experiments |
//! | [`command`] | the command line |

pub mod command;
pub mod ways;
