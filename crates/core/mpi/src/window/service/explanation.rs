//! An error as bytes, so that it travels from a target to an origin.

use super::error;
use crate::comm::words::{join, part};
use crate::error::{Class, Error};

/// The most bytes of an error.
pub(super) const BYTES_MAX: usize = 2048;
/// The most bytes of each of its four texts.
const TEXT_BYTES_MAX: usize = 480;

/// The bytes of an error. Texts that are very long are cut.
pub(super) fn encode(error: &Error) -> Vec<u8> {
    let fault = &*error.fault;
    let texts = [&fault.what, &fault.on, &fault.cause, &fault.remedy].map(|text| cut(text));
    let mut bytes = error.class.to_le_bytes().to_vec();
    bytes.extend(join(&texts));
    bytes
}

/// The error of these bytes, which came from another process.
pub(super) fn decode(bytes: &[u8]) -> Error {
    read(bytes).unwrap_or_else(|| error::garbled_answer(bytes.len()))
}

fn read(bytes: &[u8]) -> Option<Error> {
    let (class, rest) = bytes.split_first_chunk()?;
    let class = Class::from_le_bytes(*class);
    let texts: [Vec<u8>; 4] = part(rest).ok()?.try_into().ok()?;
    let [what, on, cause, remedy] = texts.map(|text| String::from_utf8_lossy(&text).into_owned());
    (class > 0).then(|| Error::new(class, what, on, cause, remedy))
}

fn cut(text: &str) -> Vec<u8> {
    text.as_bytes()[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_survives() {
        let error = Error::new(48, "what", "on", "", "ein Rat mit ü");
        assert_eq!(decode(&encode(&error)), error);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "ü".repeat(1000);
        let bytes = encode(&Error::new(48, long.as_str(), long.as_str(), long.as_str(), long.as_str()));
        assert!(bytes.len() <= BYTES_MAX);
        assert_eq!(decode(&bytes).fault.what, "ü".repeat(TEXT_BYTES_MAX / 2));
    }

    #[test]
    fn other_bytes_are_an_error_too() {
        let good = encode(&Error::new(48, "what", "on", "cause", "remedy"));
        let class = crate::generated::constants::MPI_ERR_INTERN;
        for len in 0..good.len() {
            assert_eq!(decode(&good[..len]).class, class, "{len}");
        }
        assert_eq!(decode(&[&[0; 4], &good[4..]].concat()).class, class);
    }
}
