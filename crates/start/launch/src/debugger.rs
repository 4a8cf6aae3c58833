//! `mpiexec --gdb RANKS`: gdb for some ranks, each before it has run its first instruction.
//!
//! Such a rank is started as [`hold`], which waits for a debugger; gdb is attached to it in a
//! terminal, and follows it into the program. So the rank has the environment, the descriptors and
//! the parent that it would have without gdb.

use crate::sys::{self, Inherited};
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use verbena_fault::Fault;

/// The first word of a command line that is no job, but a rank that waits for gdb.
pub const HOLD_OPTION: &str = "--hold-for-debugger";

/// The time from one look for a debugger to the next.
const LOOK: Duration = Duration::from_millis(20);

/// The wish for gdb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Debug {
    /// The ranks.
    pub ranks: Vec<RangeInclusive<u32>>,
    /// The command that opens a terminal for the words after it; `None`: whatever is there.
    pub terminal: Option<Vec<String>>,
}

/// The place where gdb runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Terminal {
    /// A terminal that this command opens.
    Opened(Vec<String>),
    /// The terminal of `mpiexec`.
    Here,
}

/// The surroundings of `mpiexec`.
pub struct Surroundings<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Tells whether a program is installed.
    pub is_installed: &'a dyn Fn(&str) -> bool,
    /// True if `mpiexec` itself has a terminal.
    pub has_terminal: bool,
}

/// Terminals for windows, and the option behind which each takes a command.
const WINDOWS: [(&str, &str); 6] = [
    ("x-terminal-emulator", "-e"),
    ("xterm", "-e"),
    ("konsole", "-e"),
    ("gnome-terminal", "--"),
    ("xfce4-terminal", "-x"),
    ("foot", "-e"),
];

/// Reads a list of ranks such as `0,4-7`, or `all`.
///
/// # Errors
/// In words, for the user.
pub fn ranks(text: &str) -> Result<Vec<RangeInclusive<u32>>, String> {
    if text == "all" {
        return Ok(vec![0..=u32::MAX]);
    }
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        (first <= last).then_some(first..=last)
    };
    let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
    ranges.ok_or_else(|| "expected ranks such as 0,4-7, or all".into())
}

impl Debug {
    /// The ranks of a job of this size.
    ///
    /// # Errors
    /// There are none of these.
    pub fn ranks(&self, size: u32) -> Result<Vec<u32>, Fault> {
        let wanted = |rank: &u32| self.ranks.iter().any(|range| range.contains(rank));
        let ranks: Vec<u32> = (0..size).filter(wanted).collect();
        let beyond = self.ranks.iter().find(|range| *range.end() >= size && *range.end() != u32::MAX);
        match (beyond, ranks.is_empty()) {
            (None, false) => Ok(ranks),
            _ => Err(Fault::new(
                "There are no such ranks to debug.",
                format!("--gdb names rank {}, the job has {size}", beyond.map_or(0, |range| *range.end())),
                "ranks count from 0",
                format!("name ranks from 0 to {}, or all", size.saturating_sub(1)),
            )),
        }
    }

    /// Chooses a terminal for each of this many gdbs.
    ///
    /// # Errors
    /// There is none.
    pub fn terminal(&self, count: usize, around: &Surroundings<'_>) -> Result<Terminal, Fault> {
        if !(around.is_installed)("gdb") {
            return Err(Fault::new(
                "gdb cannot be started.",
                "--gdb, and no gdb in any directory of PATH",
                "it is not installed",
                "install it, or attach another debugger to the ranks: mpiexec tells their process ids by MPIR",
            ));
        }
        if let Some(words) = &self.terminal {
            return Ok(Terminal::Opened(words.clone()));
        }
        let opened = |words: &[&str]| Terminal::Opened(words.iter().map(|word| (*word).into()).collect());
        if (around.variable)("TMUX").is_some() {
            return Ok(opened(&["tmux", "new-window"]));
        }
        let has_windows = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| (around.variable)(name).is_some());
        let window = WINDOWS.iter().find(|(program, _)| has_windows && (around.is_installed)(program));
        match window {
            Some(&(program, option)) => Ok(opened(&[program, option])),
            None if count == 1 && around.has_terminal => Ok(Terminal::Here),
            None if count == 1 => Err(Fault::new(
                "There is no terminal for gdb.",
                "--gdb, 1 rank; standard input is no terminal, and neither tmux nor a window system is around",
                "mpiexec was started by a script, a batch system or ssh without -t",
                "run it in a terminal or inside tmux, or say --terminal COMMAND (such as 'xterm -e')",
            )),
            None => Err(Fault::new(
                "There is no terminal for each gdb.",
                format!("--gdb, {count} ranks; neither tmux nor a window system is around"),
                "several gdbs cannot share one terminal",
                "run mpiexec inside tmux, name one rank only, or say --terminal COMMAND (such as 'xterm -e')",
            )),
        }
    }
}

/// The words that attach gdb to a held rank and bring it to the beginning of its program.
fn words(pid: i32) -> Vec<String> {
    // This program's own scripts for gdb are of no use, and gdb complains of them: scripts are
    // loaded from the user's program on.
    let scripts = |wish: &str| format!("set auto-load python-scripts {wish}");
    let commands = [&scripts("on"), "tcatch exec", "continue"];
    let mut words = vec!["gdb".to_owned(), "-q".into(), "-iex".into(), scripts("off")];
    words.extend(["-p".into(), pid.to_string()]);
    words.extend(commands.iter().flat_map(|command| ["-ex".to_owned(), (*command).to_owned()]));
    words
}

/// Opens gdb for a held rank; returns its process id.
///
/// # Errors
/// The terminal cannot be opened.
pub fn open(terminal: &Terminal, pid: i32, inherited: Inherited) -> Result<i32, Fault> {
    let gdb = words(pid);
    let all: Vec<String> = match terminal {
        Terminal::Opened(words) => words.iter().cloned().chain(gdb).collect(),
        Terminal::Here => gdb,
    };
    let mut command = Command::new(&all[0]);
    command.args(&all[1..]);
    let is_here = *terminal == Terminal::Here;
    if !is_here {
        command.stdin(Stdio::null());
    }
    // A process group of its own: Ctrl-C in the terminal is for gdb.
    command.process_group(0);
    let in_child = move || {
        if is_here {
            sys::take_terminal();
        }
        inherited.restore();
        Ok(())
    };
    // SAFETY: the closure only makes async-signal-safe system calls and allocates nothing.
    unsafe { command.pre_exec(in_child) };
    let child = command.spawn().map_err(|error| {
        Fault::new(
            "gdb's terminal could not be opened.",
            format!("{}: {error}", all.join(" ")),
            "the command is misspelt or not installed",
            "say --terminal COMMAND, a command that opens a terminal for the words after it",
        )
    })?;
    Ok(child.id().cast_signed())
}

/// Waits, as a rank, for gdb, and becomes the program that these words name. Returns only if that
/// cannot be started: the exit code.
pub fn hold(words: &[OsString]) -> i32 {
    sys::allow_debuggers();
    // Not stopped by a signal: the kernel would stop it again as soon as the debugger leaves.
    while !sys::is_traced() {
        std::thread::sleep(LOOK);
    }
    // The debugger is there a moment before it holds this process.
    std::thread::sleep(LOOK);
    let Some((program, arguments)) = words.split_first() else { return 2 };
    let error = Command::new(program).args(arguments).exec();
    sys::complain(&format!("mpiexec: Could not start {}: {error}", program.display()));
    127
}

/// Returns whether a program is in one of the directories of PATH.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn debug(ranks: &str) -> Debug {
        Debug { ranks: super::ranks(ranks).unwrap(), terminal: None }
    }

    #[test]
    fn ranks_are_named_by_lists_and_ranges() {
        assert_eq!(debug("0,2-3").ranks(5).unwrap(), [0, 2, 3]);
        assert_eq!(debug("all").ranks(3).unwrap(), [0, 1, 2]);
        for wrong in ["", "x", "3-1", "1,,2"] {
            assert!(ranks(wrong).is_err(), "{wrong}");
        }
        let fault = debug("1,7").ranks(4).unwrap_err().to_string();
        assert!(fault.contains("rank 7, the job has 4"), "{fault}");
    }

    /// The terminal for this many ranks where these variables are set and these programs installed.
    fn terminal(
        count: usize,
        set: &[&str],
        installed: &[&str],
        has_terminal: bool,
    ) -> Result<Terminal, Fault> {
        let variable = |name: &str| set.contains(&name).then(|| "x".to_owned());
        let is_installed = |program: &str| installed.contains(&program);
        let around = Surroundings { variable: &variable, is_installed: &is_installed, has_terminal };
        debug("all").terminal(count, &around)
    }

    #[test]
    fn the_terminal_is_the_one_that_is_there() {
        let opened = |words: &[&str]| Terminal::Opened(words.iter().map(|word| (*word).into()).collect());
        let both = ["gdb", "xterm"];
        assert_eq!(terminal(3, &["TMUX", "DISPLAY"], &both, true), Ok(opened(&["tmux", "new-window"])));
        assert_eq!(terminal(3, &["DISPLAY"], &both, true), Ok(opened(&["xterm", "-e"])));
        assert_eq!(terminal(1, &[], &both, true), Ok(Terminal::Here));
        for (count, installed, has_terminal, what) in [
            (2, &both[..], true, "no terminal for each gdb"),
            (1, &both[..], false, "no terminal for gdb"),
            (1, &[][..], true, "gdb cannot be started"),
        ] {
            let fault = terminal(count, &[], installed, has_terminal).unwrap_err().to_string();
            assert!(fault.lines().count() == 4 && fault.contains(what), "{fault}");
        }
    }
}
