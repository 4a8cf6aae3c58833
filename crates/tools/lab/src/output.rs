//! Standard output of this command: a reader that goes away ends the command quietly, and any other
//! failure to write is an error.

use anyhow::{Context, Result};
use std::io::{ErrorKind, Write};

/// The exit code of a command whose reader is gone: the one that a shell reports for SIGPIPE
/// (128+13).
const READER_GONE: i32 = 141;

/// Writes the text to standard output.
///
/// # Errors
/// It cannot be written, because the disk is full for example. If the reader is gone
/// (`verbena info | head -1`) this function does not return: the process ends with code 141 and
/// without a word, as other commands do.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(READER_GONE),
        outcome => outcome.context("cannot write to standard output"),
    }
}

/// Prints as [`print()`] does, and ends the line.
///
/// # Errors
/// Those of [`print()`].
pub fn line(text: &str) -> Result<()> {
    print(&format!("{text}\n"))
}
