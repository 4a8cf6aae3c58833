//! Sleep on descriptors: those of devices, and a socket that other processes ring.
//!
//! A futex and descriptors cannot be waited for together. So a process that sleeps on descriptors
//! puts the name of a datagram socket beside the word of its bell, and a process that rings sends
//! to it. The name is abstract, like that of the socket by which the segment was handed over
//! (`shm/handover.rs`): the ranks of a node share its name space already, and no rank needs
//! descriptors of the others.
//!
//! Every user of the machine sees such a name, and anybody may send there. So beside the name
//! stands a secret, which only ranks of the node can read, and the kernel lets nothing else into
//! the socket (a filter): strangers wake nobody.
//!
//! The program may close the descriptors of its process. So a socket is checked to be ours before
//! anything is read from it or sent by it, and replaced if it is not. The devices' descriptors are
//! only waited for.

use super::bell::Bell;
use super::{NAP, socket::address};
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;
use verbena_fault::Fault;
use verbena_machine::kept::Kept;
use verbena_machine::random;

/// The number of rings that are forgotten at a time. Each rank of a node sends one for a sleep.
const RINGS_MAX: usize = 64;

/// The descriptors that a process sleeps on.
#[derive(Debug)]
pub(crate) struct Events {
    descriptors: Vec<RawFd>,
    /// `None` if the program closed it and no other could be opened: then the bell's word is slept
    /// on.
    door: Mutex<Option<Door>>,
}

/// The socket that is rung.
#[derive(Debug)]
struct Door {
    socket: Kept<UnixDatagram>,
    name: u64,
    secret: u64,
}

impl Door {
    fn open() -> Result<Door> {
        // 0 stands for none.
        let (name, secret) = (random::word()? | 1, random::word()?);
        let socket = UnixDatagram::bind_addr(&address(name)?)?;
        admit_only(&socket, secret)?;
        socket.set_nonblocking(true)?;
        Ok(Door { socket: Kept::new(socket)?, name, secret })
    }
}

/// Makes the kernel drop all that comes to the socket but these eight bytes.
fn admit_only(socket: &UnixDatagram, secret: u64) -> Result<()> {
    let op = |code: u32, jf, k| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let is = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let word = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let answer = libc::BPF_RET | libc::BPF_K;
    let mut filter = [
        op(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0, 0),
        op(is, 5, 8),
        op(word, 0, 0),
        op(is, 3, (secret >> 32) as u32),
        op(word, 0, 4),
        op(is, 1, secret as u32),
        op(answer, 0, u32::MAX),
        op(answer, 0, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    let bytes = size_of::<libc::sock_fprog>() as libc::socklen_t;
    // SAFETY: the kernel reads the program, which lives, and keeps a copy.
    let rc = unsafe {
        let at = (&raw const program).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, at, bytes)
    };
    if rc == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

impl Events {
    /// Opens a socket for the bell, which is told of it, beside descriptors that must stay open as
    /// long as this.
    ///
    /// # Errors
    /// The process has no descriptor left, or the sandbox allows no socket.
    pub(crate) fn new(descriptors: Vec<RawFd>, bell: &Bell) -> Result<Events> {
        let door = Door::open()?;
        bell.sleep_on(door.name, door.secret);
        Ok(Events { descriptors, door: Mutex::new(Some(door)) })
    }

    /// The name and the secret of the socket, if there is one.
    pub(crate) fn socket(&self) -> Option<(u64, u64)> {
        self.door().as_ref().map(|door| (door.name, door.secret))
    }

    fn door(&self) -> MutexGuard<'_, Option<Door>> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces a socket that the program closed, and tells the bell: before its word is raised.
    pub(crate) fn prepare(&self, bell: &Bell) {
        let mut door = self.door();
        if door.as_ref().is_some_and(|door| door.socket.get().is_some()) {
            return;
        }
        *door = Door::open().ok();
        match &*door {
            Some(door) => bell.sleep_on(door.name, door.secret),
            None => bell.sleep_on(0, 0),
        }
    }

    /// Sleeps until something is readable, or `limit` is over, or a signal arrives. False if the
    /// limit came first.
    pub(crate) fn wait(&self, bell: &Bell, limit: Duration) -> bool {
        let socket = self.door().as_ref().and_then(|door| Some(door.socket.get()?.as_raw_fd()));
        let Some(socket) = socket else { return bell.wait(limit.min(NAP)) };
        let watch = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut polled: Vec<libc::pollfd> =
            self.descriptors.iter().copied().chain([socket]).map(watch).collect();
        let time =
            libc::timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
        // SAFETY: array and time live for the call; no signal mask is given.
        let ready = unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as u64, &time, std::ptr::null()) };
        if polled.iter().any(|polled| polled.revents & libc::POLLNVAL != 0) {
            warn_of_closed();
            std::thread::sleep(limit.min(NAP));
        }
        ready != 0
    }

    /// Forgets the rings that came. Only when no thread of the process sleeps here, or is about to.
    pub(crate) fn drain(&self) {
        let door = self.door();
        let Some(socket) = door.as_ref().and_then(|door| door.socket.get()) else { return };
        let mut secret = [0; 8];
        (0..RINGS_MAX).take_while(|_| socket.recv(&mut secret).is_ok()).for_each(drop);
    }
}

/// Warns once that descriptors are gone which nothing can replace.
#[cold]
fn warn_of_closed() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let fault = Fault::new(
            "warning: descriptors of a network device are closed, so this process naps where it could sleep",
            format!("process {}", std::process::id()),
            "the program closed descriptors of the library (closefrom, a daemon's start)",
            "close only descriptors that the program opened, or do so before MPI_Init",
        );
        verbena_fault::complain(format!("verbena: {fault}"));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::Instant;
    use verbena_testing::files::take_over;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(5);

    /// Raises the word as its owner does before it sleeps, then rings as a sender does.
    fn ring(bell: &Bell) {
        bell.raise_locally();
        bell.ring();
    }

    fn events(descriptors: Vec<RawFd>) -> (Bell, Events) {
        let bell = Bell::default();
        let events = Events::new(descriptors, &bell).expect("a socket");
        (bell, events)
    }

    #[test]
    fn a_ring_and_a_descriptor_end_the_sleep() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let (bell, events) = events(vec![reader.as_raw_fd()]);
        ring(&bell);
        assert!(events.wait(&bell, LONG));
        // Later threads are woken too, until the rings are forgotten.
        assert!(events.wait(&bell, LONG));
        events.drain();
        assert!(!events.wait(&bell, SHORT));
        writer.write_all(&[1]).expect("room");
        assert!(events.wait(&bell, LONG));
    }

    #[test]
    fn a_ring_wakes_a_sleeper() {
        let (bell, events) = events(Vec::new());
        let start = Instant::now();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| events.wait(&bell, LONG));
            std::thread::sleep(Duration::from_millis(20));
            ring(&bell);
            assert!(sleeper.join().expect("the sleeper"));
        });
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn to_ring_who_has_gone_does_nothing() {
        let (bell, _) = events(Vec::new());
        (0..100).for_each(|_| ring(&bell));
    }

    /// A stranger knows the name, which every user sees, but not the secret.
    #[test]
    fn strangers_wake_nobody_and_fill_nothing() {
        let (bell, events) = events(Vec::new());
        let (name, secret) = events.door().as_ref().map(|door| (door.name, door.secret)).expect("open");
        let stranger = UnixDatagram::unbound().expect("a socket");
        stranger.set_nonblocking(true).expect("a socket");
        let right = secret.to_be_bytes();
        for wrong in [&[][..], &[1], &right[..7], &[0; 8], &[right, right].concat()] {
            for _ in 0..1000 {
                stranger.send_to_addr(wrong, &address(name).expect("a name")).expect("it is dropped");
            }
        }
        assert!(!events.wait(&bell, SHORT));
        ring(&bell);
        assert!(events.wait(&bell, LONG));
    }

    /// The program closes the socket and opens one of its own under the number.
    #[test]
    fn a_socket_that_is_gone_is_replaced_and_another_one_not_read() {
        let (bell, events) = events(Vec::new());
        let number = events.wait_number();
        let (theirs, sender) = UnixDatagram::pair().expect("sockets");
        take_over(number, &theirs);
        sender.send(&[7; 8]).expect("room");
        events.drain();
        events.prepare(&bell);
        ring(&bell);
        assert!(events.wait(&bell, LONG));
        events.drain();
        assert!(!events.wait(&bell, SHORT));
        theirs.set_nonblocking(true).expect("a socket");
        assert_eq!(theirs.recv(&mut [0; 8]).expect("it is still there"), 8);
        // SAFETY: a call on a number; the socket there is this test's.
        assert_eq!(unsafe { libc::close(number) }, 0, "it was left open");
    }

    impl Events {
        fn wait_number(&self) -> RawFd {
            self.door().as_ref().and_then(|door| door.socket.get()).expect("open").as_raw_fd()
        }
    }

    #[test]
    fn a_device_that_is_closed_makes_naps() {
        let (bell, events) = events(vec![i32::MAX]);
        let start = Instant::now();
        (0..10).for_each(|_| assert!(events.wait(&bell, LONG)));
        assert!(start.elapsed() >= 10 * NAP);
    }
}
