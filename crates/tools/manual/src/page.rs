//! A manual page in the macros of mdoc(7).

use clap::{Arg, ArgAction, Command};

/// The widest line of running text.
const COLUMNS: usize = 76;
/// Names the manual for groff, whose header and foot are those of BSD else. It stands behind the
/// date, with which groff loads the macros that have the defaults.
const HEADER: &str = ".ds doc-volume-operating-system Verbena\n.ds doc-default-operating-system Verbena\n";

/// The page of a command: its options, those of its commands, and further sections (their heads and
/// texts). `date` is that of the page.
pub fn page(command: &Command, sections: &[(&str, &str)], date: &str) -> String {
    let name = command.get_name();
    let mut text = format!(".Dd {date}\n{HEADER}.Dt {} 1\n.Os\n", name.to_uppercase());
    text += &format!(".Sh NAME\n.Nm {name}\n.Nd {}\n.Sh SYNOPSIS\n", about(command));
    text += &synopses(command);
    text += ".Sh DESCRIPTION\n";
    text += &running(&full_stop(&command.get_about().map(ToString::to_string).unwrap_or_default()));
    text += &options(command);
    let commands: Vec<&Command> = visible(command).collect();
    if !commands.is_empty() {
        text += ".Sh COMMANDS\n";
    }
    for command in commands {
        text += &format!(".Ss {}\n", plain(command.get_name()));
        let about = command.get_long_about().or(command.get_about());
        text += &running(&full_stop(&about.map(ToString::to_string).unwrap_or_default()));
        text += &options(command);
    }
    for (head, words) in sections {
        text += &format!(".Sh {}\n", head.to_uppercase());
        for (at, paragraph) in words.split("\n\n").enumerate() {
            text += if at > 0 { ".Pp\n" } else { "" };
            text += &running(paragraph);
        }
    }
    text
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

/// The line under the name: it has no full stop and no capital letter.
fn about(command: &Command) -> String {
    let text = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn synopses(command: &Command) -> String {
    let mut text = String::new();
    if visible(command).next().is_none() {
        return format!(".Nm\n{}", synopsis(command));
    }
    for sub in visible(command) {
        text += &format!(".Nm\n.Cm {}\n{}", plain(sub.get_name()), synopsis(sub));
    }
    text
}

/// The options and arguments of a command in short.
fn synopsis(command: &Command) -> String {
    let mut text = String::new();
    if shown(command).any(|argument| !argument.is_positional()) {
        text += ".Op Ar options\n";
    }
    for argument in shown(command).filter(|argument| argument.is_positional()) {
        let more = if many(argument) { " ..." } else { "" };
        let name = values(argument);
        text += &if argument.is_required_set() {
            format!(".Ar {name}{more}\n")
        } else {
            format!(".Op Ar {name}{more}\n")
        };
    }
    if let Some(rest) = trailing(command) {
        text += &rest;
    }
    text
}

/// The words behind the options of a command that clap does not know of: those of its usage after
/// `[OPTIONS]`.
fn trailing(command: &Command) -> Option<String> {
    let usage = command.clone().render_usage().to_string();
    let (_, rest) = usage.split_once("[OPTIONS]")?;
    let has_positional = shown(command).any(Arg::is_positional);
    let rest = rest.trim();
    (!has_positional && !rest.is_empty() && !rest.contains('<'))
        .then(|| format!(".Ar {}\n", rest.split_whitespace().collect::<Vec<_>>().join(" ")))
}

fn many(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Append)
        || argument.get_num_args().is_some_and(|range| range.max_values() > 1)
}

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|argument| !argument.is_hide_set())
}

/// The list of a command's options and arguments.
fn options(command: &Command) -> String {
    let entries: String = shown(command).map(entry).collect();
    if entries.is_empty() { entries } else { format!(".Bl -tag -width Ds\n{entries}.El\n") }
}

fn entry(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let default: Vec<String> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let takes_value = argument.get_action().takes_values();
    let possible: Vec<String> = match takes_value {
        true => {
            argument.get_possible_values().iter().filter(|value| !value.is_hide_set()).map(possible).collect()
        }
        false => Vec::new(),
    };
    let mut words = full_stop(&help);
    if !possible.is_empty() {
        words += &format!(" One of: {}.", possible.join("; "));
    }
    if takes_value && !default.is_empty() {
        words += &format!(" Default: {}.", default.join(","));
    }
    format!(".It {}\n{}", head(argument), running(&words))
}

/// A value that an argument may have, with what it means.
fn possible(value: &clap::builder::PossibleValue) -> String {
    let help = value.get_help().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{}{help}", value.get_name())
}

/// The names of an option, with its values; or the name of an argument.
fn head(argument: &Arg) -> String {
    let values = if argument.get_action().takes_values() { values(argument) } else { String::new() };
    if argument.is_positional() {
        return format!("Ar {values}");
    }
    let shorts =
        argument.get_short().into_iter().chain(argument.get_visible_short_aliases().unwrap_or_default());
    let longs = argument.get_long().into_iter().chain(argument.get_visible_aliases().unwrap_or_default());
    let flags = shorts.map(String::from).chain(longs.map(|long| format!("-{long}")));
    let flags: Vec<String> = flags.map(|flag| format!("Fl {flag}")).collect();
    let value = if values.is_empty() { values } else { format!(" Ar {values}") };
    format!("{}{value}", flags.join(" , "))
}

/// The names of an argument's values.
fn values(argument: &Arg) -> String {
    let names: Vec<&str> = match argument.get_value_names() {
        Some(names) => names.iter().map(|name| name.as_str()).collect(),
        None => vec![argument.get_id().as_str()],
    };
    names.into_iter().map(plain).collect::<Vec<_>>().join(" ")
}

/// A word on the line of a macro: one that is a macro's name, or begins with a mark, stands for
/// itself.
fn plain(word: &str) -> String {
    let is_macro = word.len() <= 2 && word.chars().next().is_some_and(char::is_uppercase);
    let escaped = word.replace('\\', "\\e");
    if is_macro || word.starts_with(['.', '\'', '-']) { format!("\\&{escaped}") } else { escaped }
}

fn full_stop(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', ':']) { text.into() } else { format!("{text}.") }
}

/// Running text: a sentence begins a line, and no line is wide or taken for a macro.
fn running(text: &str) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always one");
        let ends = line.ends_with(['.', '?']) || line.ends_with(".)");
        if !line.is_empty() && (ends || line.len() + 1 + word.len() > COLUMNS) {
            lines.push(word.into());
        } else {
            *line += if line.is_empty() { "" } else { " " };
            *line += word;
        }
    }
    let safe = |line: String| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line };
    let lines = lines.into_iter().filter(|line| !line.is_empty());
    lines.map(|line| safe(line.replace('\\', "\\e")) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::tool;

    #[test]
    fn a_page_shows_options_commands_and_sections() {
        let text = page(&tool(), &[("Exit status", "It is 0.\n\nElse 1.")], "January 1, 2026");
        for part in [
            ".Dd January 1, 2026\n.ds doc-volume-operating-system Verbena\n",
            ".Dt TOOL 1\n.Os\n.Sh NAME\n.Nm tool\n.Nd does one thing\n",
            ".Nm\n.Cm look\n.Ar FILE\n",
            ".It Fl n , Fl -np Ar \\&N\nNumber of things.\nNot more.\n",
            ".Ss look\nLooks around.\n",
            ".Sh EXIT STATUS\nIt is 0.\n.Pp\nElse 1.\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("secret"), "{text}");
    }

    #[test]
    fn no_word_is_taken_for_a_macro() {
        assert_eq!(
            [plain("Ar"), plain("N"), plain("FILE"), plain("a\\b")],
            ["\\&Ar", "\\&N", "FILE", "a\\eb"]
        );
        assert_eq!(running(".x y"), "\\&.x y\n");
    }
}
