//! Business cards as text: a card is any bytes, a launcher carries only short words without spaces.
//!
//! A card becomes URL-safe base64 without padding. Where the launcher limits the length of a value
//! it is cut into parts, each under its own key; the first part starts with the number of parts and
//! a colon.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Encodes a card as text of letters, digits, `-` and `_` only.
pub fn encode(card: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(card)
}

/// The card of a text.
///
/// # Errors
/// Says what is wrong with a text that [`encode`] did not make.
pub fn decode(text: &str) -> Result<Vec<u8>, String> {
    URL_SAFE_NO_PAD.decode(text).map_err(|error| error.to_string())
}

/// The text of a card in parts of at most `part_length_max` bytes; at least one part.
pub fn split(card: &[u8], part_length_max: usize) -> Vec<String> {
    // Room for "NNNN:" in the first part; a launcher that gives less than 16 bytes is not usable at
    // all.
    let room = part_length_max.max(16) - 6;
    let text = encode(card);
    let mut parts: Vec<String> =
        text.as_bytes().chunks(room).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
    if parts.is_empty() {
        parts.push(String::new());
    }
    parts[0] = format!("{}:{}", parts.len(), parts[0]);
    parts
}

/// The number of parts that a first part announces, and the rest of its text.
///
/// # Errors
/// A first part that announces nothing sensible.
pub fn announced(first: &str) -> Result<(usize, &str), String> {
    let (count, text) = first.split_once(':').ok_or("its first part does not say how many there are")?;
    match count.parse() {
        Ok(count) if (1..=9999).contains(&count) => Ok((count, text)),
        _ => Err(format!("'{count}' is no number of parts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(parts: &[String]) -> Vec<u8> {
        let (count, first) = announced(&parts[0]).unwrap();
        assert_eq!(count, parts.len());
        decode(&format!("{first}{}", parts[1..].concat())).unwrap()
    }

    #[test]
    fn cards_of_any_length_come_back() {
        for length in [0, 1, 2, 3, 100, 1000, 5000] {
            let card: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
            for limit in [20, 64, 1024] {
                let parts = split(&card, limit);
                assert!(parts.iter().all(|part| part.len() <= limit), "length {length}, limit {limit}");
                assert_eq!(join(&parts), card);
            }
        }
    }

    #[test]
    fn damaged_texts_are_errors() {
        for first in ["", "x", ":", "0:", "-1:", "x:abc", "99999999999999999999:"] {
            assert!(announced(first).is_err(), "{first}");
        }
        assert!(decode("a b").is_err());
        assert!(decode("A").is_err());
    }
}
