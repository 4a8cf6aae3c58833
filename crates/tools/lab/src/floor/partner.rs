//! The second process of the floors that need one: `verbena floor-partner`, at the other end of two
//! pipes.
//!
//! As *echo* it returns every byte. As *copier* it has memory that the first process reads, and on
//! command writes half of it into the first process's memory. The two exchange lines of numbers.

use super::repeat::repeat;
use super::{pin, two_processors};
use crate::output;
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::uio::{RemoteIoVec, process_vm_writev};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, IoSlice, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The partner has one of these tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Returns every byte
    Echo,
    /// Shows its memory, and writes into the first process's
    Copier,
}

/// The partner's command line.
#[derive(Args, Debug)]
pub struct PartnerArgs {
    /// The partner's task
    #[arg(value_enum)]
    role: Role,
    /// Bytes of memory
    #[arg(long, default_value_t = 0)]
    bytes: usize,
    /// The time to write, in microseconds
    #[arg(long, default_value_t = 0)]
    share_us: u64,
}

/// The partner as the first process sees it. It ends when this is dropped.
pub(super) struct Partner {
    child: Child,
    into: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Partner {
    /// Starts one.
    pub(super) fn start(role: Role, bytes: usize, share: Duration) -> Result<Partner> {
        let program = std::env::current_exe().context("cannot find this program's own path")?;
        let name = role.to_possible_value().context("a role with a name")?;
        let mut command = Command::new(program);
        command.arg("floor-partner").arg(name.get_name()).arg("--bytes").arg(bytes.to_string());
        command.arg("--share-us").arg(share.as_micros().to_string());
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.context("cannot start the second process of a measurement")?;
        let into = child.stdin.take().context("the partner's input")?;
        let from = BufReader::new(child.stdout.take().context("the partner's output")?);
        Ok(Partner { child, into, from })
    }

    /// Returns the partner's process id.
    pub(super) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Sends one byte there and back.
    pub(super) fn round_trip(&mut self) -> Result<()> {
        self.give()?;
        self.take()
    }

    /// Sends one byte to the partner.
    pub(super) fn give(&mut self) -> Result<()> {
        Ok(self.into.write_all(&[1])?)
    }

    /// Takes one byte from the partner.
    pub(super) fn take(&mut self) -> Result<()> {
        Ok(self.from.read_exact(&mut [0])?)
    }

    /// Sends one number.
    pub(super) fn tell(&mut self, number: usize) -> Result<()> {
        Ok(writeln!(self.into, "{number}")?)
    }

    /// Reads one number.
    pub(super) fn hear<T: std::str::FromStr>(&mut self) -> Result<T> {
        hear(&mut self.from)?.context("the second process of a measurement has ended")
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the second process.
///
/// # Errors
/// The pipes are closed in the middle, or memory cannot be written.
pub fn run(args: &PartnerArgs) -> Result<()> {
    set_pdeathsig(Signal::SIGKILL).context("cannot tie this process to its parent")?;
    match args.role {
        Role::Echo => echo(),
        Role::Copier => copier(args.bytes, Duration::from_micros(args.share_us)),
    }
}

fn echo() -> Result<()> {
    let (mut input, mut output, mut byte) = (std::io::stdin(), std::io::stdout(), [0]);
    while input.read(&mut byte)? == 1 {
        output.write_all(&byte)?;
        output.flush()?;
    }
    Ok(())
}

fn copier(bytes: usize, share: Duration) -> Result<()> {
    verbena_node::cma::allow_tracers();
    let memory = vec![1u8; bytes];
    output::line(&(memory.as_ptr() as usize).to_string())?;
    let mut input = std::io::stdin().lock();
    let Some(theirs) = hear::<usize>(&mut input)? else { return Ok(()) };
    if let Ok(processors) = two_processors() {
        pin(processors[1])?;
    }
    let half = bytes / 2;
    while hear::<usize>(&mut input)?.is_some() {
        let speed = repeat(bytes - half, share, || {
            let remote = RemoteIoVec { base: theirs + half, len: bytes - half };
            let written =
                process_vm_writev(nix::unistd::getppid(), &[IoSlice::new(&memory[half..])], &[remote])?;
            ensure!(written == bytes - half, "only {written} bytes were written");
            Ok(())
        })?;
        output::line(&speed.0.to_string())?;
    }
    Ok(())
}

/// Reads one number; `None` at the end of the stream.
fn hear<T: std::str::FromStr>(stream: &mut impl BufRead) -> Result<Option<T>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let number = line.trim().parse();
    Ok(Some(number.map_err(|_| anyhow::anyhow!("not a number: {line}"))?))
}
