//! The words of the command line: where the options of a part end, and options of several
//! spellings in one.

use super::foreign::WITH_OPTIONAL;
use super::options::command;
use super::spellings::{renamed, spelled};
use clap::{Arg, ArgAction, Command};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Options that set a variable, by NAME VALUE or NAME=VALUE.
const PAIRS: [&str; 2] = ["env", "genv"];

/// The words of a part of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) words: Vec<OsString>,
    /// The place in a configuration file, if it comes from one.
    pub(super) place: Option<String>,
}

/// Splits a part after its options: the rest is the program's name and its own arguments. Long
/// options with one dash get a second one; a variable becomes name and value.
pub(super) fn split_at_program(words: &[OsString]) -> (Vec<OsString>, &[OsString]) {
    let command = command();
    let mut options = Vec::new();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        if word == "--" {
            return (options, after);
        }
        let Some(name) = word.to_str().and_then(option_name) else { break };
        if let Some((pair, left)) = pair(name, after) {
            options.extend(pair);
            rest = left;
            continue;
        }
        if let Some((words, left)) = spelled(name, after) {
            options.extend(words);
            rest = left;
            continue;
        }
        let name = renamed(name);
        let long = name.chars().nth(1).is_some();
        options.push(if long { format!("--{name}").into() } else { word.clone() });
        let values = match name.as_str() {
            WITH_OPTIONAL => after.first().map_or(0, |word| usize::from(!word.as_bytes().starts_with(b"-"))),
            name if name.contains('=') => 0,
            name => value_count(&command, name).min(after.len()),
        };
        options.extend_from_slice(&after[..values]);
        rest = &after[values..];
    }
    (options, rest)
}

/// The name of an option word without its dashes; `None` for a word that is no option, and for
/// `--`.
fn option_name(word: &str) -> Option<&str> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    (!name.is_empty()).then_some(name)
}

/// An option of [`PAIRS`] with name and value apart, and the words after them. `None` for another
/// option, and where a word lacks.
fn pair<'a>(option: &str, after: &'a [OsString]) -> Option<([OsString; 3], &'a [OsString])> {
    let (name, behind) = option.split_once('=').map_or((option, None), |(name, rest)| (name, Some(rest)));
    let option = PAIRS.contains(&name).then(|| OsString::from(format!("--{name}")))?;
    let (first, after) = match behind {
        Some(behind) => (OsString::from(behind), after),
        None => after.split_first().map(|(first, after)| (first.clone(), after))?,
    };
    if let Some((name, value)) = split_at_equals(&first) {
        return Some(([option, name, value], after));
    }
    let (value, after) = after.split_first()?;
    Some(([option, first, value.clone()], after))
}

/// The two sides of the first `=` of a word.
pub(super) fn split_at_equals(word: &OsStr) -> Option<(OsString, OsString)> {
    let at = word.as_bytes().iter().position(|&byte| byte == b'=')?;
    let side = |bytes| OsStr::from_bytes(bytes).to_owned();
    Some((side(&word.as_bytes()[..at]), side(&word.as_bytes()[at + 1..])))
}

/// A message with the options quoted as they are in these words: with one dash where that was
/// typed.
pub(super) fn as_typed(message: &str, words: &[OsString]) -> String {
    let typed = words.iter().filter_map(|word| word.to_str()?.strip_prefix('-')?.split('=').next());
    typed.filter(|name| !name.starts_with('-')).fold(message.to_owned(), |message, name| {
        let quoted = |end| message.contains(&format!("'--{name}{end}"));
        if quoted('\'') || quoted(' ') {
            message.replace(&format!("'--{name}"), &format!("'-{name}"))
        } else {
            message
        }
    })
}

/// The option with this name of ours as it stands among these words, which are options only.
pub(super) fn typed(name: &str, words: &[OsString]) -> String {
    let words = words.iter().filter_map(|word| word.to_str()?.split('=').next());
    let mut named = words.filter(|word| option_name(word).is_some_and(|word| renamed(word) == name));
    named.next().map_or_else(|| format!("-{name}"), str::to_owned)
}

/// The number of values that follow an option.
fn value_count(command: &Command, name: &str) -> usize {
    let takes = |arg: &Arg| match arg.get_action() {
        ArgAction::SetTrue | ArgAction::Help | ArgAction::Version => 0,
        _ => arg.get_num_args().map_or(1, |range| range.min_values()),
    };
    command.get_arguments().find(|arg| is_called(arg, name)).map_or(0, takes)
}

fn is_called(arg: &Arg, name: &str) -> bool {
    let shorts = arg.get_visible_short_aliases().unwrap_or_default().into_iter().chain(arg.get_short());
    shorts.map(String::from).any(|short| name == short)
        || arg.get_long_and_visible_aliases().is_some_and(|names| names.contains(&name))
}

/// The long names of all options that the help shows.
pub(super) fn long_names(command: &Command) -> Vec<String> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let names = shown.filter_map(Arg::get_long_and_visible_aliases);
    names.flatten().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> String {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let (options, rest) = split_at_program(&words);
        let text = |words: &[OsString]| words.join(OsStr::new(" ")).into_string().unwrap();
        format!("{} | {}", text(&options), text(rest))
    }

    #[test]
    fn options_end_at_the_program() {
        assert_eq!(split("-n 2 -wdir /x prog -n 3"), "-n 2 --wdir /x | prog -n 3");
        assert_eq!(split("-wdir=/x prog"), "--wdir=/x | prog");
        assert_eq!(split("--n 2 -c 3 -H a -N 4 prog"), "--n 2 -c 3 -H a -N 4 | prog");
        assert_eq!(split("-n 2 -- -prog"), "-n 2 | -prog");
        assert_eq!(split("--mca btl ^tcp --bind-to core prog"), "--mca btl ^tcp --bind-to core | prog");
        assert_eq!(split("-localhost a -rankmap 0,1 prog -v"), "--localhost a --rankmap 0,1 | prog -v");
    }

    #[test]
    fn names_of_other_launchers_are_replaced() {
        assert_eq!(split("-machinelist a,b prog"), "--host a,b | prog");
        assert_eq!(split("--pernode -v prog -v"), "--ppn 1 --verbose | prog -v");
        assert_eq!(split("--npersocket 2 prog"), "--map-by ppr:2:package | prog");
        assert_eq!(split("-g 2 prog"), "--gpus-per-proc 2 | prog");
        assert_eq!(split("--app file"), "--configfile file | ");
    }

    #[test]
    fn variables_in_every_spelling() {
        for line in ["-genv A 1", "-genv A=1", "--genv A=1", "-genv=A=1", "-genv=A 1"] {
            assert_eq!(split(&format!("{line} prog")), "--genv A 1 | prog", "{line}");
        }
        assert_eq!(split("-env A=b=c prog"), "--env A b=c | prog");
        assert_eq!(split("-env A= prog"), "--env A  | prog");
        assert_eq!(split("-env A"), "--env A | ");
    }
}
