//! The file of hints that a variable names. So those who run a program give hints to it that it
//! does not give itself; name and form are ROMIO's.

use super::hints::Tuning;
use std::path::Path;

/// The variable.
pub(super) const VARIABLE: &str = "ROMIO_HINTS";

impl Tuning {
    /// The values with those of a file, which go before the program's. Hints are advice: what
    /// cannot be read is left out, as unknown ones are; what is no plain file is not opened.
    pub(super) fn with_file(self, path: &Path) -> Tuning {
        if !path.is_file() {
            return self;
        }
        std::fs::read(path).map_or(self, |bytes| self.with_text(&String::from_utf8_lossy(&bytes)))
    }

    /// The values with those of a text: a key and a value on each line, the first of equal keys. A
    /// line that begins with `#` is a comment.
    fn with_text(mut self, text: &str) -> Tuning {
        let mut seen: Vec<&str> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let (Some(key), Some(value), None) = (words.next(), words.next(), words.next()) else { continue };
            if !seen.contains(&key) {
                seen.push(key);
                self.take(key, &value.to_lowercase());
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::hints::Choice;

    #[test]
    fn each_line_is_a_hint_and_the_first_of_a_key_counts() {
        let text = "romio_cb_read Enable\n# cb_nodes 5\ncb_buffer_size\nind_rd_buffer_size 49\n\
                    ind_rd_buffer_size 60\nind_wr_buffer_size 1 2\n\n \tromio_no_indep_rw true\n";
        let tuning = Tuning { collective_read: Choice::Disable, ..Tuning::default() }.with_text(text);
        let expected = Tuning {
            collective_read: Choice::Enable,
            sieve_read_bytes: 49,
            is_collective_only: true,
            ..Tuning::default()
        };
        assert_eq!(tuning, expected);
    }

    #[test]
    fn a_file_that_is_not_there_changes_nothing() {
        assert_eq!(Tuning::default().with_file(Path::new("/nowhere/hints")), Tuning::default());
    }
}
