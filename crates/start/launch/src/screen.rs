//! The output of the ranks, on our standard output and standard error or in files, and that of
//! `mpiexec` itself.

use crate::explain::unwritable;
use crate::files::{Files, Outputs};
use crate::job::Loss;
use crate::lines::Lines;
use crate::output::Stream;
use crate::sys::{self, Poll};
use std::os::fd::RawFd;

/// Our standard streams, and the unfinished lines of all ranks.
#[derive(Debug)]
pub struct Screen {
    /// Standard output and standard error; only the first if both lead to the same place.
    outputs: Vec<Stream>,
    /// The streams of each rank.
    lines: Vec<[Lines; 2]>,
    /// The outputs' places in the poll set.
    places: Vec<Option<usize>>,
    files: Files,
    /// True if what goes to a file is written to the outputs too.
    copied: bool,
}

impl Screen {
    /// The screen of a job, with the files for its output.
    pub fn new(size: u32, wish: &Outputs, files: Files) -> Screen {
        let labels = wish.labels;
        let merged = sys::are_same(1, 2);
        let outputs: &[RawFd] = if merged { &[1] } else { &[1, 2] };
        let lines = |rank: u32, stream| match (2 * rank as usize + stream, labels, size) {
            (id, true, _) => Lines::labelled(id, format!("[{rank}] ")),
            (id, false, 1) => Lines::raw(id),
            (id, false, _) => Lines::new(id),
        };
        Screen {
            outputs: outputs.iter().map(|&fd| Stream::new(fd)).collect(),
            lines: (0..size).map(|rank| [lines(rank, 0), lines(rank, 1)]).collect(),
            places: Vec::new(),
            files,
            copied: wish.copied,
        }
    }

    /// Writes a rank's bytes to a stream, or to the file that takes them.
    pub fn write(&mut self, rank: u32, stream: usize, bytes: &[u8]) {
        if self.files.write(rank, stream, bytes) && !self.copied {
            return;
        }
        let target = self.target(stream);
        self.lines[rank as usize][stream.min(1)].push(bytes, &mut self.outputs[target].sink);
    }

    /// Ends a rank's stream.
    pub fn close(&mut self, rank: u32, stream: usize) {
        self.files.close(rank, stream);
        let target = self.target(stream);
        self.lines[rank as usize][stream.min(1)].finish(&mut self.outputs[target].sink);
    }

    /// Writes the unfinished lines of ranks whose streams were never closed.
    pub fn close_all(&mut self) {
        for rank in 0..self.lines.len() as u32 {
            (0..2).for_each(|stream| self.close(rank, stream));
        }
    }

    /// Writes a line of `mpiexec` itself to standard error.
    pub fn say(&mut self, text: &str) {
        if let Some(output) = self.outputs.last_mut() {
            output.sink.start_line();
            output.sink.write(format!("{text}\n").as_bytes(), None);
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
