//! Files that take the ranks' output, in place of ours or beside it. Several ranks may share one:
//! lines are never torn. Regular files never make the event loop wait.

use crate::explain::unwritable;
use crate::job::Loss;
use crate::lines::{Lines, Sink};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use verbena_fault::Fault;

/// The places of the ranks' output, as the command line orders them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outputs {
    /// True if every line is marked with its rank.
    pub labels: bool,
    /// The names of the files for standard output and standard error. In them `%r` stands for the
    /// rank, `%R` for the rank with leading zeros, `%h` for its host, `%p` for the number of its
    /// host, `%g` for 0 and `%%` for `%`.
    pub patterns: [Option<String>; 2],
    /// True if output that goes to a file appears on our streams too.
    pub copied: bool,
}

/// The files of a job.
#[derive(Debug, Default)]
pub struct Files {
    targets: Vec<Target>,
    /// The files of each rank's streams, and the lines that are unfinished.
    streams: Vec<[Option<(usize, Lines)>; 2]>,
    /// The reason why output is lost, until somebody takes it.
    loss: Option<Loss>,
}

/// An open file.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    file: File,
    sink: Sink,
    failed: bool,
}

impl Files {
    /// Creates the files, and the folders that they lie in, for ranks on these hosts: number and
    /// name of each rank's. Older files of these names are emptied.
    ///
    /// # Errors
    /// A file cannot be created: the message for the user.
    pub fn create(outputs: &Outputs, hosts: &[(u32, &str)]) -> Result<Files, Fault> {
        let mut files = Files::default();
        if outputs.patterns == [None, None] {
            return Ok(files);
        }
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        let width = hosts.len().saturating_sub(1).to_string().len();
        for (rank, &(number, host)) in hosts.iter().enumerate() {
            let mut streams = [None, None];
            for (stream, pattern) in outputs.patterns.iter().enumerate() {
                let Some(pattern) = pattern else { continue };
                let path = PathBuf::from(expand(pattern, rank, width, number, host));
                let at = match known.get(&path) {
                    Some(&at) => at,
                    None => files.open(&path).map_err(|error| not_created(&path, &error))?,
                };
                known.insert(path, at);
                let id = 2 * rank + stream;
                let label = format!("[{rank}] ");
                let lines = if outputs.labels { Lines::labelled(id, label) } else { Lines::new(id) };
                streams[stream] = Some((at, lines));
            }
            files.streams.push(streams);
        }
        Ok(files)
    }

    fn open(&mut self, path: &Path) -> io::Result<usize> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let (file, sink) = (File::create(path)?, Sink::default());
        self.targets.push(Target { path: path.to_owned(), file, sink, failed: false });
        Ok(self.targets.len() - 1)
    }

    /// Writes a rank's bytes to the file of a stream; returns whether there is one.
    pub fn write(&mut self, rank: u32, stream: usize, bytes: &[u8]) -> bool {
        self.fill(rank, stream, |lines, sink| lines.push(bytes, sink))
    }

    /// Ends a rank's stream.
    pub fn close(&mut self, rank: u32, stream: usize) {
        self.fill(rank, stream, Lines::finish);
    }

    /// The reason why output is lost, returned once.
    pub fn take_loss(&mut self) -> Option<Loss> {
        self.loss.take()
    }

    /// Lets the lines of a rank's stream fill its file; returns whether there is one.
    fn fill(&mut self, rank: u32, stream: usize, fill: impl FnOnce(&mut Lines, &mut Sink)) -> bool {
        let streams = self.streams.get_mut(rank as usize);
        let Some((at, lines)) = streams.and_then(|streams| streams[stream.min(1)].as_mut()) else {
            return false;
        };
        let target = &mut self.targets[*at];
        fill(lines, &mut target.sink);
        if let Err(error) = target.flush() {
            self.loss = Some(Loss::Refused(unwritable(&target.path.display().to_string(), &error)));
        }
        true
    }
}

impl Target {
    /// Writes what the file has not yet. After a failure nothing more is written.
    fn flush(&mut self) -> io::Result<()> {
        let pending = self.sink.pending();
        let count = pending.len();
        let written = if self.failed { Ok(()) } else { self.file.write_all(pending) };
        self.failed |= written.is_err();
        self.sink.consume(count);
        written
    }
}

/// The name of a rank's file.
fn expand(pattern: &str, rank: usize, width: usize, number: u32, host: &str) -> String {
    let mut name = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            name.push(letter);
            continue;
        }
        match letters.next() {
            Some('r') => name += &rank.to_string(),
            Some('R') => name += &format!("{rank:0width$}"),
            Some('h') => name += host,
            Some('p') => name += &number.to_string(),
            Some('g') => name.push('0'),
            Some('%') | None => name.push('%'),
            Some(other) => name.extend(['%', other]),
        }
    }
    name
}

fn not_created(path: &Path, error: &io::Error) -> Fault {
    Fault::new(
        "A file for the ranks' output could not be created.",
        format!("{}: {error}", path.display()),
        "the folder is not ours to write, a file is in the way, or a limit on open files is reached",
        "choose another name for --output-filename or --outfile-pattern, or raise the limit (ulimit -n)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(test: &str) -> PathBuf {
        std::env::temp_dir().join(format!("launch-files-{test}-{}", std::process::id()))
    }

    #[test]
    fn names_are_made_for_each_rank() {
        let name = |pattern| expand(pattern, 7, 3, 2, "node2");
        assert_eq!(name("o.%r.%R.%h.%p.%g.%%.%x%"), "o.7.007.node2.2.0.%.%x%");
    }

    #[test]
    fn each_rank_has_its_files_or_shares_them() {
        let folder = folder("share");
        let place = |name: &str| Some(folder.join(name).to_str().unwrap().to_owned());
        let patterns = [place("%h/out"), place("err.%r")];
        let outputs = Outputs { labels: true, patterns, copied: false };
        let mut files = Files::create(&outputs, &[(0, "a"), (0, "a"), (1, "b")]).unwrap();
        assert!(files.write(0, 0, b"one\ntw"));
        assert!(files.write(1, 0, b"three\n"));
        assert!(files.write(0, 0, b"o\n"));
        assert!(files.write(2, 1, b"wrong"));
        files.close(2, 1);
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(text("a/out"), "[0] one\n[1] three\n[0] two\n");
        assert_eq!((text("b/out").as_str(), text("err.2").as_str()), ("", "[2] wrong"));
        assert!(files.take_loss().is_none());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_job_without_files_writes_none() {
        let mut files = Files::create(&Outputs::default(), &[(0, "a")]).unwrap();
        assert!(!files.write(0, 0, b"x"));
        files.close(0, 0);
    }

    #[test]
    fn a_name_that_cannot_be_is_told() {
        let outputs = Outputs { patterns: [Some("/proc/no/%r".into()), None], ..Outputs::default() };
        let fault = Files::create(&outputs, &[(0, "a")]).unwrap_err();
        assert_eq!(fault.to_string().lines().count(), 4, "{fault}");
        let outputs = Outputs { patterns: [Some("/dev/full".into()), None], ..Outputs::default() };
        let mut files = Files::create(&outputs, &[(0, "a")]).unwrap();
        files.write(0, 0, b"lost\n");
        assert!(matches!(files.take_loss(), Some(Loss::Refused(_))));
    }
}
