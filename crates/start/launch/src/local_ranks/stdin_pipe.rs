//! The pipe that is rank 0's standard input.

use crate::sys;
use std::os::fd::{AsRawFd, RawFd};
use std::process::ChildStdin;

/// Writes rank 0's input to its pipe, never waiting for it.
#[derive(Debug, Default)]
pub struct StdinPipe {
    pipe: Option<ChildStdin>,
    waiting: Vec<u8>,
}

impl StdinPipe {
    /// Feeds this pipe.
    pub fn new(pipe: ChildStdin) -> StdinPipe {
        sys::set_nonblocking(pipe.as_raw_fd());
        StdinPipe { pipe: Some(pipe), waiting: Vec::new() }
    }

    /// Takes a piece of input; an empty one is the end.
    pub fn give(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if bytes.is_empty() {
            self.pipe = None;
        }
    }

    /// The pipe, if something waits to be written to it.
    pub fn writable(&self) -> Option<RawFd> {
        self.pipe.as_ref().filter(|_| !self.waiting.is_empty()).map(AsRawFd::as_raw_fd)
    }

    /// Writes as much as the pipe takes. When all is written, or nobody reads it any more, returns
    /// whether it takes more.
    pub fn write(&mut self) -> Option<bool> {
        if let Some(pipe) = &self.pipe {
            match sys::write(pipe.as_raw_fd(), &self.waiting) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return None,
                Err(_) => self.pipe = None,
            }
        }
        if self.pipe.is_none() {
            self.waiting.clear();
        }
        self.waiting.is_empty().then_some(self.pipe.is_some())
    }
}
