//! The loops between ranks 0 and 1.
//!
//! - *Latency*: `MPI_Send` there, `MPI_Recv` back; half of the mean round trip.
//! - *Ping-pong bandwidth*: the same; payload bytes of one message over half the round trip.
//! - *Ping-pong of arrays that move*: the same, from and to memory that is mapped before each round
//!   trip and unmapped after it, so that its pages are new to the device. *That stay*: the same
//!   mapping and unmapping beside messages of one array, so that nothing else differs.
//! - *Bandwidth*: rank 0 starts a window of [`Effort::window`] `MPI_Isend`s and waits for all; rank
//!   1 does the same with `MPI_Irecv`s and then acknowledges with an empty message. Payload bytes
//!   over rank 0's time.
//! - *Bidirectional bandwidth*: both ranks start a window of receives and one of sends, then wait
//!   for all and exchange acknowledgements; the payload of both directions counts.
//! - *Message rate*: as bandwidth; messages over rank 0's time.
//!
//! But for those arrays, each message comes from and goes to the same page-aligned memory, touched
//! before, so that what is measured is the library and not the size of the machine's caches. A
//! program writes what it sends and reads what it receives: so before each message (or window) a
//! byte of every line of the send buffer is written, and after it a byte of every line received is
//! read. A copy by the kernel looks up to three times as quick where that is left out, since the
//! lines then stay in the receiver's cache. Rank 0's clock counts.

use super::metric::{Metric, Point};
use super::timing::{Clock, Effort, Samples, measure};
use crate::buffer::Buffer;
use crate::mpi::{Window, World};
use anyhow::{Result, ensure};
use std::hint::black_box;

/// The tag of the windows.
const TAG: i32 = 8;

/// Measures one point between two ranks: samples in the metric's unit, iterations.
///
/// # Errors
/// MPI fails, or a message does not arrive whole. The world must have two ranks.
pub(crate) fn run(world: &World, point: Point, effort: Effort, unwritten: bool) -> Result<(Vec<f64>, u64)> {
    let (from, to) = (Buffer::new(point.bytes), Buffer::new(point.bytes));
    let bytes = point.bytes;
    verify(world, &from, &to, bytes)?;
    let mut window = Window::new(world, TAG);
    let touched = if unwritten { 0 } else { bytes };
    let samples = measure(world, effort, Clock::Root, |world, iterations| {
        for _ in 0..iterations {
            match point.metric {
                Metric::Latency | Metric::PingPong => fresh_ping_pong(world, &from, &to, bytes, touched)?,
                Metric::PingPongStaying => {
                    let _others = (Buffer::mapped(bytes), Buffer::mapped(bytes));
                    ping_pong(world, &from, &to, bytes)?;
                }
                Metric::PingPongMoving => {
                    ping_pong(world, &Buffer::mapped(bytes), &Buffer::mapped(bytes), bytes)?;
                }
                Metric::Bidirectional => {
                    from.rewrite(touched, 1);
                    exchange(world, &mut window, &from, &to, bytes, effort.window)?;
                    black_box(to.look_over(touched));
                }
                _ => {
                    let rank = world.rank();
                    from.rewrite(if rank == 0 { touched } else { 0 }, 1);
                    stream(rank, &mut window, &from, &to, bytes, effort.window)?;
                    black_box(to.look_over(if rank == 0 { 0 } else { touched }));
                }
            }
        }
        Ok(())
    })?;
    Ok((in_unit(point, effort.window, &samples), samples.iterations))
}

/// A round trip of messages of which so many bytes are written before and read after.
#[inline]
fn fresh_ping_pong(world: &World, from: &Buffer, to: &Buffer, bytes: usize, touched: usize) -> Result<()> {
    if world.rank() == 0 {
        from.rewrite(touched, 1);
        world.send(from, bytes, 1)?;
        world.recv(to, bytes, 1)?;
        black_box(to.look_over(touched));
    } else {
        world.recv(to, bytes, 0)?;
        black_box(to.look_over(touched));
        from.rewrite(touched, 1);
        world.send(from, bytes, 0)?;
    }
    Ok(())
}

#[inline]
fn ping_pong(world: &World, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
    if world.rank() == 0 {
        world.send(from, bytes, 1)?;
        world.recv(to, bytes, 1)
    } else {
        world.recv(to, bytes, 0)?;
        world.send(from, bytes, 0)
    }
}

/// A window one way, and its acknowledgement.
pub(super) fn stream(
    rank: i32,
    window: &mut Window<'_>,
    from: &Buffer,
    to: &Buffer,
    bytes: usize,
    messages: usize,
) -> Result<()> {
    if rank == 0 {
        window.send(from, bytes, messages, 1)?;
        window.receive(to, 0, 1, 1)
    } else {
        window.receive(to, bytes, messages, 0)?;
        window.send(from, 0, 1, 0)
    }
}

fn exchange(
    world: &World,
    window: &mut Window<'_>,
    from: &Buffer,
    to: &Buffer,
    bytes: usize,
    messages: usize,
) -> Result<()> {
    window.exchange(from, to, bytes, messages, 1 - world.rank())?;
    ping_pong(world, from, to, 0)
}

/// Runs one round trip whose last byte is checked: a library that loses data is not measured.
fn verify(world: &World, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let (own, theirs) = (0xa0 + world.rank() as u8, 0xa1 - world.rank() as u8);
    from.set(bytes - 1, own);
    ping_pong(world, from, to, bytes)?;
    ensure!(to.get(bytes - 1) == theirs, "the last byte of a message of {bytes} bytes did not arrive");
    Ok(())
}

/// Seconds an iteration, in the metric's unit.
fn in_unit(point: Point, window: usize, samples: &Samples) -> Vec<f64> {
    let messages = window as f64;
    let convert = |seconds: &f64| match point.metric {
        Metric::Latency => seconds / 2.0 * 1e6,
        Metric::PingPong | Metric::PingPongStaying | Metric::PingPongMoving => {
            2.0 * point.bytes as f64 / seconds / 1e9
        }
        Metric::Rate => messages / seconds / 1e6,
        Metric::Bidirectional => 2.0 * messages * point.bytes as f64 / seconds / 1e9,
        _ => messages * point.bytes as f64 / seconds / 1e9,
    };
    samples.seconds.iter().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_from_the_time_of_an_iteration() {
        let samples = Samples { seconds: vec![64e-6], iterations: 1 };
        let value = |metric, bytes| in_unit(Point { metric, bytes }, 64, &samples)[0];
        assert!((value(Metric::Latency, 8) - 32.0).abs() < 1e-9);
        assert!((value(Metric::PingPong, 1000) - 2000.0 / 64e-6 / 1e9).abs() < 1e-9);
        assert!((value(Metric::Rate, 8) - 1.0).abs() < 1e-9);
        assert!((value(Metric::Bandwidth, 1000) - 1.0).abs() < 1e-9);
        assert!((value(Metric::Bidirectional, 1000) - 2.0).abs() < 1e-9);
    }
}
