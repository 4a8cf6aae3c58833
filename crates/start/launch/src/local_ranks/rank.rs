//! One rank of this host: its PMI line and its output streams.

use super::start::Started;
use super::status::RankStatus;
use crate::asleep::Sleeper;
use crate::plan::Part;
use crate::symbols::Symbols;
use crate::sys;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::rc::Rc;
use verbena_boot::status::{Pulse, StatusMemory};
use verbena_hang::Place;

/// A rank is not heard while this many letters wait for it. An honest rank waits for each answer.
const LETTERS_MAX: usize = 64;
/// The most that is heard of a rank before others have their turn, in bytes. A rank's last words
/// are fewer: the kernel keeps no more for a socket.
const HEARING_BYTES_MAX: usize = 1 << 20;
/// The most that is read from a descriptor at once, in bytes.
const PIECE_BYTES: usize = 65536;

/// A rank that has been started.
#[derive(Debug)]
pub struct Rank {
    /// The rank's process id, and the id of its process group.
    pub pid: i32,
    /// The rank's number in the job.
    pub number: u32,
    /// True until it has ended.
    pub running: bool,
    /// The rank's program.
    pub program: OsString,
    /// The directory in which it was started.
    pub directory: PathBuf,
    /// The rank's PMI line, until it is closed.
    pub pmi: Option<UnixStream>,
    /// Standard output and standard error, until they end.
    pub streams: [Option<OwnedFd>; 2],
    status: Option<RankStatus>,
    mail: VecDeque<Rc<[u8]>>,
    /// The number of bytes of the first letter that have been sent.
    sent: usize,
}

impl Rank {
    /// A rank that has just been started.
    pub fn new(number: u32, started: Started, part: &Part) -> Rank {
        let streams = started.streams.map(Some);
        let (mail, sent) = Default::default();
        let (pid, pmi) = (started.pid, Some(started.pmi));
        let here = std::env::current_dir().unwrap_or_default();
        let directory = here.join(part.directory.clone().unwrap_or_default());
        let (program, status) = (part.program.clone(), None);
        Rank { pid, number, running: true, program, directory, pmi, streams, status, mail, sent }
    }

    /// Gives it the place where it says what it does.
    pub fn with_status(self, status: Option<RankStatus>) -> Rank {
        Rank { status, ..self }
    }

    /// Asks it what it does; returns a process that is to be asked by a signal.
    pub fn ask(&mut self, symbols: &mut Symbols) -> Option<i32> {
        // The number of one that has ended may be another process by now.
        self.status.as_mut()?.ask(self.running.then_some(self.pid), symbols)
    }

    /// Notes the system call in which this process of it sleeps.
    pub fn note_sleep(&mut self, process: i32, sleeper: Sleeper, symbols: &mut Symbols) {
        if let Some(status) = &mut self.status {
            status.note_sleep(process, sleeper, symbols);
        }
    }

    /// The signs of life.
    pub fn pulse(&self) -> Option<Pulse> {
        self.status.as_ref().map(RankStatus::pulse)
    }

    /// Returns whether it wants to go on when others die, or did so when it ended.
    pub fn goes_on(&self) -> bool {
        self.status.as_ref().is_some_and(RankStatus::goes_on)
    }

    /// The words that all ranks of the host share.
    pub fn memory(&self) -> Option<&StatusMemory> {
        self.status.as_ref().map(RankStatus::memory)
    }

    /// The places of the program where an error of an MPI call has ended it; `None` if none has.
    pub fn error_places(&self, symbols: &mut Symbols) -> Option<Vec<Place>> {
        self.status.as_ref().and_then(|status| status.error_places(symbols))
    }

    /// The places of the program where a signal ended it.
    pub fn crash_places(&self, signal: i32, symbols: &mut Symbols) -> Vec<Place> {
        self.status.as_ref().map_or(Vec::new(), |status| status.crash_places(signal, symbols))
    }

    /// The words and doings of the rank.
    pub fn look(&self, symbols: &mut Symbols) -> verbena_hang::Rank {
        let nothing = verbena_hang::Rank::new(self.number, "", self.pid);
        self.status.as_ref().map_or(nothing.clone(), |status| status.look(nothing, symbols))
    }

    /// Returns whether something waits to be sent to the rank.
    pub fn has_mail(&self) -> bool {
        !self.mail.is_empty()
    }

    /// Returns whether too much waits for the rank to hear more from it.
    pub fn is_behind(&self) -> bool {
        self.mail.len() > LETTERS_MAX
    }

    /// Sends bytes to the rank, now or when its line has room.
    pub fn post(&mut self, bytes: Rc<[u8]>) {
        self.mail.push_back(bytes);
        self.send_mail();
    }

    /// Sends as much as its line takes now.
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

    /// Hears what the rank has said, up to a limit.
    pub fn hear(&mut self, mut listen: impl FnMut(&[u8])) {
        let mut bytes = vec![0; PIECE_BYTES];
        let mut heard = 0;
        while let Some(pmi) = self.pmi.as_mut().filter(|_| heard < HEARING_BYTES_MAX) {
            match pmi.read(&mut bytes) {
                Ok(0) => self.pmi = None,
                Ok(count) => {
                    heard += count;
                    listen(&bytes[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // A rank that dies with unread mail resets its line; what it said before can still
                // be read.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                Err(_) => self.pmi = None,
            }
        }
    }

    /// Reads a stream: gives `take` what it has, or `None` at its end.
    pub fn read_stream(&mut self, i: usize, take: impl FnOnce(Option<&[u8]>)) {
        let Some(stream) = &self.streams[i] else { return };
        let mut bytes = vec![0; PIECE_BYTES];
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rank() -> (Rank, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        sys::set_nonblocking(ours.as_raw_fd());
        let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let started = Started { pid: 0, pmi: ours, streams: [null(), null()], stdin: None };
        let (program, arguments, environment) = ("prog".into(), Vec::new(), Vec::new());
        let part = Part { count: 1, program, arguments, environment, directory: None, path: None };
        (Rank::new(0, started, &part), theirs)
    }

    #[test]
    fn a_rank_that_takes_no_answers_is_behind_until_it_does() {
        let (mut rank, mut theirs) = rank();
        let letter: Rc<[u8]> = vec![7; 65536].into();
        let mut posted = 0;
        while !rank.is_behind() {
            rank.post(letter.clone());
            posted += 1;
            assert!(posted < 1000, "letters without end");
        }
        let mut taken = vec![0; posted * letter.len()];
        let reader = std::thread::spawn(move || theirs.read_exact(&mut taken).map(|()| taken));
        while rank.has_mail() {
            rank.send_mail();
            std::thread::yield_now();
        }
        assert!(reader.join().unwrap().unwrap().iter().all(|&byte| byte == 7));
        assert!(!rank.is_behind());
    }

    #[test]
    fn a_rank_that_talks_without_end_lets_others_have_their_turn() {
        let (mut rank, mut theirs) = rank();
        let writer = std::thread::spawn(move || while theirs.write_all(&[b'x'; 65536]).is_ok() {});
        let mut heard = 0;
        while heard < 2 * HEARING_BYTES_MAX {
            let before = heard;
            rank.hear(|bytes| heard += bytes.len());
            assert!(heard - before < HEARING_BYTES_MAX + PIECE_BYTES);
        }
        drop(rank);
        writer.join().unwrap();
    }
}
