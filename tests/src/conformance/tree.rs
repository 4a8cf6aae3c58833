//! The suite's source tree: MPICH's `test/mpi`, as Debian ships it or from a newer checkout.

use super::makefile::Makefile;
use super::testlist::{Entry, entry, lines};
use crate::{shell, top};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of the suite that hold no C programs of the standard.
const NOT_C: [&str; 10] = ["f77", "f90", "f08", "cxx", "impls", "ckpoint", "ft", "manual", "bench", "perf"];

/// The datatypes that the generator of datatype tests is called for.
const POOL_TYPES: &str = "--with-dtpools-datatypes=MPI_INT,MPI_INT:4+MPI_DOUBLE:8";

/// Returns the folder where all of this is built and run.
pub fn home() -> PathBuf {
    top().join("target/conformance")
}

/// The suite's sources, which are never written to.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The folder `test/mpi`.
    pub folder: PathBuf,
    /// True if it is the tree that Debian ships.
    pub debian: bool,
    /// The folder of the generated lists, or nothing if there are none.
    lists: PathBuf,
}

impl Tree {
    /// Finds the tree: Debian's, fetched once and kept; or the one in `source` (MPICH's top folder,
    /// or `test/mpi` in it).
    ///
    /// # Errors
    /// There is no such suite in `source`.
    ///
    /// # Panics
    /// If Debian's source package cannot be fetched.
    pub fn find(source: Option<&Path>) -> Result<Tree, String> {
        let folder = match source {
            Some(given) => given.to_path_buf(),
            None => fetched(),
        };
        let candidates = [folder.join("test/mpi"), folder.clone()];
        let is_suite = |folder: &&PathBuf| folder.join("util/mtest.c").exists();
        let found = candidates.iter().find(is_suite).ok_or_else(|| {
            format!("there is no suite of MPICH in {}: name the folder with test/mpi", folder.display())
        })?;
        let folder = fs::canonicalize(found).map_err(|error| error.to_string())?;
        let lists = generated_lists(&folder)?;
        Ok(Tree { folder, debian: source.is_none(), lists })
    }

    /// Returns all entries of the lists, in their order.
    ///
    /// # Errors
    /// A list cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>, String> {
        let mut entries = Vec::new();
        self.gather("", &mut entries)?;
        Ok(entries)
    }

    /// The `Makefile.am` of a folder.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn makefile(&self, folder: &str) -> Result<Makefile, String> {
        Ok(Makefile::parse(&read(&self.folder.join(folder).join("Makefile.am"))?))
    }

    fn gather(&self, folder: &str, entries: &mut Vec<Entry>) -> Result<(), String> {
        for words in lines(&self.list(folder)?) {
            let within = if folder.is_empty() { words[0].clone() } else { format!("{folder}/{}", words[0]) };
            if !self.folder.join(&within).is_dir() {
                entries.push(entry(folder, &words, false));
            } else if !NOT_C.contains(&words[0].as_str()) {
                self.gather(&within, entries)?;
            }
        }
        let generated = self.lists.join(folder).join("testlist.dtp");
        if generated.exists() {
            entries.extend(lines(&read(&generated)?).map(|words| entry(folder, &words, true)));
        }
        Ok(())
    }

    /// Reads a folder's list; a template is read only where no list was made of it.
    fn list(&self, folder: &str) -> Result<String, String> {
        let folder = self.folder.join(folder);
        let names = ["testlist", "testlist.in"].map(|name| folder.join(name));
        match names.iter().find(|name| name.exists()) {
            Some(name) => read(name),
            None => Err(format!("there is no test list in {}", folder.display())),
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Returns Debian's source package, which is kept.
fn fetched() -> PathBuf {
    let folder = home().join("mpich");
    if !folder.exists() {
        fs::create_dir_all(home()).expect("target/ is writable");
        shell(Command::new(top().join("packaging/debian-source")).arg("mpich").arg(&folder));
    }
    folder
}

/// Lets the suite's own generator write the lists of datatype tests, into a folder of ours.
fn generated_lists(suite: &Path) -> Result<PathBuf, String> {
    let lists = home().join("lists");
    let _ = fs::remove_dir_all(&lists);
    let configuration = read(&suite.join("maint/dtp-test-config.txt"))?;
    for line in configuration.lines().filter(|line| !line.starts_with('#')) {
        let program = line.split(':').next().unwrap_or("");
        let folder = Path::new(program).parent().unwrap_or(Path::new(""));
        fs::create_dir_all(lists.join(folder)).expect("target/ is writable");
    }
    let mut generator = Command::new("bash");
    shell(generator.arg(suite.join("maint/gentests_dtp.sh")).arg(POOL_TYPES).current_dir(&lists));
    Ok(lists)
}
