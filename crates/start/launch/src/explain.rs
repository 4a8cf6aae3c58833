//! The four-part messages about why a job ended.

use crate::job::Failure;
use std::ffi::OsStr;
use std::time::Duration;
use verbena_fault::Fault;
use verbena_hang::words;

/// The facts about a rank, besides its number, that a message gives.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    /// The rank's process id.
    pub pid: i32,
    /// The name of the rank's host.
    pub host: &'a str,
    /// The rank's program.
    pub program: &'a OsStr,
    /// The places where it crashed, in words.
    pub crash: Option<&'a str>,
    /// The place of the rank's core file, in words, if it left one.
    pub core: Option<&'a str>,
}

/// The cause of a crash in a function that calls itself over and over.
const OVERFLOW: &str = "a stack overflow: the function calls itself too often, or has large arrays";

/// The message for a failure. `place` returns the facts about a rank.
pub fn explain<'a>(failure: &Failure, place: impl Fn(u32) -> Place<'a>) -> Fault {
    let on = |rank| {
        let place = place(rank);
        format!("rank {rank}: pid {}, host {}, program {}", place.pid, place.host, place.program.display())
    };
    match failure {
        Failure::Killed { rank, signal } => {
            let Place { crash, core, .. } = place(*rank);
            let is_of_buffer = crash.is_some_and(is_in_library);
            let is_overflow =
                *signal == libc::SIGSEGV && crash.is_some_and(|crash| crash.ends_with(words::AND_MORE));
            let crash = crash.map_or(String::new(), |crash| format!(", {crash}"));
            let fault = killed(*rank, *signal, is_of_buffer, on(*rank) + &crash, core);
            if is_overflow { Fault { cause: OVERFLOW.into(), ..fault } } else { fault }
        }
        Failure::Unnoticed { rank, signal } => unnoticed(*rank, *signal, on(*rank)),
        Failure::Aborted { rank, code } => Fault::new(
            format!("Rank {rank} called MPI_Abort with code {code}; the job is ended."),
            on(*rank),
            "the program itself decided to end the job",
            "see what the rank wrote before this message",
        ),
        // The rank's own message has the rest.
        Failure::Erroneous { rank, code, call } => {
            let what = format!("Rank {rank} failed in {call} with code {code}; the job is ended.");
            Fault::new(what, on(*rank), "", "")
        }
        // Mostly the loader of a started program; one that cannot be started at all is told of
        // otherwise.
        Failure::Failed { rank, code: 127 } => Fault::new(
            format!("Rank {rank} exited with code 127 before the others were done; the job is ended."),
            on(*rank),
            "a shared library of the program was not found, or a shell did not find a command: the line above says \
             which",
            "see ldd PROGRAM; name the folder of the library in LD_LIBRARY_PATH, which goes to other hosts too",
        ),
        Failure::Failed { rank, code } => Fault::new(
            format!("Rank {rank} exited with code {code} before the others were done; the job is ended."),
            on(*rank),
            "an error in the program, which it should have reported itself",
            "see what the rank wrote before this message; -l marks each line with its rank",
        ),
        Failure::NotFinalised { rank } => Fault::new(
            format!("Rank {rank} exited without calling MPI_Finalize; the job is ended."),
            on(*rank),
            "the program left by exit() or by the end of main() between MPI_Init and MPI_Finalize",
            "call MPI_Finalize on every way out, or MPI_Abort where something went wrong",
        ),
        Failure::Absent { rank, fresh } => absent(*rank, *fresh, on(*rank)),
        Failure::Garbled { rank, error } => garbled(*rank, error, &on(*rank)),
        Failure::NotStarted(fault) | Failure::Lost(fault) | Failure::Unwritable(fault) => fault.clone(),
        Failure::NoReader { rank } => Fault::new(
            "Nobody reads the output any more (SIGPIPE); the job is ended.",
            on(*rank),
            "what reads it has ended, as head does when it has enough",
            "if that was not meant, see what reads the output of mpiexec",
        ),
        Failure::TimedOut { after, running } => Fault::new(
            format!(
                "The time given with --timeout or MPIEXEC_TIMEOUT is over ({} s); the job is ended.",
                after.as_secs_f64()
            ),
            format!("{} still ran", words::count(*running as usize, "rank")),
            "the program takes longer than that, or its ranks wait for each other",
            "give a longer --timeout, or attach a debugger to a rank before the time is over; if a rank waits in \
             MPI_Send for others to receive, try a higher VERBENA_UNEXPECTED_BYTES_MAX",
        ),
    }
}

/// The message for a rank that was killed while the others want to go on.
pub fn borne(rank: u32, signal: i32, place: &Place<'_>) -> Fault {
    let killed = Failure::Killed { rank, signal };
    let Fault { on, cause, remedy, .. } = explain(&killed, |_| place.clone());
    let what =
        format!("Rank {rank} was killed by signal {signal} ({}); the others go on.", signal_name(signal));
    Fault { what, on, cause, remedy }
}

/// The message for a standard stream of ours that cannot be written.
pub fn unwritable(stream: &str, error: &std::io::Error) -> Fault {
    let (cause, advice) = match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => {
            ("the file system is full, or a quota is used up", "make room, and start the job anew")
        }
        Some(libc::EFBIG) => ("a limit on file size is reached", "raise it (ulimit -f)"),
        _ => ("the device or file system behind it has failed", "see dmesg; write to another place"),
    };
    let on = format!("{stream}: {error}");
    Fault::new("Output could not be written, and is lost.", on, cause, advice)
}

/// The note that ranks have not ended after the user's signal, and how to kill them.
pub fn reminder(running: u32, signal: i32, left: Option<Duration>) -> String {
    let (ranks, them) = match running {
        1 => ("1 rank still runs".to_owned(), "it"),
        _ => (format!("{running} ranks still run"), "them"),
    };
    let signal = signal_name(signal);
    let again = if signal == "SIGINT" { "Ctrl-C" } else { &signal };
    let left = left.map_or_else(String::new, |left| {
        format!(" at once, and VERBENA_TERM_GRACE_SECONDS does in {} s", left.as_secs())
    });
    format!("{ranks} after {signal}; another {again} kills {them}{left}.")
}

fn unnoticed(rank: u32, signal: Option<i32>, on: String) -> Fault {
    let how = match signal {
        Some(signal) => format!("killed by signal {signal} ({})", signal_name(signal)),
        None => "lost with its host".into(),
    };
    Fault::new(
        format!("Rank {rank} was {how}."),
        on,
        "no other rank has taken notice of it, by MPIX_Comm_ack_failed, MPIX_Comm_failure_ack or \
         MPIX_Comm_shrink: its work may be missing in the results",
        "see the message of its end above",
    )
}

fn garbled(rank: u32, error: &str, on: &str) -> Fault {
    Fault::new(
        format!("Rank {rank} sent its launcher something that is not PMI; the job is ended."),
        format!("{on}: {error}"),
        "the program wrote to the descriptor in PMI_FD",
        "do not write to descriptors that the program has not opened",
    )
}

/// Returns whether a crash at these places was in the library, or in a function of the C library
/// that it called.
fn is_in_library(crash: &str) -> bool {
    let mut places = crash.trim_start_matches("at ").split(", called from ");
    let is_of_c = |place: &str| place.starts_with("libc.so") || place.starts_with("ld-linux");
    let first = places.find(|place| !is_of_c(place)).unwrap_or_default();
    ["libmpi_abi.so", "libmpi.so", "MPI_", "PMPI_", "verbena_"].iter().any(|begin| first.starts_with(begin))
}

fn killed(rank: u32, signal: i32, is_of_buffer: bool, on: String, core: Option<&str>) -> Fault {
    let (cause, advice) = hint(signal, is_of_buffer);
    let advice = core.unwrap_or(advice);
    let what =
        format!("Rank {rank} was killed by signal {signal} ({}); the job is ended.", signal_name(signal));
    Fault::new(what, on, cause, advice)
}

fn absent(rank: u32, fresh: bool, on: String) -> Fault {
    let call = if fresh { "without calling MPI_Init" } else { "while others still start up" };
    Fault::new(
        format!("Rank {rank} exited {call}, but other ranks wait for it; the job is ended."),
        on,
        "some ranks run an MPI program and this one does not, or another MPI library",
        "start only ranks of MPI programs that are built for this library, or none",
    )
}

/// The likely cause of a signal, and what to do. `is_of_buffer`: it came in a call of MPI.
fn hint(signal: i32, is_of_buffer: bool) -> (&'static str, &'static str) {
    match signal {
        libc::SIGSEGV if is_of_buffer => (
            "a buffer that the program gave to the call is no memory that a processor may read or write: it is too \
             short, was freed, lies at a wrong address, or in the memory of a GPU, which this library does not take",
            "look at buffer, count and datatype of the call; copy what lies in a GPU's memory to the host first \
             (with VERBENA_CHECK_BUFFERS=always such a buffer is an error of the call)",
        ),
        libc::SIGFPE => (
            "an error in the program: an integer was divided by zero, or the quotient has no place in its type",
            "allow a core file (ulimit -c unlimited) or run one rank under a debugger",
        ),
        libc::SIGSEGV | libc::SIGBUS | libc::SIGILL => (
            "an error in the program: a wrong address, a stack overflow, or a full file system behind mapped memory",
            "allow a core file (ulimit -c unlimited) or run one rank under a debugger",
        ),
        libc::SIGABRT => (
            "the program called abort(): a failed assertion, damaged heap or uncaught exception",
            "see what the rank wrote before this message",
        ),
        libc::SIGKILL => (
            "the kernel was out of memory, a limit of the container or batch system was reached, or somebody \
             used kill -9",
            "look for 'Out of memory' in dmesg, and at the memory that each rank needs",
        ),
        libc::SIGPIPE => (
            "the rank wrote to a pipe or socket whose reader is gone, perhaps mpiexec's own output",
            "see whether what reads the output of mpiexec ended early",
        ),
        libc::SIGXCPU | libc::SIGXFSZ => ("a limit on time or file size was reached", "see ulimit -a"),
        _ => ("somebody sent the signal, or the program itself did", "find out who sends it"),
    }
}

/// A signal's name.
pub fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 32] = [
        "0",
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    let name = usize::try_from(signal).ok().and_then(|signal| NAMES.get(signal));
    name.map_or_else(|| format!("real-time signal {signal}"), |name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_calls_itself_for_ever_overflows_the_stack() {
        let (host, program) = ("here", OsStr::new("prog"));
        let cause = |crash| {
            let place = |_| Place { pid: 77, host, program, crash: Some(crash), core: None };
            explain(&Failure::Killed { rank: 3, signal: libc::SIGSEGV }, place).cause
        };
        assert_eq!(cause("at rec (a.c:3), 12 times and more"), OVERFLOW);
        assert_ne!(cause("at rec (a.c:3), 5 times, called from main"), OVERFLOW);
    }

    #[test]
    fn a_user_hears_how_to_kill_ranks() {
        let text = reminder(2, libc::SIGINT, None);
        assert_eq!(text, "2 ranks still run after SIGINT; another Ctrl-C kills them.");
        let text = reminder(1, libc::SIGTERM, Some(Duration::from_millis(9000)));
        let left = "at once, and VERBENA_TERM_GRACE_SECONDS does in 9 s.";
        assert_eq!(text, format!("1 rank still runs after SIGTERM; another SIGTERM kills it {left}"));
    }

    #[test]
    fn one_rank_that_still_ran_is_one() {
        let late = Failure::TimedOut { after: Duration::from_secs(1), running: 1 };
        let place = |_| Place { pid: 1, host: "h", program: OsStr::new("p"), crash: None, core: None };
        assert_eq!(explain(&late, place).on, "1 rank still ran");
    }

    #[test]
    fn every_failure_has_four_parts_and_names_the_rank() {
        let (host, program, crash) = ("here", OsStr::new("prog"), Some("at f (a.c:1)"));
        let place = |_| Place { pid: 77, host, program, crash, core: None };
        for failure in [
            Failure::Killed { rank: 3, signal: 11 },
            Failure::Killed { rank: 3, signal: 34 },
            Failure::Unnoticed { rank: 3, signal: Some(9) },
            Failure::Unnoticed { rank: 3, signal: None },
            Failure::Aborted { rank: 3, code: 5 },
            Failure::Failed { rank: 3, code: 5 },
            Failure::Failed { rank: 3, code: 127 },
            Failure::NotFinalised { rank: 3 },
            Failure::Absent { rank: 3, fresh: true },
            Failure::Garbled { rank: 3, error: "bad".into() },
        ] {
            let text = explain(&failure, place).to_string();
            assert_eq!(text.lines().count(), 4, "{text}");
            assert!(text.starts_with("Rank 3 "), "{text}");
            assert!(text.contains("pid 77, host here, program prog"), "{text}");
            let crashed = matches!(failure, Failure::Killed { .. });
            assert_eq!(text.contains(", at f (a.c:1)"), crashed, "{text}");
        }
        let missing = explain(&Failure::Failed { rank: 3, code: 127 }, place).to_string();
        assert!(missing.contains("code 127") && missing.contains("ldd PROGRAM"), "{missing}");
        let late = Failure::TimedOut { after: Duration::from_millis(1500), running: 2 };
        assert!(explain(&late, place).to_string().contains("(1.5 s)"));
    }

    #[test]
    fn a_rank_that_others_go_on_without_is_told_with_all_facts() {
        let place =
            Place { pid: 77, host: "here", program: OsStr::new("prog"), crash: Some("at f"), core: None };
        let text = borne(3, 9, &place).to_string();
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.starts_with("Rank 3 was killed by signal 9 (SIGKILL); the others go on."), "{text}");
        assert!(text.contains("pid 77, host here, program prog, at f"), "{text}");
    }

    #[test]
    fn a_crash_in_the_library_is_about_a_buffer() {
        let of = |crash: &str, signal| {
            let (host, program) = ("here", OsStr::new("prog"));
            let place = |_| Place { pid: 77, host, program, crash: Some(crash), core: None };
            explain(&Failure::Killed { rank: 3, signal }, place).cause
        };
        for crash in [
            "at libc.so.6+0x1, called from libmpi_abi.so.1+0x2, called from main (a.c:1)",
            "at libmpi_abi.so.1+0x2, called from main",
            "at PMPI_Send, called from main",
        ] {
            assert!(of(crash, libc::SIGSEGV).contains("memory of a GPU"), "{crash}");
            assert!(!of(crash, libc::SIGABRT).contains("buffer"), "{crash}");
        }
        for crash in
            ["at f (a.c:1), called from PMPI_Reduce, called from main", "at libc.so.6+0x1, called from f"]
        {
            assert!(!of(crash, libc::SIGSEGV).contains("buffer"), "{crash}");
        }
    }

    #[test]
    fn a_crash_names_the_core_file() {
        let core = Some("core file /x/core.77: gdb prog /x/core.77 shows where it was");
        let (host, program) = ("here", OsStr::new("prog"));
        let place = |_| Place { pid: 77, host, program, crash: None, core };
        let text = explain(&Failure::Killed { rank: 3, signal: 11 }, place).to_string();
        assert!(
            text.ends_with("what to do: core file /x/core.77: gdb prog /x/core.77 shows where it was"),
            "{text}"
        );
    }

    #[test]
    fn signals_have_their_names() {
        assert_eq!(signal_name(libc::SIGKILL), "SIGKILL");
        assert_eq!(signal_name(libc::SIGSYS), "SIGSYS");
        assert_eq!(signal_name(40), "real-time signal 40");
    }
}
