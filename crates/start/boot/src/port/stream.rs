//! A connected socket: whole messages both ways.
//!
//! A message is its length (4 bytes, little-endian) and its bytes. The socket may be the
//! program's own (`MPI_Comm_join`), so its flags are left as they are, and nothing is read ahead.

use super::probes;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// The longest message that is taken, in bytes.
const MESSAGE_BYTES_MAX: usize = 256 << 20;
/// The most that is read at once, in bytes: memory grows only as bytes come.
const PIECE_BYTES: usize = 1 << 16;

/// A connected socket. One whose other host is gone fails within minutes, also if nothing is sent.
#[derive(Debug)]
pub struct Stream {
    socket: OwnedFd,
    /// The probes of a socket of the program's.
    _lent: Option<probes::Lent>,
}

/// An exchange of messages under way, both ways at once.
pub struct Swap<'s> {
    stream: &'s mut Stream,
    /// This side's message with its length, and how much of it was sent.
    mine: Vec<u8>,
    sent: usize,
    incoming: Incoming,
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
        probes::turn_on(socket.as_fd());
        Stream { socket, _lent: None }
    }

    /// Uses a socket of the program's by a descriptor of our own.
    ///
    /// # Errors
    /// The number is no descriptor, no socket, or no connected one; no descriptor is left.
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
        Ok(Stream { socket: socket.try_clone_to_owned()?, _lent: Some(probes::Lent::new(socket)?) })
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

    /// Begins to send a message, and to receive the one that the other side sends meanwhile.
    ///
    /// # Errors
    /// The message is too long.
    pub fn swap(&mut self, mine: &[u8]) -> io::Result<Swap<'_>> {
        let length = u32::try_from(mine.len()).map_err(|_| ErrorKind::InvalidInput)?;
        let mine = [&length.to_le_bytes()[..], mine].concat();
        Ok(Swap { stream: self, mine, sent: 0, incoming: Incoming { bytes: Vec::new(), whole: None } })
    }

    /// Waits until there is something to read, or the other side has gone, for no longer than
    /// `limit`.
    pub fn wait_readable(&self, limit: Duration) -> bool {
        wait_readable([self.socket.as_raw_fd()].into_iter(), limit) > 0
    }

    /// Returns whether the other side has closed its end, or was lost, and left nothing to read.
    pub fn has_gone(&self) -> bool {
        let (mut byte, flags) = (0u8, libc::MSG_PEEK | libc::MSG_DONTWAIT);
        // SAFETY: pointer and length are those of our byte.
        let count = unsafe { libc::recv(self.socket.as_raw_fd(), (&raw mut byte).cast(), 1, flags) };
        count == 0 || count < 0 && none_yet().is_err()
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

impl Swap<'_> {
    /// Goes on, and waits for the other side for no longer than `limit`. Returns its message once
    /// both are through.
    ///
    /// # Errors
    /// The other side has gone, or sent what is no message.
    pub fn advance(&mut self, limit: Duration) -> io::Result<Option<Vec<u8>>> {
        let until = Instant::now() + limit;
        loop {
            let Swap { stream, mine, sent, incoming } = self;
            let before = (*sent, incoming.bytes.len());
            if *sent < mine.len() {
                *sent += stream.send_some(&mine[*sent..])?;
            }
            let is_whole = stream.receive_message(incoming)?;
            if is_whole && *sent == mine.len() {
                return Ok(Some(incoming.bytes.split_off(4)));
            }
            if before == (*sent, incoming.bytes.len())
                && let Err(error) = stream.wait(!is_whole, *sent < mine.len(), until)
            {
                return if error.kind() == ErrorKind::TimedOut { Ok(None) } else { Err(error) };
            }
        }
    }
}

/// The outcome of a call that failed: nothing yet, or an error.
fn none_yet() -> io::Result<()> {
    match io::Error::last_os_error() {
        error if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
        error => Err(error),
    }
}

/// Waits until one of the sockets has something to read, for no longer than `limit`; returns how
/// many have.
pub(super) fn wait_readable(sockets: impl Iterator<Item = RawFd>, limit: Duration) -> i32 {
    let watch = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<libc::pollfd> = sockets.map(watch).collect();
    poll(&mut polled, limit)
}

/// Waits as `poll` does; the callers look again whatever ended it.
fn poll(polled: &mut [libc::pollfd], limit: Duration) -> i32 {
    let milliseconds = limit.as_micros().div_ceil(1000).min(60_000) as i32;
    // SAFETY: pointer and number are those of a live slice.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, milliseconds) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(30);

    fn swap(stream: &mut Stream, mine: &[u8]) -> io::Result<Vec<u8>> {
        let swapped = stream.swap(mine).expect("not too long").advance(LONG)?;
        Ok(swapped.expect("the other side sends"))
    }

    fn pair() -> (Stream, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        (Stream::new(ours.into()), theirs)
    }

    #[test]
    fn long_messages_pass_each_other() {
        let (mut stream, other) = pair();
        let mut other = Stream::new(other.into());
        let there = std::thread::spawn(move || swap(&mut other, &vec![2; 5 << 20]).expect("swapped"));
        assert_eq!(swap(&mut stream, &vec![3; 4 << 20]).expect("swapped"), vec![2; 5 << 20]);
        assert_eq!(there.join().unwrap(), vec![3; 4 << 20]);
    }

    #[test]
    fn nothing_is_read_ahead() {
        let (mut stream, mut other) = pair();
        other.write_all(&[1, 0, 0, 0, 9, 7]).expect("room");
        assert_eq!(swap(&mut stream, b"").expect("swapped"), [9]);
        assert_eq!(stream.receive(1, LONG).expect("the rest"), [7]);
    }

    #[test]
    fn silence_nonsense_and_the_end_are_errors() {
        let (mut stream, mut other) = pair();
        let mut silent = stream.swap(b"").expect("not too long");
        assert_eq!(silent.advance(SHORT).expect("the other side is there"), None);
        other.write_all(&[255; 8]).expect("room");
        assert_eq!(silent.advance(LONG).unwrap_err().kind(), ErrorKind::InvalidData);
        let (mut stream, other) = pair();
        assert!(!stream.has_gone() && !stream.wait_readable(SHORT));
        drop(other);
        assert!(stream.has_gone() && stream.wait_readable(LONG));
        assert!(swap(&mut stream, b"x").is_err());
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
