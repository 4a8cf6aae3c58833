//! Starting programs for a program that runs (MPI-5.0, 11.8.2): by an `mpiexec` of its own, which
//! stays with them as it does with any job.
//!
//! Under our `mpiexec`, that one starts it, on its host, whatever host the asking rank is on. A
//! process that no launcher of ours started does it itself. The new `mpiexec` then leaves it, so
//! that the program never meets a child that it has not started.
//!
//! The `mpiexec` that is started has a socket to its starter:
//!
//! | text | who says it | it means |
//! | --- | --- | --- |
//! | `started` | `mpiexec` | all processes run; the socket closes when the last of them has ended |
//! | `refused RANK RANK ...`, and lines of text | `mpiexec` | these could not be started, nor were the others |
//! | `parted` | the starter | the processes go on, whatever becomes of the starter |
//!
//! A starter that has left its `mpiexec` and closes the socket before it has said so was killed:
//! then nobody wants the processes any more, and they are ended.

use crate::error::BootError;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The first argument of an `mpiexec` that is started for a program. The number of the
/// socket, the port of the program, and [`ATTACHED`] or [`DETACHED`] follow.
pub const OPTION: &str = "--spawned";
/// The starter waits for the `mpiexec`.
pub const ATTACHED: &str = "attached";
/// The `mpiexec` leaves its starter at once.
pub const DETACHED: &str = "detached";

/// The first word when all processes run.
pub const STARTED: &str = "started";
/// The first word when some do not.
pub const REFUSED: &str = "refused";
/// The starter's word when the processes may go on without it.
pub const PARTED: &[u8] = b"parted\n";

/// The variable by which our `mpiexec` tells a rank the port of the program that spawned it.
pub const PARENT: &str = "VERBENA_PARENT";

/// The longest text that is taken from an `mpiexec`, in bytes.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// The longest that words are on their way to `mpiexec`, in bytes.
const WORDS_BYTES_MAX: usize = 256 << 10;

/// Variables of a process that would mislead an `mpiexec` that it starts.
const OWN: [&str; 14] = [
    "PMI_FD",
    "PMI_RANK",
    "PMI_SIZE",
    "PMI_PORT",
    "PMI_ID",
    "PMI_SPAWNED",
    "PMI_JOBID",
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "VERBENA_JOB",
    "VERBENA_APPNUM",
    "VERBENA_PMI_SOCKET",
    "VERBENA_LAUNCHER_PID",
    PARENT,
];

/// One program that is to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The number of processes.
    pub count: u32,
    /// The program.
    pub program: OsString,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// Variables to set.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory to run in.
    pub directory: Option<OsString>,
    /// Hosts, as the option `-host` takes them.
    pub hosts: Option<OsString>,
    /// Files with hosts.
    pub host_file: Option<OsString>,
    /// The way in which hosts get processes, as the option `-map-by` takes it.
    pub map_by: Option<OsString>,
}

/// The programs to be started at once, and the port at which they find who started them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The programs; their processes are numbered through them in order.
    pub programs: Vec<Program>,
    /// The port.
    pub parent: String,
}

impl Order {
    /// The number of processes.
    pub fn size(&self) -> u32 {
        self.programs.iter().map(|program| program.count).sum()
    }

    /// The words of the order for `mpiexec`'s command line.
    ///
    /// # Errors
    /// Says what such a line cannot carry.
    pub fn words(&self) -> Result<Vec<OsString>, String> {
        let mut words: Vec<OsString> = Vec::new();
        for program in &self.programs {
            if program.arguments.iter().any(|word| word == ":") {
                return Err(
                    "an argument of a spawned program is a single ':', which separates programs".into()
                );
            }
            if !words.is_empty() {
                words.push(":".into());
            }
            words.extend(program.words());
        }
        let bytes: usize = words.iter().map(|word| word.len() + 1).sum();
        if bytes > WORDS_BYTES_MAX {
            return Err(format!(
                "the arguments of the spawned programs take {bytes} bytes, at most {WORDS_BYTES_MAX} go"
            ));
        }
        Ok(words)
    }
}

impl Program {
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["-n".into(), self.count.to_string().into()];
        let options = [
            ("-wdir", &self.directory),
            ("-host", &self.hosts),
            ("-hostfile", &self.host_file),
            ("-map-by", &self.map_by),
        ];
        for (name, value) in options {
            words.extend(value.iter().flat_map(|value| [OsString::from(name), value.clone()]));
        }
        for (name, value) in &self.environment {
            words.extend(["-env".into(), name.clone(), value.clone()]);
        }
        words.push("--".into());
        words.push(self.program.clone());
        words.extend(self.arguments.iter().cloned());
        words
    }
}

/// Joins words to one byte string; a zero byte ends each.
pub fn join(words: &[OsString]) -> Vec<u8> {
    words.iter().flat_map(|word| word.as_bytes().iter().copied().chain([0])).collect()
}

/// The words of such a byte string.
pub fn split(bytes: &[u8]) -> Vec<OsString> {
    let whole = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    match whole.is_empty() && bytes.is_empty() {
        true => Vec::new(),
        false => whole.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect(),
    }
}

/// The state of a start of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not known yet.
    Starting,
    /// All processes run.
    Running,
    /// These processes could not be started, for this reason, and none runs.
    Refused(Vec<u32>, String),
    /// The last process has ended.
    Over,
}

/// An `mpiexec` that was started, and what it says.
#[derive(Debug)]
pub struct Spawned {
    socket: UnixStream,
    text: Vec<u8>,
    ended: bool,
}

/// Starts an `mpiexec` with these words. It is returned as a child if it is to stay attached.
///
/// # Errors
/// Those of starting a program.
pub fn start(
    mpiexec: &Path,
    words: &[OsString],
    parent: &str,
    is_attached: bool,
) -> io::Result<(Spawned, Option<Child>)> {
    let (socket, theirs) = UnixStream::pair()?;
    let number = theirs.as_raw_fd();
    let mut command = Command::new(mpiexec);
    let way = if is_attached { ATTACHED } else { DETACHED };
    command.args([OPTION, &number.to_string(), parent, way]).args(words).stdin(Stdio::null());
    if !is_attached {
        OWN.iter().for_each(|name| _ = command.env_remove(name));
    }
    // SAFETY: the closure only makes an async-signal-safe system call and allocates nothing.
    unsafe { command.pre_exec(move || prepare(number, is_attached)) };
    let mut child = command.spawn()?;
    drop(theirs);
    let spawned = Spawned { socket, text: Vec::new(), ended: false };
    if is_attached {
        return Ok((spawned, Some(child)));
    }
    child.wait()?;
    Ok((spawned, None))
}

/// In the new process before exec: keeps the socket open; one that stays attached dies with us, and
/// does not inherit the signals that an `mpiexec` blocks. Async-signal-safe.
fn prepare(keep: i32, is_attached: bool) -> io::Result<()> {
    // SAFETY: fcntl and prctl take integers; the set is our own, and is filled before its use.
    let kept = unsafe {
        if is_attached {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
        }
        libc::fcntl(keep, libc::F_SETFD, 0)
    };
    if kept == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Spawned {
    /// The descriptor that becomes readable when there is news.
    pub fn descriptor(&self) -> i32 {
        self.socket.as_raw_fd()
    }

    /// Lets the processes go on, whatever becomes of this one.
    pub fn part(self) {
        // SAFETY: pointer and length are those of a live slice. An `mpiexec` that has ended needs
        // to know nothing, and its closed socket must not kill this process.
        unsafe {
            libc::send(self.descriptor(), PARTED.as_ptr().cast(), PARTED.len(), libc::MSG_NOSIGNAL);
        }
    }

    /// Waits for news, for no longer than `limit`, and says how it stands.
    pub fn status(&mut self, limit: Duration) -> Status {
        let until = Instant::now() + limit;
        loop {
            let status = self.known();
            let left = until.saturating_duration_since(Instant::now());
            if !matches!(status, Status::Starting | Status::Running) || !self.is_readable(left) {
                return status;
            }
            self.read();
            if left.is_zero() || matches!(self.known(), Status::Running) {
                return self.known();
            }
        }
    }

    fn known(&self) -> Status {
        let text = String::from_utf8_lossy(&self.text);
        let (line, rest) = text.split_once('\n').unwrap_or(("", ""));
        let mut words = line.split(' ');
        match words.next() {
            Some(STARTED) if self.ended => Status::Over,
            Some(STARTED) => Status::Running,
            Some(REFUSED) if self.ended => {
                let ranks = words.filter_map(|word| word.parse().ok()).collect();
                Status::Refused(ranks, rest.trim_end().to_owned())
            }
            _ if self.ended => Status::Refused(Vec::new(), "mpiexec itself ended without a word".into()),
            _ => Status::Starting,
        }
    }

    fn is_readable(&self, limit: Duration) -> bool {
        let milliseconds = limit.as_micros().div_ceil(1000).min(60_000) as i32;
        let mut polled = libc::pollfd { fd: self.descriptor(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer leads to one live structure.
        !self.ended && unsafe { libc::poll(&raw mut polled, 1, milliseconds) } > 0
    }

    /// Reads once, which does not wait after [`Spawned::is_readable`].
    fn read(&mut self) {
        let mut bytes = [0; 4096];
        match self.socket.read(&mut bytes) {
            Ok(0) => self.ended = true,
            Ok(count) => {
                let room = TEXT_BYTES_MAX.saturating_sub(self.text.len());
                self.text.extend_from_slice(&bytes[..count.min(room)]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => self.ended = true,
        }
    }
}

/// Programs that this process has started.
#[derive(Debug)]
pub enum Children {
    /// Started by its own `mpiexec`.
    Own(Spawned),
    /// Started by our launcher, which gave this number.
    OfLauncher(u32),
    /// Started by another launcher, which does not tell when they end.
    Unwatched,
}

/// The reason why programs were not started.
#[derive(Debug)]
pub enum SpawnError {
    /// These processes could not be started, for the reason in the text; none runs.
    Refused(Vec<u32>, String),
    /// There is no launcher that can start them, and no `mpiexec` beside the library.
    NoMpiexec,
    /// The launcher went away.
    Boot(BootError),
}

impl From<BootError> for SpawnError {
    fn from(error: BootError) -> SpawnError {
        SpawnError::Boot(error)
    }
}

/// Starts programs by an `mpiexec` of this process's own.
pub(crate) fn own_children(order: &Order, mpiexec: &Path) -> Result<Spawned, SpawnError> {
    let refused = |why: String| SpawnError::Refused(Vec::new(), why);
    let words = order.words().map_err(refused)?;
    let started = start(mpiexec, &words, &order.parent, false);
    let (mut spawned, _) = started.map_err(|error| refused(format!("{}: {error}", mpiexec.display())))?;
    loop {
        match spawned.status(Duration::from_secs(60)) {
            Status::Starting => {}
            Status::Running | Status::Over => return Ok(spawned),
            Status::Refused(ranks, text) => return Err(SpawnError::Refused(ranks, text)),
        }
    }
}

/// The program `mpiexec` beside a library of this path: `PREFIX/lib/X` and `PREFIX/bin/mpiexec`.
pub fn beside(library: &OsStr) -> Option<PathBuf> {
    let mut folder = Path::new(library).parent()?;
    for _ in 0..4 {
        let mpiexec = folder.join("bin/mpiexec");
        if mpiexec.is_file() {
            return Some(mpiexec);
        }
        folder = folder.parent()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    fn program(count: u32, words: &[&str]) -> Program {
        let arguments = words[1..].iter().map(OsString::from).collect();
        Program { count, program: words[0].into(), arguments, ..Program::default() }
    }

    fn text(words: &[OsString]) -> String {
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_order_becomes_a_command_line() {
        let first = Program {
            directory: Some("/tmp".into()),
            hosts: Some("a,b".into()),
            environment: vec![("A".into(), "-1".into())],
            ..program(2, &["x", "-n", "5"])
        };
        let order = Order { programs: vec![first, program(1, &["y"])], parent: "port".into() };
        let words = order.words().unwrap();
        assert_eq!(text(&words), "-n 2 -wdir /tmp -host a,b -env A -1 -- x -n 5 : -n 1 -- y");
        assert_eq!(split(&join(&words)), words);
        assert_eq!(order.size(), 3);
        let order = Order { programs: vec![program(1, &["x", ":"])], parent: String::new() };
        assert!(order.words().is_err());
    }

    #[test]
    fn words_survive_whatever_they_hold() {
        for words in [vec![], vec![OsString::new()], vec!["a".into(), "".into(), "b c\n".into()]] {
            assert_eq!(split(&join(&words)), words);
        }
    }

    fn says(script: &str) -> (Spawned, Child) {
        let script = format!("exec 3>&\"$1\"; {script}");
        let (socket, theirs) = UnixStream::pair().unwrap();
        let number = theirs.as_raw_fd();
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", &number.to_string()]);
        // SAFETY: as in `start`.
        unsafe {
            command.pre_exec(move || {
                libc::fcntl(number, libc::F_SETFD, 0);
                Ok(())
            })
        };
        let child = command.spawn().unwrap();
        drop(theirs);
        (Spawned { socket, text: Vec::new(), ended: false }, child)
    }

    #[test]
    fn an_mpiexec_tells_how_it_went() {
        let (mut spawned, mut child) = says("echo started >&3; sleep 0.1");
        assert_eq!(spawned.status(LONG), Status::Running);
        while spawned.status(LONG) != Status::Over {}
        child.wait().unwrap();
        let (mut spawned, mut child) = says("echo refused 1 2 >&3; echo no such file >&3");
        assert_eq!(spawned.status(LONG), Status::Refused(vec![1, 2], "no such file".into()));
        child.wait().unwrap();
        let (spawned, mut child) = says("read word <&3; test \"$word\" = parted");
        spawned.part();
        assert!(child.wait().unwrap().success());
        let (mut spawned, mut child) = says("true");
        assert!(matches!(spawned.status(LONG), Status::Refused(ranks, _) if ranks.is_empty()));
        child.wait().unwrap();
    }
}
