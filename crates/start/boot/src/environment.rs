//! Reads the variables of the launchers: how this process was started and how to reach the
//! launcher.
//!
//! | variable | set by | meaning |
//! | --- | --- | --- |
//! | `PMI_FD`, `PMI_RANK`, `PMI_SIZE` | Hydra, `srun --mpi=pmi2`, our `mpiexec` | a connected descriptor |
//! | `PMI_JOBID` | Slurm | the job's name, to be told back in PMI-2 |
//! | `PMI_PORT`, `PMI_ID` | Hydra with `-pmi-port` | an address to connect to, and who we are there |
//! | `VERBENA_JOB`, `VERBENA_APPNUM` | our `mpiexec` | it knows our extension |
//! | `VERBENA_UNIVERSE_SIZE` | our `mpiexec` | the processes for which there is room |
//! | `VERBENA_PARENT` | our `mpiexec` | the port of the program that spawned this one |
//! | `PMI_SPAWNED` | Hydra, Slurm | another program spawned this one |
//! | `VERBENA_LAUNCHER_PID` | our `mpiexec` | the process on this host that started the ranks here |
//! | `VERBENA_PMI_SOCKET` | our `mpiexec` | `PMI_FD:INODE`, by which a rank knows its own socket |
//! | `PMIX_NAMESPACE`, `PMIX_RANK`, `PMIX_SERVER_URI*` | PRRTE, `srun --mpi=pmix` | a server to connect to, and who we are there |
//! | `VERBENA_PMI` | the user | `1` or `2`: speak that version of PMI, without our extension |
//!
//! The functions take the environment as a closure, so that a test can make one up.

mod pmix;

use crate::error::BootError;
use crate::link;
use crate::spawn::PARENT;
pub use pmix::{Place, Proof};
use verbena_fault::Fault;
use verbena_settings::LAUNCHER_PID;

/// Looks a variable up.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The variable with the number and the inode of the socket that our `mpiexec` gave to this rank.
pub const PMI_SOCKET: &str = "VERBENA_PMI_SOCKET";

/// Facts of the operating system about this process.
pub struct Surroundings<'a> {
    /// Looks a variable up.
    pub get: Lookup<'a>,
    /// The inode of the socket with this number; `None` if there is no socket.
    pub socket: &'a dyn Fn(i32) -> Option<u64>,
    /// The parent's process id.
    pub parent: u32,
}

impl<'a> Surroundings<'a> {
    /// The surroundings of this process, with the variables that `get` finds.
    pub fn of_this_process(get: Lookup<'a>) -> Surroundings<'a> {
        Surroundings { get, socket: &link::socket_inode, parent: std::os::unix::process::parent_id() }
    }
}

/// The environment as this process has it, with the settings of Verbena also from their file.
pub fn variable(name: &str) -> Option<String> {
    if name == verbena_settings::PMI.about.name {
        // Done already in the library; a client without it (boot-client) comes here first.
        verbena_settings::load();
        let speech = &verbena_settings::PMI;
        return (speech.get() != 0).then(|| speech.value_text());
    }
    std::env::var(name).ok()
}

/// The way to start.
#[derive(Debug, PartialEq, Eq)]
pub enum Plan {
    /// Alone, perhaps by mistake.
    Singleton {
        /// The warning for the user, if a launcher started this process as one of several.
        warning: Option<String>,
    },
    /// Start with a launcher.
    Launched(Launched),
    /// Start with a server of PMIx.
    Pmix(Place),
}

/// A launcher, and what is known of it before it is asked.
#[derive(Debug, PartialEq, Eq)]
pub struct Launched {
    /// The way to reach it.
    pub line: Line,
    /// The protocol to speak.
    pub speech: Speech,
    /// `PMI_JOBID`, which Slurm's PMI-2 wants to be told back.
    pub job: Option<String>,
    /// True if another program spawned this one (`PMI_SPAWNED`).
    pub is_spawned: bool,
}

/// The way to reach the launcher.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// An open socket, inherited.
    Descriptor {
        /// The number of the descriptor.
        fd: i32,
        /// `PMI_RANK`.
        rank: u32,
        /// `PMI_SIZE`.
        size: u32,
    },
    /// A TCP port.
    Port {
        /// `host:port`.
        address: String,
        /// `PMI_ID`, which the launcher turns into a rank.
        id: u32,
    },
}

/// The protocol to speak on the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speech {
    /// PMI-1; PMI-2 if the launcher insists.
    Pmi1,
    /// PMI-2.
    Pmi2,
    /// PMI-1 with our extension; all there is to know came by the environment.
    Verbena {
        /// The job's name.
        job: String,
        /// `MPI_APPNUM`.
        appnum: u32,
        /// The cores of the allocation.
        universe_size: Option<u32>,
        /// The port of the program that spawned this one.
        parent: Option<String>,
    },
}

/// A process's own data, once started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The process's rank, below `size`.
    pub rank: u32,
    /// The number of processes.
    pub size: u32,
    /// `MPI_UNIVERSE_SIZE`.
    pub universe_size: Option<u32>,
    /// `MPI_APPNUM`.
    pub appnum: Option<u32>,
    /// The job's name.
    pub job: String,
    /// The port of the program that spawned this one, if one did.
    pub parent: Option<String>,
}

/// Decides how to start.
///
/// # Errors
/// A variable that makes no sense; a rank of our `mpiexec` whose line to it is closed.
pub fn plan(around: &Surroundings<'_>) -> Result<Plan, BootError> {
    let get = around.get;
    if let Some(fd) = number::<i32>(get, "PMI_FD", "the number of an open descriptor")? {
        let Some((rank, size)) = place(get)? else { return Ok(Plan::Singleton { warning: foreign(get) }) };
        return match (at_number(around, fd)?, is_rank(around)?) {
            (Found::Line, _) => launched(get, Line::Descriptor { fd, rank, size }),
            (Found::Nothing, false) => Ok(Plan::Singleton { warning: closed_descriptor(fd, rank, size) }),
            (found, _) => Err(BootError::NoLine { fd, rank, size, other: found == Found::Other }),
        };
    }
    if let (Some(address), Some(id)) = (get("PMI_PORT"), number(get, "PMI_ID", "a number")?) {
        return launched(get, Line::Port { address, id });
    }
    if let Some(place) = pmix::place(get)? {
        return Ok(Plan::Pmix(place));
    }
    Ok(Plan::Singleton { warning: foreign(get) })
}

/// The object that has the number that a launcher gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The launcher's socket.
    Line,
    /// Another socket than the one that our `mpiexec` gave.
    Other,
    /// The number is no socket.
    Nothing,
}

fn at_number(around: &Surroundings<'_>, fd: i32) -> Result<Found, BootError> {
    let told = own_socket(around.get)?.filter(|(own, _)| *own == fd);
    Ok(match ((around.socket)(fd), told) {
        (None, _) => Found::Nothing,
        (Some(inode), Some((_, own))) if inode != own => Found::Other,
        _ => Found::Line,
    })
}

/// Returns whether our `mpiexec` started this very process. What a rank starts has another parent.
fn is_rank(around: &Surroundings<'_>) -> Result<bool, BootError> {
    Ok(number(around.get, LAUNCHER_PID, "a process id")? == Some(around.parent))
}

/// The number and the inode of the socket that our `mpiexec` gave us.
fn own_socket(get: Lookup<'_>) -> Result<Option<(i32, u64)>, BootError> {
    let Some(value) = get(PMI_SOCKET) else { return Ok(None) };
    let numbers = value.split_once(':').and_then(|(fd, inode)| Some((fd.parse().ok()?, inode.parse().ok()?)));
    let wrong = || BootError::BadVariable { name: PMI_SOCKET, value: value.clone(), expected: "FD:INODE" };
    numbers.map(Some).ok_or_else(wrong)
}

/// The number of processes before the launcher is asked; `None` where only it knows, or a variable
/// makes no sense.
pub fn known_size(around: &Surroundings<'_>) -> Option<u32> {
    match plan(around).ok()? {
        Plan::Singleton { .. } => Some(1),
        Plan::Launched(Launched { line: Line::Descriptor { size, .. }, .. }) => Some(size),
        Plan::Launched(Launched { line: Line::Port { .. }, .. }) | Plan::Pmix(_) => None,
    }
}

fn launched(get: Lookup<'_>, line: Line) -> Result<Plan, BootError> {
    let job = get("PMI_JOBID").filter(|job| !job.is_empty());
    let is_spawned = get("PMI_SPAWNED").is_some_and(|value| value.trim() == "1");
    Ok(Plan::Launched(Launched { line, speech: speech(get)?, job, is_spawned }))
}

fn place(get: Lookup<'_>) -> Result<Option<(u32, u32)>, BootError> {
    let rank = number::<u32>(get, "PMI_RANK", "a rank below PMI_SIZE")?;
    let size = number::<u32>(get, "PMI_SIZE", "a number of processes above 0")?;
    match (rank, size) {
        (Some(rank), Some(size)) if rank < size => Ok(Some((rank, size))),
        (Some(rank), Some(_)) => Err(BootError::BadVariable {
            name: "PMI_RANK",
            value: rank.to_string(),
            expected: "a rank below PMI_SIZE",
        }),
        _ => Ok(None),
    }
}

fn speech(get: Lookup<'_>) -> Result<Speech, BootError> {
    match get("VERBENA_PMI").as_deref() {
        Some("1") => return Ok(Speech::Pmi1),
        Some("2") => return Ok(Speech::Pmi2),
        Some(other) if !other.is_empty() => {
            return Err(BootError::BadVariable {
                name: "VERBENA_PMI",
                value: other.to_owned(),
                expected: "1 or 2",
            });
        }
        _ => {}
    }
    // Another launcher inside a rank of ours sets a new PMI_FD and hands our other variables on.
    let other = match (number::<i32>(get, "PMI_FD", "the number of an open descriptor")?, own_socket(get)?) {
        (Some(fd), Some((own, _))) => fd != own,
        _ => false,
    };
    match get("VERBENA_JOB").filter(|_| !other) {
        Some(job) => {
            let appnum = number(get, "VERBENA_APPNUM", "a number")?.unwrap_or(0);
            let universe_size = number(get, "VERBENA_UNIVERSE_SIZE", "a number of cores")?;
            let parent = get(PARENT).filter(|port| !port.is_empty());
            Ok(Speech::Verbena { job, appnum, universe_size, parent })
        }
        None => Ok(Speech::Pmi1),
    }
}

fn number<T: std::str::FromStr>(
    get: Lookup<'_>,
    name: &'static str,
    expected: &'static str,
) -> Result<Option<T>, BootError> {
    match get(name) {
        None => Ok(None),
        Some(value) => match value.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(BootError::BadVariable { name, value, expected }),
        },
    }
}

/// The variables by which a launcher that we cannot talk to says how many processes it started:
/// size, rank, the launcher's name, and how to get it right.
const FOREIGN: [(&str, &str, &str, &str); 3] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpirun", "use Verbena's own mpiexec"),
    (
        "SLURM_STEP_NUM_TASKS",
        "SLURM_PROCID",
        "srun without --mpi=pmi2",
        "add --mpi=pmi2 to srun, or use Verbena's own mpiexec",
    ),
    ("PMI_SIZE", "PMI_RANK", "a launcher with another kind of PMI", "use Verbena's own mpiexec"),
];

/// Returns the warning when the environment says that we are one of several. Only the process that
/// its launcher calls rank 0 gives it, so that it appears once.
fn foreign(get: Lookup<'_>) -> Option<String> {
    let known = FOREIGN.iter().find_map(|(size_name, rank_name, launcher, advice)| {
        let size: u32 = get(size_name)?.trim().parse().ok()?;
        let rank: u32 = get(rank_name)?.trim().parse().ok()?;
        Some((size > 1 && rank == 0).then(|| world_of_one(size_name, size, launcher, advice)))
    });
    known.flatten()
}

fn world_of_one(name: &str, value: u32, launcher: &str, advice: &str) -> String {
    Fault::new(
        "Verbena: warning: this process came up as a world of one, though it was started as one of several.",
        format!("{name}={value} in the environment of process {}", std::process::id()),
        format!("it was started by {launcher}, which Verbena cannot talk to"),
        advice,
    )
    .to_string()
}

fn closed_descriptor(fd: i32, rank: u32, size: u32) -> Option<String> {
    (size > 1 && rank == 0).then(|| {
        Fault::new(
            "Verbena: warning: this process came up as a world of one, though its environment speaks of more.",
            format!(
                "PMI_SIZE={size}, but PMI_FD={fd} is not the launcher's socket, process {}",
                std::process::id()
            ),
            "it was started by a rank of the job, or through a script that closes inherited descriptors \
             (Python's subprocess does)",
            "if it is meant to be a rank of the job, start it with exec or close_fds=False; \
             if not, unset PMI_FD for it",
        )
        .to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around<T>(pairs: &[(&str, &str)], ask: impl Fn(&Surroundings<'_>) -> T) -> T {
        let get = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
        ask(&Surroundings { get: &get, socket: &|fd| (fd == 7).then_some(70), parent: 55 })
    }

    fn with(pairs: &[(&str, &str)]) -> Result<Plan, BootError> {
        around(pairs, plan)
    }

    fn warning(pairs: &[(&str, &str)]) -> Option<String> {
        match with(pairs).unwrap() {
            Plan::Singleton { warning } => warning,
            plan => panic!("{plan:?}"),
        }
    }

    #[test]
    fn nothing_set_is_a_quiet_singleton() {
        assert_eq!(with(&[]).unwrap(), Plan::Singleton { warning: None });
    }

    #[test]
    fn a_descriptor_with_rank_and_size() {
        let line = Line::Descriptor { fd: 7, rank: 1, size: 2 };
        let base = [("PMI_FD", "7"), ("PMI_RANK", "1"), ("PMI_SIZE", "2")];
        assert_eq!(
            with(&base).unwrap(),
            Plan::Launched(Launched { line, speech: Speech::Pmi1, job: None, is_spawned: false })
        );
        for (extra, speech) in [
            (vec![("VERBENA_PMI", "2")], Speech::Pmi2),
            (
                vec![("VERBENA_JOB", "j")],
                Speech::Verbena { job: "j".into(), appnum: 0, universe_size: None, parent: None },
            ),
            (vec![("VERBENA_JOB", "j"), ("VERBENA_PMI", "1")], Speech::Pmi1),
        ] {
            match with(&[&base[..], &extra].concat()).unwrap() {
                Plan::Launched(launched) => assert_eq!(launched.speech, speech),
                plan => panic!("{plan:?}"),
            }
        }
    }

    #[test]
    fn the_size_is_known_before_the_launcher_is_asked() {
        let size = |pairs| around(pairs, known_size);
        assert_eq!(size(&[]), Some(1));
        assert_eq!(size(&[("PMI_FD", "7"), ("PMI_RANK", "1"), ("PMI_SIZE", "5")]), Some(5));
        assert_eq!(size(&[("PMI_PORT", "host:99"), ("PMI_ID", "3")]), None);
        assert_eq!(size(&[("PMI_FD", "7"), ("PMI_RANK", "6"), ("PMI_SIZE", "5")]), None);
    }

    #[test]
    fn a_port_with_an_id() {
        let line = Line::Port { address: "host:99".into(), id: 3 };
        let plan = with(&[("PMI_PORT", "host:99"), ("PMI_ID", "3")]).unwrap();
        assert_eq!(
            plan,
            Plan::Launched(Launched { line, speech: Speech::Pmi1, job: None, is_spawned: false })
        );
    }

    #[test]
    fn nonsense_is_an_error_that_names_the_variable() {
        for pairs in [
            vec![("PMI_FD", "x")],
            vec![("PMI_FD", "7"), ("PMI_RANK", "-1"), ("PMI_SIZE", "2")],
            vec![("PMI_FD", "7"), ("PMI_RANK", "2"), ("PMI_SIZE", "2")],
            vec![("PMI_FD", "7"), ("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("VERBENA_PMI", "3")],
        ] {
            let text = with(&pairs).unwrap_err().to_string();
            assert!(text.contains(pairs.last().unwrap().0) || text.contains("PMI_RANK"), "{text}");
            assert_eq!(text.lines().count(), 4, "{text}");
        }
    }

    #[test]
    fn a_foreign_launcher_is_warned_of_once_and_only_when_there_are_several() {
        let ompi = |rank, size| warning(&[("OMPI_COMM_WORLD_SIZE", size), ("OMPI_COMM_WORLD_RANK", rank)]);
        assert!(ompi("0", "4").unwrap().contains("OMPI_COMM_WORLD_SIZE=4"));
        assert_eq!(ompi("1", "4"), None);
        assert_eq!(ompi("0", "1"), None);
        assert!(
            warning(&[("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "0")]).unwrap().contains("--mpi=pmi2")
        );
    }

    /// A batch script under Slurm has SLURM_NTASKS, but was not started as one of several.
    #[test]
    fn a_batch_script_is_no_foreign_launcher() {
        assert_eq!(warning(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0"), ("SLURM_JOB_ID", "1")]), None);
    }

    #[test]
    fn a_descriptor_that_is_closed_makes_a_singleton_with_a_warning() {
        let pairs = [("PMI_FD", "9"), ("PMI_RANK", "0"), ("PMI_SIZE", "2")];
        let text = warning(&pairs).unwrap();
        assert!(text.contains("PMI_FD=9"), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
    }

    const CLOSED: [(&str, &str); 3] = [("PMI_FD", "9"), ("PMI_RANK", "1"), ("PMI_SIZE", "2")];

    #[test]
    fn a_rank_of_ours_without_its_line_is_an_error_and_a_child_of_it_is_alone() {
        let error = with(&[&CLOSED[..], &[(LAUNCHER_PID, "55")]].concat()).unwrap_err();
        assert!(matches!(error, BootError::NoLine { fd: 9, rank: 1, size: 2, other: false }), "{error:?}");
        assert_eq!(error.to_string().lines().count(), 4, "{error}");
        assert_eq!(warning(&[&CLOSED[..], &[(LAUNCHER_PID, "54")]].concat()), None);
        assert!(with(&[&CLOSED[..], &[(LAUNCHER_PID, "x")]].concat()).is_err());
    }

    #[test]
    fn a_socket_that_got_the_number_is_never_spoken_to() {
        let own = |socket| [("PMI_FD", "7"), ("PMI_RANK", "1"), ("PMI_SIZE", "2"), (PMI_SOCKET, socket)];
        assert!(matches!(with(&own("7:70")).unwrap(), Plan::Launched(_)));
        for parent in ["54", "55"] {
            let error = with(&[&own("7:71")[..], &[(LAUNCHER_PID, parent)]].concat()).unwrap_err();
            assert!(matches!(error, BootError::NoLine { other: true, .. }), "{error:?}");
            assert_eq!(error.to_string().lines().count(), 4, "{error}");
        }
        assert!(with(&own("7")).is_err());
    }

    /// Hydra inside a rank of ours.
    #[test]
    fn another_launcher_inside_a_rank_gets_no_extension() {
        let place = [("PMI_FD", "7"), ("PMI_RANK", "1"), ("PMI_SIZE", "2")];
        let ours = [("VERBENA_JOB", "j"), (PMI_SOCKET, "6:70"), (LAUNCHER_PID, "54")];
        match with(&[place, ours].concat()).unwrap() {
            Plan::Launched(launched) => assert_eq!(launched.speech, Speech::Pmi1),
            plan => panic!("{plan:?}"),
        }
    }
}
