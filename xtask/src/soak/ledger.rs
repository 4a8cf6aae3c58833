//! The failures, read from a test's output and written where the tests replay them.

use anyhow::{Context, Result};
use std::path::Path;

/// The text before the seed in the output of a failing test of the simulator.
const MARK: &str = "VERBENA_SIM_SEED=";

/// The seeds that the output of a test of the simulator names as failing, each once.
pub(super) fn seeds_in(output: &str) -> Vec<u64> {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    let mut seeds: Vec<u64> =
        output.split(MARK).skip(1).filter_map(|rest| digits(rest).parse().ok()).collect();
    seeds.sort_unstable();
    seeds.dedup();
    seeds
}

/// Adds a line to a file of what failed, if it is not there yet.
///
/// # Errors
/// The file cannot be read or written.
pub(super) fn keep(file: &Path, line: &str) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    if text.lines().any(|there| there == line) {
        return Ok(());
    }
    std::fs::write(file, format!("{text}{line}\n"))
        .with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_of_failing_tests_are_found() {
        let output = "thread panicked: seed 17: lost\nreplay: VERBENA_SIM_SEED=17 cargo test\nVERBENA_SIM_SEED=17: again\n\
                      VERBENA_SIM_SEED=18446744073709551615: x\nVERBENA_SIM_SEED=<seed>";
        assert_eq!(seeds_in(output), [17, u64::MAX]);
        assert_eq!(seeds_in("test result: ok"), [0; 0]);
    }

    #[test]
    fn a_line_is_kept_once_and_nothing_is_lost() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "# head\n").expect("written");
        for line in ["over_rc 17", "over_ud 3", "over_rc 17"] {
            keep(file.path(), line).expect("kept");
        }
        assert_eq!(std::fs::read_to_string(file.path()).expect("read"), "# head\nover_rc 17\nover_ud 3\n");
        assert!(keep(&file.path().join("nowhere"), "x").is_err());
    }
}
