//! `verbena bench threshold`: what each channel is good for (paper 3, section 4): latency and bandwidth by size (figure 5), the
//! processor time that a transfer takes (figure 4), and what it takes from a computation beside it, with and without the
//! progress thread.
//!
//! On one node that is `shm` and `cma`; with `--hosts` also `rc` by read, by write and as a stream between the first two.

pub mod command;

use super::candidate::{Candidate, Set, set};
use super::job::Launch;
use super::metric::{Metric, Point};
use anyhow::Result;

/// A channel, and the settings that make messages go that way at every size.
pub struct Way {
    /// Its name.
    pub name: &'static str,
    /// The settings.
    pub settings: Vec<Set>,
    /// It joins nodes.
    pub network: bool,
}

/// Larger than any message.
const NEVER: u64 = 1 << 40;

/// The channels.
pub fn ways() -> Vec<Way> {
    let node = |name, settings| Way { name, settings, network: false };
    let rc = |name, large: &str| {
        let settings = vec![set("CHANNELS", "rc"), set("LARGE", large), set("RC_MEMORY_BYTES_MIN", 1)];
        Way { name, settings, network: true }
    };
    vec![
        node("shm", vec![set("CHANNELS", "shm")]),
        node(
            "cma",
            vec![set("CHANNELS", "shm,cma"), set("CMA_BYTES_MIN", 1), set("COPY_BY_BOTH_BYTES_MIN", NEVER)],
        ),
        node(
            "cma by both",
            vec![set("CHANNELS", "shm,cma"), set("CMA_BYTES_MIN", 1), set("COPY_BY_BOTH_BYTES_MIN", 0)],
        ),
        rc("rc read", "read"),
        rc("rc write", "write"),
        rc("rc stream", "pipeline"),
    ]
}

/// The message of the figures about overlap.
const LONG: usize = 4 << 20;

fn points(sizes: &[usize]) -> Vec<Point> {
    let of = |metric: Metric| sizes.iter().map(move |&bytes| Point { metric, bytes });
    of(Metric::Latency).chain(of(Metric::Bandwidth)).collect()
}

/// The points about overlap.
fn overlaps() -> [Point; 2] {
    [Metric::OverlapLoss, Metric::Processor].map(|metric| Point { metric, bytes: LONG })
}

/// What is measured of one channel.
pub struct Measured {
    /// By size.
    pub sizes: Candidate,
    /// Of a long message beside a computation, without the progress thread and with it.
    pub beside: [Candidate; 2],
}

impl Measured {
    fn new(way: &Way, sizes: &[usize], launch: &Launch) -> Result<Measured> {
        let beside = |on: bool| {
            let name = format!("{}{}", way.name, if on { ", progress thread" } else { "" });
            let settings = [&way.settings[..], &[set("PROGRESS_THREAD", u8::from(on))]].concat();
            Candidate::new(&name, &settings, &overlaps(), 2, launch)
        };
        let candidate = Candidate::new(way.name, &way.settings, &points(sizes), 2, launch)?;
        Ok(Measured { sizes: candidate, beside: [beside(false)?, beside(true)?] })
    }

    /// Everything that was measured.
    fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        std::iter::once(&self.sizes).chain(&self.beside)
    }
}
