//! Copies between two processes by system call: `process_vm_readv` alone, and by both sides at
//! once.

use super::partner::{Partner, Role};
use super::repeat::repeat;
use super::{pin, two_processors};
use anyhow::{Context, Result, ensure};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use std::io::IoSliceMut;
use std::time::Duration;

/// Returns GB/s, one value for each repetition, and the copies of the last. If `both`, this process
/// reads the first half of the other's memory while that one writes the second half into this
/// one's. Neither waits for the other, so the sum of their speeds is that of two sides that never
/// have to agree.
pub(super) fn read(bytes: usize, both: bool, share: Duration, repetitions: usize) -> Result<(Vec<f64>, u64)> {
    verbena_node::cma::allow_tracers();
    // A thread of its own, so that only it is pinned.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| pinned(bytes, both, share, repetitions));
        thread.join().expect("the reading thread does not panic")
    })
}

fn pinned(bytes: usize, both: bool, share: Duration, repetitions: usize) -> Result<(Vec<f64>, u64)> {
    let processors = two_processors()?;
    pin(processors[0])?;
    let mut memory = vec![2u8; bytes];
    let mut partner = Partner::start(Role::Copier, bytes, share)?;
    let theirs: usize = partner.hear()?;
    partner.tell(memory.as_mut_ptr() as usize)?;
    let own = if both { bytes / 2 } else { bytes };
    let (mut samples, mut copies) = (Vec::new(), 0);
    for _ in 0..repetitions {
        if both {
            partner.tell(1)?;
        }
        let (speed, count) = repeat(own, share, || read_once(&partner, theirs, &mut memory[..own]))?;
        let other: f64 = if both { partner.hear()? } else { 0.0 };
        samples.push(speed + other);
        copies = count;
    }
    Ok((samples, copies))
}

fn read_once(partner: &Partner, theirs: usize, into: &mut [u8]) -> Result<()> {
    let remote = RemoteIoVec { base: theirs, len: into.len() };
    let wanted = into.len();
    let read = process_vm_readv(partner.pid(), &mut [IoSliceMut::new(into)], &[remote])
        .context("cannot read another process's memory (Yama, or a container's seccomp filter)")?;
    ensure!(read == wanted, "only {read} bytes were read");
    Ok(())
}
