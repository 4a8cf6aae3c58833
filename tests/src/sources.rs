//! Programs of others, unmodified: fetched as Debian ships their source, built once and kept.

use crate::{shell, staged, top};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the build of a Debian source package's upstream archive.
///
/// It is kept under `target/sources` as long as it is of the same installation, `mpi.h` and `recipe` (a text that stands for
/// all else that the build depends on); otherwise the archive is fetched and unpacked anew and `build` called with the folder.
pub fn built(package: &str, recipe: &str, build: impl FnOnce(&Path)) -> PathBuf {
    let home = top().join("target/sources").join(package);
    let (stamp, key) = (home.join(".verbena-built"), key(recipe));
    if std::fs::read_to_string(&stamp).is_ok_and(|kept| kept == key) {
        return home;
    }
    std::fs::create_dir_all(home.parent().expect("a folder")).expect("target/ is writable");
    shell(Command::new(top().join("packaging/debian-source")).arg(package).arg(&home));
    build(&home);
    std::fs::write(stamp, key).expect("target/ is writable");
    home
}

fn key(recipe: &str) -> String {
    let header = std::fs::read(staged("include/mpi.h")).expect("the staged header");
    let mut hasher = DefaultHasher::new();
    (staged("bin/mpicc"), header, recipe).hash(&mut hasher);
    format!("{:016x}\n", hasher.finish())
}

/// A `make` in this folder, on two cores, that says nothing but errors.
pub fn make(folder: &Path) -> Command {
    let mut command = Command::new("make");
    command.args(["--silent", "-j2", "-C"]).arg(folder);
    command
}
