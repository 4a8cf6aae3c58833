//! The output of the ranks, on our standard output and standard error or in files, and that of
//! `mpiexec` itself.

use crate::explain::unwritable;
use crate::files::{Files, Outputs};
use crate::job::Loss;
use crate::lines::Source;
use crate::output::Stream;
use crate::sys::{self, Poll};
use std::os::fd::RawFd;
use std::time::Instant;

/// Our standard streams, and the files of all ranks.
#[derive(Debug)]
pub struct Screen {
    /// Standard output and standard error; only the first if both lead to the same place.
    outputs: Vec<Stream>,
    /// The number of ranks.
    size: u32,
    /// The outputs' places in the poll set.
    places: Vec<Option<usize>>,
    files: Files,
    /// True if what goes to a file is written to the outputs too.
    copied: bool,
}

impl Screen {
    /// The screen of a job, with the files for its output.
    pub fn new(size: u32, wish: &Outputs, files: Files) -> Screen {
        let merged = sys::are_same(1, 2);
        let outputs: &[RawFd] = if merged { &[1] } else { &[1, 2] };
        Screen {
            outputs: outputs.iter().map(|&fd| Stream::new(fd, wish.labels)).collect(),
            size,
            places: Vec::new(),
            files,
            copied: wish.copied,
        }
    }

    /// Writes a rank's bytes to a stream, or to the file that takes them.
    pub fn write(&mut self, rank: u32, stream: usize, bytes: &[u8]) {
        let (source, now) = (Source { rank, stream: stream.min(1) }, Instant::now());
        if self.files.write(source, bytes, now) && !self.copied {
            return;
        }
        let target = self.target(stream);
        self.outputs[target].sink.push(source, bytes, now);
    }

    /// Ends a rank's stream.
    pub fn close(&mut self, rank: u32, stream: usize) {
        let source = Source { rank, stream: stream.min(1) };
        self.files.close(source);
        let target = self.target(stream);
        self.outputs[target].sink.finish(source);
    }

    /// Writes what is kept back of ranks whose streams were never closed.
    pub fn close_all(&mut self) {
        for rank in 0..self.size {
            (0..2).for_each(|stream| self.close(rank, stream));
        }
    }

    /// The time when [`Screen::handle_time`] must be called.
    pub fn deadline(&self) -> Option<Instant> {
        let outputs = self.outputs.iter().filter_map(|output| output.sink.deadline());
        outputs.chain(self.files.deadline()).min()
    }

    /// Lets go what was kept back for the end of another rank's line for long enough.
    pub fn handle_time(&mut self) {
        if self.deadline().is_some() {
            let now = Instant::now();
            self.outputs.iter_mut().for_each(|output| output.sink.handle_time(now));
            self.files.handle_time(now);
        }
    }

    /// Writes a line of `mpiexec` itself to standard error.
    pub fn say(&mut self, text: &str) {
        if let Some(output) = self.outputs.last_mut() {
            output.sink.say(text);
        }
    }

    /// Returns whether so much waits that the ranks must wait too.
    pub fn is_congested(&self, stream: usize) -> bool {
        self.outputs[self.target(stream)].is_congested()
    }

    /// Returns whether somebody still reads what ranks write to a stream.
    pub fn is_open(&self, stream: usize) -> bool {
        self.outputs[self.target(stream)].is_open()
    }

    /// The reason why output is lost, if a stream has failed since the last call. A stream that was
    /// closed from the start has lost nothing: nobody wanted it.
    pub fn poll_loss(&mut self) -> Option<Loss> {
        if let Some(loss) = self.files.take_loss() {
            return Some(loss);
        }
        let failed = |output: &mut Stream| {
            let error = output.take_error().filter(|error| error.raw_os_error() != Some(libc::EBADF))?;
            Some((output.fd(), error))
        };
        let (fd, error) = self.outputs.iter_mut().find_map(failed)?;
        let stream = if fd == 1 { "standard output" } else { "standard error" };
        Some(match error.raw_os_error() {
            Some(libc::EPIPE) => Loss::NoReader,
            _ => Loss::Refused(unwritable(stream, &error)),
        })
    }

    /// Adds the outputs that have bytes to write to the poll set.
    pub fn gather(&mut self, poll: &mut Poll) {
        let place = |output: &Stream| output.wants_write().then(|| poll.add(output.fd(), false, true));
        self.places = self.outputs.iter().map(place).collect();
    }

    /// Writes as much as the outputs take now.
    pub fn serve(&mut self, poll: &Poll) {
        for (output, place) in self.outputs.iter_mut().zip(&self.places) {
            if place.is_some_and(|place| poll.is_ready(place)) {
                output.write_some();
            }
        }
    }

    /// Writes everything, waiting as long as it takes.
    pub fn write_all(&mut self) {
        self.outputs.iter_mut().for_each(Stream::write_all);
    }

    fn target(&self, stream: usize) -> usize {
        stream.min(self.outputs.len() - 1)
    }
}
