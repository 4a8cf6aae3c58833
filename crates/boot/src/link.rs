//! The line to the launcher: sends and receives one PMI message at a time, blocking. Also the few system
//! calls that an abort needs.

use crate::error::BootError;
use crate::wire::{Dialect, Inbox, Message, shorten};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The longest message taken from a launcher, in bytes: the cards of all ranks come in one.
const MESSAGE_LENGTH_MAX: usize = 256 << 20;

/// A connected line.
#[derive(Debug)]
pub struct Link {
    fd: OwnedFd,
    inbox: Inbox,
    /// What is spoken now.
    pub dialect: Dialect,
}

impl Link {
    /// Takes over an inherited socket. Programs that this process starts do not inherit it further: they are
    /// no ranks.
    pub fn inherit(fd: i32) -> Link {
        // SAFETY: fcntl on a number has no memory effect; a bad number is only refused.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        // SAFETY: the launcher opened this descriptor for us alone, and `Boot` exists once per process, so
        // nobody else owns it.
        Link::new(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Connects to a launcher's port.
    ///
    /// # Errors
    /// The address cannot be reached.
    pub fn connect(address: &str) -> Result<Link, BootError> {
        let connected = TcpStream::connect(address).and_then(|tcp| tcp.set_nodelay(true).map(|()| tcp));
        let lost = |source| BootError::Connect { address: address.to_owned(), source };
        Ok(Link::new(OwnedFd::from(connected.map_err(lost)?)))
    }

    fn new(fd: OwnedFd) -> Link {
        Link { fd, inbox: Inbox::new(MESSAGE_LENGTH_MAX), dialect: Dialect::One }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The launcher closed the line.
    pub fn send(&mut self, message: &Message) -> Result<(), BootError> {
        let bytes = message.emit(self.dialect);
        let mut sent = 0;
        while sent < bytes.len() {
            match self.send_some(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(BootError::Lost { command: message.cmd.clone(), source }),
            }
        }
        Ok(())
    }

    fn send_some(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the pointer and the length are those of a live slice. MSG_NOSIGNAL: a dead launcher must
        // be an error here, not a signal that kills the program.
        let count = unsafe {
            libc::send(self.fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL)
        };
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
            let lost = |source| BootError::Lost { command: command.to_owned(), source };
            self.fill().map_err(lost)?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut bytes = [0_u8; 65536];
        // SAFETY: the pointer and the length are those of a live, writable array.
        let count = unsafe { libc::recv(self.fd.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        match usize::try_from(count) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the launcher closed the line")),
            Ok(count) => {
                self.inbox.push(&bytes[..count]);
                Ok(())
            }
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                error => Err(error),
            },
        }
    }

    /// Sends a message and waits for its answer, which must be called `answer` and must not be a refusal.
    ///
    /// # Errors
    /// As [`Link::send`] and [`Link::receive`]; another answer; a refusal.
    pub fn ask(&mut self, message: &Message, answer: &str) -> Result<Message, BootError> {
        self.send(message)?;
        self.expect(&message.cmd, answer)
    }

    /// Waits for the message called `answer`, which must not be a refusal.
    ///
    /// # Errors
    /// As [`Link::ask`].
    pub fn expect(&mut self, command: &str, answer: &str) -> Result<Message, BootError> {
        let message = self.receive(command)?;
        let command = command.to_owned();
        if message.cmd != answer {
            let expected = format!("'{answer}'");
            return Err(BootError::Unexpected { command, expected, got: shorten(&format!("{message:?}")) });
        }
        match message.get("rc") {
            None | Some("0") => Ok(message),
            Some(rc) => {
                let words = message.get("msg").or(message.get("errmsg")).unwrap_or("no reason given");
                Err(BootError::Refused { command, reason: format!("rc={rc}, {words}") })
            }
        }
    }
}

/// Whether a descriptor number is an open socket.
pub fn is_socket(fd: i32) -> bool {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat writes at most one `stat` where the pointer leads; a bad number is only refused.
    if unsafe { libc::fstat(fd, stat.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: fstat succeeded, so it filled the structure.
    let mode = unsafe { stat.assume_init() }.st_mode;
    mode & libc::S_IFMT == libc::S_IFSOCK
}

/// Writes a text and a newline to standard error in one piece, past every lock of the standard library.
pub(crate) fn write_stderr(text: &str) {
    if text.is_empty() {
        return;
    }
    let line = format!("{text}\n");
    // SAFETY: the pointer and the length are those of a live string. A closed standard error loses the text.
    unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
}

/// Flushes C's standard streams and ends the process at once.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: a null stream means all of them; no Rust invariant depends on C's buffers.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    // SAFETY: _exit never returns and runs no handlers.
    unsafe { libc::_exit(status) }
}
