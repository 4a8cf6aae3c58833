//! One rank of this host: its PMI line and its output streams.

use super::start::Started;
use crate::sys;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

/// A rank that has been started.
#[derive(Debug)]
pub struct Rank {
    /// Its process id, and the id of its process group.
    pub pid: i32,
    /// Its number in the job.
    pub number: u32,
    /// Whether it has not ended yet.
    pub running: bool,
    /// Its PMI line, until it is closed.
    pub pmi: Option<UnixStream>,
    /// Standard output and standard error, until they end.
    pub streams: [Option<OwnedFd>; 2],
    mail: VecDeque<Rc<[u8]>>,
    /// How much of the first letter has been sent.
    sent: usize,
}

impl Rank {
    /// A rank that has just been started.
    pub fn new(number: u32, started: Started) -> Rank {
        let streams = started.streams.map(Some);
        let (mail, sent) = Default::default();
        Rank { pid: started.pid, number, running: true, pmi: Some(started.pmi), streams, mail, sent }
    }

    /// Whether something waits to be sent to the rank.
    pub fn has_mail(&self) -> bool {
        !self.mail.is_empty()
    }

    /// Sends bytes to the rank, now or when its line has room.
    pub fn post(&mut self, bytes: Rc<[u8]>) {
        self.mail.push_back(bytes);
        self.send_mail();
    }

    /// Sends what its line takes now.
    pub fn send_mail(&mut self) {
        while let (Some(pmi), Some(letter)) = (&mut self.pmi, self.mail.front()) {
            match pmi.write(&letter[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The rank has closed its line: there is nobody to tell. Its exit will be judged.
                Err(_) => return self.mail.clear(),
            }
            if self.sent == letter.len() {
                self.mail.pop_front();
                self.sent = 0;
            }
        }
    }

    /// Hears all that the rank has said so far.
    pub fn hear(&mut self, mut listen: impl FnMut(&[u8])) {
        let mut bytes = [0; 16384];
        while let Some(pmi) = &mut self.pmi {
            match pmi.read(&mut bytes) {
                Ok(0) => self.pmi = None,
                Ok(count) => listen(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // A rank that dies with unread mail resets the line; what it said before comes after that.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                Err(_) => self.pmi = None,
            }
        }
    }

    /// A stream has something (given to `take`), or has ended (`None`).
    pub fn read_stream(&mut self, i: usize, take: impl FnOnce(Option<&[u8]>)) {
        let Some(stream) = &self.streams[i] else { return };
        let mut bytes = [0; 65536];
        match sys::read(stream.as_raw_fd(), &mut bytes) {
            Ok(count) if count > 0 => take(Some(&bytes[..count])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => {
                self.streams[i] = None;
                take(None);
            }
        }
    }
}
