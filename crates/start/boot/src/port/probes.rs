//! Probes of a silent connection (TCP keepalive): a host that is gone is noticed, however long the
//! other side may be silent.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The options of a socket and their values: a first probe after 30 s of silence, then one every
/// 10 s; after 6 without an answer the connection is lost. The last one turns the probes on.
const OPTIONS: [(libc::c_int, libc::c_int, libc::c_int); 4] = [
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 30),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 10),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 6),
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
];

/// Turns the probes of a socket on. A socket within one host has none, and needs none.
pub(super) fn turn_on(socket: BorrowedFd<'_>) {
    OPTIONS.iter().for_each(|&(level, option, value)| set(socket, level, option, value));
}

/// Probes of a socket of the program's, which gets its options back when this goes.
#[derive(Debug)]
pub(super) struct Lent {
    socket: OwnedFd,
    before: Vec<Option<libc::c_int>>,
}

impl Lent {
    /// Turns the probes of a socket on.
    ///
    /// # Errors
    /// No descriptor is left.
    pub(super) fn new(socket: BorrowedFd<'_>) -> io::Result<Lent> {
        let before = OPTIONS.iter().map(|&(level, option, _)| get(socket, level, option)).collect();
        let lent = Lent { socket: socket.try_clone_to_owned()?, before };
        turn_on(socket);
        Ok(lent)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        for (&(level, option, _), before) in OPTIONS.iter().zip(&self.before).rev() {
            if let Some(value) = *before {
                set(self.socket.as_fd(), level, option, value);
            }
        }
    }
}

/// The value of an option; `None` if this sort of socket does not have it.
fn get(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int) -> Option<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    let at = (&raw mut value).cast();
    // SAFETY: the call writes at most `length` bytes to our integer.
    let rc = unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, at, &raw mut length) };
    (rc == 0).then_some(value)
}

fn set(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int, value: libc::c_int) {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: pointer and length are those of our integer.
    unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::stream::Stream;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    fn options(socket: &impl AsFd) -> Vec<Option<libc::c_int>> {
        OPTIONS.iter().map(|&(level, option, _)| get(socket.as_fd(), level, option)).collect()
    }

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        let far = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        (listener.accept().expect("connected").0, far)
    }

    #[test]
    fn a_stream_of_the_library_is_probed() {
        let (ours, _theirs) = pair();
        let socket = Stream::new(ours.into()).into_socket();
        assert_eq!(options(&socket), [Some(30), Some(10), Some(6), Some(1)]);
    }

    #[test]
    fn a_socket_of_the_program_is_probed_while_it_is_lent() {
        let (ours, _theirs) = pair();
        set(ours.as_fd(), libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 77);
        let before = options(&ours);
        assert_eq!((before[0], before[3]), (Some(77), Some(0)));
        let stream = Stream::borrow(ours.as_raw_fd()).expect("a connected socket");
        assert_eq!(options(&ours), [Some(30), Some(10), Some(6), Some(1)]);
        drop(stream);
        assert_eq!(options(&ours), before);
        let (ours, _theirs) = UnixStream::pair().expect("sockets");
        let before = options(&ours);
        drop(Stream::borrow(ours.as_raw_fd()).expect("a connected socket"));
        assert_eq!(options(&ours), before);
    }
}
