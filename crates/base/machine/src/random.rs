//! Random bits from the kernel, which nobody may guess. Secrets come from here and from nowhere
//! else.

use std::io::{Error, Result};
use verbena_fault::Fault;

/// A random word.
///
/// # Errors
/// A seccomp filter refuses `getrandom`.
pub fn word() -> Result<u64> {
    let mut word = [0u8; 8];
    // SAFETY: the call writes at most 8 bytes to our array.
    let got = unsafe { libc::getrandom(word.as_mut_ptr().cast(), 8, 0) };
    if got == 8 { Ok(u64::from_le_bytes(word)) } else { Err(Error::last_os_error()) }
}

/// Returns a [`word`], or a failure in four parts.
///
/// # Errors
/// A seccomp filter refuses `getrandom`.
pub fn secret() -> std::result::Result<u64, Fault> {
    word().map_err(|error| {
        Fault::new(
            "the kernel gives no random bits, so nothing can be kept secret from strangers",
            "getrandom",
            format!("a seccomp filter (sandbox, container) refuses it ({error})"),
            "allow getrandom",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_words_are_alike() {
        assert_ne!(word().expect("a word"), word().expect("a word"));
    }
}
