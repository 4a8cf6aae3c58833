//! One of the two processes between which `verbena info` tries the channels.
//!
//! It starts as a rank does, with its parent in the place of the launcher: it opens the channels,
//! writes its card as a line of hexadecimal digits to standard output, reads the cards of both from
//! standard input, connects, asks each channel what it can do for the other process, and writes
//! that as JSON. Then it waits for its standard input to end, since the other one may still be
//! looking at its memory.

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Read, Write};
use verbena_channel::{Channel, Place};
use verbena_wires::registry;

/// The probe's command line, written by [`super::channels`].
#[derive(Args, Debug)]
pub(crate) struct ProbeArgs {
    /// This process's number
    #[arg(long)]
    me: u32,
    /// The number of processes
    #[arg(long)]
    size: u32,
    /// The job's name
    #[arg(long)]
    job: String,
}

/// The findings about one channel, seen from one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    /// The channel's name.
    pub channel: String,
    /// The reach for the other process; none if the channel does not reach it.
    pub reach: Option<Reach>,
    /// The findings in words.
    pub findings: Vec<String>,
}

/// The abilities of a channel for a process; see [`verbena_channel::Reach`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reach {
    /// The largest packet in bytes; 0 if it moves memory only.
    pub packet_bytes_max: usize,
    /// Reads the other one's memory.
    pub get: bool,
    /// Writes the other one's memory.
    pub put: bool,
}

/// Runs one process of the probe.
///
/// # Errors
/// A channel cannot be opened or connected, or the parent went away.
pub(crate) fn run(args: &ProbeArgs) -> Result<()> {
    let place = Place { me: args.me, size: args.size, job: args.job.clone(), engines: 0 };
    if let Some(wrong) = verbena_settings::load().wrong.first() {
        return Err(wrong.clone().into());
    }
    let wanted = verbena_settings::CHANNELS.get();
    let mut opened = registry::open(&place, wanted.as_deref())?;
    let cards = exchange(&opened.card(), args.size)?;
    let second = opened.second_card(&cards)?.map(|card| exchange(&card, args.size)).transpose()?;
    let mut channels = opened.connect(&cards, second.as_deref(), &registry::load(args.me, &cards))?;
    let found: Vec<Found> = channels.iter_mut().map(|channel| ask(&mut **channel, args)).collect();
    say(&serde_json::to_string(&found)?)?;
    std::io::stdin().read_to_end(&mut Vec::new()).context("waiting for the parent")?;
    Ok(())
}

/// Gives the own card to the parent, and gets everybody's.
fn exchange(card: &[u8], size: u32) -> Result<Vec<Vec<u8>>> {
    say(&encode(card))?;
    (0..size).map(|_| decode(&hear()?)).collect()
}

/// Asks the channel about the next process. For `loopback`, which knows only this process, it asks
/// about this one.
fn ask(channel: &mut dyn Channel, args: &ProbeArgs) -> Found {
    let other = (args.me + 1) % args.size;
    let reach = channel.reach(other).or_else(|| channel.reach(args.me));
    let reach = reach.map(|r| Reach {
        packet_bytes_max: r.packet_bytes_max,
        get: r.get.is_some(),
        put: r.put.is_some(),
    });
    Found { channel: channel.name().to_string(), reach, findings: channel.report().findings }
}

fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).context("telling the parent")
}

fn hear() -> Result<String> {
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line).context("hearing the parent")? == 0 {
        bail!("the parent went away");
    }
    Ok(line.trim_end().to_string())
}

fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decode(text: &str) -> Result<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        bail!("a card that is not hexadecimal");
    }
    let byte =
        |at: usize| u8::from_str_radix(&text[at..at + 2], 16).context("a card that is not hexadecimal");
    (0..text.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_survive_and_nonsense_is_refused() {
        assert_eq!(decode(&encode(&[0, 7, 255])).expect("card"), [0, 7, 255]);
        assert!(decode("0").is_err() && decode("zz").is_err() && decode("äö").is_err());
    }
}
