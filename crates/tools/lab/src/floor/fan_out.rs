//! The cost of waking many processes: a byte to each of the others in turn, and one back from each,
//! over pipes. The waiting process is blocked in the kernel, so each byte costs little but the
//! wake-up of a process.

use super::partner::{Partner, Role};
use anyhow::Result;
use std::time::{Duration, Instant};

/// Microseconds a fan-out among this many processes (this one included), one value for each
/// repetition; fan-outs of the last.
pub(super) fn fan_out(processes: usize, share: Duration, repetitions: usize) -> Result<(Vec<f64>, u64)> {
    let others = (1..processes).map(|_| Partner::start(Role::Echo, 0, share));
    let mut others = others.collect::<Result<Vec<Partner>>>()?;
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
    Ok((samples, rounds))
}

fn once(others: &mut [Partner]) -> Result<()> {
    others.iter_mut().try_for_each(Partner::give)?;
    others.iter_mut().try_for_each(Partner::take)
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
