//! Our standard input on its way to rank 0, when rank 0 cannot read it itself: a terminal, because
//! rank 0 is not in its foreground process group, or anything if rank 0 is on another host.
//! Otherwise rank 0 inherits it.

use crate::sys;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

/// Standard input.
const STDIN: RawFd = 0;

/// Reads our standard input. After each piece it waits until rank 0 has taken it.
#[derive(Debug)]
pub struct Keyboard {
    open: bool,
    /// Set while a piece is on its way.
    waiting: bool,
    terminal: bool,
    input: Input,
}

/// A file that is read without waiting. Other processes may read the same one, and take the bytes
/// between our look and our read.
#[derive(Debug)]
enum Input {
    /// A pipe or a terminal, opened anew: `O_NONBLOCK` on what we inherited would be for the others
    /// too.
    Anew(File),
    Socket(RawFd),
    /// A file on a disk, whose reads do not wait for anybody; or one that cannot be opened anew (a
    /// terminal of another user): reads of that may wait.
    Inherited(RawFd),
}

impl Input {
    /// The file behind this descriptor.
    fn of(fd: RawFd) -> Input {
        let path = format!("/proc/self/fd/{fd}");
        let Ok(kind) = std::fs::metadata(&path).map(|metadata| metadata.file_type()) else {
            return Input::Inherited(fd);
        };
        if kind.is_socket() {
            return Input::Socket(fd);
        }
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        let opened = (kind.is_fifo() || kind.is_char_device()).then(|| options.open(&path));
        opened.and_then(io::Result::ok).map_or(Input::Inherited(fd), Input::Anew)
    }

    fn fd(&self) -> RawFd {
        match self {
            Input::Anew(file) => file.as_raw_fd(),
            Input::Socket(fd) | Input::Inherited(fd) => *fd,
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::Anew(file) => file.read(bytes),
            Input::Socket(fd) => sys::receive(*fd, bytes),
            Input::Inherited(fd) => sys::read(*fd, bytes),
        }
    }
}

impl Keyboard {
    /// A keyboard from which nothing is read.
    pub fn closed() -> Keyboard {
        Keyboard { open: false, waiting: false, terminal: false, input: Input::Inherited(STDIN) }
    }

    /// The keyboard that is our standard input.
    pub fn stdin() -> Keyboard {
        Keyboard::of(STDIN)
    }

    fn of(fd: RawFd) -> Keyboard {
        Keyboard { open: true, waiting: false, terminal: sys::is_terminal(fd), input: Input::of(fd) }
    }

    /// The descriptor, if it may be read now.
    pub fn readable(&self) -> Option<RawFd> {
        let ready = self.open && !self.waiting && (!self.terminal || sys::is_foreground(STDIN));
        ready.then(|| self.input.fd())
    }

    /// Reads a piece for rank 0, if there is one; it is empty at the end (Ctrl-D).
    pub fn read(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 65536];
        let count = match self.input.read(&mut bytes) {
            Ok(count) => count,
            // Put into the background between the check and the read: try again in the foreground.
            Err(error) if error.raw_os_error() == Some(libc::EIO) && !sys::is_foreground(STDIN) => {
                return None;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
                return None;
            }
            Err(_) => 0,
        };
        self.open = count > 0;
        self.waiting = true;
        bytes.truncate(count);
        Some(bytes)
    }

    /// Notes that rank 0 has taken the last piece; if `open`, it takes more.
    pub fn taken(&mut self, open: bool) {
        self.waiting = false;
        self.open &= open;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// The next piece; panics if the read waits.
    fn piece(mut keyboard: Keyboard) -> (Keyboard, Option<Vec<u8>>) {
        let (done, outcome) = channel();
        std::thread::spawn(move || {
            let piece = keyboard.read();
            done.send((keyboard, piece))
        });
        outcome.recv_timeout(Duration::from_secs(20)).expect("a read that does not wait")
    }

    /// Goes through what a read can find: nothing, bytes, the end.
    fn reads(fd: RawFd, mut writer: impl Write) {
        let (keyboard, nothing) = piece(Keyboard::of(fd));
        assert_eq!(nothing, None);
        assert!(keyboard.readable().is_some());
        writer.write_all(b"line\n").unwrap();
        let (mut keyboard, line) = piece(keyboard);
        assert_eq!(line.as_deref(), Some(&b"line\n"[..]));
        assert_eq!(keyboard.readable(), None, "rank 0 has not taken it");
        keyboard.taken(true);
        drop(writer);
        let (keyboard, end) = piece(keyboard);
        assert_eq!(end, Some(vec![]));
        assert_eq!(keyboard.readable(), None);
    }

    #[test]
    fn bytes_that_another_process_took_are_not_waited_for() {
        let (reader, writer) = std::io::pipe().unwrap();
        reads(reader.as_raw_fd(), writer);
        let (reader, writer) = UnixStream::pair().unwrap();
        reads(reader.as_raw_fd(), writer);
    }

    #[test]
    fn a_pipe_of_others_stays_as_it_is() {
        let (reader, _writer) = std::io::pipe().unwrap();
        drop(piece(Keyboard::of(reader.as_raw_fd())));
        // SAFETY: a look at the flags of an open descriptor.
        let flags = unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_GETFL) };
        assert_eq!(flags & libc::O_NONBLOCK, 0);
    }
}
