//! Sockets that other libraries open in this process, and that the programs which it starts would
//! inherit: a daemon would keep the port.

use std::io;
use std::os::fd::RawFd;

/// The part of a socket's address, as the system writes it, by which two are the same: family, port
/// and address of the internet; `None` for other families.
fn place(address: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let family = u16::from_ne_bytes(*address.first_chunk()?);
    let own = match i32::from(family) {
        libc::AF_INET => address.get(4..8)?,
        libc::AF_INET6 => address.get(8..24)?,
        _ => return None,
    };
    Some((family, address.get(2..4)?, own))
}

/// Lets no program that this process starts inherit the sockets that listen at this address of the
/// internet. Returns how many there are.
///
/// # Errors
/// The system does not list the sockets, or one of them stays as it is.
pub fn end_at_exec(address: &[u8]) -> io::Result<usize> {
    let Some(place_of_it) = place(address) else { return Ok(0) };
    let entries = std::fs::read_dir("/proc/self/fd")?;
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    // All names first: the list itself has a number, which is closed at its end.
    let numbers: Vec<RawFd> = numbers.collect();
    let is_it = |number: &RawFd| listens_at(*number).is_some_and(|at| place(&at) == Some(place_of_it));
    let found: Vec<RawFd> = numbers.into_iter().filter(is_it).collect();
    // All of them, also behind one that fails.
    let outcomes: Vec<io::Result<()>> = found.iter().map(|number| close_at_exec(*number)).collect();
    outcomes.into_iter().collect::<io::Result<()>>().map(|()| found.len())
}

/// The address at which a descriptor listens; `None` if it does not.
fn listens_at(number: RawFd) -> Option<Vec<u8>> {
    let (mut listens, mut bytes) = (0_i32, size_of::<i32>() as libc::socklen_t);
    let value = (&raw mut listens).cast();
    // SAFETY: the call writes at most as many bytes as the number has; another descriptor than a
    // socket's is an error.
    let asked =
        unsafe { libc::getsockopt(number, libc::SOL_SOCKET, libc::SO_ACCEPTCONN, value, &raw mut bytes) };
    if asked != 0 || listens == 0 {
        return None;
    }
    let mut address = [0_u8; size_of::<libc::sockaddr_storage>()];
    let mut bytes = address.len() as libc::socklen_t;
    // SAFETY: the call writes at most as many bytes as there are; it needs no alignment.
    let asked = unsafe { libc::getsockname(number, address.as_mut_ptr().cast(), &raw mut bytes) };
    (asked == 0).then(|| address[..address.len().min(bytes as usize)].to_vec())
}

fn close_at_exec(number: RawFd) -> io::Result<()> {
    // SAFETY: a call on a number, which changes no memory.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    // SAFETY: as above.
    if flags < 0 || unsafe { libc::fcntl(number, libc::F_SETFD, flags | libc::FD_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};
    use std::os::fd::AsRawFd;

    /// An address as the system writes it.
    fn written(address: SocketAddr) -> Vec<u8> {
        let SocketAddr::V4(address) = address else { panic!("of version 4") };
        let family = (libc::AF_INET as u16).to_ne_bytes();
        [&family[..], &address.port().to_be_bytes(), &address.ip().octets(), &[0; 8]].concat()
    }

    #[test]
    fn a_listening_socket_is_found_by_its_address() {
        let sockets = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
        let flags = |socket: &TcpListener| {
            // SAFETY: a call on a descriptor of this test's.
            unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_GETFD) }
        };
        for socket in &sockets {
            // SAFETY: as above.
            assert_eq!(unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_SETFD, 0) }, 0);
        }
        let address = written(sockets[0].local_addr().expect("bound"));
        assert_eq!(end_at_exec(&address).expect("listed"), 1);
        assert_eq!(sockets.each_ref().map(flags), [libc::FD_CLOEXEC, 0]);
        assert_eq!(end_at_exec(b"/some/other/address").expect("none"), 0);
        assert_eq!(end_at_exec(&[]).expect("none"), 0);
        let gone = close_at_exec(-1).expect_err("no descriptor");
        assert_eq!(gone.raw_os_error(), Some(libc::EBADF));
    }
}
