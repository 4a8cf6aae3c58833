//! Files and descriptors for tests.

use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;

/// A folder for a test, removed with the value.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    /// Makes a folder with these files (path and text) in the system's temporary one.
    ///
    /// # Panics
    /// If the folder cannot be written.
    pub fn new(name: &str, files: &[(&str, &str)]) -> Folder {
        let at = std::env::temp_dir().join(format!("verbena-{name}-{}", std::process::id()));
        for (file, text) in files {
            let file = at.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        Folder(at)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Puts a file of its own in the place of a descriptor number, as a program does that closes all
/// descriptors.
///
/// # Panics
/// If the system refuses.
pub fn take_over(number: RawFd, file: &impl AsRawFd) {
    // SAFETY: a call on two numbers; the library under test must notice.
    assert!(unsafe { libc::dup2(file.as_raw_fd(), number) } >= 0);
}
