//! `verbena trace`: what the ranks of a job did, from the files that they wrote (the setting
//! `VERBENA_TRACE`).
//!
//! As a timeline for a viewer (`--perfetto`, `--chrome`): the calls of each rank, and each message
//! from the call that sent it to the call in which its receive ended. As a profile (`--summary`).
//! And as tables of where the time of messages went, in paper 1's seven components (section 6.3.2,
//! figure 16): there, only messages that went eagerly, and that arrived while their receiver waited
//! in `MPI_Recv` or `MPI_Wait`, are counted, so a ping-pong is the program to trace.
//!
//! | module | job |
//! | --- | --- |
//! | [`timeline`] | calls and messages of all ranks on one clock |
//! | [`perfetto`], [`protobuf`] | the timeline in Perfetto's format |
//! | [`chrome`] | the timeline as JSON |
//! | [`summary`] | the profile |
//! | [`verbena_lab::components`] | the components of each message, and their medians |
//! | [`verbena_lab::one_sided_calls`] | the times of one-sided calls |
//! | [`page`] | showing tables |

mod chrome;
mod page;
mod perfetto;
mod protobuf;
mod summary;
mod timeline;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use timeline::Timeline;
use verbena_channel::trace::Log;
use verbena_lab::components::{Row, logs, rows};
use verbena_lab::one_sided_calls::{CallRow, call_rows};
use verbena_lab::output;

/// The options of `verbena trace`.
#[derive(Args, Debug)]
pub(crate) struct TraceArgs {
    /// The files that the ranks of one job wrote: VERBENA_TRACE=NAME mpiexec ... makes NAME.0.json,
    /// NAME.1.json, ...
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write a timeline for ui.perfetto.dev to FILE: a track for each rank, calls, messages,
    /// queues
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Write the timeline as JSON to FILE, for chrome://tracing and other viewers
    #[arg(long, value_name = "FILE")]
    chrome: Option<PathBuf>,
    /// Show only how long each rank was in MPI, and which calls took the time, by function,
    /// communicator and size
    #[arg(long)]
    summary: bool,
    /// Lines of the summary's table of calls
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Messages of each length that are left out at the beginning
    #[arg(long, default_value_t = 10)]
    skip: usize,
}

/// A row of the JSON: messages, or one-sided calls, which have the field `call`.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Messages(&'a Row),
    Calls(&'a CallRow),
}

/// Reads, joins and shows.
///
/// # Errors
/// If a file cannot be read or written, or has nothing of what is asked for.
pub(crate) fn run(args: &TraceArgs) -> Result<()> {
    let logs = logs(&args.files)?;
    if args.perfetto.is_some() || args.chrome.is_some() {
        write_timeline(args, &logs)?;
        return if args.summary { summarize(args, &logs) } else { Ok(()) };
    }
    if args.summary {
        return summarize(args, &logs);
    }
    let (rows, calls) = (rows(&logs, args.skip), call_rows(&logs));
    let has_profile = !args.json && logs.iter().any(|log| !log.calls.is_empty());
    ensure!(
        !(rows.is_empty() && calls.is_empty()) || has_profile,
        "no message was traced by both sides with one clock. Name the files of both processes, of one job on one machine, \
         whose messages are short and are received by MPI_Recv or MPI_Irecv and MPI_Wait; --skip {} leaves out the first of each length",
        args.skip
    );
    match args.json {
        true => {
            let shown: Vec<Shown> =
                rows.iter().map(Shown::Messages).chain(calls.iter().map(Shown::Calls)).collect();
            output::line(&serde_json::to_string_pretty(&shown)?)
        }
        false => {
            if has_profile {
                output::print(&page::summary(&summary::summary(&logs), args.top))?;
            }
            output::print(&page::render(&rows, &calls, &logs))
        }
    }
}

/// Shows the profile.
fn summarize(args: &TraceArgs, logs: &[Log]) -> Result<()> {
    let summary = summary::summary(logs);
    ensure!(
        !summary.calls.is_empty(),
        "no call is in these files: they were written by a Verbena that did not trace calls yet"
    );
    match args.json {
        true => output::line(&serde_json::to_string_pretty(&summary)?),
        false => output::print(&page::summary(&summary, args.top)),
    }
}

/// Writes the timeline in the formats that are asked for, and says what is in it.
fn write_timeline(args: &TraceArgs, logs: &[Log]) -> Result<()> {
    let timeline = Timeline::new(logs);
    ensure!(
        timeline.calls() > 0,
        "no call is in these files: they were written by a Verbena that did not trace calls yet"
    );
    if let Some(path) = &args.perfetto {
        to_file(path, |out| perfetto::write(&timeline, out))?;
        output::line(&format!("{}: {}", path.display(), contents(&timeline)))?;
        output::line(
            "Open it at https://ui.perfetto.dev, which reads it in the browser and sends it nowhere.",
        )?;
    }
    if let Some(path) = &args.chrome {
        to_file(path, |out| chrome::write(&timeline, out))?;
        output::line(&format!("{}: {}", path.display(), contents(&timeline)))?;
    }
    Ok(())
}

fn to_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> Result<()> {
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    });
    written.with_context(|| format!("cannot write the timeline to {}", path.display()))
}

/// Says in words what a timeline has, and what is wrong with it.
fn contents(timeline: &Timeline) -> String {
    let (ranks, calls) = (timeline.ranks.len(), timeline.calls());
    let mut words = format!("{ranks} ranks, {calls} calls, {} messages", timeline.messages.len());
    if timeline.untaken > 0 {
        words += &format!("; {} more were sent and not taken by a receive", timeline.untaken);
    }
    let dropped: u64 = timeline.ranks.iter().map(|rank| rank.log.dropped).sum();
    if dropped > 0 {
        words += &format!("; {dropped} records found no room: raise VERBENA_TRACE_RECORDS_MAX");
    }
    if timeline.has_clocks {
        words += "; the hosts are held together by their own clocks only";
    }
    if timeline.disordered() > 0 {
        words += &format!(", by which {} messages came before they were sent", timeline.disordered());
    }
    words
}
