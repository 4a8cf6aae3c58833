//! The library that the programs run on: ours, or another one of the standard ABI for a baseline.

use crate::world::folder_of;
use crate::{staged, top};
use std::path::{Path, PathBuf};

/// A library of the standard ABI with its launcher.
#[derive(Clone, Debug)]
pub struct Library {
    /// The launcher.
    pub mpiexec: PathBuf,
    /// The folder with `libmpi_abi.so.1`.
    pub folder: PathBuf,
    /// True if it is the staged Verbena, which the expectations are about.
    pub ours: bool,
}

impl Library {
    /// The staged Verbena.
    ///
    /// # Panics
    /// If nothing is staged.
    pub fn staged() -> Library {
        let folder = folder_of(&staged("lib/libmpi_abi.so.1"));
        Library { mpiexec: staged("bin/mpiexec"), folder, ours: true }
    }

    /// The one under a prefix, or under `target/peers` by its name.
    ///
    /// # Errors
    /// It has no launcher, or no library of the standard ABI.
    pub fn under(prefix: &Path) -> Result<Library, String> {
        let peer = top().join("target/peers").join(prefix);
        let prefix = if prefix.join("bin/mpiexec").exists() { prefix } else { peer.as_path() };
        let (mpiexec, folder) = (prefix.join("bin/mpiexec"), prefix.join("lib"));
        let wanted = [mpiexec.clone(), folder.join("libmpi_abi.so.1")];
        match wanted.iter().find(|file| !file.exists()) {
            None => Ok(Library { mpiexec, folder, ours: false }),
            Some(file) => Err(format!(
                "{} is missing: name a prefix with bin/mpiexec and lib/libmpi_abi.so.1, or a peer that \
                 `cargo xtask peers --install-only` put under target/peers",
                file.display()
            )),
        }
    }
}
