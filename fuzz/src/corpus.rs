//! The inputs that are kept for each target: one file each, in a folder with the target's name.

use std::io;
use std::path::{Path, PathBuf};

/// The folder of the inputs of all targets, in this checkout.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// An input and the file that it stands in.
#[derive(Debug)]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// The bytes of the input.
    pub bytes: Vec<u8>,
}

/// The inputs of this target in `folder`, in the order of their names; none if it has no folder
/// there.
///
/// # Errors
/// A file cannot be read.
pub fn read(folder: &Path, target: &str) -> io::Result<Vec<Input>> {
    let folder = folder.join(target);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = folder.read_dir()?.collect::<io::Result<Vec<_>>>()?;
    let mut paths: Vec<PathBuf> =
        entries.iter().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths.into_iter().map(|path| Ok(Input { bytes: std::fs::read(&path)?, path })).collect()
}

/// Keeps an input: writes it into the target's folder under a name made of its bytes. Returns the
/// file.
///
/// # Errors
/// The folder or the file cannot be written.
pub fn keep(folder: &Path, target: &str, why: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let folder = folder.join(target);
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{why}-{:016x}", fingerprint(bytes)));
    std::fs::write(&path, bytes)?;
    Ok(path)
}

/// FNV-1a, which is the same on every machine.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
