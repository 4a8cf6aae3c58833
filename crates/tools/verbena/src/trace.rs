//! `verbena trace`: where the time of messages went, in paper 1's seven components (section 6.3.2,
//! figure 16).
//!
//! It joins the traces of sender and receiver of each message (the setting `VERBENA_TRACE`), by the
//! two processes and the packet's number. Only messages that went eagerly, and that arrived while
//! their receiver waited in `MPI_Recv` or `MPI_Wait`, are counted: a ping-pong is the program to
//! trace.
//!
//! One-sided calls are shown by themselves: by origin, target, length and way, with the time that
//! they took at their origin.
//!
//! | module | job |
//! | --- | --- |
//! | [`verbena_lab::components`] | the components of each message, and their medians |
//! | [`verbena_lab::one_sided_calls`] | the times of one-sided calls |
//! | [`page`] | showing them |

mod page;

use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
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
/// If a file cannot be read, or no message is in two of them and no one-sided call in any.
pub(crate) fn run(args: &TraceArgs) -> Result<()> {
    let logs = logs(&args.files)?;
    let (rows, calls) = (rows(&logs, args.skip), call_rows(&logs));
    ensure!(
        !(rows.is_empty() && calls.is_empty()),
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
        false => output::print(&page::render(&rows, &calls, &logs)),
    }
}
