//! A terminal as rank 0's standard input. Rank 0 cannot read it itself: it is in another process group than
//! the one in the terminal's foreground. Any other standard input is simply inherited by rank 0.

use crate::sys;
use std::os::fd::{AsRawFd, RawFd};
use std::process::ChildStdin;

/// The terminal's descriptor: standard input.
const TERMINAL: RawFd = 0;

/// Forwards what is typed.
#[derive(Debug)]
pub struct Keyboard {
    pipe: Option<ChildStdin>,
    typed: Vec<u8>,
}

impl Keyboard {
    /// Forwards to this pipe; to nobody if there is none.
    pub fn new(pipe: Option<ChildStdin>) -> Keyboard {
        if let Some(pipe) = &pipe {
            sys::set_nonblocking(pipe.as_raw_fd());
        }
        Keyboard { pipe, typed: Vec::new() }
    }

    /// The terminal, when something may be read from it now.
    pub fn readable(&self) -> Option<RawFd> {
        let ready = self.pipe.is_some() && self.typed.is_empty() && sys::is_foreground(TERMINAL);
        ready.then_some(TERMINAL)
    }

    /// The pipe, when something waits to be written to it.
    pub fn writable(&self) -> Option<RawFd> {
        self.pipe.as_ref().filter(|_| !self.typed.is_empty()).map(AsRawFd::as_raw_fd)
    }

    /// The terminal has something: a line, or its end (Ctrl-D), which closes the pipe.
    pub fn read(&mut self) {
        let mut bytes = [0; 4096];
        match sys::read(TERMINAL, &mut bytes) {
            Ok(0) => self.pipe = None,
            Ok(count) => self.typed.extend_from_slice(&bytes[..count]),
            // Put into the background between the check and the read: try again when back in front.
            Err(error) if error.raw_os_error() == Some(libc::EIO) && !sys::is_foreground(TERMINAL) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
    }

    /// The pipe takes something.
    pub fn write(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        match sys::write(pipe.as_raw_fd(), &self.typed) {
            Ok(count) => drop(self.typed.drain(..count)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => self.pipe = None,
        }
    }
}
