//! One MPI process: its engine, how it waits, and the tasks that progress drives.

/// The state of this process. There is one in a program and many in the simulator.
pub struct Process {}
