//! `mpiexec`: starts the ranks of a job, on this host and on others, stays with them, and leaves
//! nothing behind.
//!
//! The parts that decide are free of I/O and clocks and are tested alone; the parts that touch the
//! operating system decide nothing. Each host has a [`local_ranks`] that starts ranks and listens
//! to them. It takes commands and gives reports; on other hosts an [`agent`] passes both over the
//! launcher's standard input and output.
//!
//! | module | job | I/O |
//! | --- | --- | --- |
//! | [`cli`] | the command line as MPI users type it | host files |
//! | [`plan`] | which programs run as which ranks, and how a process can end | no |
//! | [`topology`] | the processors of a host, and what they share | files below a folder |
//! | [`binding`] | which processors each rank may use | no |
//! | [`load`] | how many ranks each processor is for, and its text for spawned jobs | no |
//! | [`hosts`] | lists of hosts, host files, allocations | no |
//! | [`layout`] | which rank runs on which host | no |
//! | [`launcher`] | the command that starts an agent on a host | no |
//! | [`resolve`] | waits for the address of a host | yes |
//! | [`export`] | the variables and the directory that other hosts get | a little |
//! | `preparation` | the name, the files and the means of a job | a little |
//! | [`pmi`] | the launcher's side of PMI-1, PMI-2 and our extension | no |
//! | [`job`] | when the job ends, why, and with which exit code | no |
//! | [`lines`] | the ranks' output, line by line where they share a place | no |
//! | [`explain`] | the four-part messages about dead ranks | no |
//! | [`rank_errors`] | errors that ended ranks, each told once | no |
//! | [`wire`] | what `mpiexec` and its agents say to each other | no |
//! | [`local_ranks`] | the ranks of one host: started, listened to, ended | yes |
//! | [`agent`] | the ranks of another host | yes |
//! | [`remote`] | an agent as `mpiexec` sees it | yes |
//! | [`children`] | the jobs that ranks have started | yes |
//! | [`spawned`] | what an `mpiexec` that was started for a program tells it | a little |
//! | [`job_hosts`] | all hosts of a job | yes |
//! | [`output`] | standard output and error, without ever blocking | yes |
//! | [`files`] | files that take the ranks' output | yes |
//! | [`screen`] | what the ranks write, on ours | yes |
//! | [`stillness`] | whether the ranks get any further | no |
//! | [`top`] | the socket on which `verbena top` asks | yes |
//! | [`asleep`] | a rank that sleeps in a system call: which one, its registers and its stack | yes |
//! | [`unwind`] | the return addresses of a thread of another process | files |
//! | `mappings` | the files that a process has mapped | files |
//! | [`symbols`] | the functions and lines of addresses in a process | files |
//! | [`process_facts`] | what the system tells of a process | files |
//! | [`keyboard`] | our standard input on its way to rank 0 | yes |
//! | [`supervise`] | the event loop over all of it | yes |
//! | [`mpir`] | the table of ranks for parallel debuggers | a little |
//! | [`debugger`] | gdb for some ranks | yes |
//! | [`pages`] | the manual page and the completions | yes |
//! | [`defect`] | the message when `mpiexec` itself is wrong | yes |
//! | [`sys`] | system calls with a safe face | yes |
//! | [`wrapper`] | the compiler wrappers `mpicc` and `mpicxx` | no |
//!
//! What must never be here: knowledge of how ranks talk to each other.

pub mod agent;
pub mod asleep;
pub mod binding;
pub mod children;
pub mod cli;
pub mod debugger;
pub mod defect;
pub mod explain;
pub mod export;
pub mod files;
pub mod hosts;
pub mod job;
pub mod job_hosts;
pub mod keyboard;
pub mod launcher;
pub mod layout;
pub mod lines;
pub mod load;
pub mod local_ranks;
mod mappings;
pub mod mpir;
pub mod output;
pub mod pages;
pub mod plan;
pub mod pmi;
mod preparation;
pub mod process_facts;
pub mod rank_errors;
pub mod remote;
pub mod resolve;
pub mod screen;
pub mod spawned;
pub mod stillness;
pub mod supervise;
pub mod symbols;
pub mod sys;
pub mod top;
pub mod topology;
pub mod unwind;
pub mod wire;
pub mod wrapper;
