//! The installation that the tests look at: `VERBENA_STAGE`, or what `make stage` made.

use std::path::{Path, PathBuf};

/// The folder of the installation.
pub(crate) fn folder() -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    std::env::var_os("VERBENA_STAGE").map_or(top.join("target/stage"), PathBuf::from)
}

/// A file of the installation.
///
/// # Panics
/// It is not there.
pub(crate) fn staged(path: &str) -> PathBuf {
    let file = folder().join(path);
    assert!(file.exists(), "{} is missing: run `make stage`", file.display());
    file
}
