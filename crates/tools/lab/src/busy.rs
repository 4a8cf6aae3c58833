//! Other work on the machine while a library is measured: processes that only spin.
//!
//! They are processes and not threads, so that the kernel weighs each of them as it weighs a rank.

use anyhow::{Context, Result};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use std::process::{Child, Command, Stdio};

/// Spinning processes; they end when this is dropped, and with this process.
#[derive(Debug)]
pub struct Busy(Vec<Child>);

impl Busy {
    /// Starts `count` processes.
    ///
    /// # Errors
    /// A process cannot be started.
    pub fn start(count: usize) -> Result<Busy> {
        let program = std::env::current_exe().context("cannot find this program's own path")?;
        let mut busy = Busy(Vec::with_capacity(count));
        for _ in 0..count {
            let child = Command::new(&program).arg("spin").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
            busy.0.push(child.context("cannot start a spinning process")?);
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Somebody else may have killed it: then it is gone, which is the aim here.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// `verbena spin`: uses a processor until it is killed, or its parent ends.
///
/// # Errors
/// The process cannot be tied to its parent.
pub fn spin() -> Result<()> {
    let parent = nix::unistd::getppid();
    set_pdeathsig(Signal::SIGKILL).context("cannot tie this process to its parent")?;
    // The parent may have ended before that; afterwards the signal reports its death.
    while nix::unistd::getppid() == parent {
        (0..1_000_000).for_each(|_| std::hint::black_box(()));
    }
    Ok(())
}
