//! The manual page and the shell completions of a command, from the description of its options that
//! the command itself reads them by. So they cannot say anything else than the command does.
//!
//! `mpiexec` and `verbena` print them; `packaging/install` puts them where shells and `man` look.

mod page;

use clap::Command;
pub use clap_complete::Shell;
pub use page::page;

/// The completions of a command for a shell. What is hidden from its help is no part of them.
pub fn completions(command: &Command, shell: Shell) -> String {
    let mut visible = visible(command);
    let name = command.get_name().to_owned();
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut visible, name, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The completions for bash of a command that takes its long options with one dash too.
pub fn with_one_dash(completions: &str) -> String {
    let words = r#"COMPREPLY=( $(compgen -W "${opts}""#;
    let values = r#"case "${prev}" in"#;
    // A short option is one letter, and stays as it is.
    completions
        .replacen(
            words,
            &format!("[[ ${{cur}} == -[!-]* ]] && opts=\"${{opts//--/-}}\"\n                {words}"),
            1,
        )
        .replacen(
            values,
            &format!("[[ ${{prev}} == -[!-]?* ]] && prev=\"-${{prev}}\"\n            {values}"),
            1,
        )
}

/// The command without its hidden commands and options.
fn visible(command: &Command) -> Command {
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set()).cloned();
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    let about = command.get_about().cloned().unwrap_or_default();
    let shown = Command::new(command.get_name().to_owned()).about(about).args(arguments);
    shown.subcommands(commands.map(visible))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    pub(crate) fn tool() -> Command {
        Command::new("tool")
            .about("Does one thing")
            .version("1.2")
            .arg(Arg::new("count").short('n').long("np").value_name("N").help("Number of things. Not more"))
            .subcommand(Command::new("look").about("Looks around").arg(Arg::new("FILE").required(true)))
            .subcommand(Command::new("secret").hide(true))
    }

    #[test]
    fn one_dash_is_as_good_as_two() {
        let script = with_one_dash(&completions(&tool(), Shell::Bash));
        assert!(
            script.contains("opts=\"${opts//--/-}\"") && script.contains("prev=\"-${prev}\""),
            "{script}"
        );
    }

    #[test]
    fn completions_know_options_and_commands_but_not_hidden_ones() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = completions(&tool(), shell);
            assert!(text.contains("np") && text.contains("look") && !text.contains("secret"), "{text}");
        }
    }
}
