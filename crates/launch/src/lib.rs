//! `mpiexec`: starts the ranks of a job on this machine, stays with them, and leaves nothing behind.
//!
//! The parts that decide are free of I/O and clocks and are tested alone; the parts that touch the operating
//! system decide nothing.
//!
//! | module | job | I/O |
//! | --- | --- | --- |
//! | [`cli`] | the command line as MPI users type it | no |
//! | [`pmi`] | the launcher's side of PMI-1, PMI-2 and our extension | no |
//! | [`job`] | when the job ends, why, and with which exit code | no |
//! | [`lines`] | the ranks' output in whole lines | no |
//! | [`explain`] | the four-part messages about dead ranks | no |
//! | [`rank`] | one rank's PMI line and output streams | yes |
//! | [`start`] | starts one rank | yes |
//! | [`output`] | standard output and error, without ever blocking | yes |
//! | [`keyboard`] | a terminal as rank 0's standard input | yes |
//! | [`leftovers`] | kills what ranks leave behind, also when `mpiexec` itself is killed | yes |
//! | [`supervise`] | the event loop over all of it | yes |
//! | [`sys`] | system calls with a safe face | yes |
//! | [`wrapper`] | the compiler wrappers `mpicc` and `mpicxx` | no |
//!
//! What must never be here: knowledge of how ranks talk to each other.

pub mod cli;
pub mod explain;
pub mod job;
pub mod keyboard;
pub mod leftovers;
pub mod lines;
pub mod output;
pub mod pmi;
pub mod rank;
pub mod start;
pub mod supervise;
pub mod sys;
pub mod wrapper;
