//! The circumstances of a program of others, seen from the process that starts it: what `watch`
//! asks a worker's own ranks, here asked of all processes that run one file.

use crate::watch::{self, Ticks};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// An observer of the processes of a program on this machine, in whatever network they are.
pub struct Observer {
    program: PathBuf,
    begun: Instant,
    ticks: Option<Ticks>,
    /// Nanoseconds for which each process had waited for a processor when it was last looked at.
    waited_ns: BTreeMap<String, f64>,
}

impl Observer {
    /// Begins to observe the processes that run this file.
    pub fn begin(program: &Path) -> Observer {
        let program = program.canonicalize().unwrap_or_else(|_| program.into());
        Observer { program, begun: Instant::now(), ticks: watch::ticks_now(), waited_ns: BTreeMap::new() }
    }

    /// Looks at the processes that are there. What one waits after its last look is not seen.
    pub fn look(&mut self) {
        for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let path = process.path();
            // Other processes come and go, and some may not be read.
            if std::fs::read_link(path.join("exe")).is_ok_and(|exe| exe == self.program)
                && let Some(waited_ns) = watch::waited_ns_of(&path)
            {
                self.waited_ns.insert(process.file_name().to_string_lossy().into(), waited_ns);
            }
        }
    }

    /// Ends: the part of the time for which a process was ready to run and had no processor, of the
    /// one with the most; and the part of the processors' time that a host took. Each none where
    /// the kernel does not tell.
    pub fn end(self) -> (Option<f64>, Option<f64>) {
        let wall_ns = self.begun.elapsed().as_nanos().max(1) as f64;
        let most = self.waited_ns.into_values().reduce(f64::max);
        let stolen = self.ticks.zip(watch::ticks_now()).map(|(one, other)| watch::share(one, other));
        (most.map(|most| most / wall_ns), stolen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_processes_of_the_program_are_looked_at() {
        let own = std::env::current_exe().expect("this test's file");
        let mut observer = Observer::begin(&own);
        observer.look();
        assert!(observer.waited_ns.contains_key(&std::process::id().to_string()), "{:?}", observer.waited_ns);
        let (waited, _) = observer.end();
        assert!(waited.is_some_and(|waited| waited >= 0.0));
        let mut other = Observer::begin(Path::new("/nowhere/at/all"));
        other.look();
        assert_eq!(other.end().0, None);
    }
}
