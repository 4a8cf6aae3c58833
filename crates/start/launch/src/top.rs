//! The socket on which `mpiexec` tells `verbena top` what its ranks do. It has no name in the file
//! system, and only the user's own processes get an answer.

use crate::sys;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;
use verbena_hang::top::{Answer, socket_name};

/// The most that may ask at once.
const ASKING_MAX: usize = 8;
/// The time that one who asks has to take the answer.
const TAKE_TIME_MAX: Duration = Duration::from_millis(500);

/// The socket, and those who wait for an answer.
#[derive(Debug, Default)]
pub struct TopSocket {
    listener: Option<UnixListener>,
    asking: Vec<UnixStream>,
}

impl TopSocket {
    /// Opens the socket of this process. Without one nobody is answered.
    pub fn open() -> TopSocket {
        let name = socket_name(sys::user_id(), std::process::id());
        let listen = || -> io::Result<UnixListener> {
            let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        TopSocket { listener: listen().ok(), asking: Vec::new() }
    }

    /// The descriptor, to be polled for those who come.
    pub fn fd(&self) -> Option<RawFd> {
        self.listener.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Lets in who has come; returns whether somebody waits for an answer.
    pub fn accept(&mut self) -> bool {
        while let Some((stream, _)) = self.listener.as_ref().and_then(|listener| listener.accept().ok()) {
            let is_own = sys::peer_user(stream.as_raw_fd()) == Some(sys::user_id());
            if is_own && self.asking.len() < ASKING_MAX {
                self.asking.push(stream);
            }
        }
        !self.asking.is_empty()
    }

    /// Answers all who wait.
    pub fn answer(&mut self, answer: &Answer) {
        let bytes = answer.encode();
        let length = (bytes.len() as u64).to_le_bytes();
        for mut stream in std::mem::take(&mut self.asking) {
            let send = |stream: &mut UnixStream| -> io::Result<()> {
                stream.set_nonblocking(false)?;
                stream.set_write_timeout(Some(TAKE_TIME_MAX))?;
                stream.write_all(&length)?;
                stream.write_all(&bytes)
            };
            // Who went away, or does not read, needs no answer.
            let _ = send(&mut stream);
        }
    }
}
