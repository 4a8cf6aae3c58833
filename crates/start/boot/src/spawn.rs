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
//! | `started LOAD` | `mpiexec` | all processes run, and load processors so; the socket closes when the last of them has ended |
//! | `refused RANK RANK ...`, and lines of text | `mpiexec` | these could not be started, nor were the others |
//! | `parted` | the starter | the processes go on, whatever becomes of the starter |
//!
//! A starter that has left its `mpiexec` and closes the socket before it has said so was killed:
//! then nobody wants the processes any more, and they are ended.

mod order;
mod path;
mod soft;

use crate::card;
use crate::error::BootError;
pub use order::{Order, Program, bits, join, marked, parts, ranks_of, split};
pub use path::found_in;
pub use soft::{SoftError, largest_allowed};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
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

/// Variables of a process that would mislead an `mpiexec` that it starts.
const OWN: [&str; 15] = [
    "VERBENA_PMI",
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

/// The beginning of a text that holds values in the place of a port. No port's name is like it.
const VALUES: &str = "values ";

/// A text for the place of [`Order::parent`], with values that the new processes find at their
/// launcher: processes of other MPIs find their parent by those.
pub fn values_text(values: &[(String, String)]) -> String {
    let words: Vec<OsString> = values.iter().flat_map(|(key, value)| [key.into(), value.into()]).collect();
    format!("{VALUES}{}", card::encode(&join(&words)))
}

/// The values of such a text; `None` for a port.
pub fn values_of(text: &str) -> Option<Vec<(String, String)>> {
    let words = split(&card::decode(text.strip_prefix(VALUES)?).ok()?);
    let texts: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (pairs, _) = texts.as_chunks::<2>();
    Some(pairs.iter().map(|[key, value]| (key.clone(), value.clone())).collect())
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

    /// The load of processors that it has said with [`STARTED`], for its like to read; nothing
    /// before that.
    pub fn load(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        let line = text.split_once('\n').and_then(|(line, _)| line.strip_prefix(STARTED));
        line.unwrap_or("").trim_start_matches(' ').to_owned()
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

impl Children {
    /// Their number at our launcher, by which any rank of the job can name them.
    pub fn number(&self) -> Option<u32> {
        match self {
            Children::OfLauncher(number) => Some(*number),
            Children::Own(_) | Children::Unwatched => None,
        }
    }
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

    #[test]
    fn values_stand_in_the_place_of_a_port() {
        for values in [vec![], vec![("a".to_owned(), "b c=d".to_owned()), ("e".to_owned(), String::new())]] {
            assert_eq!(values_of(&values_text(&values)), Some(values));
        }
        assert_eq!(values_of("port"), None);
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
        let (mut spawned, mut child) = says("sleep 0.1; echo 'started 0*1=a b' >&3; sleep 0.1");
        assert_eq!(spawned.load(), "");
        assert_eq!(spawned.status(LONG), Status::Running);
        assert_eq!(spawned.load(), "0*1=a b");
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
