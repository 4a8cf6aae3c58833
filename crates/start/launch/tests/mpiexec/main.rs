//! `mpiexec` with real processes. [`harness`] runs it within a time limit; each module is one
//! property.

mod binding;
mod command_line;
mod debuggers;
mod exits;
mod harness;
mod hosts;
mod leftovers;
mod names;
mod output;
mod peers;
mod scripts;
mod signals;
mod slurm;
mod ssh;
mod start;
mod wrapper;
