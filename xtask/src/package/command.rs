//! Programs that are run, and folders that are removed.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// The lines of a failed program's output that are shown.
const LINES_MAX: usize = 30;

/// Runs a command and returns its standard output.
///
/// # Errors
/// It cannot be started, or fails: then the error has the end of what it said.
pub(super) fn said(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let all = text + &String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = all.lines().collect();
    let tail = lines[lines.len().saturating_sub(LINES_MAX)..].join("\n");
    bail!("{command:?}: {}\n{tail}", output.status)
}

/// Returns whether there is such a program in `PATH`.
pub(super) fn is_there(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// Removes a folder and all in it, if it is there.
///
/// # Errors
/// It cannot be removed.
pub(super) fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Writes a file, with its folder.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(file: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let folder = file.parent().context("a file lies in a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(file, contents).with_context(|| format!("cannot write {}", file.display()))
}

/// Lets everybody run a file.
///
/// # Errors
/// Its mode cannot be changed.
pub(super) fn make_executable(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_the_end_of_the_output() {
        let failed = said(Command::new("sh").args(["-c", "echo first; echo last >&2; exit 3"]));
        let text = format!("{:#}", failed.expect_err("it fails"));
        assert!(text.contains("exit status: 3") && text.contains("last"), "{text}");
        assert_eq!(said(Command::new("echo").arg("word")).expect("it runs"), "word\n");
        assert!(is_there("sh") && !is_there("no-such-program"));
    }
}
