//! The command `verbena-papers`, for Verbena's developers: the measurements of the five papers, on
//! the devices of this machine.
//!
//! `cargo xtask papers` builds and runs it. It is not installed; it measures the installation that
//! `VERBENA_PREFIX` names, or the build that it lies in.
//!
//! | module | job |
//! | --- | --- |
//! | [`rc`] | the comparisons of papers 1 and 2 over the channel `rc` |
//! | [`polling`] | those of paper 3: which channel is looked at how often |
//! | [`threshold`] | what each channel is good for (paper 3) |
//! | [`ud`] | the comparisons of paper 4: datagrams against connections |
//! | [`bulk`] | those of paper 5: long messages by RDMA, rails, overlap |
//! | [`report`] | every figure and table of the five papers in one report |
//! | [`comparison`] | how a comparison is run |
//! | [`peers`] | the comparison with other libraries |
//! | [`model`] | the simulator's figures beside the measurements |
//! | [`theory`] | the simulator's constants, and what it predicts of this machine's device |
//! | [`plot`], [`bars`], [`panels`] | pictures in SVG |

mod bars;
mod bulk;
mod comparison;
mod model;
mod panels;
mod peers;
mod plot;
mod polling;
mod rc;
mod report;
mod theory;
mod threshold;
mod ud;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use verbena_lab::helper::Helper;

#[derive(Parser)]
#[command(name = "verbena-papers", version = env!("VERSION_AND_COMMIT"), about = "Measures what the five papers measured")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measurements of papers 1 and 2, over the channel rc
    Rc(Box<rc::command::RcArgs>),
    /// Measurements of paper 3: which channel is polled how often
    Polling(Box<polling::command::PollingArgs>),
    /// Strengths of each channel: latency, bandwidth, processor use, overlap (paper 3, section 4)
    Threshold(Box<threshold::command::ThresholdArgs>),
    /// Measurements of paper 4: datagrams, made reliable or not, against connections
    Ud(Box<ud::command::UdArgs>),
    /// Measurements of paper 5: long messages by RDMA or copied, over one rail or two, beside a
    /// computation
    Bulk(Box<bulk::command::BulkArgs>),
    /// Every figure and table of the five papers, with what this machine shows of it, in one report
    Report(Box<report::command::ReportArgs>),
    /// The simulator's model: where its constants come from, what it says of numbers that it was
    /// not fitted to, and what it predicts of the device that `verbena bench verbs` measured
    Theory(theory::command::TheoryArgs),
    /// Draws the result of `verbena bench --json`
    Plot(plot::PlotArgs),
    #[command(flatten)]
    Helper(Helper),
}

fn main() -> ExitCode {
    let outcome = match &Cli::parse().command {
        Command::Rc(args) => rc::command::run(args),
        Command::Polling(args) => polling::command::run(args),
        Command::Threshold(args) => threshold::command::run(args),
        Command::Ud(args) => ud::command::run(args),
        Command::Bulk(args) => bulk::command::run(args),
        Command::Report(args) => report::command::run(args),
        Command::Plot(args) => plot::run(args),
        Command::Theory(args) => theory::command::run(args),
        Command::Helper(helper) => helper.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("verbena-papers: {error:#}");
            ExitCode::FAILURE
        }
    }
}
