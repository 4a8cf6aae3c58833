//! The bare device: perftest's programs between the first two nodes, with the sizes and the windows
//! of our own points.
//!
//! Their latency is the mean of all round trips, as ours, and not the typical one that they show
//! first.

use super::between::Between;
use super::verb::Verb;
use crate::metric::{Metric, Point};
use anyhow::{Context, Result, bail};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// About the bytes that one run of a bandwidth test moves, so that each takes about as long.
const BANDWIDTH_BYTES: usize = 16 << 20;
/// About the bytes that one run of a latency test of long messages moves.
const LATENCY_BYTES: usize = 8 << 20;
/// The time between two tries to reach the server, which takes a moment to listen.
const RETRY_TIME: Duration = Duration::from_millis(50);
/// The number of times that perftest may fail to find the speed of the clock.
const CLOCK_TRIES: usize = 4;
/// The pause before the first one.
const START_TIME: Duration = Duration::from_millis(300);

impl Verb {
    /// The program and its arguments for a point.
    pub fn command_line(self, between: &Between, point: Point, window: usize) -> String {
        let (test, output, iterations) = match point.metric {
            Metric::Latency => ("lat", "latency", (LATENCY_BYTES / point.bytes.max(1)).clamp(100, 3000)),
            _ => ("bw", "bandwidth", (BANDWIDTH_BYTES / point.bytes.max(1)).clamp(16, 5000)),
        };
        let depth = if test == "bw" { format!(" -t {window} -N --report_gbits") } else { String::new() };
        let (program, transport) = self.program();
        format!(
            "{program}_{test} -F -x {} -s {} -n {iterations}{depth}{transport} --output={output}",
            between.gid_index, point.bytes
        )
    }
}

/// Measures one point, in the metric's unit.
///
/// perftest first finds out how fast the processor's clock runs. On an emulated processor that
/// fails now and then; the number is infinite then, and is measured again.
///
/// # Errors
/// A program cannot be started, fails, or prints no number.
pub fn measure(verb: Verb, between: &Between, point: Point, window: usize, limit: Duration) -> Result<f64> {
    for _ in 0..CLOCK_TRIES {
        let value = once(verb, between, point, window, limit)?;
        if value.is_finite() && value > 0.0 {
            return Ok(value);
        }
    }
    bail!("perftest could not tell how fast the processor's clock runs, {CLOCK_TRIES} times")
}

fn once(verb: Verb, between: &Between, point: Point, window: usize, limit: Duration) -> Result<f64> {
    let line = verb.command_line(between, point, window);
    let [near, far] = [&between.nodes[0], &between.nodes[1]];
    let mut server = Server(between.start(far, &format!("exec {line}"))?);
    std::thread::sleep(START_TIME);
    let deadline = Instant::now() + limit;
    let client = format!("exec timeout {} {line} {far}", limit.as_secs().max(1));
    loop {
        let output = between.start(near, &client)?.wait_with_output()?;
        if output.status.success() {
            return in_unit(point, &output);
        }
        if Instant::now() > deadline || server.0.try_wait()?.is_some() {
            bail!("{client} on {near}: {}", words(&output));
        }
        std::thread::sleep(RETRY_TIME);
    }
}

/// The far side. It ends by itself after one client, or with this.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        while Instant::now() < deadline {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // It may have gone in this moment.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Between {
    /// Starts a shell's command on a node.
    fn start(&self, node: &str, line: &str) -> Result<Child> {
        let mut command = Command::new(&self.launcher);
        command.arg(node).arg(line).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().with_context(|| format!("cannot start {} {node} {line}", self.launcher))
    }
}

fn in_unit(point: Point, output: &Output) -> Result<f64> {
    let text = String::from_utf8_lossy(&output.stdout);
    let number = text.split_whitespace().next_back().and_then(|word| word.parse::<f64>().ok());
    let number = number.with_context(|| format!("perftest printed no number: {}", words(output)))?;
    // perftest reports microseconds, and gigabits a second.
    Ok(if point.metric == Metric::Latency { number } else { number / 8.0 })
}

fn words(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}
