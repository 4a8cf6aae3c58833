//! The package that each file belongs to.

use super::super::command;
use super::super::image::{Entry, Image};
use super::{architecture, prefix};
use anyhow::{Context, Result, ensure};
use std::os::unix::fs::symlink;
use std::path::Path;

/// A package.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The name of the package.
    pub name: &'static str,
    /// The section of the archive.
    pub section: &'static str,
    /// One line about it, and more.
    pub about: [&'static str; 2],
    /// The packages that must be installed with it, besides those of the C library.
    pub depends: &'static [&'static str],
    /// Further fields.
    pub fields: &'static str,
}

/// The packages: each needs those before it.
pub(super) static PARTS: [Part; 3] = [
    Part {
        name: "libverbena1",
        section: "libs",
        about: [
            "MPI with the standard ABI of MPI-5.0 (libraries)",
            "The libraries libmpi_abi.so.1 and libmpifort_abi.so.1 of the standard ABI, and\n \
             libmpi.so.12 for programs that were built for MPICH or Intel MPI.",
        ],
        depends: &[],
        fields: "Provides: libmpi-abi1\nRecommends: verbena\n",
    },
    Part {
        name: "verbena",
        section: "net",
        about: [
            "MPI with the standard ABI of MPI-5.0 (launcher)",
            "The launcher mpiexec, and the command verbena, which tells about an\n \
             installation, measures it and tunes it.",
        ],
        depends: &["libverbena1 (= @VERSION@)"],
        fields: "Suggests: openssh-client\n",
    },
    Part {
        name: "verbena-dev",
        section: "devel",
        about: [
            "MPI with the standard ABI of MPI-5.0 (development)",
            "The compiler wrappers mpicc, mpicxx and mpifort, mpi.h, mpif.h, and the Fortran\n \
             modules mpi and mpi_f08.",
        ],
        depends: &["libverbena1 (= @VERSION@)", "verbena (= @VERSION@)"],
        fields: "Recommends: gcc | c-compiler\nSuggests: g++\n",
    },
];

/// The commands of the package with the compiler wrappers.
pub(super) const WRAPPERS: [&str; 6] = ["mpicc", "mpic++", "mpicxx", "mpif77", "mpif90", "mpifort"];
/// The commands that start jobs.
pub(super) const LAUNCHERS: [&str; 2] = ["mpirun", "mpiexec"];

/// The name of the package that a file belongs to, by its path from the prefix.
fn owner(path: &str) -> Option<&'static str> {
    let (folder, rest) = path.split_once('/')?;
    let is_runtime = |name: &str| name.contains(".so.");
    Some(match folder {
        "bin" if WRAPPERS.contains(&rest) => "verbena-dev",
        "bin" => "verbena",
        "lib" if is_runtime(rest) => "libverbena1",
        "lib" | "include" => "verbena-dev",
        "share" if rest.starts_with("man/man3/") => "verbena-dev",
        "share" if page(rest).is_some_and(|name| WRAPPERS.contains(&name)) => "verbena-dev",
        "share" => "verbena",
        _ => return None,
    })
}

/// The command that a page below `share` is about.
fn page(path: &str) -> Option<&str> {
    path.strip_prefix("man/man1/")?.strip_suffix(".1.gz")
}

/// The place of a file from the top of the machine. Pages lie where Debian wants them, and each
/// package has its own licence page.
fn place(path: &str) -> Option<String> {
    if let Some(page) = path.strip_prefix("share/doc/verbena/") {
        return (!page.starts_with("LICENSE")).then(|| format!("usr/share/doc/verbena/{page}"));
    }
    if let Some((folder, name)) = path.strip_prefix("share/man/").and_then(|path| path.split_once('/')) {
        return Some(format!("usr/share/man/{folder}/{}", manual(name)));
    }
    Some(format!("{}/{path}", prefix().trim_start_matches('/')))
}

/// The name of a manual page among those of other MPI libraries: `mpicc.verbena.1.gz`, of which an
/// alternative is made, and `MPI_Send.3verbena.gz`, which `man MPI_Send` finds.
fn manual(name: &str) -> String {
    match (name.strip_suffix(".1.gz"), name.strip_suffix(".3.gz")) {
        (Some("verbena"), _) | (None, None) => name.into(),
        (Some(command), _) => format!("{command}.verbena.1.gz"),
        (None, Some(function)) => format!("{function}.3verbena.gz"),
    }
}

impl Part {
    /// Fills a folder with the files of the package.
    ///
    /// # Errors
    /// A file belongs to no package, or cannot be copied.
    pub(super) fn fill(&self, image: &Image, root: &Path) -> Result<()> {
        for entry in &image.entries {
            let owner = owner(&entry.path);
            ensure!(owner.is_some(), "{} belongs to no package: mend deb/parts.rs", entry.path);
            let place = place(&entry.path).filter(|_| owner == Some(self.name));
            if let Some(place) = place {
                copy(image, entry, &root.join(place))?;
            }
        }
        self.link_commands(root)
    }

    /// The commands in `/usr/bin`.
    fn link_commands(&self, root: &Path) -> Result<()> {
        let names: &[&str] = match self.name {
            "verbena" => &LAUNCHERS,
            "verbena-dev" => &WRAPPERS,
            _ => return Ok(()),
        };
        let bin = root.join("usr/bin");
        std::fs::create_dir_all(&bin)?;
        let from_bin = format!("../lib/{}/verbena/bin", architecture().1);
        for name in names {
            symlink(format!("{from_bin}/{name}"), bin.join(format!("{name}.verbena")))?;
        }
        if self.name == "verbena" {
            symlink(format!("{from_bin}/verbena"), bin.join("verbena"))?;
        }
        Ok(())
    }
}

fn copy(image: &Image, entry: &Entry, to: &Path) -> Result<()> {
    let folder = to.parent().context("a file lies in a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    match &entry.target {
        Some(target) => {
            let target = if entry.path.starts_with("share/man/") { manual(target) } else { target.clone() };
            symlink(target, to).with_context(|| to.display().to_string())
        }
        None => {
            command::write(to, image.contents(entry)?)?;
            // Libraries are no programs (Debian policy 10.2).
            if entry.path.starts_with("bin/") { command::make_executable(to) } else { Ok(()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_its_package_and_place() {
        for (path, package) in [
            ("lib/libmpi_abi.so.1", "libverbena1"),
            ("lib/libmpi_abi.so", "verbena-dev"),
            ("lib/pkgconfig/mpi.pc", "verbena-dev"),
            ("bin/mpifort", "verbena-dev"),
            ("bin/mpirun", "verbena"),
            ("include/mpi.h", "verbena-dev"),
            ("share/verbena/verbena.supp", "verbena"),
            ("share/man/man1/mpicc.1.gz", "verbena-dev"),
            ("share/man/man1/mpiexec.1.gz", "verbena"),
            ("share/man/man3/MPI_Send.3.gz", "verbena-dev"),
        ] {
            assert_eq!(owner(path), Some(package), "{path}");
        }
        assert_eq!(owner("etc/verbena.toml"), None);
        let home = prefix();
        assert_eq!(place("bin/mpicc"), Some(format!("{}/bin/mpicc", &home[1..])));
        assert_eq!(place("share/doc/verbena/README.md"), Some("usr/share/doc/verbena/README.md".into()));
        assert_eq!(place("share/doc/verbena/LICENSE-MIT"), None);
        for (page, name) in [
            ("man1/mpicc.1.gz", "man1/mpicc.verbena.1.gz"),
            ("man1/verbena.1.gz", "man1/verbena.1.gz"),
            ("man3/MPI_Send.3.gz", "man3/MPI_Send.3verbena.gz"),
        ] {
            assert_eq!(place(&format!("share/man/{page}")), Some(format!("usr/share/man/{name}")));
        }
    }
}
