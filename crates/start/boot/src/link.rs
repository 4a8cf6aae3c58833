//! The line to the launcher: sends and receives one PMI message at a time, blocking. Also the few
//! system calls that an abort needs.
//!
//! A program may close descriptors that it has not opened, and then open something else under the
//! same number. So the line is a number with the identity of the socket, which is compared before
//! each use.

use crate::error::BootError;
use crate::wire::{Dialect, Inbox, Message, shorten};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{IntoRawFd, RawFd};
use std::time::{Duration, Instant};

/// The longest message taken from a launcher, in bytes: the cards of all ranks come in one.
const MESSAGE_LENGTH_MAX: usize = 256 << 20;
/// The most that is read at once, in bytes.
const PIECE_BYTES: usize = 65536;

/// A connected line.
#[derive(Debug)]
pub struct Link {
    fd: RawFd,
    /// Device and inode of the socket.
    identity: Option<(u64, u64)>,
    inbox: Inbox,
    /// The protocol spoken now.
    pub dialect: Dialect,
}

impl Link {
    /// Takes over an inherited socket. Programs that this process starts do not inherit it: they
    /// are no ranks.
    pub fn inherit(fd: i32) -> Link {
        // SAFETY: fcntl on a number has no memory effect; a bad number is only refused.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        Link::new(fd)
    }

    /// Connects to a launcher's port.
    ///
    /// # Errors
    /// The address cannot be reached.
    pub fn connect(address: &str) -> Result<Link, BootError> {
        let connected = TcpStream::connect(address).and_then(|tcp| tcp.set_nodelay(true).map(|()| tcp));
        let lost = |source| BootError::Connect { address: format!("PMI_PORT={address}"), source };
        Ok(Link::new(connected.map_err(lost)?.into_raw_fd()))
    }

    /// Connects to a server of PMIx, which must accept within a time.
    ///
    /// # Errors
    /// The address cannot be reached.
    pub fn connect_within(address: SocketAddr, limit: Duration) -> Result<Link, BootError> {
        let connected = TcpStream::connect_timeout(&address, limit);
        let connected = connected.and_then(|tcp| tcp.set_nodelay(true).map(|()| tcp));
        let lost = |source| BootError::Connect { address: format!("PMIX_SERVER_URI at {address}"), source };
        Ok(Link::new(connected.map_err(lost)?.into_raw_fd()))
    }

    fn new(fd: RawFd) -> Link {
        let identity = status(fd).map(|stat| identity(&stat));
        Link { fd, identity, inbox: Inbox::new(MESSAGE_LENGTH_MAX), dialect: Dialect::One }
    }

    /// Returns whether the number still is our socket. Another thread may close it right after;
    /// nothing helps against that.
    fn is_ours(&self) -> bool {
        self.identity.is_some() && self.identity == status(self.fd).map(|stat| identity(&stat))
    }

    /// # Errors
    /// The program has closed our socket.
    fn check(&self, command: &str) -> Result<(), BootError> {
        let closed = || {
            let reused = status(self.fd).is_some();
            BootError::Closed { command: command.to_owned(), fd: self.fd, reused }
        };
        if self.is_ours() { Ok(()) } else { Err(closed()) }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The launcher closed the line, or the program did.
    pub fn send(&mut self, message: &Message) -> Result<(), BootError> {
        self.send_bytes(&message.emit(self.dialect), &message.cmd)
    }

    /// Sends bytes that belong to a command.
    ///
    /// # Errors
    /// The launcher closed the line, or the program did.
    pub fn send_bytes(&mut self, bytes: &[u8], command: &str) -> Result<(), BootError> {
        let mut sent = 0;
        while sent < bytes.len() {
            self.check(command)?;
            match self.send_some(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(BootError::Lost { command: command.to_owned(), source }),
            }
        }
        Ok(())
    }

    /// Waits for so many bytes, which are not PMI; for no longer than the limit, if there is one.
    /// Memory grows as they come.
    ///
    /// # Errors
    /// The launcher closed the line or is silent, or the program closed the line.
    pub fn receive_exactly(
        &mut self,
        count: usize,
        command: &str,
        limit: Option<Duration>,
    ) -> Result<Vec<u8>, BootError> {
        let until = limit.map(|limit| Instant::now() + limit);
        let lost = |source| BootError::Lost { command: command.to_owned(), source };
        let mut bytes = Vec::new();
        while bytes.len() < count {
            self.check(command)?;
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if !self.is_readable(left) {
                let seconds = limit.unwrap_or_default().as_secs_f64();
                match left {
                    Some(left) if left.is_zero() => {
                        return Err(BootError::Silent { command: command.to_owned(), seconds });
                    }
                    _ => continue,
                }
            }
            let start = bytes.len();
            bytes.resize(start + (count - start).min(PIECE_BYTES), 0);
            let got = self.receive_some(&mut bytes[start..]);
            bytes.truncate(start + *got.as_ref().unwrap_or(&0));
            got.map_err(lost)?;
        }
        Ok(bytes)
    }

    /// Waits until there is something to read or the line has ended; `false` if the time is over,
    /// or a signal came.
    fn is_readable(&self, limit: Option<Duration>) -> bool {
        let milliseconds = limit.map_or(-1, |time| time.as_micros().div_ceil(1000).min(60_000) as i32);
        let mut entry = libc::pollfd { fd: self.fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer leads to one live structure.
        unsafe { libc::poll(&raw mut entry, 1, milliseconds) > 0 }
    }

    fn send_some(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the pointer and the length are those of a live slice. MSG_NOSIGNAL: a dead
        // launcher must be an error here, not a signal that kills the program.
        let count = unsafe { libc::send(self.fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// Waits for the next message; `command` is what it should answer, for the error texts.
    ///
    /// # Errors
    /// The launcher closed the line or sent what is no PMI.
    pub fn receive(&mut self, command: &str) -> Result<Message, BootError> {
        let garbled = |source| BootError::Garbled { command: command.to_owned(), source };
        loop {
            if let Some(frame) = self.inbox.next(self.dialect).map_err(garbled)? {
                return Message::parse(&frame, self.dialect).map_err(garbled);
            }
            self.check(command)?;
            let lost = |source| BootError::Lost { command: command.to_owned(), source };
            self.fill().map_err(lost)?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        // On the heap: the thread may have a small stack.
        let mut bytes = vec![0_u8; PIECE_BYTES];
        let count = self.receive_some(&mut bytes)?;
        self.inbox.push(&bytes[..count]);
        Ok(())
    }

    /// Reads what is there; 0 if a signal came first.
    fn receive_some(&self, bytes: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the pointer and the length are those of a live, writable slice.
        let count = unsafe { libc::recv(self.fd, bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        match usize::try_from(count) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the launcher closed the line")),
            Ok(count) => Ok(count),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
                error => Err(error),
            },
        }
    }

    /// Sends a message and waits for its answer, which must be called `answer` and must not be a
    /// refusal.
    ///
    /// # Errors
    /// Those of [`Link::send`] and [`Link::receive`]; another answer; a refusal.
    pub fn ask(&mut self, message: &Message, answer: &str) -> Result<Message, BootError> {
        self.send(message)?;
        self.expect(&message.cmd, answer)
    }

    /// Waits for the message called `answer`, be it a refusal or not.
    ///
    /// # Errors
    /// Those of [`Link::receive`]; another answer.
    pub fn answer(&mut self, command: &str, answer: &str) -> Result<Message, BootError> {
        let message = self.receive(command)?;
        if message.cmd == answer {
            return Ok(message);
        }
        let (command, expected) = (command.to_owned(), format!("'{answer}'"));
        Err(BootError::Unexpected { command, expected, got: shorten(&format!("{message:?}")) })
    }

    /// Waits for the message called `answer`, which must not be a refusal.
    ///
    /// # Errors
    /// As [`Link::ask`].
    pub fn expect(&mut self, command: &str, answer: &str) -> Result<Message, BootError> {
        let message = self.answer(command, answer)?;
        let command = command.to_owned();
        match message.get("rc") {
            None | Some("0") => Ok(message),
            Some(rc) => {
                let words = message.get("msg").or(message.get("errmsg")).unwrap_or("no reason given");
                Err(BootError::Refused { command, reason: format!("rc={rc}, {words}") })
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: the socket is ours, and nobody uses it after this.
            unsafe { libc::close(self.fd) };
        }
    }
}

/// The inode of the socket that has this number; `None` if there is none.
pub fn socket_inode(fd: RawFd) -> Option<u64> {
    status(fd).filter(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFSOCK).map(|stat| stat.st_ino)
}

fn identity(stat: &libc::stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

fn status(fd: RawFd) -> Option<libc::stat> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat writes at most one structure where the pointer leads, and success means that it
    // did.
    unsafe { (libc::fstat(fd, stat.as_mut_ptr()) == 0).then(|| stat.assume_init()) }
}

/// Writes a text and a newline to standard error in one piece, without any lock of the standard
/// library.
pub(crate) fn write_stderr(text: &str) {
    if text.is_empty() {
        return;
    }
    let line = format!("{text}\n");
    // SAFETY: the pointer and the length are those of a live string. A closed standard error loses
    // the text.
    unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
}

/// Flushes C's standard streams and ends the process at once.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: a null stream means all of them; no Rust invariant depends on C's buffers.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    // SAFETY: _exit never returns and runs no handlers.
    unsafe { libc::_exit(status) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_socket_that_got_the_number_of_the_line_gets_nothing_and_stays_open() {
        let (line, mut launcher) = UnixStream::pair().unwrap();
        let (own, mut other) = UnixStream::pair().unwrap();
        let mut link = Link::inherit(line.into_raw_fd());
        link.send(&Message::new("one")).unwrap();
        // SAFETY: both numbers are open; a program that closes all descriptors and opens its own
        // does the same.
        assert_eq!(unsafe { libc::dup2(own.as_raw_fd(), link.fd) }, link.fd);
        for error in [link.send(&Message::new("two")).unwrap_err(), link.receive("two").unwrap_err()] {
            assert!(matches!(error, BootError::Closed { reused: true, .. }), "{error:?}");
            assert_eq!(error.to_string().lines().count(), 4, "{error}");
        }
        let fd = link.fd;
        drop(link);
        assert!(status(fd).is_some(), "the program's own descriptor was closed");
        // SAFETY: the number is the copy that dup2 made above.
        unsafe { libc::close(fd) };
        drop(own);
        let mut heard = String::new();
        other.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "");
        launcher.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "cmd=one\n");
    }

    #[test]
    fn a_line_that_the_program_closed_is_explained() {
        let (line, _launcher) = UnixStream::pair().unwrap();
        let mut link = Link::inherit(line.as_raw_fd());
        let null = std::fs::File::open("/dev/null").unwrap();
        // SAFETY: both numbers are open.
        assert_eq!(unsafe { libc::dup2(null.as_raw_fd(), line.as_raw_fd()) }, line.as_raw_fd());
        let text = link.send(&Message::new("one")).unwrap_err().to_string();
        assert!(text.contains("closed descriptors of the library"), "{text}");
    }
}
