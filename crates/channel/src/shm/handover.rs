//! Hands the segment's descriptor from the rank that made it to the others of its node.
//!
//! Every process listens on an abstract socket of random name from the moment it opens the channel (before the
//! cards travel), so whoever reads the card can connect at once. The lowest rank then serves the rest; the
//! others drop their sockets. Abstract sockets leave no file behind.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// A client's first words: the secret from the server's card and its own rank on the node.
const HELLO_BYTES: usize = 12;
const TEXT_BYTES_MAX: usize = 2000;

/// What the server gives to each client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offer<'a> {
    /// The segment.
    Memory(BorrowedFd<'a>),
    /// There is none, and this is why.
    Regret(&'a str),
}

/// What a client got.
#[derive(Debug)]
pub(crate) enum Gift {
    /// The segment.
    Memory(OwnedFd),
    /// The server's reason for having none.
    Regret(String),
}

fn address(name: u64) -> Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("verbena-{name:016x}"))
}

/// Listens under `name`.
pub(crate) fn listen(name: u64) -> Result<UnixListener> {
    let listener = UnixListener::bind_addr(&address(name)?)?;
    listener.set_nonblocking(true)?;
    // SAFETY: a call on our own socket. A longer queue than the usual 128, so that no rank's connect blocks.
    unsafe { libc::listen(listener.as_raw_fd(), 4096) };
    Ok(listener)
}

/// Serves the ranks 1 to `ranks` - 1 of the node; returns those that did not come by the deadline.
pub(crate) fn serve(
    listener: &UnixListener,
    secret: u64,
    ranks: u32,
    offer: Offer<'_>,
    deadline: Instant,
) -> Result<Vec<u32>> {
    let mut missing: Vec<u32> = (1..ranks).collect();
    while !missing.is_empty() && wait_readable(listener.as_raw_fd(), deadline)? {
        match listener.accept() {
            Ok((mut client, _)) => {
                if let Ok(rank) = serve_one(&mut client, secret, offer, deadline) {
                    missing.retain(|&r| r != rank);
                }
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) if e.raw_os_error() == Some(libc::ECONNABORTED) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(missing)
}

/// An error means that this client was none of ours or went away; the others are served all the same.
fn serve_one(client: &mut UnixStream, secret: u64, offer: Offer<'_>, deadline: Instant) -> Result<u32> {
    same_user(client)?;
    client.set_nonblocking(false)?;
    // Our own clients speak at once; nobody may hold up the others for longer than this.
    client.set_read_timeout(Some(left(deadline)?.min(Duration::from_secs(5))))?;
    let mut hello = [0; HELLO_BYTES];
    client.read_exact(&mut hello)?;
    if hello[..8] != secret.to_le_bytes() {
        return Err(ErrorKind::PermissionDenied.into());
    }
    match offer {
        Offer::Memory(fd) => send_descriptor(client, fd)?,
        Offer::Regret(text) => client.write_all(&text.as_bytes()[..text.len().min(TEXT_BYTES_MAX)])?,
    }
    Ok(u32::from_le_bytes(hello[8..].try_into().unwrap()))
}

/// Asks the server `name` for the segment.
pub(crate) fn ask(name: u64, secret: u64, rank: u32, deadline: Instant) -> Result<Gift> {
    let mut server = UnixStream::connect_addr(&address(name)?)?;
    same_user(&server)?;
    let mut hello = [0; HELLO_BYTES];
    hello[..8].copy_from_slice(&secret.to_le_bytes());
    hello[8..].copy_from_slice(&rank.to_le_bytes());
    server.write_all(&hello)?;
    if !wait_readable(server.as_raw_fd(), deadline)? {
        return Err(ErrorKind::TimedOut.into());
    }
    receive(&mut server)
}

/// Reads the answer: one byte with a descriptor, or a text.
fn receive(server: &mut UnixStream) -> Result<Gift> {
    let (text, fd) = receive_descriptor(server)?;
    match fd {
        Some(fd) => Ok(Gift::Memory(fd)),
        None if text.is_empty() => Err(ErrorKind::UnexpectedEof.into()),
        None => Ok(Gift::Regret(String::from_utf8_lossy(&text).into_owned())),
    }
}

fn left(deadline: Instant) -> Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Waits until the socket has something to read; false if the deadline came first.
fn wait_readable(fd: RawFd, deadline: Instant) -> Result<bool> {
    loop {
        let Ok(left) = left(deadline) else { return Ok(false) };
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure of ours.
        match unsafe { libc::poll(&mut poll, 1, left.as_millis().clamp(1, 60_000) as i32) } {
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

/// The kernel vouches for the other end's user; a stranger gets nothing and gives nothing.
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

/// Room for one descriptor in a control message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct ControlBytes([u8; 64]);

fn send_descriptor(stream: &UnixStream, fd: BorrowedFd<'_>) -> Result<()> {
    let mut byte = [1u8];
    let mut control = ControlBytes([0; 64]);
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: the structure may be zero; all that it points to lives until the call is over, and the control
    // area is larger than one descriptor needs.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as usize;
        let head = libc::CMSG_FIRSTHDR(&message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(4) as usize;
        libc::CMSG_DATA(head).cast::<libc::c_int>().write_unaligned(fd.as_raw_fd());
        libc::sendmsg(stream.as_raw_fd(), &message, libc::MSG_NOSIGNAL)
    };
    if sent == 1 { Ok(()) } else { Err(Error::last_os_error()) }
}

fn receive_descriptor(stream: &UnixStream) -> Result<(Vec<u8>, Option<OwnedFd>)> {
    let mut text = vec![0u8; TEXT_BYTES_MAX];
    let mut control = ControlBytes([0; 64]);
    let mut part = libc::iovec { iov_base: text.as_mut_ptr().cast(), iov_len: text.len() };
    // SAFETY: as in `send_descriptor`; a descriptor that arrives is ours alone.
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
        let fd = (!head.is_null()
            && (*head).cmsg_level == libc::SOL_SOCKET
            && (*head).cmsg_type == libc::SCM_RIGHTS)
            .then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(head).cast::<libc::c_int>().read_unaligned()));
        Ok((text, fd))
    }
}
