//! A job of workers: starts the launcher, reads rank 0's lines, and keeps the time limit of each
//! point.
//!
//! When a point exceeds its limit, the job is ended and another goes on with the next point. So a
//! collective that hangs or crawls costs only its own cell.

use super::metric::Point;
use super::worker::Line;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The way to start workers.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The launcher.
    pub mpiexec: PathBuf,
    /// Further options of the launcher, such as `--oversubscribe`.
    pub launcher_args: Vec<String>,
    /// The MPI library that the ranks open.
    pub library: PathBuf,
    /// Milliseconds a point.
    pub point_ms: u64,
    /// Repetitions a point.
    pub repetitions: usize,
    /// Messages in flight in the window tests.
    pub window: usize,
    /// Leave the buffers of pairs as they are between messages.
    pub unwritten: bool,
    /// Variables that launcher and ranks get besides ours.
    pub environment: Vec<(String, String)>,
    /// Variables that single ranks get besides, those of rank 0 first. Without any, all ranks have
    /// the same.
    pub of_ranks: Vec<(String, String)>,
    /// The longest that one point (and the start) may take.
    pub limit: Duration,
}

/// The end of a job.
#[derive(Debug, PartialEq)]
pub enum End {
    /// The launcher exited with success.
    Finished,
    /// The launcher exited with a failure: its status and the end of standard error.
    Died(String),
    /// No line came for longer than the limit.
    TimedOut(Duration),
}

/// The launcher's last words that a report carries, in bytes.
const STDERR_BYTES_MAX: usize = 2000;
/// The time between asking the launcher to end and making it end.
const GRACE: Duration = Duration::from_secs(3);

impl Launch {
    /// Runs workers for `points` at `ranks` and hands each line of rank 0 to `on_line`.
    ///
    /// # Errors
    /// The launcher cannot be started at all.
    pub fn run(&self, ranks: usize, points: &[Point], on_line: &mut dyn FnMut(Line)) -> Result<End> {
        run_lines(self.command(ranks, points)?, self.limit, on_line)
    }

    /// The command that starts workers for `points`, as one would type it.
    ///
    /// # Errors
    /// This program's own path cannot be found.
    pub fn command_line(&self, ranks: usize, points: &[Point]) -> Result<String> {
        let command = self.command(ranks, points)?;
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={value}"));
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words = words.map(|word| word.to_string_lossy().into_owned());
        Ok(variables.chain(words).collect::<Vec<_>>().join(" "))
    }

    fn command(&self, ranks: usize, points: &[Point]) -> Result<Command> {
        let (worker, own) = (self.worker(points)?, self.of_ranks.len());
        ensure!(own == 0 || own >= ranks, "{ranks} ranks, but variables (or devices) for {own} of them only");
        let mut command = Command::new(&self.mpiexec);
        command.args(&self.launcher_args);
        if self.of_ranks.is_empty() {
            command.arg("-n").arg(ranks.to_string()).args(&worker);
        }
        for (rank, (name, value)) in self.of_ranks.iter().enumerate().take(ranks) {
            command.args((rank > 0).then_some(":")).args(["-n", "1", "env"]);
            command.arg(format!("{name}={value}")).args(&worker);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// The command line of a rank.
    fn worker(&self, points: &[Point]) -> Result<Vec<OsString>> {
        let program = std::env::current_exe().context("cannot find this program's own path")?;
        let mut words: Vec<OsString> = vec![program.into(), "bench-worker".into()];
        words.extend(["--library".into(), self.library.clone().into()]);
        words.extend(["--point-ms".into(), self.point_ms.to_string().into()]);
        words.extend(["--repetitions".into(), self.repetitions.to_string().into()]);
        if !points.is_empty() {
            let points: Vec<String> = points.iter().map(Point::to_string).collect();
            words.extend(["--points".into(), points.join(",").into()]);
        }
        words.extend(["--window".into(), self.window.to_string().into()]);
        words.extend(self.unwritten.then(|| "--unwritten".into()));
        Ok(words)
    }
}

/// Runs a launcher whose rank 0 writes a JSON document a line, and hands each on to `on_line`. Ends
/// it when no line comes for longer than `limit`.
///
/// # Errors
/// It cannot be started, or not ended.
pub(crate) fn run_lines<T: DeserializeOwned>(
    mut command: Command,
    limit: Duration,
    on_line: &mut dyn FnMut(T),
) -> Result<End> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| {
        format!(
            "cannot start the launcher\n  on: {}\n  likely cause: there is no such program\n  \
             what to do: give --mpiexec the path of the library's own mpiexec",
            command.get_program().to_string_lossy()
        )
    })?;
    let lines = read_lines(child.stdout.take().context("the launcher's output")?);
    let words = read_tail(child.stderr.take().context("the launcher's errors")?);
    match follow(&lines, limit, on_line) {
        Some(end) => stop(&mut child).map(|()| end),
        None => wait(&mut child, limit, &words),
    }
}

/// Hands on the lines until the output ends (`None`) or the limit passes without one.
fn follow<T: DeserializeOwned>(
    lines: &Receiver<String>,
    limit: Duration,
    on_line: &mut dyn FnMut(T),
) -> Option<End> {
    loop {
        match lines.recv_timeout(limit) {
            Ok(text) => {
                // A library or launcher may write lines of its own to the same stream.
                if let Ok(line) = serde_json::from_str(&text) {
                    on_line(line);
                }
            }
            Err(RecvTimeoutError::Timeout) => return Some(End::TimedOut(limit)),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

fn read_lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Collects the stream's end; it arrives when the stream closes.
fn read_tail(mut stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut all = Vec::new();
        // What could be read before an error is still worth showing.
        let _ = stream.read_to_end(&mut all);
        let tail = &all[all.len().saturating_sub(STDERR_BYTES_MAX)..];
        let _ = sender.send(String::from_utf8_lossy(tail).trim().to_string());
    });
    receiver
}

/// Waits for the launcher, whose output has ended, and says how it went.
fn wait(child: &mut Child, limit: Duration, words: &Receiver<String>) -> Result<End> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            if status.success() {
                return Ok(End::Finished);
            }
            let words = words.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
            return Ok(End::Died(format!("{status}: {words}")));
        }
        if Instant::now() > deadline {
            stop(child)?;
            return Ok(End::TimedOut(limit));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Ends the launcher: first kindly, so that it ends its ranks, then by force.
fn stop(child: &mut Child) -> Result<()> {
    let pid = Pid::from_raw(i32::try_from(child.id())?);
    // It may have gone by itself in the meantime.
    let _ = kill(pid, Signal::SIGTERM);
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().context("cannot end the launcher")?;
    child.wait()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Launch {
        // `sh -c SCRIPT` ignores the words that follow: they become its positional parameters.
        Launch {
            mpiexec: "/bin/sh".into(),
            launcher_args: vec!["-c".into(), script.into()],
            library: "/none".into(),
            point_ms: 1,
            repetitions: 1,
            window: 64,
            unwritten: false,
            environment: Vec::new(),
            of_ranks: Vec::new(),
            limit: Duration::from_millis(300),
        }
    }

    fn run(script: &str) -> (End, Vec<Line>) {
        let mut lines = Vec::new();
        let end = shell(script).run(2, &[], &mut |line| lines.push(line)).expect("sh starts");
        (end, lines)
    }

    #[test]
    fn ranks_may_have_a_variable_of_their_own() {
        let own = |value: &str| ("DEVICE".to_string(), value.to_string());
        let launch = Launch { of_ranks: vec![own("a"), own("b")], ..shell("true") };
        let line = launch.command_line(2, &[]).expect("this program has a path");
        assert!(line.contains("-n 1 env DEVICE=a ") && line.contains(" : -n 1 env DEVICE=b "), "{line}");
    }

    #[test]
    fn lines_are_handed_on_and_noise_is_skipped() {
        let (end, lines) = run(
            r#"echo noise; echo '{"line":"failed","point":{"metric":"barrier","bytes":0},"reason":"r"}'"#,
        );
        assert_eq!(end, End::Finished);
        assert!(matches!(&lines[..], [Line::Failed { reason, .. }] if reason == "r"));
    }

    #[test]
    fn a_failing_job_says_its_last_words() {
        let (end, _) = run("echo no such fabric >&2; exit 3");
        assert!(
            matches!(&end, End::Died(words) if words.contains('3') && words.contains("no such fabric")),
            "{end:?}"
        );
    }

    #[test]
    fn a_hanging_job_is_ended() {
        let start = Instant::now();
        let (end, _) = run("exec sleep 60");
        assert_eq!(end, End::TimedOut(Duration::from_millis(300)));
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
