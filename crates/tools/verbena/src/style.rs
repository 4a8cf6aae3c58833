//! Colors for a person's eye: on a terminal only, and not where the user wants none (`NO_COLOR`,
//! <https://no-color.org>).

use std::io::IsTerminal;

/// The color of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    /// All is well.
    Green,
    /// Worth knowing.
    Yellow,
    /// To be mended.
    Red,
}

/// Returns whether standard output takes colors.
pub(crate) fn is_colored() -> bool {
    let variable = |name: &str| std::env::var(name).ok();
    takes_colors(std::io::stdout().is_terminal(), &variable)
}

fn takes_colors(is_terminal: bool, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    is_terminal && !is_set("NO_COLOR") && variable("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// The text in a color, if there are colors.
pub(crate) fn paint(text: &str, color: Color, is_colored: bool) -> String {
    let code = match color {
        Color::Green => 32,
        Color::Yellow => 33,
        Color::Red => 31,
    };
    if is_colored { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terminal_whose_user_wants_colors_gets_them() {
        let with = |set: Option<(&'static str, &'static str)>| {
            move |name: &str| set.filter(|(its, _)| *its == name).map(|(_, value)| value.to_owned())
        };
        assert!(takes_colors(true, &with(None)) && takes_colors(true, &with(Some(("NO_COLOR", "")))));
        assert!(!takes_colors(false, &with(None)));
        assert!(!takes_colors(true, &with(Some(("NO_COLOR", "1")))));
        assert!(!takes_colors(true, &with(Some(("TERM", "dumb")))));
        assert_eq!(paint("ok", Color::Green, true), "\x1b[32mok\x1b[0m");
        assert_eq!(paint("ok", Color::Green, false), "ok");
    }
}
