//! `mpiexec` with real processes. [`harness`] runs it within a time limit; each module is one
//! property.

mod command_line;
mod exits;
mod harness;
mod hosts;
mod leftovers;
mod output;
mod peers;
mod signals;
mod slurm;
mod ssh;
mod start;
mod wrapper;
