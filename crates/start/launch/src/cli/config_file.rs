//! `-configfile FILE` (MPI-5.0 section 11.5): each line of the file is a part of the command line.
//! A line that begins with `#` is a comment; one that ends with `\` goes on in the next.

use super::options::command;
use super::words::split_at_program;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use verbena_fault::Fault;

/// The option as [`split_at_program`] spells it.
const OPTION: &str = "--configfile";

/// The command line with the parts of the file that it names. Options before and behind the name of
/// the file go before those of its first line.
///
/// # Errors
/// The file cannot be read or understood, or the command line has programs of its own.
pub(super) fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>, Fault> {
    let first = arguments.split(|word| word == ":").next().unwrap_or_default();
    let (mut options, program) = split_at_program(first);
    let words = std::iter::once(OsString::from("mpiexec")).chain(options.iter().cloned());
    // A wrong option is told of when the parts are read.
    let Ok(matches) = command().try_get_matches_from(words) else { return Ok(arguments) };
    let Some(file) = matches.get_one::<PathBuf>("configfile").cloned() else { return Ok(arguments) };
    if !program.is_empty() || first.len() != arguments.len() {
        return Err(two_sources(&file));
    }
    take_out(&mut options);
    let text = std::fs::read_to_string(&file).map_err(|error| unreadable(&file, &error.to_string()))?;
    let parts = read(&text, &file)?;
    let parts = parts.join(&OsString::from(":"));
    Ok(options.into_iter().chain(parts).collect())
}

/// Takes the option out of the words.
fn take_out(options: &mut Vec<OsString>) {
    while let Some(at) = options.iter().position(|word| word.to_string_lossy().starts_with(OPTION)) {
        let values = usize::from(options[at] == OPTION);
        options.drain(at..(at + 1 + values).min(options.len()));
    }
}

/// The words of each part.
fn read(text: &str, file: &Path) -> Result<Vec<Vec<OsString>>, Fault> {
    let text = text.replace("\\\n", " ");
    let mut parts = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words =
            shlex::split(line).ok_or_else(|| unreadable(file, &format!("a quote is not closed: {line}")))?;
        if words.iter().any(|word| word.trim_start_matches('-').starts_with("configfile")) {
            return Err(unreadable(file, "it names another configuration file"));
        }
        parts.push(words.into_iter().map(OsString::from).collect());
    }
    if parts.is_empty() { Err(unreadable(file, "it has no line with a program")) } else { Ok(parts) }
}

fn unreadable(file: &Path, why: &str) -> Fault {
    Fault::new(
        "The configuration file cannot be read.",
        format!("-configfile {}: {why}", file.display()),
        "it is not there, not ours to read, or not a list of programs with their options",
        "write on each line what would stand between two ':' of the command line, as in: -n 2 ./program",
    )
}

/// The message about a file and programs beside it.
pub(super) fn two_sources(file: &Path) -> Fault {
    Fault::new(
        "The command line has programs, and so has the configuration file.",
        format!("-configfile {}", file.display()),
        "a program was written behind the option",
        "write all programs in the file, or none",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn parts(text: &str) -> Result<Vec<String>, Fault> {
        let text_of = |part: Vec<OsString>| part.join(OsStr::new(" ")).into_string().unwrap();
        Ok(read(text, Path::new("f"))?.into_iter().map(text_of).collect())
    }

    #[test]
    fn lines_are_parts() {
        let text = "# two programs\n-n 1 ./a 'b c'\n\n  -n 3 -wdir /tmp \\\n  ./d # all\n";
        assert_eq!(parts(text).unwrap(), ["-n 1 ./a b c", "-n 3 -wdir /tmp ./d"]);
    }

    #[test]
    fn what_is_no_list_of_programs_is_refused_in_four_parts() {
        for text in ["", "# only this\n", "-n 1 'a\n", "-configfile g\n"] {
            assert_eq!(parts(text).unwrap_err().to_string().lines().count(), 4, "{text}");
        }
    }

    #[test]
    fn the_options_of_the_command_line_go_first() {
        let file = std::env::temp_dir().join(format!("launch-config-{}", std::process::id()));
        std::fs::write(&file, "-n 1 a\n-n 2 b\n").unwrap();
        let name = file.to_str().unwrap();
        let expanded = |words: &[&str]| expand(words.iter().map(OsString::from).collect());
        let plain = ["-l", "-n", "2", "x", ":", "y"].map(OsString::from);
        assert_eq!(expand(plain.to_vec()), Ok(plain.to_vec()));
        let joined = "-l --timeout 5 -n 1 a : -n 2 b".split(' ').map(OsString::from).collect();
        assert_eq!(expanded(&["-l", "-configfile", name, "-timeout", "5"]), Ok(joined));
        assert!(expanded(&["-configfile", name, "x"]).is_err());
        assert!(expanded(&["-configfile", name, ":", "x"]).is_err());
        std::fs::remove_file(&file).unwrap();
        assert!(expanded(&["-configfile", name]).unwrap_err().on.contains(name));
    }
}
