//! `-configfile FILE` (MPI-5.0 section 11.5): each line of the file is a part of the command line.
//! `-file FILE`, whose meaning the standard leaves to each library: the file has more options of
//! one part. In both a line that begins with `#` is a comment; one that ends with `\` goes on in
//! the next.

use super::options::command;
use super::parts::check;
use super::words::{Words, split_at_program, typed};
use super::{Stop, stop_at};
use clap::ArgMatches;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use verbena_fault::Fault;

/// The option as [`split_at_program`] spells it.
const OPTION: &str = "--configfile";

/// A file that an option names.
struct Source<'a> {
    /// The option.
    option: &'static str,
    path: &'a Path,
    /// The form of the file, as advice.
    form: &'static str,
}

impl Source<'_> {
    fn of_programs(path: &Path) -> Source<'_> {
        let form =
            "write on each line what would stand between two ':' of the command line, as in: -n 2 ./program";
        Source { option: "-configfile", path, form }
    }

    fn of_options(path: &Path) -> Source<'_> {
        let form =
            "write options of one program in it, as in: -n 2 -wdir /tmp, and the program on the command line";
        Source { option: "-file", path, form }
    }

    /// A line of the file in words.
    fn place(&self, line: Option<usize>) -> String {
        let line = line.map_or_else(String::new, |line| format!(", line {line}"));
        format!("{} {}{line}", self.option, self.path.display())
    }

    fn unreadable(&self, line: Option<usize>, why: &str) -> Fault {
        Fault::new(
            "A file with parts of the command line cannot be read.",
            format!("{}: {why}", self.place(line)),
            "it is not there, not ours to read, or has another form",
            self.form,
        )
    }

    fn text(&self) -> Result<String, Fault> {
        std::fs::read_to_string(self.path).map_err(|error| self.unreadable(None, &error.to_string()))
    }

    /// The words of each line, with its number. No line may name another file.
    fn lines(&self, text: &str) -> Result<Vec<(usize, Vec<OsString>)>, Fault> {
        let mut read = Vec::new();
        let mut lines = text.lines().zip(1..);
        while let Some((line, number)) = lines.next() {
            let mut line = line.to_owned();
            while let Some(rest) = line.strip_suffix('\\') {
                line = format!("{rest} {}", lines.next().map_or("", |(more, _)| more));
            }
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why: &str| self.unreadable(Some(number), why);
            let words = shlex::split(line).ok_or_else(|| wrong(&format!("a quote is not closed: {line}")))?;
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            let (options, _) = split_at_program(&words);
            let names_file = |word: &str| word == OPTION || word.starts_with(&format!("{OPTION}="));
            if options.iter().any(|word| word.to_str().is_some_and(names_file)) {
                return Err(wrong("it names another configuration file"));
            }
            read.push((number, words));
        }
        Ok(read)
    }
}

/// The parts of the command line, or those of the file that it names. Options before and behind the
/// name of the file go before those of its first line; those of a file of one part go before those
/// of the part.
///
/// # Errors
/// A file cannot be read or understood, or the command line has programs of its own, or wrong
/// options beside the file.
pub(super) fn expand(arguments: &[OsString]) -> Result<Vec<Words>, Stop> {
    parts_of(arguments)?.into_iter().map(with_options).collect()
}

fn parts_of(arguments: &[OsString]) -> Result<Vec<Words>, Fault> {
    let first = arguments.split(|word| word == ":").next().unwrap_or_default();
    let (mut options, program) = split_at_program(first);
    let plain = || {
        let parts = arguments.split(|word| word == ":");
        Ok(parts.map(|words| Words { words: words.to_vec(), place: None }).collect())
    };
    // A wrong option is told of when the parts are read.
    let Ok(matches) = matches(&options) else { return plain() };
    let Some(file) = matches.get_one::<PathBuf>("configfile").cloned() else { return plain() };
    if !program.is_empty() || first.len() != arguments.len() {
        return Err(two_sources(&file));
    }
    check(&matches, &|name| typed(name, first))?;
    take_out(&mut options);
    let source = Source::of_programs(&file);
    let mut parts = read(&source.text()?, &source)?;
    options.append(&mut parts[0].words);
    parts[0].words = options;
    Ok(parts)
}

fn matches(options: &[OsString]) -> Result<ArgMatches, clap::Error> {
    let words = std::iter::once(OsString::from("mpiexec")).chain(options.iter().cloned());
    command().try_get_matches_from(words)
}

/// Puts the options of the file that a part names before its own.
///
/// # Errors
/// The file cannot be read, or has something else than options, or wrong ones.
fn with_options(part: Words) -> Result<Words, Stop> {
    let (options, _) = split_at_program(&part.words);
    // A wrong option is told of when the part is read.
    let Ok(matches_of_part) = matches(&options) else { return Ok(part) };
    let Some(file) = matches_of_part.get_one::<PathBuf>("file") else { return Ok(part) };
    let source = Source::of_options(file);
    let mut words = Vec::new();
    for (number, line) in source.lines(&source.text()?)? {
        let place = Some(source.place(Some(number)));
        let (options, program) = split_at_program(&line);
        if !program.is_empty() {
            let why = format!("{} is no option", program[0].display());
            return Err(source.unreadable(Some(number), &why).into());
        }
        let read = matches(&options).map_err(|error| stop_at(&error, &line).at(place.as_deref()))?;
        if read.contains_id("file") {
            return Err(source.unreadable(Some(number), "it names another file").into());
        }
        check(&read, &|name| typed(name, &line)).map_err(|fault| Stop::from(fault).at(place.as_deref()))?;
        words.extend(line);
    }
    words.extend(part.words);
    Ok(Words { words, ..part })
}

/// Takes the option out of the words.
fn take_out(options: &mut Vec<OsString>) {
    while let Some(at) = options.iter().position(|word| word.to_string_lossy().starts_with(OPTION)) {
        let values = usize::from(options[at] == OPTION);
        options.drain(at..(at + 1 + values).min(options.len()));
    }
}

/// The words of each part, at least one.
fn read(text: &str, source: &Source<'_>) -> Result<Vec<Words>, Fault> {
    let lines = source.lines(text)?.into_iter();
    let parts: Vec<Words> =
        lines.map(|(number, words)| Words { words, place: Some(source.place(Some(number))) }).collect();
    if parts.is_empty() { Err(source.unreadable(None, "it has no line with a program")) } else { Ok(parts) }
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

    fn text_of(part: &Words) -> String {
        part.words.join(OsStr::new(" ")).into_string().unwrap()
    }

    fn parts(text: &str) -> Result<Vec<String>, Fault> {
        Ok(read(text, &Source::of_programs(Path::new("f")))?.iter().map(text_of).collect())
    }

    #[test]
    fn lines_are_parts() {
        let text = "# two programs\n-n 1 ./a 'b c'\n\n  -n 3 -wdir /tmp \\\n  ./d # all\n";
        assert_eq!(parts(text).unwrap(), ["-n 1 ./a b c", "-n 3 -wdir /tmp ./d"]);
        let source = Source::of_programs(Path::new("f"));
        let places: Vec<_> = read(text, &source).unwrap().into_iter().map(|part| part.place).collect();
        assert_eq!(places, [2, 4].map(|line| Some(format!("-configfile f, line {line}"))));
    }

    #[test]
    fn a_word_may_begin_as_the_option_does() {
        let text = "-env A configfile.txt -n 1 configfile --configfile x";
        assert_eq!(parts(text).unwrap(), [text]);
    }

    #[test]
    fn what_is_no_list_of_programs_is_refused_in_four_parts() {
        for (text, place) in [
            ("", "-configfile f: "),
            ("# only this\n", "-configfile f: "),
            ("\n-n 1 'a\n", "-configfile f, line 2: "),
            ("-n 1 x\n-configfile g\n", "-configfile f, line 2: "),
        ] {
            let fault = parts(text).unwrap_err().to_string();
            assert!(fault.lines().count() == 4 && fault.contains(place), "{fault}");
        }
    }

    /// A wrong line is named by file and number, whatever is wrong with it.
    #[test]
    fn a_wrong_option_is_told_with_its_line() {
        let file = std::env::temp_dir().join(format!("launch-config-line-{}", std::process::id()));
        let name = file.to_str().unwrap();
        let stop = |text: &str, options: &[&str]| {
            std::fs::write(&file, text).unwrap();
            let words = options.iter().chain(&["-configfile", name]).map(OsString::from).collect();
            super::super::read(words).unwrap_err()
        };
        let place = format!("on: -configfile {name}, line 3: ");
        for line in
            ["-frobnicate b", "-n 2", "-rankmap 0 b", "--bind-to nonsense b", "-host a:x b", "-timeout 0 b"]
        {
            let stop = stop(&format!("-n 1 a\n\n{line}\n"), &[]);
            assert!(stop.code == 2 && stop.text().contains(&place), "{line}: {}", stop.text());
        }
        assert!(stop("-n 1 a\n", &["-rankmap", "0"]).text().contains("on: -rankmap\n"));
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn the_options_of_the_command_line_go_first() {
        let file = std::env::temp_dir().join(format!("launch-config-{}", std::process::id()));
        std::fs::write(&file, "-n 1 a\n-n 2 b\n").unwrap();
        let name = file.to_str().unwrap();
        let expanded = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            expand(&words).map(|parts| parts.iter().map(text_of).collect::<Vec<_>>())
        };
        assert_eq!(expanded(&["-l", "-n", "2", "x", ":", "y"]).unwrap(), ["-l -n 2 x", "y"]);
        let both = expanded(&["-l", "-configfile", name, "-timeout", "5"]).unwrap();
        assert_eq!(both, ["-l --timeout 5 -n 1 a", "-n 2 b"]);
        assert!(expanded(&["-configfile", name, "x"]).is_err());
        assert!(expanded(&["-configfile", name, ":", "x"]).is_err());
        std::fs::remove_file(&file).unwrap();
        assert!(expanded(&["-configfile", name]).unwrap_err().text().contains(name));
    }

    #[test]
    fn a_file_has_options_of_one_program() {
        let file = std::env::temp_dir().join(format!("launch-options-{}", std::process::id()));
        let name = file.to_str().unwrap();
        let order = |text: &str, words: &[&str]| {
            std::fs::write(&file, text).unwrap();
            super::super::read(words.iter().map(OsString::from).collect())
        };
        let text = "# where\n-wdir '/a b'\n-env A 1 \\\n  -n 3\n";
        let read = order(text, &["-n", "1", "x", ":", "-file", name, "y", "-file", "z"]).unwrap();
        let [first, second] = &read.parts[..] else { panic!("{read:?}") };
        assert_eq!((first.count, &first.directory), (1, &None));
        assert_eq!((second.count, &second.directory), (3, &Some("/a b".into())));
        assert_eq!(second.environment, [("A".into(), "1".into())]);
        assert_eq!(second.arguments, ["-file", "z"]);
        assert_eq!(order(text, &["-file", name, "-n", "2", "x"]).unwrap().size(), 2, "its own go before");
        for (text, place) in [
            ("\n-n 1 a\n", ", line 2: a is no option"),
            ("-file g\n", ", line 1: it names another file"),
            ("-n x\n", ", line 1: "),
            ("-n 1\n-rankmap 0\n", ", line 2: -rankmap"),
        ] {
            let stop = order(text, &["-file", name, "x"]).unwrap_err();
            assert!(stop.text().contains(&format!("on: -file {name}{place}")), "{}", stop.text());
            assert_eq!((stop.code, stop.text().lines().count()), (2, 4), "{}", stop.text());
        }
        std::fs::remove_file(&file).unwrap();
        let stop = super::super::read(["-file", name, "x"].map(OsString::from).into()).unwrap_err();
        assert!(stop.text().contains(name), "{}", stop.text());
    }
}
