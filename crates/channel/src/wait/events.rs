//! Sleeping on descriptors: what becomes readable when a device has something, and a socket that other processes ring.
//!
//! A futex and descriptors cannot be waited for together. So a process that sleeps on descriptors puts the name of a datagram socket
//! beside the word of its bell, and whoever rings sends it a byte. The name is abstract, as that of the socket by which the
//! segment was handed over (`shm/handover.rs`): the ranks of a node share its name space already, and no rank needs
//! descriptors of the others.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Result;
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::OnceLock;
use std::time::Duration;

/// What a process sleeps on.
#[derive(Debug)]
pub(crate) struct Events {
    socket: UnixDatagram,
    name: u64,
    descriptors: Vec<RawFd>,
}

fn address(name: u64) -> Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("verbena-bell-{name:016x}"))
}

impl Events {
    /// Descriptors, which must stay open as long as this, and a socket for the bell.
    ///
    /// # Errors
    /// The process has no descriptor left, or the sandbox allows no socket.
    pub(crate) fn new(descriptors: Vec<RawFd>) -> Result<Events> {
        // Nobody foresees it, and 0 stands for none.
        let name = RandomState::new().build_hasher().finish() | 1;
        let socket = UnixDatagram::bind_addr(&address(name)?)?;
        socket.set_nonblocking(true)?;
        Ok(Events { socket, name, descriptors })
    }

    /// The name by which [`ring`] finds it; not 0.
    pub(crate) fn name(&self) -> u64 {
        self.name
    }

    /// Sleeps until something is readable, or `limit` is over, or a signal arrives. False if the limit came first.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        let watch = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let all = self.descriptors.iter().copied().chain([self.socket.as_raw_fd()]);
        let mut polled: Vec<libc::pollfd> = all.map(watch).collect();
        let limit =
            libc::timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
        // SAFETY: array and time live for the call; no signal mask is given.
        let ready =
            unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as u64, &limit, std::ptr::null()) };
        ready != 0
    }

    /// Forgets the rings that came. Only when no thread of the process sleeps here, or is about to.
    pub(crate) fn drain(&self) {
        let mut byte = [0];
        while self.socket.recv(&mut byte).is_ok() {}
    }
}

/// Wakes the process that sleeps under this name. It may have gone, and if its socket is full it is being woken already. Without a socket
/// of our own nobody is rung, and the other sleeps to its limit.
#[cold]
pub(crate) fn ring(name: u64) {
    static RINGER: OnceLock<Option<UnixDatagram>> = OnceLock::new();
    let open = || {
        let socket = UnixDatagram::unbound().ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(socket)
    };
    if let (Some(socket), Ok(address)) = (RINGER.get_or_init(open), address(name)) {
        let _ = socket.send_to_addr(&[1], &address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_ring_and_a_descriptor_end_the_sleep() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let events = Events::new(vec![reader.as_raw_fd()]).expect("a socket");
        ring(events.name());
        assert!(events.wait(LONG));
        // Whoever comes later is woken too, until the rings are forgotten.
        assert!(events.wait(LONG));
        events.drain();
        assert!(!events.wait(Duration::from_millis(5)));
        writer.write_all(&[1]).expect("room");
        assert!(events.wait(LONG));
    }

    #[test]
    fn a_ring_wakes_a_sleeper() {
        let events = Events::new(Vec::new()).expect("a socket");
        let start = Instant::now();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| events.wait(LONG));
            std::thread::sleep(Duration::from_millis(20));
            ring(events.name());
            assert!(sleeper.join().expect("the sleeper"));
        });
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn to_ring_who_has_gone_does_nothing() {
        let name = Events::new(Vec::new()).expect("a socket").name();
        (0..100).for_each(|_| ring(name));
    }
}
