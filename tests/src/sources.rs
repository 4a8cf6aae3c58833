//! Programs of others, unmodified: fetched as Debian ships them, built once and kept.

use crate::{shell, staged, top};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tools that build programs.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The name of their library, and of the folder for what is built with them.
    pub name: &'static str,
    /// The compiler wrapper for C.
    pub mpicc: PathBuf,
    /// The compiler wrapper for C++.
    pub mpicxx: PathBuf,
    /// The library's `mpi.h`.
    pub header: PathBuf,
}

impl Tools {
    /// Returns the tools of the staged installation. Their programs run on every library of the
    /// standard ABI.
    pub fn staged() -> Tools {
        Tools {
            name: "verbena",
            mpicc: staged("bin/mpicc"),
            mpicxx: staged("bin/mpicxx"),
            header: staged("include/mpi.h"),
        }
    }

    /// Returns `VARIABLE=PATH` for `make` and `configure`.
    pub fn cc(&self, variable: &str) -> String {
        format!("{variable}={}", self.mpicc.display())
    }

    fn folder(&self) -> PathBuf {
        let all = top().join("target/sources");
        if self.name == "verbena" { all } else { all.join(self.name) }
    }
}

/// The folder with the build of a Debian source package's upstream archive.
///
/// It is kept under `target/sources` as long as it is of the same installation, `mpi.h` and
/// `recipe` (a text that stands for all else that the build depends on); otherwise the archive is
/// fetched and unpacked anew and `build` called with the folder.
pub fn built(tools: &Tools, package: &str, recipe: &str, build: impl FnOnce(&Path)) -> PathBuf {
    let home = tools.folder().join(package);
    let _lock = lock(&home);
    let (stamp, key) = (home.join(".verbena-built"), key(tools, recipe));
    if std::fs::read_to_string(&stamp).is_ok_and(|kept| kept == key) {
        return home;
    }
    shell(Command::new(top().join("packaging/debian-source")).arg(package).arg(&home));
    build(&home);
    std::fs::write(stamp, key).expect("target/ is writable");
    home
}

/// Keeps other tests, of this process too, from making this folder until the value goes.
fn lock(home: &Path) -> File {
    std::fs::create_dir_all(home.parent().expect("a folder")).expect("target/ is writable");
    let lock = File::create(home.with_added_extension("lock")).expect("target/ is writable");
    lock.lock().expect("a lock");
    lock
}

fn key(tools: &Tools, recipe: &str) -> String {
    let header = std::fs::read(&tools.header).expect("the library's header");
    let mut hasher = DefaultHasher::new();
    (&tools.mpicc, header, recipe).hash(&mut hasher);
    format!("{:016x}\n", hasher.finish())
}

/// The folder with the files of a Debian binary package, unpacked and not installed; it is kept.
pub fn unpacked(package: &str) -> PathBuf {
    let home = top().join("target/sources").join(package);
    let _lock = lock(&home);
    if !home.exists() {
        shell(Command::new(top().join("packaging/debian-binary")).arg(package).arg(&home));
    }
    home
}

/// A `make` in this folder, on two cores, that says nothing but errors.
pub fn make(folder: &Path) -> Command {
    let mut command = Command::new("make");
    command.args(["--silent", "-j2", "-C"]).arg(folder);
    command
}
