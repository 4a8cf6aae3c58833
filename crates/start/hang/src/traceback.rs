//! The lines of a program in Python, as CPython's traceback has them.

/// The most lines that are told.
const LINES_MAX: usize = 8;

/// The lines of a traceback, the innermost first: "swap (ring.py:12)". A last line that was cut is
/// left out.
pub fn lines(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let (file, rest) = line.trim().strip_prefix("File \"")?.split_once("\", line ")?;
        let (number, function) = rest.split_once(" in ")?;
        let name = file.rsplit('/').next().unwrap_or(file);
        Some(format!("{function} ({name}:{number})"))
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter_map(line).take(LINES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceback_is_read() {
        let text = "Stack (most recent call first):\n  File \"/a/ring.py\", line 12 in swap\n  \
                    File \"/a/ring.py\", line 30 in <module>\n";
        assert_eq!(lines(text), ["swap (ring.py:12)", "<module> (ring.py:30)"]);
        assert_eq!(lines(&text[..text.len() - 4]), ["swap (ring.py:12)"], "a line that was cut");
        assert_eq!(lines("nonsense\n"), [""; 0]);
    }
}
