//! Our standard output and standard error, written without ever making the event loop wait.

use crate::lines::Sink;
use crate::sys;
use std::io;
use std::os::fd::RawFd;

/// The most that may wait for a slow reader before the ranks must wait too, in bytes.
const PENDING_MAX: usize = 4 << 20;
/// The most that a ready pipe or terminal takes without making us wait (`PIPE_BUF`), in bytes.
const WRITE_MAX: usize = 4096;

/// One of our standard streams.
#[derive(Debug)]
pub struct Stream {
    fd: RawFd,
    is_file: bool,
    open: bool,
    /// The reason why it was closed, until somebody takes it.
    error: Option<io::Error>,
    /// The bytes that are to be written.
    pub sink: Sink,
}

impl Stream {
    /// The stream of a descriptor; with `labels`, each line begins with the number of its rank.
    pub fn new(fd: RawFd, labels: bool) -> Stream {
        Stream { fd, is_file: sys::is_file(fd), open: true, error: None, sink: Sink::new(labels) }
    }

    /// The descriptor.
    pub fn fd(&self) -> RawFd {
        self.fd
    }

    /// Returns whether there is something to write.
    pub fn wants_write(&self) -> bool {
        self.open && !self.sink.pending().is_empty()
    }

    /// Returns whether so much waits that no more should be read from the ranks.
    pub fn is_congested(&self) -> bool {
        self.open && self.sink.pending().len() > PENDING_MAX
    }

    /// Returns whether somebody still reads it.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// The reason why it cannot be written any more; returned once.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Writes a piece. It does not wait if the descriptor is ready.
    pub fn write_some(&mut self) {
        let pending = self.sink.pending();
        let length = if self.is_file { pending.len() } else { pending.len().min(WRITE_MAX) };
        match sys::write(self.fd, &pending[..length]) {
            Ok(count) => self.sink.consume(count),
            Err(error) if is_passing(&error) => {}
            // The ranks' pipes get closed, so that they notice it in the usual way.
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
