//! Panics of the library, in words for the user: which process, where, and what to do.
//!
//! Where panics abort, as in release builds, the user would see only Rust's own line and a signal.
//! A Rust program has its own standard library, so the hook here does not touch its panics. They
//! share one only if this crate is linked as a Rust library; then the program's panics go to the
//! hook that was there before.

use crate::calls::info::thread_level_name;
use crate::state;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::ffi::c_int;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use verbena_fault::Fault;
use verbena_waiting::lock::{self, MISUSE};

/// Installs the hook that explains panics of the library.
pub(crate) fn explain() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| if is_ours(info) { tell(info) } else { before(info) }));
    });
}

/// Returns whether the library's code panicked. Its own sources have names below `crates/`; those
/// of its dependencies and of Rust's library are absolute.
fn is_ours(info: &PanicHookInfo<'_>) -> bool {
    info.location().is_none_or(|location| is_our_file(location.file()))
}

fn is_our_file(file: &str) -> bool {
    file.starts_with('/') || file.strip_prefix("crates/").is_some_and(|rest| rest.contains("/src/"))
}

/// Reports the first panic. A panic that follows from it (one that would leave a C function) is not
/// reported.
fn tell(info: &PanicHookInfo<'_>) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if TOLD.swap(true, Ordering::SeqCst) {
        return;
    }
    let said = info.payload_as_str().unwrap_or("a panic without words");
    let at = info.location().map_or("an unknown place".into(), ToString::to_string);
    let trace = Backtrace::capture();
    let trace =
        if trace.status() == BacktraceStatus::Captured { format!("\n{trace}") } else { String::new() };
    // Where standard error cannot be written there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "verbena: {}{trace}", Scene::here().fault(said, &at));
}

/// The circumstances of a panic.
#[derive(Debug)]
struct Scene {
    process: String,
    thread: String,
    /// The level that the program asked for.
    level: c_int,
    /// True if there are several threads, and MPI does not keep them apart.
    may_collide: bool,
}

impl Scene {
    fn here() -> Scene {
        let process =
            state::try_process().map(|process| format!("process {} of {}", process.me(), process.size()));
        let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        Scene {
            process: process.unwrap_or_else(|| format!("process number {}", std::process::id())),
            thread: std::thread::current().name().unwrap_or("without a name").to_owned(),
            level: state::thread_level(),
            may_collide: threads > 1 && !lock::is_shared(),
        }
    }

    fn fault(&self, said: &str, at: &str) -> Fault {
        let level = thread_level_name(self.level);
        let (cause, remedy) = if said == MISUSE {
            (
                format!("two threads called MPI at once, which {level} does not allow, or a callback (an error \
                         handler, an operation, an attribute's function) called an MPI function that communicates"),
                "let one thread at a time call MPI, or ask for MPI_THREAD_MULTIPLE by MPI_Init_thread; let no \
                 callback communicate"
                    .into(),
            )
        } else {
            let threads = format!(", unless two threads called MPI at once, which {level} does not allow");
            (
                format!("a defect of Verbena{}", if self.may_collide { &threads } else { "" }),
                "please report it with these lines and those that RUST_BACKTRACE=1 adds".into(),
            )
        };
        Fault {
            what: format!("{}: {}", self.process, said.replace('\n', " ")),
            on: format!("{at}, thread {}, thread level {level}", self.thread),
            cause,
            remedy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_mpi::generated::constants as mpi;

    fn scene(may_collide: bool) -> Scene {
        let (process, thread) = ("process 3 of 8".into(), "main".into());
        Scene { process, thread, level: mpi::MPI_THREAD_FUNNELED, may_collide }
    }

    #[test]
    fn a_defect_is_called_one_and_told_where() {
        let text =
            scene(false).fault("index 7\nis out of bounds", "crates/core/mpi/src/a.rs:1:2").to_string();
        assert!(
            text.starts_with("process 3 of 8: index 7 is out of bounds\n  on: crates/core/mpi/src/a.rs:1:2")
        );
        assert!(text.contains("a defect of Verbena\n") && text.contains("report"), "{text}");
        assert_eq!(text.lines().count(), 4);
        assert!(scene(true).fault("x", "y").cause.contains("unless two threads"));
    }

    #[test]
    fn misuse_is_called_that() {
        let text = scene(true).fault(MISUSE, "crates/base/waiting/src/lock.rs:1:2").to_string();
        assert!(!text.contains("defect") && !text.contains("report"), "{text}");
        assert!(text.contains("MPI_THREAD_FUNNELED") && text.contains("two threads"), "{text}");
        assert!(text.contains("callback") && text.contains("MPI_THREAD_MULTIPLE"), "{text}");
    }

    #[test]
    fn the_programs_own_panics_are_not_ours() {
        for file in ["crates/base/waiting/src/lock.rs", "/rustc/abc/library/core/src/option.rs"] {
            assert!(is_our_file(file), "{file}");
        }
        for file in ["src/main.rs", "crates/entry/abi/tests/abuse.rs", "tests/src/lib.rs"] {
            assert!(!is_our_file(file), "{file}");
        }
        assert!(is_our_file(file!()));
    }
}
