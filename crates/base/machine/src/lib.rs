//! The machine that a process runs on, as the operating system describes it.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`alive`] | another process, watched for its end |
//! | [`node`] | numbers that tell nodes, machines and networks apart |
//! | [`cores`] | the cores that the process may use, and how many ranks share them |
//! | [`cgroup`] | the limits of its control groups |
//! | [`headroom`] | the memory that is free under these limits |
//! | [`first_thread`] | the core on which the program's first thread is |
//! | [`hardware`] | the hardware that it is restricted to, for MPI's queries |
//! | [`inheritance`] | sockets that programs which the process starts must not have |
//! | [`kept`] | descriptors that stay open as long as the process |
//! | [`openmp`] | the cores of GNU OpenMP's places |
//! | [`random`] | random bits from the kernel |
//! | [`touch`] | memory that may not be there, asked for before it is touched |

pub mod alive;
pub mod cgroup;
pub mod cores;
pub mod first_thread;
pub mod hardware;
pub mod headroom;
pub mod inheritance;
pub mod kept;
pub mod limits;
pub mod node;
pub mod openmp;
pub mod random;
pub mod terminal;
pub mod touch;
