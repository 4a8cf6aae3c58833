//! A connected socket: whole messages both ways, each in bounded time.
//!
//! A message is its length (4 bytes, little-endian) and its bytes. The socket may be the
//! program's own (`MPI_Comm_join`), so its flags are left as they are, and nothing is read ahead.

use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// The longest message that is taken, in bytes.
const MESSAGE_BYTES_MAX: usize = 256 << 20;
/// The most that is read at once, in bytes: memory grows only as bytes come.
const PIECE_BYTES: usize = 1 << 16;

/// A connected socket.
#[derive(Debug)]
pub struct Stream {
    socket: OwnedFd,
}

/// The part of a message that is still to be read.
struct Incoming {
    bytes: Vec<u8>,
    /// The length with the head, once that is here.
    whole: Option<usize>,
}

impl Stream {
    /// Takes over a socket.
    pub fn new(socket: OwnedFd) -> Stream {
        Stream { socket }
    }

    /// Uses a socket of the program's by a descriptor of our own.
    ///
    /// # Errors
    /// The number is no descriptor, no socket, or no connected one.
    pub fn borrow(socket: RawFd) -> io::Result<Stream> {
        let mut kind: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        let at = (&raw mut kind).cast();
        // SAFETY: the call writes at most `length` bytes to our integer, and refuses a bad number.
        let rc = unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_TYPE, at, &raw mut length) };
        if rc != 0 {
            return Err(io::Error::last_os_error());
        }
        if kind != libc::SOCK_STREAM {
            return Err(ErrorKind::InvalidInput.into());
        }
        // SAFETY: the number is an open socket, as the call above has shown.
        let socket = unsafe { BorrowedFd::borrow_raw(socket) };
        Ok(Stream { socket: socket.try_clone_to_owned()? })
    }

    /// The socket.
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// The other side has gone, or did not take them within `limit`.
    pub fn send(&mut self, bytes: &[u8], limit: Duration) -> io::Result<()> {
        let until = Instant::now() + limit;
        let mut sent = 0;
        while sent < bytes.len() {
            sent += self.send_some(&bytes[sent..])?;
            if sent < bytes.len() {
                self.wait(false, true, until)?;
            }
        }
        Ok(())
    }

    /// Receives exactly so many bytes.
    ///
    /// # Errors
    /// The other side has gone, or did not send them within `limit`.
    pub fn receive(&mut self, count: usize, limit: Duration) -> io::Result<Vec<u8>> {
        let until = Instant::now() + limit;
        let mut bytes = Vec::new();
        while bytes.len() < count {
            if !self.receive_some(&mut bytes, count)? {
                self.wait(true, false, until)?;
            }
        }
        Ok(bytes)
    }

    /// Sends a message and receives the one that the other side sends meanwhile.
    ///
    /// # Errors
    /// The other side has gone, sent what is no message, or was silent for `limit`.
    pub fn swap(&mut self, mine: &[u8], limit: Duration) -> io::Result<Vec<u8>> {
        let length = u32::try_from(mine.len()).map_err(|_| ErrorKind::InvalidInput)?;
        let mine = [&length.to_le_bytes()[..], mine].concat();
        let until = Instant::now() + limit;
        let mut sent = 0;
        let mut incoming = Incoming { bytes: Vec::new(), whole: None };
        loop {
            let before = (sent, incoming.bytes.len());
            if sent < mine.len() {
                sent += self.send_some(&mine[sent..])?;
            }
            let is_whole = self.receive_message(&mut incoming)?;
            if is_whole && sent == mine.len() {
                incoming.bytes.drain(..4);
                return Ok(incoming.bytes);
            }
            if before == (sent, incoming.bytes.len()) {
                self.wait(!is_whole, sent < mine.len(), until)?;
            }
        }
    }

    /// Reads more of a message; returns whether it is whole.
    fn receive_message(&mut self, incoming: &mut Incoming) -> io::Result<bool> {
        let wanted = incoming.whole.unwrap_or(4);
        if incoming.bytes.len() < wanted {
            self.receive_some(&mut incoming.bytes, wanted)?;
        }
        if incoming.whole.is_none()
            && let Some(length) = incoming.bytes.first_chunk::<4>()
        {
            let length = u32::from_le_bytes(*length) as usize;
            if length > MESSAGE_BYTES_MAX {
                return Err(ErrorKind::InvalidData.into());
            }
            incoming.whole = Some(4 + length);
        }
        Ok(incoming.whole == Some(incoming.bytes.len()))
    }

    /// Sends what the socket takes.
    fn send_some(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: pointer and length are those of a live slice.
        let count = unsafe { libc::send(self.socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
        match usize::try_from(count) {
            Ok(count) => Ok(count),
            Err(_) => none_yet().map(|()| 0),
        }
    }

    /// Appends what is there, up to `whole` bytes; returns whether there was anything.
    fn receive_some(&self, bytes: &mut Vec<u8>, whole: usize) -> io::Result<bool> {
        let start = bytes.len();
        bytes.resize(start + (whole - start).min(PIECE_BYTES), 0);
        let room = &mut bytes[start..];
        // SAFETY: pointer and length are those of a live, writable slice.
        let count = unsafe {
            libc::recv(self.socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT)
        };
        let got = usize::try_from(count).unwrap_or(0);
        bytes.truncate(start + got);
        match count {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            1.. => Ok(true),
            _ => none_yet().map(|()| false),
        }
    }

    fn wait(&self, to_read: bool, to_write: bool, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        let events = if to_read { libc::POLLIN } else { 0 } | if to_write { libc::POLLOUT } else { 0 };
        poll(&mut [libc::pollfd { fd: self.socket.as_raw_fd(), events, revents: 0 }], left);
        Ok(())
    }
}

/// The outcome of a call that failed: nothing yet, or an error.
fn none_yet() -> io::Result<()> {
    match io::Error::last_os_error() {
        error if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
        error => Err(error),
    }
}

/// Waits until one of the sockets has something to read, for no longer than `limit`.
pub(super) fn wait_readable(sockets: impl Iterator<Item = RawFd>, limit: Duration) {
    let watch = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<libc::pollfd> = sockets.map(watch).collect();
    poll(&mut polled, limit);
}

/// Waits as `poll` does; the callers look again whatever ended it.
fn poll(polled: &mut [libc::pollfd], limit: Duration) {
    let milliseconds = limit.as_micros().div_ceil(1000).min(60_000) as i32;
    // SAFETY: pointer and number are those of a live slice.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, milliseconds) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(30);

    fn pair() -> (Stream, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        (Stream::new(ours.into()), theirs)
    }

    #[test]
    fn long_messages_pass_each_other() {
        let (mut stream, other) = pair();
        let mut other = Stream::new(other.into());
        let there = std::thread::spawn(move || other.swap(&vec![2; 5 << 20], LONG).expect("swapped"));
        assert_eq!(stream.swap(&vec![3; 4 << 20], LONG).expect("swapped"), vec![2; 5 << 20]);
        assert_eq!(there.join().unwrap(), vec![3; 4 << 20]);
    }

    #[test]
    fn nothing_is_read_ahead() {
        let (mut stream, mut other) = pair();
        other.write_all(&[1, 0, 0, 0, 9, 7]).expect("room");
        assert_eq!(stream.swap(b"", LONG).expect("swapped"), [9]);
        assert_eq!(stream.receive(1, LONG).expect("the rest"), [7]);
    }

    #[test]
    fn silence_nonsense_and_the_end_are_errors() {
        let (mut stream, mut other) = pair();
        assert_eq!(stream.swap(b"", SHORT).unwrap_err().kind(), ErrorKind::TimedOut);
        other.write_all(&[255; 8]).expect("room");
        assert_eq!(stream.swap(b"", LONG).unwrap_err().kind(), ErrorKind::InvalidData);
        let (mut stream, other) = pair();
        drop(other);
        assert!(stream.swap(b"x", LONG).is_err());
    }

    #[test]
    fn only_a_connected_socket_of_bytes_is_borrowed() {
        let (reader, _writer) = io::pipe().expect("a pipe");
        assert!(Stream::borrow(reader.as_raw_fd()).is_err());
        assert!(Stream::borrow(-1).is_err());
        let (_, other) = pair();
        assert!(Stream::borrow(other.as_raw_fd()).is_ok());
    }
}
