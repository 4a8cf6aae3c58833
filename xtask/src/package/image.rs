//! The installed files of a build, in a folder of their own: what `packaging/install` puts there.

use super::command::{self, said};
use super::elf::{self, Needs};
use super::ground::Ground;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The list of what was installed, from the prefix.
const MANIFEST: &str = "share/verbena/manifest.txt";

/// An installation for a package.
#[derive(Debug)]
pub(super) struct Image {
    /// The folder that stands for the top of the machine.
    pub root: PathBuf,
    /// The prefix of the installation below it, as a path on this machine.
    pub prefix: PathBuf,
    /// The files and links; the list of them aside.
    pub entries: Vec<Entry>,
}

/// A file or a link of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The path from the prefix.
    pub path: String,
    /// The place that a link leads to; none for a file.
    pub target: Option<String>,
    /// True if everybody may run the file.
    pub is_program: bool,
}

impl Image {
    /// Installs the build below `root`, which is emptied, with this prefix.
    ///
    /// # Errors
    /// Verbena cannot be built or installed.
    pub(super) fn installed(ground: &Ground, root: &Path, prefix: &str) -> Result<Image> {
        let build = ground.build()?;
        command::remove(root)?;
        let mut install = Command::new(ground.top.join("packaging/install"));
        install.arg(prefix).env("DESTDIR", root).env("BUILD", build).env("LIBDIR", "lib");
        said(install.current_dir(&ground.top))?;
        let place = root.join(prefix.trim_start_matches('/'));
        let mut image = Image { root: root.into(), prefix: place, entries: Vec::new() };
        image.entries = image.listed()?;
        Ok(image)
    }

    /// Adds the sources of the Fortran modules: another gfortran makes them anew where the image is
    /// unpacked.
    ///
    /// # Errors
    /// A file cannot be copied.
    pub(super) fn add_module_sources(&mut self, ground: &Ground) -> Result<()> {
        let sources = ground.build()?.join("fortran");
        for module in ["mpi.f90", "mpi_f08.f90"] {
            self.add_copy(&sources.join(module), &format!("share/verbena/fortran/{module}"))?;
        }
        Ok(())
    }

    /// Adds a copy of a file; its mode comes along.
    ///
    /// # Errors
    /// It cannot be copied.
    pub(super) fn add_copy(&mut self, from: &Path, path: &str) -> Result<()> {
        let file = self.prefix.join(path);
        let folder = file.parent().context("a file lies in a folder")?;
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        std::fs::copy(from, &file).with_context(|| format!("cannot copy {}", from.display()))?;
        let entry = self.entry(path)?;
        self.entries.push(entry);
        Ok(())
    }

    /// The path of an entry on this machine.
    pub(super) fn file(&self, entry: &Entry) -> PathBuf {
        self.prefix.join(&entry.path)
    }

    /// The contents of an entry that is a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn contents(&self, entry: &Entry) -> Result<Vec<u8>> {
        let file = self.file(entry);
        std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))
    }

    /// The needs of all programs and libraries together, less what they bring themselves.
    ///
    /// # Errors
    /// A file cannot be read, is damaged, or needs a symbol that no library has.
    pub(super) fn needs(&self) -> Result<Needs> {
        let (mut all, mut given) = (Needs::default(), BTreeSet::new());
        for entry in self.entries.iter().filter(|entry| entry.target.is_none()) {
            let bytes = self.contents(entry)?;
            if elf::is_elf(&bytes) {
                all.add(elf::needs(&bytes).with_context(|| entry.path.clone())?);
                given.extend(elf::names(&bytes)?);
            }
        }
        let own = |name: &String| self.entries.iter().any(|entry| entry.path == format!("lib/{name}"));
        all.libraries.retain(|name| !own(name));
        all.unversioned.retain(|name| !given.contains(name));
        ensure!(
            all.unversioned.is_empty(),
            "no library has these symbols, as if the C library of the build were too old for them: {:?}",
            all.unversioned
        );
        Ok(all)
    }

    /// The entries of the list that the installation wrote.
    fn listed(&self) -> Result<Vec<Entry>> {
        let list = self.prefix.join(MANIFEST);
        let text =
            std::fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
        let paths = text.lines().filter(|path| !path.ends_with('/') && *path != MANIFEST);
        paths.map(|path| self.entry(path)).collect()
    }

    fn entry(&self, path: &str) -> Result<Entry> {
        use std::os::unix::fs::PermissionsExt;
        let file = self.prefix.join(path);
        let about = std::fs::symlink_metadata(&file).with_context(|| file.display().to_string())?;
        let target = match about.is_symlink() {
            true => Some(std::fs::read_link(&file)?.to_string_lossy().into_owned()),
            false => None,
        };
        let is_program = target.is_none() && about.permissions().mode() & 0o111 == 0o111;
        Ok(Entry { path: path.into(), target, is_program })
    }
}
