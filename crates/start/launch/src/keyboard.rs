//! Our standard input on its way to rank 0, when rank 0 cannot read it itself: a terminal, because
//! rank 0 is not in its foreground process group, or anything if rank 0 is on another host.
//! Otherwise rank 0 inherits it.

use crate::sys;
use std::os::fd::RawFd;

/// Standard input.
const STDIN: RawFd = 0;

/// Reads our standard input. After each piece it waits until rank 0 has taken it.
#[derive(Debug)]
pub struct Keyboard {
    open: bool,
    /// Set while a piece is on its way.
    waiting: bool,
    terminal: bool,
}

impl Keyboard {
    /// A keyboard; if `open`, there is something to read from it.
    pub fn new(open: bool) -> Keyboard {
        Keyboard { open, waiting: false, terminal: sys::is_terminal(STDIN) }
    }

    /// The descriptor, if it may be read now.
    pub fn readable(&self) -> Option<RawFd> {
        let ready = self.open && !self.waiting && (!self.terminal || sys::is_foreground(STDIN));
        ready.then_some(STDIN)
    }

    /// Reads a piece for rank 0; it is empty at the end (Ctrl-D).
    pub fn read(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 65536];
        let count = match sys::read(STDIN, &mut bytes) {
            Ok(count) => count,
            // Put into the background between the check and the read: try again in the foreground.
            Err(error) if error.raw_os_error() == Some(libc::EIO) && !sys::is_foreground(STDIN) => {
                return None;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return None,
            Err(_) => 0,
        };
        self.open = count > 0;
        self.waiting = true;
        bytes.truncate(count);
        Some(bytes)
    }

    /// Notes that rank 0 has taken the last piece; if `open`, it takes more.
    pub fn taken(&mut self, open: bool) {
        self.waiting = false;
        self.open &= open;
    }
}
