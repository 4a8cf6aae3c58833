//! `verbena info`: describes this installation and its findings on this machine.
//!
//! Nothing is invented: the library is opened and asked, the channels are opened between two
//! processes and asked, the launcher's variables are read by the very code that a rank uses.
//!
//! | module | job |
//! | --- | --- |
//! | [`library`] | the library: file, soname, versions, ABI |
//! | [`machine`] | processor, kernel, cores |
//! | [`channels`] | a job of two processes that open the channels; their findings |
//! | [`probe`] | one of these two processes |
//! | [`verbs`] | InfiniBand and RoCE devices |
//! | [`launcher`] | what the environment says about how this process was started |
//! | [`settings`] | every setting of Verbena |
//! | [`verdict`] | whether it works here, and which way messages go |
//! | [`page`] | showing it |

pub(crate) mod channels;
mod launcher;
pub(crate) mod library;
mod machine;
mod page;
pub(crate) mod probe;
mod settings;
pub(crate) mod verbs;
pub(crate) mod verdict;

use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use verbena_lab::output;

/// The options of `verbena info`.
#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Only the table of settings: value, default, range, help
    #[arg(long)]
    settings: bool,
    /// The library to describe [default: Verbena's, ../lib/libmpi_abi.so.1 seen from this program]
    #[arg(long)]
    library: Option<PathBuf>,
}

/// The contents of `verbena info`.
#[derive(Debug, Serialize)]
struct Info {
    /// The version of this program.
    version: &'static str,
    /// The answer whether it works here, and which way messages go.
    verdict: Vec<String>,
    library: library::Outcome,
    machine: machine::Machine,
    channels: Vec<channels::Finding>,
    verbs: verbs::Verbs,
    launcher: launcher::Launcher,
    settings: Vec<settings::Value>,
}

/// Runs `verbena info`.
///
/// # Errors
/// Standard output is closed, or Verbena does not work here. What cannot be found out is said in
/// its place.
pub(crate) fn run(args: &InfoArgs) -> Result<()> {
    if args.settings {
        return show_settings(args.json);
    }
    // First, since it loads the settings that the others go by.
    let settings = settings::describe();
    let mut info = Info {
        version: env!("CARGO_PKG_VERSION"),
        verdict: Vec::new(),
        library: library::describe(args.library.clone()),
        machine: machine::describe(),
        channels: channels::describe(),
        verbs: verbs::describe(),
        launcher: launcher::describe(&verbena_boot::environment::variable),
        settings,
    };
    explain_absences(&mut info);
    let (is_well, verdict) = verdict::lines(&info);
    info.verdict = verdict;
    match args.json {
        true => output::line(&serde_json::to_string_pretty(&info)?),
        false => output::print(&page::render(&info, is_well)),
    }?;
    ensure!(is_well, "{}", info.verdict[0]);
    Ok(())
}

/// Says of each channel that was not opened why that is.
fn explain_absences(info: &mut Info) {
    let wanted = verbena_settings::CHANNELS.get();
    let has_port = info.verbs.ports.iter().any(|port| port.chosen);
    for finding in info.channels.iter_mut().filter(|finding| finding.is_absent()) {
        finding.failure = Some(verdict::absence(&finding.channel, wanted.as_deref(), has_port));
    }
}

/// Shows the settings, and on standard error the faults of those in this environment.
fn show_settings(json: bool) -> Result<()> {
    let values = settings::describe();
    match json {
        true => output::line(&serde_json::to_string_pretty(&values)?),
        false => output::print(&page::settings(&values)),
    }?;
    let loaded = verbena_settings::load();
    loaded.wrong.iter().chain(&loaded.unknown).for_each(|fault| eprintln!("{fault}"));
    Ok(())
}
