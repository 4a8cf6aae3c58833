//! The options about debuggers.

use crate::debugger::{Debug, ranks};
use clap::{Arg, ArgMatches};
use verbena_fault::Fault;

/// The options.
pub(super) fn options() -> Vec<Arg> {
    vec![
        Arg::new("gdb")
            .long("gdb")
            .value_name("RANKS")
            .help("Open gdb for these ranks (0,4-7, or all) at the beginning of their program"),
        Arg::new("terminal").long("terminal").value_name("COMMAND").help(
            "The command that opens a terminal for each gdb, such as 'xterm -e' [default: a window of tmux, of \
             the window system, or this terminal]",
        ),
    ]
}

/// Reads the options.
///
/// # Errors
/// A list of ranks, or a command, that is none.
pub(super) fn read(parts: &[&ArgMatches]) -> Result<Option<Debug>, Fault> {
    let value = |name: &str| parts.iter().find_map(|part| part.get_one::<String>(name));
    let Some(text) = value("gdb") else { return Ok(None) };
    let ranks = ranks(text).map_err(|why| nonsense("--gdb", text, &why))?;
    let split = |text: &String| {
        let words = shlex::split(text).filter(|words| !words.is_empty());
        words.ok_or_else(|| nonsense("--terminal", text, "expected a command"))
    };
    let terminal = value("terminal").map(split).transpose()?;
    Ok(Some(Debug { ranks, terminal }))
}

/// The advice where a message of the parser is about `--gdb` without its ranks, as other launchers
/// take it; else empty.
pub(super) fn advice(message: &str) -> &'static str {
    if message.contains("'--gdb <RANKS>'") { "write --gdb all for all ranks, or --gdb 0,4-7; " } else { "" }
}

fn nonsense(option: &str, text: &str, why: &str) -> Fault {
    Fault::new(
        "The options about debuggers are not understood.",
        format!("{option} '{text}': {why}"),
        "a mistyped value",
        "write for example --gdb all, --gdb 0,4-7 or --terminal 'xterm -e'",
    )
}

#[cfg(test)]
mod tests {
    use super::super::options::command;
    use super::*;

    fn debug(words: &[&str]) -> Result<Option<Debug>, Fault> {
        read(&[&command().try_get_matches_from([&["mpiexec"], words].concat()).unwrap()])
    }

    #[test]
    fn ranks_and_a_terminal_are_read() {
        let read = debug(&["--gdb", "1,3-4", "--terminal", "xterm -T 'a b' -e"]).unwrap().unwrap();
        assert_eq!(read.ranks, [1..=1, 3..=4]);
        assert_eq!(read.terminal.unwrap(), ["xterm", "-T", "a b", "-e"]);
        assert_eq!(debug(&[]).unwrap(), None);
    }

    #[test]
    fn gdb_without_ranks_is_told_how_to_name_all() {
        let said = |line: &str| {
            let stop = super::super::read(line.split(' ').map(Into::into).collect()).expect_err("no ranks");
            stop.text().to_owned()
        };
        for line in ["-gdb -n 2 ./a", "--gdb -n 2 ./a", "-gdb ./a"] {
            assert!(said(line).contains("--gdb all"), "{}", said(line));
        }
    }

    #[test]
    fn nonsense_is_refused_in_four_parts() {
        for words in [&["--gdb", "x"][..], &["--gdb", "0", "--terminal", "'"]] {
            assert_eq!(debug(words).unwrap_err().to_string().lines().count(), 4, "{words:?}");
        }
    }
}
