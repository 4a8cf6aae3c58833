//! Runs `mpiexec`, bounded in time, and finds the processes of a run.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// No run of these tests may take longer.
const TIME_MAX: Duration = Duration::from_secs(30);

/// The process that speaks PMI as the library does; see `testing/boot_client.rs`.
pub(crate) const CLIENT: &str = env!("CARGO_BIN_EXE_boot-client");
pub(crate) const MPIEXEC: &str = env!("CARGO_BIN_EXE_mpiexec");

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub took: Duration,
    mark: String,
}

impl Outcome {
    /// The lines of standard output, sorted, since the order of ranks is random.
    pub(crate) fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.out.lines().collect();
        lines.sort_unstable();
        lines
    }

    /// The processes that are left of the run.
    pub(crate) fn left(&self) -> Vec<i32> {
        marked(&self.mark)
    }

    /// Demands that no process of the run is left.
    pub(crate) fn assert_nothing_left(&self) {
        assert_eq!(self.left(), [0; 0], "processes are left: {self:?}");
    }
}

/// A run in progress. All its processes have a mark in their environment.
pub(crate) struct Run {
    child: Child,
    mark: String,
    started: Instant,
}

/// `mpiexec` with these arguments.
pub(crate) fn mpiexec(arguments: &[&str]) -> Command {
    let mut command = Command::new(MPIEXEC);
    command.env_remove("MPIEXEC_TIMEOUT");
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Starts a command with a mark of its own.
pub(crate) fn begin(command: &mut Command) -> Run {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mark = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    command.env("LAUNCH_TEST", &mark).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Variables of a surrounding job or of the developer must not change a test.
    let names = ["PMI_FD", "PMI_RANK", "PMI_SIZE", "VERBENA_JOB", "VERBENA_LAUNCHER", "VERBENA_PMI_SOCKET"];
    for name in names {
        command.env_remove(name);
    }
    // Nor must signals that the caller ignores, as shells do for background jobs. SAFETY: between
    // fork and exec only `signal` is called, which is safe there.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    Run { child: command.spawn().unwrap(), mark, started: Instant::now() }
}

/// Runs `mpiexec` to its end.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    begin(&mut mpiexec(arguments)).finish()
}

/// Runs a shell script in each rank.
pub(crate) fn run_script(options: &[&str], script: &str) -> Outcome {
    run(&[options, &["sh", "-c", script]].concat())
}

impl Run {
    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub(crate) fn type_in(&mut self, text: &[u8]) {
        self.child.stdin.take().unwrap().write_all(text).unwrap();
    }

    /// The standard output, to read from before the end of the run.
    pub(crate) fn output(&mut self) -> std::process::ChildStdout {
        self.child.stdout.take().unwrap()
    }

    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: no memory is involved; the process is our unreaped child.
        assert_eq!(unsafe { libc::kill(self.pid(), signal) }, 0);
    }

    /// Waits until this many processes of the run have exec'ed this program, and returns their ids.
    pub(crate) fn wait_for(&self, program: &str, count: usize) -> Vec<i32> {
        let runs = |pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|&byte| byte == 0).next().is_some_and(|word| word == program.as_bytes())
        };
        eventually(|| {
            let pids: Vec<i32> = marked(&self.mark).into_iter().filter(runs).collect();
            (pids.len() == count).then_some(pids)
        })
    }

    /// Counts the run's processes with this name (the kernel keeps 15 characters).
    pub(crate) fn processes_called(&self, name: &str) -> usize {
        let name = &name[..name.len().min(15)];
        let called = |pid: &&i32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|found| found.trim() == name)
        };
        marked(&self.mark).iter().filter(called).count()
    }

    /// Sends the signal, and checks that the job ends soon, with this code, and leaves nothing.
    pub(crate) fn ends_by(self, signal: i32, code: i32) {
        self.signal(signal);
        let outcome = self.finish();
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        assert!(outcome.err.contains("The job was ended by SIG"), "{outcome:?}");
        assert!(outcome.took < Duration::from_secs(3), "{outcome:?}");
        outcome.assert_nothing_left();
    }

    /// Waits for the end of the run.
    pub(crate) fn finish(self) -> Outcome {
        let (mark, started, pid) = (self.mark, self.started, self.child.id() as i32);
        let (done, watch) = std::sync::mpsc::channel::<()>();
        thread::spawn(move || {
            if watch.recv_timeout(TIME_MAX) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                // SAFETY: no memory is involved; the process is not reaped before `done` is
                // dropped.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        });
        let Output { status, stdout, stderr } = self.child.wait_with_output().unwrap();
        drop(done);
        let took = started.elapsed();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Outcome { code: code(status), out: text(stdout), err: text(stderr), took, mark }
    }

    /// Waits until no process of the run is left.
    pub(crate) fn wait_for_nothing(&self) {
        eventually(|| marked(&self.mark).is_empty().then_some(()));
    }
}

fn code(status: ExitStatus) -> Option<i32> {
    status.code()
}

/// Waits until `look` returns something.
pub(crate) fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = look() {
            return answer;
        }
        assert!(start.elapsed() < TIME_MAX, "waited in vain");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The living processes of a run. A zombie has no environment, so it is not among them.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let entry = format!("LAUNCH_TEST={mark}");
    let is_marked = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|found| found == entry.as_bytes())
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|found| found.file_name().to_str()?.parse().ok());
    pids.filter(is_marked).collect()
}

/// The state letter of a process; `T` means stopped.
pub(crate) fn state(pid: i32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap_or('-')
}
