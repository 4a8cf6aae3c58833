//! The files that git knows or would add.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A text file of the repository.
#[derive(Debug)]
pub(super) struct File {
    /// The path from the repository's top, with `/`.
    pub path: String,
    /// The contents of the file.
    pub text: String,
}

impl File {
    /// The path's ending without the dot; empty if there is none.
    pub(super) fn ending(&self) -> &str {
        Path::new(&self.path).extension().and_then(|ending| ending.to_str()).unwrap_or("")
    }
}

/// The repository's top folder.
pub(super) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Returns every text file that git tracks or does not ignore. Files that are not UTF-8 are not
/// texts.
///
/// # Errors
/// Git is missing, or a file cannot be read.
pub(super) fn files(top: &Path) -> Result<Vec<File>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(top);
    let output = git.output().context("cannot run git")?;
    if !output.status.success() {
        bail!("git cannot list the files: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let mut files = Vec::new();
    for path in String::from_utf8_lossy(&output.stdout).split('\0').filter(|path| !path.is_empty()) {
        let full = top.join(path);
        // A file that was deleted but not committed, a link to a folder.
        if !full.is_file() {
            continue;
        }
        let bytes = std::fs::read(&full).with_context(|| format!("cannot read {path}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(File { path: path.to_string(), text });
        }
    }
    Ok(files)
}
