//! Checksums.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The SHA-256 of some bytes, in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The SHA-256 of some bytes in the form of a wheel's `RECORD`: base64 for URLs, without padding.
pub(super) fn of_record(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(bytes))
}

/// The lines of `SHA256SUMS` for these files, with their paths from `folder`.
///
/// # Errors
/// A file cannot be read, or does not lie there.
pub(super) fn sums(folder: &Path, files: &[PathBuf]) -> Result<String> {
    let mut lines = Vec::new();
    for file in files {
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(folder).with_context(|| file.display().to_string())?;
        lines.push(format!("{}  {}\n", hex(&bytes), name.display()));
    }
    lines.sort_by(|a, b| name_of(a).cmp(name_of(b)));
    Ok(lines.concat())
}

/// The name in a line of the list.
fn name_of(line: &str) -> &str {
    line.split_once("  ").map_or(line, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_known_one() {
        assert_eq!(hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(of_record(b""), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    }

    #[test]
    fn the_list_is_one_that_sha256sum_reads() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("some file");
        std::fs::write(&file, "abc").expect("own folder");
        let list = sums(folder.path(), &[file]).expect("a list");
        std::fs::write(folder.path().join("list"), list).expect("own folder");
        let mut check = std::process::Command::new("sha256sum");
        let output = check.args(["-c", "list"]).current_dir(folder.path()).output().expect("coreutils");
        assert!(output.status.success(), "{output:?}");
    }
}
