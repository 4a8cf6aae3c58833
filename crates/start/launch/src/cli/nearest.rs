//! The known word that a mistyped one is most like.

/// The longest word that is compared, in characters.
const WORD_LENGTH_MAX: usize = 40;

/// The word of `known` that differs least from `word`, if it differs little.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > WORD_LENGTH_MAX {
        return None;
    }
    let with_distance = |known: &'a str| (distance(word, known), known);
    let close = |(distance, known): &(usize, &str)| *distance <= length.min(known.chars().count()) / 3;
    known
        .into_iter()
        .map(with_distance)
        .filter(close)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// The question that ends a remedy; empty if nothing is near.
pub(super) fn did_you_mean(known: Option<&str>) -> String {
    known.map_or_else(String::new, |known| format!("did you mean {known}? "))
}

/// The number of letters to change, add or leave out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_another_word_is_not() {
        let known = ["bind-to", "map-by", "timeout", "host"];
        assert_eq!(nearest("bindto", known), Some("bind-to"));
        assert_eq!(nearest("time-out", known), Some("timeout"));
        assert_eq!(nearest("hots", known), None);
        assert_eq!(nearest("hostt", known), Some("host"));
        for other in ["frobnicate", "", "x", &"bind-to".repeat(9)] {
            assert_eq!(nearest(other, known), None, "{other}");
        }
    }

    #[test]
    fn distances() {
        for (a, b, expected) in
            [("", "abc", 3), ("abc", "abc", 0), ("abc", "acb", 2), ("kitten", "sitting", 3)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }
}
