//! Compares what a page says is printed with what was printed.

/// The text that stands for any text, and alone on its line for any lines.
const ANY: &str = "...";

/// Returns why the text of a page is not what was printed; `None` if it is.
///
/// Lines are compared without the blanks at their ends, and empty lines at the end do not count.
pub fn difference(expected: &str, printed: &str, any_order: bool) -> Option<String> {
    let (lines, got) = (lines(expected), lines(printed));
    if lines.iter().all(|line| *line == ANY) {
        return Some("the page says nothing about what is printed".into());
    }
    let is_alike = if any_order { are_among(&lines, &got) } else { follow(&lines, &got) };
    (!is_alike).then(|| format!("the page says:\n{}\nprinted was:\n{}", lines.join("\n"), got.join("\n")))
}

fn lines(text: &str) -> Vec<&str> {
    text.trim_end().lines().map(str::trim_end).collect()
}

/// Returns whether the lines are these, in this order.
fn follow(expected: &[&str], got: &[&str]) -> bool {
    match expected.split_first() {
        None => got.is_empty(),
        Some((&ANY, rest)) => (0..=got.len()).any(|skipped| follow(rest, &got[skipped..])),
        Some((line, rest)) => {
            got.split_first().is_some_and(|(first, others)| is_alike(line, first) && follow(rest, others))
        }
    }
}

/// Returns whether each expected line is among the others, each of which counts once. None may be
/// left, unless a line says that there may be any.
fn are_among(expected: &[&str], got: &[&str]) -> bool {
    let mut left = got.to_vec();
    let all_found = expected.iter().filter(|line| **line != ANY).all(|line| {
        let found = left.iter().position(|other| is_alike(line, other));
        found.map(|at| left.swap_remove(at)).is_some()
    });
    all_found && (left.is_empty() || expected.contains(&ANY))
}

/// Returns whether a line is the expected one, in which [`ANY`] stands for any text.
fn is_alike(expected: &str, got: &str) -> bool {
    let mut parts = expected.split(ANY);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = got.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(expected: &str, printed: &str) -> bool {
        difference(expected, printed, false).is_none()
    }

    #[test]
    fn lines_are_compared_one_by_one() {
        assert!(agrees("a\nb\n", "a \nb\n\n"));
        for (expected, printed) in
            [("a\n", "a\nb\n"), ("a\nb\n", "a\n"), ("a\n", "b\n"), ("a\nb\n", "b\na\n")]
        {
            assert!(!agrees(expected, printed), "{expected:?} {printed:?}");
        }
    }

    #[test]
    fn dots_stand_for_any_text_and_any_lines() {
        assert!(agrees("rank 0: pid ..., host ...\n", "rank 0: pid 12, host here\n"));
        assert!(!agrees("rank 0: pid ..., host ...\n", "rank 1: pid 12, host here\n"));
        assert!(agrees("...b\n", "aab\n") && !agrees("...b\n", "ba\n"));
        assert!(agrees("a\n...\nd\n", "a\nb\nc\nd\n") && agrees("a\n...\nd\n", "a\nd\n"));
        assert!(!agrees("a\n...\nd\n", "a\nb\nc\n"));
    }

    #[test]
    fn lines_in_any_order_each_count_once() {
        let agrees = |expected, printed| difference(expected, printed, true).is_none();
        assert!(agrees("a\nb\n", "b\na\n"));
        assert!(!agrees("a\na\n", "a\nb\n") && !agrees("a\n", "b\na\n"));
        assert!(agrees("a\n...\n", "b\na\n"));
    }

    #[test]
    fn a_page_must_say_something() {
        assert!(!agrees("...\n", "a\n") && !agrees("", "a\n"));
    }
}
