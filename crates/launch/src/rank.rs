//! One rank as the supervisor sees it: its PMI line and its output streams.

use crate::lines::{Lines, Sink};
use crate::start::Started;
use crate::sys;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

/// An output stream of a rank.
#[derive(Debug)]
pub struct RankStream {
    /// Our end of the pipe.
    pub fd: OwnedFd,
    lines: Lines,
}

/// A rank that has been started.
#[derive(Debug)]
pub struct Rank {
    /// Its process id, and the id of its process group.
    pub pid: i32,
    /// Which part of the command line it runs.
    pub part: usize,
    /// Whether it has not ended yet.
    pub running: bool,
    /// Its PMI line, until it is closed.
    pub pmi: Option<UnixStream>,
    /// Standard output and standard error, until they end.
    pub streams: [Option<RankStream>; 2],
    mail: VecDeque<Rc<[u8]>>,
    /// How much of the first letter has been sent.
    sent: usize,
}

impl Rank {
    /// A rank that has just been started; `lines` makes the line buffer of a stream.
    pub fn new(started: Started, part: usize, lines: impl Fn() -> Lines) -> Rank {
        let streams = started.streams.map(|fd| Some(RankStream { fd, lines: lines() }));
        let (mail, sent) = Default::default();
        Rank { pid: started.pid, part, running: true, pmi: Some(started.pmi), streams, mail, sent }
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

    /// A stream has something, or has ended.
    pub fn read_stream(&mut self, i: usize, sink: &mut Sink) {
        let Some(stream) = &mut self.streams[i] else { return };
        let mut bytes = [0; 65536];
        match sys::read(stream.fd.as_raw_fd(), &mut bytes) {
            Ok(0) => self.finish_stream(i, sink),
            Ok(count) => stream.lines.push(&bytes[..count], sink),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.finish_stream(i, sink),
        }
    }

    /// Writes what is left of a stream, and closes it.
    pub fn finish_stream(&mut self, i: usize, sink: &mut Sink) {
        if let Some(mut stream) = self.streams[i].take() {
            stream.lines.finish(sink);
        }
    }
}
