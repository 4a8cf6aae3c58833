//! The manual page of `mpiexec` and its completions, which `packaging/install` puts in their place:
//! `mpiexec --manual`, `mpiexec --completions bash mpiexec`. Without a name, the completions are
//! those of `mpirun` too.

use crate::{cli, sys};
use std::ffi::OsString;
use std::str::FromStr;
use verbena_fault::Fault;
use verbena_manual::{Shell, completions, page, with_one_dash};

/// The date of the page: that of the last change of what it describes.
const DATE: &str = "November 27, 2026";
/// The names of the command.
const NAMES: [&str; 2] = ["mpiexec", "mpirun"];

/// Sections behind the options.
const SECTIONS: [(&str, &str); 5] = [
    (
        "Spelling of options",
        "A long option may have one dash, and its value may stand behind a =: -genv, --genv, -timeout 5 and \
         --timeout=5 are all understood. Options stand before the program; what is behind it belongs to the \
         program.\n\nOptions of other MPIs are understood too, or refused with advice; those that only tune the \
         other library are ignored with a note.",
    ),
    (
        "Environment",
        "Variables whose names begin with VERBENA_ are settings of the library: verbena info --settings lists \
         them. They go to all hosts, and so does LD_LIBRARY_PATH. MPIEXEC_TIMEOUT is the default of --timeout, MPIEXEC_PORT_RANGE=LOW:HIGH \
         limits the TCP ports of the ranks, HYDRA_HOST_FILE is the default of --hostfile. \
         VERBENA_TERM_GRACE_SECONDS is the time that ranks have to end after a SIGTERM to mpiexec, before they \
         are killed (default: 10; 0: as long as they like).\n\nEach rank has \
         VERBENA_LOCAL_RANK and VERBENA_LOCAL_SIZE, its place among the ranks of its host, and the same under \
         the names MPI_LOCALRANKID and MPI_LOCALNRANKS.",
    ),
    (
        "Exit status",
        "That of the first rank that failed; 128+N if signal N killed it; 124 after --timeout; 127 if the \
         program could not be started; 2 if the command line is not understood; 0 if every rank ended well.",
    ),
    (
        "Signals",
        "SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to all ranks, and a second SIGINT or SIGTERM kills \
         them; so does VERBENA_TERM_GRACE_SECONDS after the first SIGTERM. mpiexec says so where ranks do not \
         end. SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are passed on as well. If mpiexec itself is killed, its \
         ranks die with it.",
    ),
    (
        "Debuggers",
        "Debuggers of parallel programs find the ranks by the MPIR interface: MPIR_proctable and the symbols \
         beside it. A rank that crashed is named with its core file, if the kernel wrote one.",
    ),
];

/// Carries out a command line that asks for a page; `None` for every other. Returns the exit code.
pub fn run(arguments: &[OsString]) -> Option<i32> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let text = match words[..] {
        ["--manual"] => page(&cli::description(), &SECTIONS, DATE),
        ["--completions", shell] => match of_all(shell, &NAMES) {
            Some(text) => text,
            None => return Some(no_shell(shell)),
        },
        ["--completions", shell, name] if NAMES.contains(&name) => match of_all(shell, &[name]) {
            Some(text) => text,
            None => return Some(no_shell(shell)),
        },
        ["--completions"] => return Some(no_shell("of no name")),
        _ => return None,
    };
    Some(cli::Stop::with_text(text).print())
}

/// The completions for a shell of the command under these names; `None` for no shell.
fn of_all(shell: &str, names: &[&str]) -> Option<String> {
    let shell = Shell::from_str(shell).ok()?;
    let text = |name: &&str| {
        let text = completions(&cli::for_completions().name((*name).to_owned()), shell);
        if shell == Shell::Bash { with_one_dash(&text) } else { text }
    };
    Some(names.iter().map(text).collect())
}

fn no_shell(shell: &str) -> i32 {
    let fault = Fault::new(
        "There are no completions for this shell.",
        format!("--completions {shell}"),
        "a mistyped name, or another shell",
        "name bash, zsh, fish, elvish or powershell",
    );
    sys::complain(&format!("mpiexec: {fault}"));
    2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_that_asks_for_a_page_gets_one() {
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(Into::into).collect() };
        assert_eq!(run(&words("-n 2 prog --manual")), None);
        assert_eq!(run(&words("--completions nonsense")), Some(2));
        assert_eq!(run(&words("--completions")), Some(2));
        assert_eq!(run(&words("--completions bash other")), None);
        let text = of_all("fish", &["mpirun"]).unwrap();
        assert!(text.contains("complete -c mpirun ") && !text.contains("-c mpiexec"), "{text}");
        let text = of_all("bash", &NAMES).unwrap();
        for name in NAMES {
            assert!(text.contains(&format!("default {name}\n")), "{name}: {text}");
        }
        assert_eq!(text.matches("opts//--/-").count(), 2, "one dash for both");
    }

    #[test]
    fn the_page_has_every_option_that_help_shows() {
        let page = page(&cli::description(), &SECTIONS, DATE);
        for option in ["Fl n , Fl c , Fl -np , Fl -n Ar \\&N", "Fl -gdb Ar RANKS", "Fl -timeout Ar SECONDS"] {
            assert!(page.contains(option), "{option}\n{page}");
        }
        assert!(page.contains(".Sh EXIT STATUS") && !page.contains("pmixmca"), "{page}");
        assert!(page.contains("may have one dash") && page.contains("VERBENA_TERM_GRACE_SECONDS"), "{page}");
    }
}
