//! `verbena trace`: where the time of messages went, in paper 1's seven components (section 6.3.2,
//! figure 16).
//!
//! It joins the traces of sender and receiver of each message (the setting `VERBENA_TRACE`), by the
//! two processes and the packet's number. Only messages that went eagerly, and that arrived while
//! their receiver waited in `MPI_Recv` or `MPI_Wait`, are counted: a ping-pong is the program to
//! trace.
//!
//! | module | job |
//! | --- | --- |
//! | [`verbena_lab::components`] | the components of each message, and their medians |
//! | [`page`] | showing them |

mod page;

use anyhow::{Result, ensure};
use clap::Args;
use std::path::PathBuf;
use verbena_lab::components::{logs, rows};
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

/// Reads, joins and shows.
///
/// # Errors
/// If a file cannot be read, or no message is in two of them.
pub(crate) fn run(args: &TraceArgs) -> Result<()> {
    let logs = logs(&args.files)?;
    let rows = rows(&logs, args.skip);
    ensure!(
        !rows.is_empty(),
        "no message was traced by both sides with one clock. Name the files of both processes, of one job on one machine, \
         whose messages are short and are received by MPI_Recv or MPI_Irecv and MPI_Wait; --skip {} leaves out the first of each length",
        args.skip
    );
    match args.json {
        true => output::line(&serde_json::to_string_pretty(&rows)?),
        false => output::print(&page::render(&rows, &logs)),
    }
}
