//! The file of hints that a variable names. So those who run a program give hints to it that it
//! does not give itself; name and form are ROMIO's.

use super::hints::{Taken, Tuning};
use std::path::Path;
use verbena_fault::Fault;

/// The variable.
pub(super) const VARIABLE: &str = "ROMIO_HINTS";

impl Tuning {
    /// The values with those of a file, which go before the program's, and what the user should
    /// know of the file. Hints are advice: what cannot be read is left out, as unknown ones are;
    /// what is no plain file is not opened.
    pub(super) fn with_file(self, path: &Path) -> (Tuning, Option<Fault>) {
        let read = match path.is_file() {
            true => std::fs::read(path).map_err(|error| error.to_string()),
            false => Err("there is no plain file of this name".into()),
        };
        match read {
            Ok(bytes) => {
                let (tuning, left_out) = self.with_text(&String::from_utf8_lossy(&bytes));
                (tuning, (!left_out.is_empty()).then(|| without_effect(path, &left_out)))
            }
            Err(why) => (self, Some(unread(path, &why))),
        }
    }

    /// The values with those of a text: a key and a value on each line, the first of equal keys. A
    /// line that begins with `#` is a comment. With it, each line that is left out, and why.
    fn with_text(mut self, text: &str) -> (Tuning, Vec<String>) {
        let mut seen: Vec<&str> = Vec::new();
        let mut left_out = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let why = match words[..] {
                [] => continue,
                [key, _] if seen.contains(&key) => "its key stands above",
                [key, value] => {
                    seen.push(key);
                    match self.take(key, &value.to_lowercase()) {
                        Taken::Whole => continue,
                        Taken::NoKey => "no such hint here",
                        Taken::NoValue => "no such value",
                    }
                }
                _ => "not a key and a value",
            };
            left_out.push(format!("line {number}: {}: {why}", words.join(" ")));
        }
        (self, left_out)
    }
}

/// The most lines that a message has.
const TOLD_MAX: usize = 5;

fn without_effect(path: &Path, left_out: &[String]) -> Fault {
    let mut told = left_out[..left_out.len().min(TOLD_MAX)].join("; ");
    if left_out.len() > TOLD_MAX {
        told += &format!("; and {} more", left_out.len() - TOLD_MAX);
    }
    Fault::new(
        "hints for files have no effect",
        format!("{VARIABLE}={}, {told}", path.display()).replace(char::is_control, " "),
        "a mistyped word, or a hint that only ROMIO has",
        "see the table of hints in FILES.md of Verbena's documentation; MPI_File_get_info tells those in use",
    )
}

fn unread(path: &Path, why: &str) -> Fault {
    Fault::new(
        "the file of hints was not read",
        format!("{VARIABLE}={}: {why}", path.display()).replace(char::is_control, " "),
        "the name is mistyped, or the file is not there on the host of rank 0, or not ours to read",
        "correct the variable, or unset it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::hints::Choice;

    #[test]
    fn each_line_is_a_hint_and_the_first_of_a_key_counts() {
        let text = "romio_cb_read Enable\n# cb_nodes 5\ncb_buffer_size\nind_rd_buffer_size 49\n\
                    ind_rd_buffer_size 60\nind_wr_buffer_size 1 2\n\n \tromio_no_indep_rw true\n";
        let given = Tuning { collective_read: Choice::Disable, ..Tuning::default() };
        let (tuning, left_out) = given.with_text(text);
        let expected = Tuning {
            collective_read: Choice::Enable,
            sieve_read_bytes: 49,
            is_collective_only: true,
            ..Tuning::default()
        };
        assert_eq!(tuning, expected);
        let expected = [
            "line 3: cb_buffer_size: not a key and a value",
            "line 5: ind_rd_buffer_size 60: its key stands above",
            "line 6: ind_wr_buffer_size 1 2: not a key and a value",
        ];
        assert_eq!(left_out, expected);
    }

    #[test]
    fn what_is_mistyped_is_told() {
        let text =
            "romio_cb_raed enable\ncb_nodes many\nromio_ds_read perhaps\nromio_no_indep_rw 1\na b\nc d\n";
        let (tuning, left_out) = Tuning::default().with_text(text);
        assert_eq!(tuning, Tuning::default());
        assert_eq!(left_out[0], "line 1: romio_cb_raed enable: no such hint here");
        assert_eq!(left_out[1], "line 2: cb_nodes many: no such value");
        assert!(left_out[2..4].iter().all(|line| line.ends_with(": no such value")), "{left_out:?}");
        let fault = without_effect(Path::new("/a/hints"), &left_out);
        assert!(fault.on.starts_with("ROMIO_HINTS=/a/hints, line 1: ") && fault.on.ends_with("; and 1 more"));
        assert_eq!(fault.to_string().lines().count(), 4, "{fault}");
    }

    #[test]
    fn a_file_that_is_not_there_changes_nothing_and_is_told_of() {
        let (tuning, note) = Tuning::default().with_file(Path::new("/nowhere/hints"));
        assert_eq!(tuning, Tuning::default());
        assert!(note.expect("a note").on.contains("ROMIO_HINTS=/nowhere/hints"));
    }
}
