//! Runs a target on many inputs, and makes one that breaks it smaller.

use crate::{Target, corpus, mutate};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use verbena_sim::Random;

/// The length of a drive.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// A number of inputs: the same ones each time.
    Inputs(u64),
    /// The time at which the drive ends.
    Time(Instant),
}

impl Until {
    /// Returns the end after this time from now.
    pub fn after(time: Duration) -> Until {
        Until::Time(Instant::now() + time)
    }

    fn is_over(&self, inputs: u64) -> bool {
        match self {
            Until::Inputs(most) => inputs >= *most,
            Until::Time(end) => Instant::now() >= *end,
        }
    }
}

/// The outcome of a drive.
#[derive(Debug, PartialEq, Eq)]
pub struct Report {
    /// Inputs that were tried.
    pub inputs: u64,
    /// The first that broke the target, made smaller.
    pub broken: Option<Vec<u8>>,
}

/// Drives a target with the inputs kept in `folder` and with new ones made from this seed.
///
/// # Errors
/// The inputs cannot be read.
pub fn drive(target: &Target, folder: &Path, seed: u64, until: Until) -> std::io::Result<Report> {
    let kept: Vec<Vec<u8>> =
        corpus::read(folder, target.name)?.into_iter().map(|input| input.bytes).collect();
    let mut random = Random::new(seed);
    let mut inputs = 0;
    for input in &kept {
        inputs += 1;
        if breaks(target, input) {
            return Ok(Report { inputs, broken: Some(smaller(target, input)) });
        }
    }
    while !until.is_over(inputs) {
        inputs += 1;
        let input = mutate::input(&mut random, target, &kept);
        if breaks(target, &input) {
            return Ok(Report { inputs, broken: Some(smaller(target, &input)) });
        }
    }
    Ok(Report { inputs, broken: None })
}

/// Drives the target as [`drive`] does, and keeps an input that broke it in `folder`. Returns its
/// file as well.
///
/// # Errors
/// The inputs cannot be read or written.
pub fn drive_and_keep(
    target: &Target,
    folder: &Path,
    seed: u64,
    until: Until,
) -> std::io::Result<(Report, Option<PathBuf>)> {
    let report = drive(target, folder, seed, until)?;
    let keep = |bytes: &Vec<u8>| corpus::keep(folder, target.name, "broken", bytes);
    let file = report.broken.as_ref().map(keep).transpose()?;
    Ok((report, file))
}

/// Returns whether the input breaks the target; the panic's message is on standard error.
pub fn breaks(target: &Target, input: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err()
}

/// An input that breaks the target like this one, from which no part can be left out.
fn smaller(target: &Target, input: &[u8]) -> Vec<u8> {
    let mut small = input.to_vec();
    let mut size = small.len().next_power_of_two();
    while size > 0 {
        let mut at = 0;
        while at < small.len() {
            let mut less = small.clone();
            less.drain(at..(at + size).min(small.len()));
            if breaks(target, &less) { small = less } else { at += size }
        }
        size /= 2;
    }
    small
}
