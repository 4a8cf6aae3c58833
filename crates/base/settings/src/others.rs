//! Variables that begin with `VERBENA_` and are no settings.

/// The variable with the process id of the `mpiexec` that started this rank, or of its agent on
/// this host. That process is the parent of each rank and an ancestor of all that a rank starts.
pub const LAUNCHER_PID: &str = "VERBENA_LAUNCHER_PID";

/// Variables that begin with `VERBENA_` and are no settings: what `mpiexec` tells the ranks, and
/// what the project's own tests read.
pub const OTHERS: &[&str] = &[
    "VERBENA_JOB",
    "VERBENA_LOCAL_RANKS",
    "VERBENA_STATUS",
    LAUNCHER_PID,
    "VERBENA_PMI_SOCKET",
    "VERBENA_APPNUM",
    "VERBENA_PARENT",
    "VERBENA_UNIVERSE_SIZE",
    "VERBENA_LOCAL_RANK",
    "VERBENA_LOCAL_SIZE",
    "VERBENA_SIM_FIRST",
    "VERBENA_SIM_SEED",
    "VERBENA_SIM_SEEDS",
    "VERBENA_CUTS",
    "VERBENA_DEATHS",
    "VERBENA_SPAWNS",
    "VERBENA_CONNECTS",
    "VERBENA_STAGE",
    "VERBENA_VENV",
    "VERBENA_STOCK_VENV",
    "VERBENA_STOCK_RANKS",
    "VERBENA_NODES_MODULES",
    "VERBENA_NODES_RANKS",
    "VERBENA_NODES_WIRE",
    "VERBENA_NODES_CHANNELS",
    "VERBENA_MPICH",
    "VERBENA_OPENMPI",
    "VERBENA_NO_SKIP",
    "VERBENA_BENCH_FOLDER",
];
