//! The wheel for pip: `verbena_mpi-VERSION-py3-none-manylinux_2_X_x86_64.whl`.
//!
//! The installed files lie in the wheel's `data`, so pip puts them where they belong in any
//! environment: programs into `bin`, libraries into `lib` (where mpi4py looks for `libmpi.so.12`),
//! `mpi.h` into `include`. All of them find each other by their own place. A wheel holds no links:
//! other names of a program are entry points, those of a library are small libraries that need it,
//! those for the linker are scripts, and those of a page are copies.

use super::archive::Zip;
use super::command::{self, said};
use super::digest;
use super::elf::Needs;
use super::ground::Ground;
use super::image::{Entry, Image};
use super::trial::{Place, listed, without_trace};
use super::verdict::{Tried, Verdict};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_testing::Lack;

/// The name of the package on the index, and that of its files.
const NAME: &str = "verbena-mpi";
const FILE_NAME: &str = "verbena_mpi";
/// The release of mpi4py whose stock wheel is tried.
const MPI4PY: &str = "mpi4py==4.1.2";

/// Libraries that every system of a `manylinux` platform has (PEP 600), and that we need.
const OF_THE_SYSTEM: [&str; 9] = [
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libutil.so.1",
];

/// A file of the wheel.
struct Member {
    path: String,
    contents: Vec<u8>,
    is_program: bool,
}

/// Makes the wheel.
pub(super) fn make(ground: &Ground) -> Result<Vec<PathBuf>> {
    let mut image = Image::installed(ground, &ground.scratch("wheel-image")?, "/")?;
    image.add_module_sources(ground)?;
    let platform = platform(&image.needs()?)?;
    let mut members = vec![module(ground)?];
    let mut aliases = Vec::new();
    for entry in &image.entries {
        match &entry.target {
            Some(target) if entry.path.starts_with("bin/") => {
                let command = target.as_str();
                ensure!(["mpicc", "mpiexec"].contains(&command), "no entry point becomes {command}");
                aliases.push(entry.path.trim_start_matches("bin/").to_string());
            }
            Some(target) => {
                let contents = other_name(&image, entry, target)?;
                members.push(data(ground, entry, contents));
            }
            None => members.push(data(ground, entry, image.contents(entry)?)),
        }
    }
    let folder = format!("{FILE_NAME}-{}.dist-info", ground.version);
    let tag = format!("py3-none-{platform}");
    let file = ground.out.join(format!("{FILE_NAME}-{}-{tag}.whl", ground.version));
    for (name, text) in [
        ("METADATA", metadata(ground)?),
        ("WHEEL", wheel_page(&ground.version, &tag)),
        ("entry_points.txt", entry_points(&aliases)),
        ("top_level.txt", format!("{FILE_NAME}\n")),
    ] {
        members.push(text_member(&format!("{folder}/{name}"), text));
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "packaging/THIRD-PARTY.txt"] {
        let text = std::fs::read_to_string(ground.top.join(name)).with_context(|| name.to_string())?;
        let name = name.trim_start_matches("packaging/");
        members.push(text_member(&format!("{folder}/licenses/{name}"), text));
    }
    // The list of all files comes last.
    let record = record(&members, &folder);
    members.push(text_member(&format!("{folder}/RECORD"), record));
    command::write(&file, packed(&members, ground.epoch)?)?;
    Ok(vec![file])
}

fn packed(members: &[Member], epoch: u64) -> Result<Vec<u8>> {
    let mut zip = Zip::new(epoch)?;
    for member in members {
        zip.add(&member.path, &member.contents, member.is_program)?;
    }
    zip.finish()
}

fn text_member(path: &str, text: String) -> Member {
    Member { path: path.into(), contents: text.into_bytes(), is_program: false }
}

/// The module `verbena_mpi`.
fn module(ground: &Ground) -> Result<Member> {
    Ok(text_member(&format!("{FILE_NAME}/__init__.py"), ground.page("wheel/__init__.py", &[])?))
}

/// A file where pip is to put it: programs are scripts, the rest is data.
fn data(ground: &Ground, entry: &Entry, contents: Vec<u8>) -> Member {
    let folder = format!("{FILE_NAME}-{}.data", ground.version);
    let path = match entry.path.strip_prefix("bin/") {
        Some(name) => format!("{folder}/scripts/{name}"),
        None => format!("{folder}/data/{}", entry.path),
    };
    Member { path, contents, is_program: entry.is_program }
}

/// The contents of a file that stands for a link.
fn other_name(image: &Image, entry: &Entry, target: &str) -> Result<Vec<u8>> {
    let name = entry.path.rsplit('/').next().unwrap_or_default();
    match () {
        // For the linker.
        () if name.ends_with(".so") => Ok(format!("/* GNU ld script */\nINPUT ( {target} )\n").into_bytes()),
        () if name.contains(".so.") => library_that_needs(image, name, target),
        // What the link leads to is read.
        () if name.ends_with(".pc") || name.ends_with(".gz") => image.contents(entry),
        () => bail!("a wheel holds no links, and {} is one to {target}", entry.path),
    }
}

/// An empty library of this name, which needs the other one: a program that asks for either gets
/// the same functions.
fn library_that_needs(image: &Image, name: &str, target: &str) -> Result<Vec<u8>> {
    let lib = image.prefix.join("lib");
    let file = image.root.join(name);
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-nostdlib", "-s", "-x", "c", "/dev/null", "-o"]).arg(&file);
    cc.arg(format!("-Wl,-soname,{name}")).arg("-L").arg(&lib).arg("-Wl,--no-as-needed");
    cc.arg(format!("-l:{target}")).arg("-Wl,-rpath,$ORIGIN,--enable-new-dtags");
    said(&mut cc)?;
    std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))
}

/// The name of the platform (PEP 600), by what the files need.
fn platform(needs: &Needs) -> Result<String> {
    let foreign: Vec<&String> =
        needs.libraries.iter().filter(|name| !OF_THE_SYSTEM.contains(&name.as_str())).collect();
    ensure!(foreign.is_empty(), "the files need libraries that not every system has: {foreign:?}");
    let glibc = needs.glibc.context("no file needs the C library: that cannot be")?;
    Ok(format!("{}_{}", glibc.manylinux(), std::env::consts::ARCH))
}

fn metadata(ground: &Ground) -> Result<String> {
    let about = ground.page("wheel/description.md", &[])?;
    Ok(format!(
        "Metadata-Version: 2.1\n\
         Name: {NAME}\n\
         Version: {}\n\
         Summary: MPI with the standard ABI of MPI-5.0, and MPICH's: libraries, mpiexec, mpicc\n\
         License: Apache-2.0 OR MIT\n\
         License-File: LICENSE-APACHE\n\
         License-File: LICENSE-MIT\n\
         License-File: THIRD-PARTY.txt\n\
         Keywords: MPI,HPC,message passing,mpi4py\n\
         Classifier: Operating System :: POSIX :: Linux\n\
         Classifier: Programming Language :: Rust\n\
         Classifier: Topic :: System :: Distributed Computing\n\
         Requires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{about}",
        ground.version
    ))
}

fn wheel_page(version: &str, tag: &str) -> String {
    format!(
        "Wheel-Version: 1.0\nGenerator: cargo-xtask-package ({version})\nRoot-Is-Purelib: false\nTag: {tag}\n"
    )
}

fn entry_points(aliases: &[String]) -> String {
    let line = |name: &String| format!("{name} = {FILE_NAME}:_become\n");
    format!("[console_scripts]\n{}", aliases.iter().map(line).collect::<String>())
}

/// The list of all files with their digests. A name with a comma is in quotes; ours have none.
fn record(members: &[Member], folder: &str) -> String {
    let line = |member: &Member| {
        let Member { path, contents, .. } = member;
        format!("{path},sha256={},{}\n", digest::of_record(contents), contents.len())
    };
    let lines: String = members.iter().map(line).collect();
    format!("{lines}{folder}/RECORD,,\n")
}

/// Installs the wheel in a fresh virtual environment, where it runs a C program, a Fortran program
/// and mpi4py's stock wheel; then removes it.
pub(super) fn check(ground: &Ground, files: &[PathBuf]) -> Vec<Verdict> {
    let [wheel] = files else { return vec![Verdict::of("wheel", Err(anyhow::anyhow!("no file")))] };
    let venv = match Venv::new(ground) {
        Ok(venv) => venv,
        Err(error) => {
            let why = format!("no virtual environment can be made: {error:#}");
            return vec![Verdict::of("wheel", Ok(Some((Lack::Installed, why))))];
        }
    };
    let before = listed(&venv.folder);
    let mut verdicts = vec![Verdict::of("wheel: pip install", venv.pip(&["install"], Some(wheel.as_path())))];
    if verdicts[0].is_failure() {
        return verdicts;
    }
    let place = &venv.place;
    verdicts.push(Verdict::of("wheel: verbena info", place.info(&ground.version)));
    verdicts.push(Verdict::of("wheel: verbena_mpi", venv.module()));
    verdicts.push(Verdict::of("wheel: C", place.c_ring(&ground.top)));
    verdicts.push(Verdict::of("wheel: Fortran", place.fortran_hello(&ground.top)));
    verdicts.push(Verdict::of("wheel: names of libraries", venv.loads_every_name()));
    verdicts.push(Verdict::of("wheel: mpi4py", venv.stock_mpi4py()));
    verdicts.push(Verdict::of("wheel: pip uninstall", venv.pip(&["uninstall", "-y", NAME], None)));
    // Every file must be gone. pip leaves folders that held only folders, and takes along the empty
    // ones of the environment's `include`.
    let is_pip_s = |path: &Path| {
        let place = venv.folder.join(path);
        place.is_dir() || path.starts_with("include") && !place.exists()
    };
    let left = before.and_then(|before| without_trace(&before, &venv.folder, is_pip_s));
    verdicts.push(Verdict::of("wheel: nothing is left", left));
    verdicts
}

/// A virtual environment for the trial.
struct Venv {
    folder: PathBuf,
    place: Place,
}

impl Venv {
    fn new(ground: &Ground) -> Result<Venv> {
        let work = ground.scratch("wheel-trial")?;
        let folder = work.join("venv");
        said(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let place = Place::here(&folder.join("bin"), &work);
        Ok(Venv { folder, place })
    }

    fn pip(&self, words: &[&str], wheel: Option<&Path>) -> Tried {
        let mut pip = self.python(&["-m", "pip", "--disable-pip-version-check"]);
        pip.args(words).arg("--quiet").args(wheel);
        said(&mut pip)?;
        Ok(None)
    }

    fn python(&self, words: &[&str]) -> Command {
        let mut python = Command::new(self.folder.join("bin/python"));
        // Compiled modules would be left behind by those that are not of the package.
        python.args(words).env("PYTHONDONTWRITEBYTECODE", "1");
        python
    }

    /// The module tells where everything lies.
    fn module(&self) -> Tried {
        let script = "import verbena_mpi as v, os; print(v.__version__, v.prefix()); \
                      assert os.path.exists(os.path.join(v.get_include(), 'mpi.h'))";
        let words = said(&mut self.python(&["-c", script]))?;
        let folder = self.folder.canonicalize()?;
        ensure!(words.trim_end().ends_with(&folder.display().to_string()), "the prefix is {words}");
        Ok(None)
    }

    /// Every name of a library that a program may ask for leads to MPI's functions.
    fn loads_every_name(&self) -> Tried {
        let script = "import ctypes, sys\nfor name in sys.argv[1:]:\n    ctypes.CDLL(name).MPI_Initialized\n";
        let lib = self.folder.join("lib");
        for name in
            ["libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12", "libmpifort.so.12", "libmpichfort.so.12"]
        {
            said(self.python(&["-c", script]).arg(lib.join(name))).with_context(|| name.to_string())?;
        }
        Ok(None)
    }

    /// mpi4py as it comes from the index, told nothing of us, in a folder beside: it is not of our
    /// package, and would stay behind.
    fn stock_mpi4py(&self) -> Tried {
        let packages = self.folder.with_file_name("mpi4py");
        let mut pip = self.python(&["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]);
        // pip's cache may have one that was built here for another library.
        pip.args(["--no-cache-dir", "--only-binary", ":all:", "--target"]).arg(&packages).arg(MPI4PY);
        if let Err(error) = said(&mut pip) {
            let why = format!("{MPI4PY} cannot be had: {error:#}");
            return Ok(Some((Lack::Installed, why)));
        }
        let python = format!("env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='{}' python", packages.display());
        self.place.mpi4py(&python)
    }
}

#[cfg(test)]
mod tests {
    use super::super::elf::Glibc;
    use super::*;

    fn needs(libraries: &[&str], glibc: Option<Glibc>) -> Needs {
        Needs {
            libraries: libraries.iter().map(|name| (*name).to_string()).collect(),
            glibc,
            ..Needs::default()
        }
    }

    #[test]
    fn the_platform_is_what_the_files_need() {
        let old = Some(Glibc::new(2, 28, 0));
        let name = platform(&needs(&["libc.so.6", "libgcc_s.so.1"], old)).expect("a platform");
        assert_eq!(name, format!("manylinux_2_28_{}", std::env::consts::ARCH));
        assert!(platform(&needs(&["libc.so.6", "libucp.so.0"], old)).is_err());
        assert!(platform(&needs(&[], None)).is_err());
    }

    #[test]
    fn the_record_has_every_file_and_itself() {
        let members = [text_member("a/b.py", String::new())];
        let digest = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";
        assert_eq!(
            record(&members, "d.dist-info"),
            format!("a/b.py,sha256={digest},0\nd.dist-info/RECORD,,\n")
        );
    }

    #[test]
    fn other_names_are_entry_points() {
        let text = entry_points(&["mpirun".into(), "mpicxx".into()]);
        assert_eq!(text, "[console_scripts]\nmpirun = verbena_mpi:_become\nmpicxx = verbena_mpi:_become\n");
    }
}
