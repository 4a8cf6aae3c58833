//! The floor of the fan-out: this process writes a byte to each of the others and reads one back from each, over pipes.
//! Who waits is blocked in the kernel, so each byte costs the wake-up of a process, and nothing but that.

use anyhow::{Context, Result};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that sends back what it reads, and the pipes to and from it.
struct Echo {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
}

/// Microseconds a fan-out among this many processes (this one included), and the fan-outs of the last repetition.
///
/// # Errors
/// A process cannot be started or ended early.
pub fn fan_out(processes: usize, share: Duration, repetitions: usize) -> Result<(Vec<f64>, u64)> {
    let mut others = (1..processes).map(|_| Echo::start()).collect::<Result<Vec<Echo>>>()?;
    once(&mut others)?;
    let (mut samples, mut rounds) = (Vec::new(), 0u64);
    for _ in 0..repetitions {
        let start = Instant::now();
        rounds = 0;
        while rounds == 0 || start.elapsed() < share {
            once(&mut others)?;
            rounds += 1;
        }
        samples.push(start.elapsed().as_secs_f64() / rounds as f64 * 1e6);
    }
    others.into_iter().try_for_each(Echo::end)?;
    Ok((samples, rounds))
}

fn once(others: &mut [Echo]) -> Result<()> {
    others.iter_mut().try_for_each(|other| other.to.write_all(&[1])).context("writing to a process")?;
    let mut byte = [0];
    others.iter_mut().try_for_each(|other| other.from.read_exact(&mut byte)).context("reading from a process")
}

impl Echo {
    fn start() -> Result<Echo> {
        let program = std::env::current_exe().context("cannot find this program's own path")?;
        let mut command = Command::new(program);
        command.arg("bench-echo").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start a process")?;
        let (to, from) = (child.stdin.take().context("a pipe")?, child.stdout.take().context("a pipe")?);
        Ok(Echo { child, to, from })
    }

    /// The closed pipe ends it.
    fn end(mut self) -> Result<()> {
        drop(self.to);
        self.child.wait().context("waiting for a process").map(drop)
    }
}

/// `verbena bench-echo`: sends back each byte that it reads, until there is none.
///
/// # Errors
/// A pipe fails, or the process cannot be tied to its parent.
pub fn echo() -> Result<()> {
    set_pdeathsig(Signal::SIGKILL).context("cannot tie this process to its parent")?;
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut byte = [0];
    loop {
        match input.read_exact(&mut byte) {
            Err(end) if end.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            read => read.context("reading from a pipe")?,
        }
        output.write_all(&byte).and_then(|()| output.flush()).context("writing to a pipe")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_alone_has_nobody_to_wake() {
        let (samples, rounds) = fan_out(1, Duration::from_millis(1), 2).expect("no process to start");
        assert!(samples.len() == 2 && rounds > 0);
    }
}
