//! `verbena-papers threshold`: the uses of each channel (paper 3, section 4): latency and bandwidth
//! by size (figure 5), the processor time that a transfer takes (figure 4), and its cost for a
//! computation beside it, with and without the progress thread.
//!
//! On one node that is `shm` and `cma`; with `--hosts` also `rc` by read, by write and as a stream,
//! `ud` and `ofi` between the first two. [`verbena_lab::experiment`] describes experiments and the
//! result file.
//!
//! | module | job |
//! | --- | --- |
//! | [`ways`] | the channels as variants, and their experiments |
//! | [`command`] | the command line |

pub(crate) mod command;
pub(crate) mod ways;
