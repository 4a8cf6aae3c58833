//! Folders in memory, for tests that write files: synchronising costs nothing there.

use crate::build_dir;
use std::fs::{self, Permissions};
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A folder in memory, where there is any; it goes with the value, also when a test fails.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes a folder whose name nobody else uses.
    ///
    /// # Panics
    /// If the folder cannot be written.
    pub fn new(name: &str) -> Folder {
        let memory = PathBuf::from("/dev/shm");
        let base = if memory.is_dir() { memory } else { build_dir() };
        let folder = base.join(format!("verbena-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::set_permissions(&self.0, Permissions::from_mode(0o755));
        let _ = fs::remove_dir_all(&self.0);
    }
}
