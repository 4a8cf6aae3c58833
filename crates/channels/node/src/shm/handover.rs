//! Hands the descriptors of segment and heap from the rank that made it to the others of its node.
//!
//! Every process listens on an abstract socket of random name from the moment it opens the channel
//! (before the cards travel), so a process that reads the card can connect at once. The lowest rank
//! then serves the rest; the others drop their sockets. Abstract sockets leave no file behind.

use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// A client's first words: the secret from the server's card and its own rank on the node.
const HELLO_BYTES: usize = 12;
const TEXT_BYTES_MAX: usize = 2000;
/// The text that goes with both descriptors: the kernel drops those that a client has no room for.
const UNTAKEN: &str = "no descriptor is left to take it (ulimit -n)";

type Result<T, E = Error> = std::result::Result<T, E>;

/// The server's answer to each client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offer<'a> {
    /// The segment, and the heap or why there is none.
    Memory(BorrowedFd<'a>, Result<BorrowedFd<'a>, &'a str>),
    /// There is none, for this reason.
    Regret(&'a str),
}

/// The answer that a client got.
#[derive(Debug)]
pub(crate) enum Gift {
    /// The segment, and the heap or why there is none.
    Memory(OwnedFd, Result<OwnedFd, String>),
    /// The server's reason for having none.
    Regret(String),
}

fn address(name: u64) -> Result<SocketAddr> {
    SocketAddr::from_abstract_name(text(name))
}

fn text(name: u64) -> String {
    format!("verbena-{name:016x}")
}

/// Listens under `name`.
pub(crate) fn listen(name: u64) -> Result<UnixListener> {
    let listener = UnixListener::bind_addr(&address(name)?)?;
    listener.set_nonblocking(true)?;
    // SAFETY: a call on our own socket. A longer queue than the usual 128, so that no rank's
    // connect blocks.
    unsafe { libc::listen(listener.as_raw_fd(), 4096) };
    Ok(listener)
}

/// Serves the ranks 1 to `ranks` - 1 of the node; returns those that did not come by the deadline.
/// All connections are served as they speak, so a silent one holds up no other.
pub(crate) fn serve(
    listener: &UnixListener,
    secret: u64,
    ranks: u32,
    offer: Offer<'_>,
    deadline: Instant,
) -> Result<Vec<u32>> {
    let mut missing: Vec<u32> = (1..ranks).collect();
    let mut clients: Vec<Client> = Vec::new();
    while !missing.is_empty() {
        let sockets = clients.iter().map(|client| client.stream.as_raw_fd());
        if !wait_readable(sockets.chain([listener.as_raw_fd()]), deadline)? {
            break;
        }
        accept_all(listener, &mut clients)?;
        clients.retain_mut(|client| match client.serve(secret, offer) {
            Ok(Some(rank)) => {
                missing.retain(|&r| r != rank);
                false
            }
            // An error means that this client was none of ours or went away.
            outcome => outcome.is_ok(),
        });
    }
    Ok(missing)
}

/// The most connections that have not said all yet: beyond that the oldest is given up. Our own
/// clients speak at once.
const CLIENTS_MAX: usize = 1024;

/// Accepts the connections that are there, except those of other users. If no descriptor is left,
/// the oldest silent client makes room.
fn accept_all(listener: &UnixListener, clients: &mut Vec<Client>) -> Result<()> {
    for _ in 0..CLIENTS_MAX {
        match listener.accept() {
            Ok((stream, _)) => clients.extend(Client::new(stream)),
            Err(e) if e.kind() == ErrorKind::WouldBlock => break,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.raw_os_error() == Some(libc::ECONNABORTED) => {}
            Err(e)
                if matches!(e.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) && !clients.is_empty() =>
            {
                clients.remove(0);
            }
            Err(e) => return Err(e),
        }
        if clients.len() > CLIENTS_MAX {
            clients.remove(0);
        }
    }
    Ok(())
}

/// A connection, and what was said over it so far.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    hello: [u8; HELLO_BYTES],
    heard: usize,
}

impl Client {
    /// Wraps a connection; `None` for a stranger.
    fn new(stream: UnixStream) -> Option<Client> {
        same_user(&stream).ok()?;
        stream.set_nonblocking(true).ok()?;
        Some(Client { stream, hello: [0; HELLO_BYTES], heard: 0 })
    }

    /// Reads what there is, and answers once all was said; then returns the client's rank.
    fn serve(&mut self, secret: u64, offer: Offer<'_>) -> Result<Option<u32>> {
        while self.heard < HELLO_BYTES {
            match self.stream.read(&mut self.hello[self.heard..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.heard += bytes,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if self.hello[..8] != secret.to_le_bytes() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        match offer {
            Offer::Memory(segment, Ok(heap)) => send_descriptors(&self.stream, &[segment, heap], UNTAKEN)?,
            Offer::Memory(segment, Err(why)) => send_descriptors(&self.stream, &[segment], why)?,
            Offer::Regret(text) => self.stream.write_all(cut(text))?,
        }
        Ok(Some(u32::from_le_bytes(self.hello[8..].try_into().expect("four bytes"))))
    }
}

/// Asks the server `name` for the segment.
pub(crate) fn ask(name: u64, secret: u64, rank: u32, deadline: Instant) -> Result<Gift> {
    let mut server = connect(name, deadline)?;
    same_user(&server)?;
    let mut hello = [0; HELLO_BYTES];
    hello[..8].copy_from_slice(&secret.to_le_bytes());
    hello[8..].copy_from_slice(&rank.to_le_bytes());
    server.write_all(&hello)?;
    if !wait_readable([server.as_raw_fd()], deadline)? {
        return Err(ErrorKind::TimedOut.into());
    }
    receive(&mut server)
}

/// Connects to the server `name`; if its queue is full, waits for it until the deadline.
pub(crate) fn connect(name: u64, deadline: Instant) -> Result<UnixStream> {
    // SAFETY: makes a descriptor.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours.
    let stream = unsafe { UnixStream::from_raw_fd(fd) };
    // This also bounds the wait of the call below.
    stream.set_write_timeout(Some(left(deadline)?))?;
    let (address, bytes) = raw_address(name);
    loop {
        // SAFETY: the address lives, and has that many bytes.
        if unsafe { libc::connect(fd, (&raw const address).cast(), bytes) } == 0 {
            return Ok(stream);
        }
        let error = Error::last_os_error();
        match error.kind() {
            ErrorKind::Interrupted => {}
            ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            _ => return Err(error),
        }
    }
}

/// The address of [`address`] as the system call takes it.
fn raw_address(name: u64) -> (libc::sockaddr_un, libc::socklen_t) {
    let text = text(name);
    let mut raw = libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
    // An abstract name begins with a zero.
    raw.sun_path.iter_mut().skip(1).zip(text.bytes()).for_each(|(at, byte)| *at = byte as libc::c_char);
    let bytes = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + text.len();
    (raw, bytes as libc::socklen_t)
}

/// Reads the answer: a text, with the descriptors of the segment and of the heap, of the segment
/// alone, or with none.
fn receive(server: &mut UnixStream) -> Result<Gift> {
    let (text, fds) = receive_descriptors(server)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut fds = fds.into_iter();
    match (fds.next(), fds.next()) {
        (Some(segment), heap) => Ok(Gift::Memory(segment, heap.ok_or(text))),
        (None, _) if text.is_empty() => Err(ErrorKind::UnexpectedEof.into()),
        (None, _) => Ok(Gift::Regret(text)),
    }
}

/// The part of a text that a client reads, and a word instead of an empty one.
fn cut(text: &str) -> &[u8] {
    let text = if text.is_empty() { "no reason" } else { text };
    &text.as_bytes()[..text.len().min(TEXT_BYTES_MAX)]
}

fn left(deadline: Instant) -> Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Waits until one of the sockets has something to read; false if the deadline came first.
fn wait_readable(sockets: impl IntoIterator<Item = RawFd>, deadline: Instant) -> Result<bool> {
    let watch = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<libc::pollfd> = sockets.into_iter().map(watch).collect();
    loop {
        let Ok(left) = left(deadline) else { return Ok(false) };
        let limit = left.as_millis().clamp(1, 60_000) as i32;
        // SAFETY: the structures are ours, as many as is said.
        match unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as u64, limit) } {
            0 => {}
            n if n > 0 => return Ok(true),
            _ => {
                let error = Error::last_os_error();
                if error.kind() != ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

/// Checks, by the kernel's word, that the other end is of our user: a stranger gets nothing and
/// gives nothing.
fn same_user(stream: &UnixStream) -> Result<()> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the call fills at most `len` bytes of our structure.
    let rc = unsafe {
        let at = (&raw mut peer).cast();
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, at, &mut len)
    };
    // SAFETY: the call only answers.
    if rc == 0 && peer.uid == unsafe { libc::geteuid() } {
        return Ok(());
    }
    Err(ErrorKind::PermissionDenied.into())
}

/// Room for a few descriptors in a control message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct ControlBytes([u8; 64]);

/// The most descriptors of a message.
const DESCRIPTORS_MAX: usize = 2;

fn send_descriptors(stream: &UnixStream, fds: &[BorrowedFd<'_>], text: &str) -> Result<()> {
    let (text, bytes) = (cut(text), size_of_val(fds) as u32);
    assert!((1..=DESCRIPTORS_MAX).contains(&fds.len()));
    let mut control = ControlBytes([0; 64]);
    let mut part = libc::iovec { iov_base: text.as_ptr() as *mut _, iov_len: text.len() };
    // SAFETY: the structure may be zero; all that it points to lives until the call is over, which
    // only reads the text, and the control area is larger than the descriptors need.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(bytes) as usize;
        let head = libc::CMSG_FIRSTHDR(&message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(bytes) as usize;
        let numbers = libc::CMSG_DATA(head).cast::<libc::c_int>();
        for (at, fd) in fds.iter().enumerate() {
            numbers.add(at).write_unaligned(fd.as_raw_fd());
        }
        libc::sendmsg(stream.as_raw_fd(), &message, libc::MSG_NOSIGNAL)
    };
    match usize::try_from(sent) {
        Ok(sent) if sent == text.len() => Ok(()),
        Ok(_) => Err(ErrorKind::WriteZero.into()),
        Err(_) => Err(Error::last_os_error()),
    }
}

fn receive_descriptors(stream: &UnixStream) -> Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut text = vec![0u8; TEXT_BYTES_MAX];
    let mut control = ControlBytes([0; 64]);
    let mut part = libc::iovec { iov_base: text.as_mut_ptr().cast(), iov_len: text.len() };
    // SAFETY: as in `send_descriptors`; descriptors that arrive are ours alone, and the kernel says
    // how many they are.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len();
        let got = libc::recvmsg(stream.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC);
        if got < 0 {
            return Err(Error::last_os_error());
        }
        text.truncate(got as usize);
        let head = libc::CMSG_FIRSTHDR(&message);
        if head.is_null() || (*head).cmsg_level != libc::SOL_SOCKET || (*head).cmsg_type != libc::SCM_RIGHTS {
            return Ok((text, Vec::new()));
        }
        let count = ((*head).cmsg_len as usize - libc::CMSG_LEN(0) as usize) / size_of::<libc::c_int>();
        let numbers = libc::CMSG_DATA(head).cast::<libc::c_int>();
        let fds = (0..count).map(|at| OwnedFd::from_raw_fd(numbers.add(at).read_unaligned()));
        Ok((text, fds.collect()))
    }
}
