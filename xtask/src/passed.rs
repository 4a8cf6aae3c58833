//! The number of tests that `cargo test` ran, by what it says.

/// Returns how many tests passed, by the output of the test programs.
pub(crate) fn passed(said: &str) -> u32 {
    let counts = said.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    counts.filter_map(|rest| rest.split(' ').next()?.parse::<u32>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_tests_are_counted() {
        let said =
            "running 3 tests\ntest result: ok. 3 passed; 0 failed\n\ntest result: ok. 2 passed; 0 failed\n";
        assert_eq!((passed(said), passed("test result: FAILED. 1 passed"), passed("")), (5, 0, 0));
    }
}
