//! The channels, tried for real: a job of two processes, as ranks would be, that open and connect
//! them.
//!
//! Two children and not this process and one child, because what one may do to the other's memory
//! depends on their relation (Yama), and ranks are siblings.

use super::probe::Found;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use verbena_wires::registry;

/// The findings about one channel.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    /// The name of the channel.
    pub channel: String,
    /// The findings of the first of the two processes.
    pub found: Option<Found>,
    /// The reason why there are no findings.
    pub failure: Option<String>,
}

/// The reason of a channel that the probe did not open, until a better one is known.
const ABSENT: &str = "not opened";

impl Finding {
    /// Returns whether the probe worked and did not open the channel.
    pub(crate) fn is_absent(&self) -> bool {
        self.failure.as_deref() == Some(ABSENT)
    }
}

/// The number of processes of the probe.
const PROCESSES: usize = 2;
/// The time that one process may take for one step.
const LIMIT: Duration = Duration::from_secs(10);

/// Tries every channel of this build.
pub(crate) fn describe() -> Vec<Finding> {
    let outcome = probe();
    let one = |name: &str| match &outcome {
        Ok(found) => {
            let found = found.iter().find(|found| found.channel == name).cloned();
            let failure = found.is_none().then(|| ABSENT.into());
            Finding { channel: name.into(), found, failure }
        }
        Err(error) => Finding { channel: name.into(), found: None, failure: Some(format!("{error:#}")) },
    };
    registry::names().map(one).collect()
}

/// A process of the probe.
struct Member {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    words: Receiver<String>,
}

impl Drop for Member {
    fn drop(&mut self) {
        // The end of its input ends it; one that hangs is ended by force. It may be gone already.
        drop(self.stdin.take());
        let _ = self.words.recv_timeout(Duration::from_secs(1));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn probe() -> Result<Vec<Found>> {
    let job = format!("verbena-info-{}", std::process::id());
    let mut members = (0..PROCESSES).map(|me| Member::start(me, &job)).collect::<Result<Vec<_>>>()?;
    // Cards are exchanged in one round or two. Then comes the answer, a list in JSON.
    loop {
        let lines = members.iter_mut().map(Member::hear).collect::<Result<Vec<_>>>()?;
        if lines[0].starts_with('[') {
            return serde_json::from_str(&lines[0]).context("the probe's answer");
        }
        for member in &mut members {
            let stdin = member.stdin.as_mut().context("the probe's input")?;
            stdin.write_all((lines.join("\n") + "\n").as_bytes()).context("handing out the cards")?;
        }
    }
}

impl Member {
    fn start(me: usize, job: &str) -> Result<Member> {
        let program = std::env::current_exe().context("cannot find this program's own path")?;
        let mut command = Command::new(program);
        command.args(["info-probe", "--job", job, "--me"]).arg(me.to_string());
        command.arg("--size").arg(PROCESSES.to_string());
        // Both are on one node, where nobody would need libfabric.
        if std::env::var_os("VERBENA_OFI").is_none() {
            command.env("VERBENA_OFI", "always");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start a process to try the channels with")?;
        let stdin = child.stdin.take();
        let lines = lines(child.stdout.take().context("the probe's output")?);
        let words = all(child.stderr.take().context("the probe's errors")?);
        Ok(Member { child, stdin, lines, words })
    }

    /// Returns the next line, or the last words of a process that died instead.
    fn hear(&mut self) -> Result<String> {
        if let Ok(line) = self.lines.recv_timeout(LIMIT) {
            return Ok(line);
        }
        let words = self.words.recv_timeout(Duration::from_millis(200)).unwrap_or_default();
        let words = words.trim_start_matches("verbena: ").trim();
        if words.is_empty() {
            bail!("the channels did not connect within {} s", LIMIT.as_secs());
        }
        bail!("{words}")
    }
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Reads everything until the stream's end, as one text.
fn all(mut stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // What could be read before an error is still worth showing.
        let _ = stream.read_to_end(&mut text);
        let _ = sender.send(String::from_utf8_lossy(&text).into_owned());
    });
    receiver
}
