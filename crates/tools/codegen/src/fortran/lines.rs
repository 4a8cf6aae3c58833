//! Lines of free-form Fortran, broken where they would be long.

/// The most characters in a line; the standard allows 132.
const WIDTH: usize = 110;

/// `start`, the words separated by commas, and `end`, broken with `&` between words.
pub(super) fn list(indent: usize, start: &str, words: &[String], end: &str) -> String {
    let mut text = format!("{}{start}", " ".repeat(indent));
    let mut width = text.len();
    for (at, word) in words.iter().enumerate() {
        let comma = if at + 1 == words.len() { end } else { ", " };
        if width + word.len() + comma.len() > WIDTH {
            let next = format!("{}{word}{comma}", " ".repeat(indent + 4));
            width = next.len();
            text = format!("{} &\n{next}", text.trim_end());
        } else {
            text += word;
            text += comma;
            width += word.len() + comma.len();
        }
    }
    if words.is_empty() {
        text += end;
    }
    text.trim_end().to_string() + "\n"
}
