//! Ports (MPI-5.0, 11.9.1): by an address and a cookie, programs that were started apart find each
//! other without a server between them.
//!
//! | module | job | I/O |
//! | --- | --- | --- |
//! | [`name`] | the port's name as text: addresses, number, cookie | no |
//! | [`stream`] | a connected socket: whole messages both ways | yes |
//! | [`probes`] | the loss of the host at its other end | yes |
//! | [`range`] | the ports that may be opened (`MPIEXEC_PORT_RANGE`) | yes |
//! | [`interfaces`] | the addresses of this host | yes |
//!
//! The process that accepts listens ([`Port`]); the other one [`connect`]s and says the cookie.
//! Who does not know it within a time is dropped, and holds up nobody meanwhile.

mod interfaces;
pub mod name;
mod probes;
pub mod range;
pub mod stream;

use name::{COOKIE_BYTES, PortName};
use range::PortRange;
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};
use stream::Stream;
use verbena_fault::Fault;

/// The first bytes of the process that connects; the cookie follows.
const HELLO: &[u8; 8] = b"verbena1";
/// The answer of the process that accepts.
const WELCOME: &[u8; 8] = b"welcome1";
const HELLO_BYTES: usize = HELLO.len() + COOKIE_BYTES;

/// The time in which a process that connects must say the cookie.
const HELLO_TIME_MAX: Duration = Duration::from_secs(10);
/// The most processes that are connected and have not been accepted; more push out the oldest.
const CALLERS_MAX: usize = 256;
/// The time between two looks whether a process that connects still wants to.
const WANTED_EVERY: Duration = Duration::from_millis(20);
/// The time for which one address of a port is tried.
const ADDRESS_TIME_MAX: Duration = Duration::from_secs(5);

/// The reason why a port does not work.
#[derive(Debug)]
pub enum PortError {
    /// There is no such port, it was closed, or nobody accepts there (`MPI_ERR_PORT`).
    NoPort(Fault),
    /// Something else (`MPI_ERR_OTHER`).
    Other(Fault),
}

impl PortError {
    /// The message, whatever the reason.
    pub fn fault(self) -> Fault {
        match self {
            PortError::NoPort(fault) | PortError::Other(fault) => fault,
        }
    }
}

/// A process that has connected.
#[derive(Debug)]
struct Caller {
    socket: TcpStream,
    hello: [u8; HELLO_BYTES],
    heard: usize,
    until: Instant,
}

/// A port that is open in this process.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    name: PortName,
    callers: Vec<Caller>,
}

impl Port {
    /// Opens a port of this range with this cookie, which nobody must be able to guess. `network`
    /// is the number that processes which see the same interfaces have in common.
    ///
    /// # Errors
    /// No port of the range is free, or no socket can be had.
    pub fn open(cookie: [u8; COOKIE_BYTES], network: u64, range: PortRange) -> Result<Port, PortError> {
        let open = || {
            let listener = range.listen()?;
            listener.set_nonblocking(true)?;
            let number = listener.local_addr()?.port();
            Ok((listener, number))
        };
        let (listener, number) =
            open().map_err(|error: io::Error| PortError::Other(no_socket(&error, range)))?;
        let name = PortName { network, addresses: interfaces::addresses(), number, cookie };
        Ok(Port { listener, name, callers: Vec::new() })
    }

    /// The name, by which another process connects.
    pub fn name(&self) -> String {
        self.name.to_string()
    }

    /// Waits for a process that says the cookie, for no longer than `limit`; `None` if none did.
    ///
    /// # Errors
    /// The program has closed the socket, or no descriptor is left.
    pub fn accept(&mut self, limit: Duration) -> Result<Option<Stream>, PortError> {
        let until = Instant::now() + limit;
        loop {
            self.take_callers().map_err(|error| PortError::Other(no_caller(&error)))?;
            if let Some(socket) = self.known_caller() {
                return Ok(Some(Stream::new(socket)));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let sockets = self.callers.iter().map(|caller| caller.socket.as_raw_fd());
            stream::wait_readable(sockets.chain([self.listener.as_raw_fd()]), left);
        }
    }

    fn take_callers(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((socket, _)) => {
                    if socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true)).is_err() {
                        continue;
                    }
                    if self.callers.len() == CALLERS_MAX {
                        self.callers.remove(0);
                    }
                    let until = Instant::now() + HELLO_TIME_MAX;
                    self.callers.push(Caller { socket, hello: [0; HELLO_BYTES], heard: 0, until });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Hears all callers; takes out the first that knows the cookie, and drops those that say
    /// something else, or nothing for too long.
    fn known_caller(&mut self) -> Option<OwnedFd> {
        let right = [&HELLO[..], &self.name.cookie].concat();
        let mut at = 0;
        while at < self.callers.len() {
            let caller = &mut self.callers[at];
            match caller.hear() {
                Ok(true) if same(&caller.hello, &right) => {
                    let socket = OwnedFd::from(self.callers.remove(at).socket);
                    let mut stream = Stream::new(socket);
                    // One that did not want to wait any longer is not met.
                    if !stream.has_gone() && stream.send(WELCOME, HELLO_TIME_MAX).is_ok() {
                        return Some(stream.into_socket());
                    }
                }
                Ok(false) if Instant::now() < caller.until => at += 1,
                _ => drop(self.callers.remove(at)),
            }
        }
        None
    }
}

impl Caller {
    /// Reads what has come; returns whether that is all.
    fn hear(&mut self) -> io::Result<bool> {
        while self.heard < HELLO_BYTES {
            match self.socket.read(&mut self.hello[self.heard..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.heard += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Compares without telling by the time how much is right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (x, y)| difference | (x ^ y)) == 0
}

fn is_passing(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Interrupted || error.raw_os_error() == Some(libc::ECONNABORTED)
}

/// Connects to the port of this name, and waits until its process accepts, for no longer than
/// `limit`, and while `is_wanted` says so. `network` is the number of this process's interfaces.
///
/// # Errors
/// The name is none of ours, the port is closed, or nobody accepts in time.
pub fn connect(
    name: &str,
    network: u64,
    limit: Duration,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Stream, PortError> {
    let port = PortName::parse(name).map_err(|why| PortError::NoPort(no_name(name, &why)))?;
    let until = Instant::now() + limit;
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    let here = (port.network == network).then_some(Ipv4Addr::LOCALHOST);
    for address in here.into_iter().chain(port.addresses.iter().copied()) {
        let address = SocketAddr::new(IpAddr::V4(address), port.number);
        let left = until.saturating_duration_since(Instant::now()).min(ADDRESS_TIME_MAX);
        let connected = TcpStream::connect_timeout(&address, left.max(Duration::from_millis(1)));
        match connected.and_then(|socket| socket.set_nodelay(true).map(|()| socket)) {
            Ok(socket) => match say_hello(socket, &port, until, is_wanted) {
                Ok(stream) => return Ok(stream),
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    return Err(PortError::NoPort(not_accepted(name, limit)));
                }
                Err(error) => last = error,
            },
            Err(error) => last = error,
        }
    }
    Err(PortError::NoPort(no_answer(name, &last)))
}

fn say_hello(
    socket: TcpStream,
    port: &PortName,
    until: Instant,
    is_wanted: &dyn Fn() -> bool,
) -> io::Result<Stream> {
    let mut stream = Stream::new(OwnedFd::from(socket));
    let left = || until.saturating_duration_since(Instant::now());
    stream.send(&[&HELLO[..], &port.cookie].concat(), left())?;
    while !stream.wait_readable(left().min(WANTED_EVERY)) {
        if !is_wanted() || left().is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
    }
    let answer = stream.receive(WELCOME.len(), left())?;
    if answer == WELCOME { Ok(stream) } else { Err(ErrorKind::InvalidData.into()) }
}

fn no_socket(error: &io::Error, range: PortRange) -> Fault {
    if range != PortRange::ANY {
        let PortRange { low, high } = range;
        return Fault::new(
            "no port could be opened",
            format!("TCP ports {low} to {high} of process {}: {error}", std::process::id()),
            format!("{} allows these only, and none of them is free", range::VARIABLE),
            "give a wider range, or unset it",
        );
    }
    Fault::new(
        "no port could be opened",
        format!("a TCP socket of process {}: {error}", std::process::id()),
        "no descriptor is left (ulimit -n), or a sandbox forbids sockets",
        "raise the limit, or allow TCP sockets",
    )
}

fn no_caller(error: &io::Error) -> Fault {
    Fault::new(
        "no connection could be taken from a port",
        format!("the socket of a port of process {}: {error}", std::process::id()),
        "no descriptor is left (ulimit -n), or the program closed descriptors of the library",
        "raise the limit; close only descriptors that the program opened",
    )
}

fn no_name(name: &str, why: &str) -> Fault {
    Fault::new(
        "the name of the port is none that MPI_Open_port gives",
        format!("\"{}\": {why}", crate::wire::shorten(name)),
        "the name was cut short or changed on its way, or comes from another MPI library",
        "pass the whole string that MPI_Open_port or MPI_Lookup_name returned",
    )
}

fn no_answer(name: &str, error: &io::Error) -> Fault {
    let what = match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::InvalidData => {
            "the port refused this process"
        }
        _ => "the port cannot be reached",
    };
    Fault::new(
        what,
        format!("{}: {error}", crate::wire::shorten(name)),
        "the port was closed, its process has ended, or a firewall lies between the hosts",
        "open the port before the other program connects, and keep it open until then",
    )
}

fn not_accepted(name: &str, limit: Duration) -> Fault {
    Fault::new(
        format!("nobody accepted the connection within {} s", limit.as_secs_f32()),
        crate::wire::shorten(name),
        "the process that opened the port has not called MPI_Comm_accept",
        "let it accept, or give more time by the info key timeout, in seconds",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: u64 = 7;
    const LONG: Duration = Duration::from_secs(30);

    fn port() -> Port {
        Port::open([5; COOKIE_BYTES], NETWORK, PortRange::ANY).expect("a port")
    }

    fn reach(name: &str, limit: Duration) -> Result<Stream, PortError> {
        connect(name, NETWORK, limit, &|| true)
    }

    fn swap(stream: &mut Stream, mine: &[u8]) -> Vec<u8> {
        let swapped = stream.swap(mine).expect("not too long").advance(LONG);
        swapped.expect("swapped").expect("the other side is there")
    }

    #[test]
    fn two_processes_meet_and_swap_messages() {
        let mut port = port();
        let name = port.name();
        assert!(name.len() < 256, "{name}");
        let other = std::thread::spawn(move || {
            let mut stream = reach(&name, LONG).expect("connected");
            swap(&mut stream, &vec![1; 3 << 20])
        });
        let mut stream = port.accept(LONG).expect("a port").expect("a caller");
        assert_eq!(swap(&mut stream, b"short"), vec![1; 3 << 20]);
        assert_eq!(other.join().unwrap(), b"short");
    }

    #[test]
    fn a_wrong_cookie_is_refused_and_holds_up_nobody() {
        let mut port = port();
        let right = port.name();
        let wrong = PortName { cookie: [6; COOKIE_BYTES], ..PortName::parse(&right).unwrap() }.to_string();
        let silent = TcpStream::connect((Ipv4Addr::LOCALHOST, port.name.number)).expect("a socket");
        let stranger = std::thread::spawn(move || reach(&wrong, LONG));
        let friend = std::thread::spawn(move || reach(&right, LONG));
        let start = Instant::now();
        assert!(port.accept(LONG).expect("a port").is_some());
        assert!(friend.join().unwrap().is_ok());
        while !stranger.is_finished() {
            assert!(port.accept(Duration::from_millis(10)).expect("a port").is_none());
        }
        assert!(matches!(stranger.join().unwrap(), Err(PortError::NoPort(_))));
        assert!(start.elapsed() < HELLO_TIME_MAX, "bounded");
        drop(silent);
    }

    #[test]
    fn a_port_without_accept_and_a_closed_one_are_told_apart() {
        let port = port();
        let name = port.name();
        let early = reach(&name, Duration::from_millis(50));
        let Err(PortError::NoPort(early)) = early else { panic!("{early:?}") };
        assert!(early.to_string().contains("nobody accepted"), "{early}");
        drop(port);
        let Err(PortError::NoPort(closed)) = reach(&name, LONG) else { panic!("connected") };
        assert!(closed.to_string().contains("cannot be reached"), "{closed}");
        for name in ["", "verbena1", "tag#0$description#host", &"x".repeat(5000)] {
            assert!(matches!(reach(name, LONG), Err(PortError::NoPort(_))), "{name}");
        }
    }

    #[test]
    fn one_that_has_stopped_waiting_is_not_met() {
        let mut port = port();
        let (early, late) = (port.name(), port.name());
        let start = Instant::now();
        let unwanted = connect(&early, NETWORK, LONG, &|| start.elapsed() < Duration::from_millis(50));
        assert!(matches!(unwanted, Err(PortError::NoPort(_))) && start.elapsed() < LONG);
        assert!(reach(&early, Duration::from_millis(50)).is_err());
        let other = std::thread::spawn(move || swap(&mut reach(&late, LONG).expect("connected"), b"late"));
        let mut stream = port.accept(LONG).expect("a port").expect("a caller");
        assert_eq!(swap(&mut stream, b"here"), b"late");
        assert_eq!(other.join().unwrap(), b"here");
    }
}
