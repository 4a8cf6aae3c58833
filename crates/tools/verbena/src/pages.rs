//! The manual page of `verbena` and its completions, from the options that it reads.

use anyhow::Result;
use clap::{Args, Command};
use verbena_lab::output;
use verbena_manual::{Shell, completions, page};

/// The date of the page: that of the last change of what it describes.
const DATE: &str = "November 26, 2026";

/// Sections behind the commands.
const SECTIONS: [(&str, &str); 3] = [
    (
        "Environment",
        "Variables whose names begin with VERBENA_ are settings of the library; verbena info --settings lists \
         them all. NO_COLOR, if it is set, keeps colors off the terminal.",
    ),
    (
        "Exit status",
        "0 if all went well; 1 if something failed, or is to be mended; 2 if the command line is not \
         understood; 141 if nobody reads the output any more.",
    ),
    (
        "Examples",
        "verbena info says which way messages go here. verbena doctor a b looks at the hosts a and b too. \
         verbena bench latency -n 2 measures short messages. verbena tune finds good settings.\n\n\
         VERBENA_TRACE=t mpiexec -n 4 ./program, then verbena trace --perfetto t.pftrace t.*.json, makes a \
         timeline for ui.perfetto.dev.",
    ),
];

/// The options of `verbena completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the completions of the command for a shell.
///
/// # Errors
/// Standard output is closed.
pub(crate) fn complete(command: &Command, args: &CompletionsArgs) -> Result<()> {
    output::print(&completions(command, args.shell))
}

/// Prints the manual page.
///
/// # Errors
/// Standard output is closed.
pub(crate) fn manual(command: &Command) -> Result<()> {
    output::print(&page(command, &SECTIONS, DATE))
}
