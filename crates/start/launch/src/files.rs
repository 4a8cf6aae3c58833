//! Files that take the ranks' output, in place of ours or beside it. Several ranks may share one.
//! Regular files never make the event loop wait.

use crate::explain::unwritable;
use crate::job::Loss;
use crate::lines::{Sink, Source};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use verbena_fault::Fault;

/// The places of the ranks' output, as the command line orders them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outputs {
    /// True if every line is marked with its rank.
    pub labels: bool,
    /// The names of the files for standard output and standard error. In them `%r` stands for the
    /// rank, `%R` for the rank with leading zeros, `%h` for its host, `%p` for the number of its
    /// host, `%g` for the number of the job and `%%` for `%`.
    pub patterns: [Option<String>; 2],
    /// True if output that goes to a file appears on our streams too.
    pub copied: bool,
    /// The number of a spawned job, as in 2, or 2.1 for the first that job 2 spawned; `None` for
    /// one that nobody spawned, whose number is 0. A name without `%g` gets it at its end.
    pub job: Option<String>,
}

/// The files of a job.
#[derive(Debug, Default)]
pub struct Files {
    targets: Vec<Target>,
    /// The file of each rank's streams.
    streams: Vec<[Option<usize>; 2]>,
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
                let job = outputs.job.as_deref();
                let path = of_job(expand(pattern, rank, width, (number, host), job), pattern, job);
                let at = match known.get(&path) {
                    Some(&at) => at,
                    None => files.open(&path, outputs).map_err(|error| not_created(&path, &error))?,
                };
                known.insert(path, at);
                streams[stream] = Some(at);
            }
            files.streams.push(streams);
        }
        Ok(files)
    }

    fn open(&mut self, path: &Path, outputs: &Outputs) -> io::Result<usize> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let (file, sink) = (File::create(path)?, Sink::new(outputs.labels));
        self.targets.push(Target { path: path.to_owned(), file, sink, failed: false });
        Ok(self.targets.len() - 1)
    }

    /// Writes a rank's bytes to the file of a stream; returns whether there is one.
    pub fn write(&mut self, source: Source, bytes: &[u8], now: Instant) -> bool {
        let at = self.target(source);
        at.inspect(|&at| self.fill(at, |sink| sink.push(source, bytes, now))).is_some()
    }

    /// Ends a rank's stream.
    pub fn close(&mut self, source: Source) {
        if let Some(at) = self.target(source) {
            self.fill(at, |sink| sink.finish(source));
        }
    }

    /// The time when [`Files::handle_time`] must be called.
    pub fn deadline(&self) -> Option<Instant> {
        self.targets.iter().filter_map(|target| target.sink.deadline()).min()
    }

    /// Writes what was kept back for the end of another rank's line for long enough.
    pub fn handle_time(&mut self, now: Instant) {
        for at in 0..self.targets.len() {
            if self.targets[at].sink.deadline().is_some() {
                self.fill(at, |sink| sink.handle_time(now));
            }
        }
    }

    /// The reason why output is lost, returned once.
    pub fn take_loss(&mut self) -> Option<Loss> {
        self.loss.take()
    }

    fn target(&self, source: Source) -> Option<usize> {
        self.streams.get(source.rank as usize)?[source.stream]
    }

    /// Lets bytes come to a file, and writes them.
    fn fill(&mut self, at: usize, fill: impl FnOnce(&mut Sink)) {
        let target = &mut self.targets[at];
        fill(&mut target.sink);
        if let Err(error) = target.flush() {
            self.loss = Some(Loss::Refused(unwritable(&target.path.display().to_string(), &error)));
        }
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

/// The file that a spawned job writes in place of one of this name, which others write. What is no
/// file, such as `/dev/null`, takes the output of all.
fn of_job(name: String, pattern: &str, job: Option<&str>) -> PathBuf {
    let is_shared = || std::fs::metadata(&name).is_ok_and(|found| !found.is_file());
    let names_job = || pattern.replace("%%", "").contains("%g");
    match job {
        Some(job) if !names_job() && !is_shared() => format!("{name}.job{job}").into(),
        _ => name.into(),
    }
}

/// The name of a rank's file, by the number and the name of its host.
fn expand(pattern: &str, rank: usize, width: usize, host: (u32, &str), job: Option<&str>) -> String {
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
            Some('h') => name += host.1,
            Some('p') => name += &host.0.to_string(),
            Some('g') => name += job.unwrap_or("0"),
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

    fn out(rank: u32) -> Source {
        Source { rank, stream: 0 }
    }

    fn folder(test: &str) -> PathBuf {
        std::env::temp_dir().join(format!("launch-files-{test}-{}", std::process::id()))
    }

    #[test]
    fn names_are_made_for_each_rank() {
        let name = |pattern, job| expand(pattern, 7, 3, (2, "node2"), job);
        assert_eq!(name("o.%r.%R.%h.%p.%g.%%.%x%", None), "o.7.007.node2.2.0.%.%x%");
        assert_eq!(name("o.%g.%r", Some("2.1")), "o.2.1.7");
    }

    #[test]
    fn a_spawned_job_writes_no_file_of_another() {
        let path = |pattern: &str, job| of_job(expand(pattern, 7, 1, (0, "a"), job), pattern, job);
        for (pattern, job, expected) in [
            ("/no/such/o.%r", None, "/no/such/o.7"),
            ("/no/such/o.%r", Some("2"), "/no/such/o.7.job2"),
            ("/no/such/o%g.%r", Some("2"), "/no/such/o2.7"),
            ("/no/such/o%%g", Some("2"), "/no/such/o%g.job2"),
            ("/dev/null", Some("2"), "/dev/null"),
        ] {
            assert_eq!(path(pattern, job), PathBuf::from(expected), "{pattern}");
        }
    }

    #[test]
    fn each_rank_has_its_files_or_shares_them() {
        let folder = folder("share");
        let place = |name: &str| Some(folder.join(name).to_str().unwrap().to_owned());
        let patterns = [place("%h/out"), place("err.%r")];
        let outputs = Outputs { labels: true, patterns, ..Outputs::default() };
        let mut files = Files::create(&outputs, &[(0, "a"), (0, "a"), (1, "b")]).unwrap();
        let (now, wrong) = (Instant::now(), Source { rank: 2, stream: 1 });
        assert!(files.write(out(0), b"one\ntw", now));
        assert!(files.write(out(1), b"three\n", now));
        assert!(files.write(out(0), b"o\n", now));
        assert!(files.write(wrong, b"wrong", now));
        files.close(wrong);
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!((text("a/out").as_str(), files.deadline()), ("[0] one\n[0] two\n[1] three\n", None));
        files.write(out(0), b"a", now);
        files.write(out(1), b"b\n", now);
        files.handle_time(files.deadline().unwrap());
        assert!(text("a/out").ends_with("[0] a\n[1] b\n"), "{}", text("a/out"));
        assert_eq!((text("b/out").as_str(), text("err.2").as_str()), ("", "[2] wrong"));
        assert!(files.take_loss().is_none());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_job_without_files_writes_none() {
        let mut files = Files::create(&Outputs::default(), &[(0, "a")]).unwrap();
        assert!(!files.write(out(0), b"x", Instant::now()));
        files.close(out(0));
    }

    #[test]
    fn a_name_that_cannot_be_is_told() {
        let outputs = Outputs { patterns: [Some("/proc/no/%r".into()), None], ..Outputs::default() };
        let fault = Files::create(&outputs, &[(0, "a")]).unwrap_err();
        assert_eq!(fault.to_string().lines().count(), 4, "{fault}");
        let outputs = Outputs { patterns: [Some("/dev/full".into()), None], ..Outputs::default() };
        let mut files = Files::create(&outputs, &[(0, "a")]).unwrap();
        files.write(out(0), b"lost\n", Instant::now());
        assert!(matches!(files.take_loss(), Some(Loss::Refused(_))));
    }
}
