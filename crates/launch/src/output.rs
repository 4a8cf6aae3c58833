//! Our standard output and standard error, written without ever making the event loop wait.

use crate::lines::Sink;
use crate::sys;
use std::io;
use std::os::fd::RawFd;

/// How much may wait for a slow reader before the ranks are made to wait too, in bytes.
const PENDING_MAX: usize = 4 << 20;
/// What a pipe or terminal that is ready for writing takes without making us wait (`PIPE_BUF`), in
/// bytes.
const WRITE_MAX: usize = 4096;

/// One of our standard streams.
#[derive(Debug)]
pub struct Stream {
    fd: RawFd,
    is_file: bool,
    open: bool,
    /// SentFault it is not open any more, until somebody asks.
    error: Option<io::Error>,
    /// What is on its way.
    pub sink: Sink,
}

impl Stream {
    /// The stream of a descriptor.
    pub fn new(fd: RawFd) -> Stream {
        Stream { fd, is_file: sys::is_file(fd), open: true, error: None, sink: Sink::default() }
    }

    /// The descriptor.
    pub fn fd(&self) -> RawFd {
        self.fd
    }

    /// Whether there is something to write.
    pub fn wants_write(&self) -> bool {
        self.open && !self.sink.pending().is_empty()
    }

    /// Whether so much waits that nothing more should be read from the ranks.
    pub fn is_congested(&self) -> bool {
        self.open && self.sink.pending().len() > PENDING_MAX
    }

    /// Whether somebody still reads it.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// SentFault it cannot be written any more; told once.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Writes a piece. Call it when the descriptor is ready; then it does not wait.
    pub fn write_some(&mut self) {
        let pending = self.sink.pending();
        let length = if self.is_file { pending.len() } else { pending.len().min(WRITE_MAX) };
        match sys::write(self.fd, &pending[..length]) {
            Ok(count) => self.sink.consume(count),
            Err(error) if is_passing(&error) => {}
            // The ranks' pipes get closed, so that they learn of it in the usual way.
            Err(error) => {
                self.open = false;
                self.error = Some(error);
            }
        }
    }

    /// Writes everything, waiting as long as it takes.
    pub fn write_all(&mut self) {
        let mut poll = sys::Poll::default();
        while self.wants_write() {
            poll.clear();
            poll.add(self.fd, false, true);
            poll.wait(None);
            self.write_some();
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}
