//! Builds the suite's programs with the staged `mpicc`: no `configure`, no automake.
//!
//! One binary of the standard ABI runs on every library that has it, so nothing is built anew for a
//! baseline. What is built is kept as long as it is of the same `mpi.h`, `mpicc` and tree.

use super::tree::{Tree, home};
use crate::sources::Tools;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags for every source. The suite is older than the warnings of today's compilers; a function
/// that no header declares is an error, since it would be called with wrong arguments.
const FLAGS: [&str; 7] = [
    "-O1",
    "-w",
    "-std=gnu11",
    "-DMPI_ABI",
    "-ffunction-sections",
    "-fdata-sections",
    "-Werror=implicit-function-declaration",
];

/// The facts that the suite's `configure` would find here, and that only the standard is tested.
const FOUND: [&str; 45] = [
    "ENABLE_STRICTMPI",
    "HAVE_ATOMIC",
    "HAVE_DOUBLE__COMPLEX",
    "HAVE_FLOAT__COMPLEX",
    "HAVE_GETRUSAGE",
    "HAVE_H_ADDR_LIST",
    "HAVE_INTTYPES_H",
    "HAVE_LIMITS_H",
    "HAVE_LONG_DOUBLE",
    "HAVE_LONG_DOUBLE__COMPLEX",
    "HAVE_LONG_LONG",
    "HAVE_LONG_LONG_INT",
    "HAVE_MEMORY_H",
    "HAVE_MEMSET",
    "HAVE_MPI_COMPLEX32",
    "HAVE_MPI_INIT_THREAD",
    "HAVE_MPI_INTEGER16",
    "HAVE_MPI_IO",
    "HAVE_MPI_REAL16",
    "HAVE_MPI_SPAWN",
    "HAVE_MPI_TYPE_CREATE_STRUCT",
    "HAVE_MPI_WIN_CREATE",
    "HAVE_PTHREAD_BARRIER_INIT",
    "HAVE_PTHREAD_H",
    "HAVE_STDARG_H",
    "HAVE_STDINT_H",
    "HAVE_STDLIB_H",
    "HAVE_STRDUP",
    "HAVE_STRINGS_H",
    "HAVE_STRING_H",
    "HAVE_SYS_RESOURCE_H",
    "HAVE_SYS_STAT_H",
    "HAVE_SYS_TIME_H",
    "HAVE_SYS_TYPES_H",
    "HAVE_UNISTD_H",
    "HAVE_USLEEP",
    "HAVE__BOOL",
    "MPIO_USES_MPI_REQUEST",
    "POINTERINT_t long",
    "STDC_HEADERS",
    "THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX",
    "USE_LONG_DOUBLE_COMPLEX",
    "USE_STRICT_MPI",
    // Deleted by MPI-3.0, absent from the ABI, and still called by a few programs for another
    // purpose.
    "MPI_Errhandler_set MPI_Comm_set_errhandler",
    "_GNU_SOURCE",
];

/// The support libraries; true for programs with threads of their own.
const KINDS: [(&str, bool); 2] = [("single", false), ("thread", true)];

/// A builder of programs.
#[derive(Debug)]
pub struct Builder<'a> {
    tree: &'a Tree,
    mpicc: PathBuf,
    folder: PathBuf,
}

impl<'a> Builder<'a> {
    /// A builder for this tree, whose support libraries are ready.
    ///
    /// # Errors
    /// A support library does not compile.
    ///
    /// # Panics
    /// If nothing is staged, or `target/` is not writable.
    pub fn new(tree: &'a Tree) -> Result<Builder<'a>, String> {
        let tools = Tools::staged();
        let folder = home().join(format!("built-{:016x}", key(tree, &tools)));
        let builder = Builder { tree, mpicc: tools.mpicc, folder };
        builder.write_configuration();
        for (kind, threaded) in KINDS {
            builder.support(kind, threaded)?;
        }
        Ok(builder)
    }

    /// Builds one program.
    ///
    /// # Errors
    /// The text that the compiler writes.
    pub fn program(&self, folder: &str, name: &str) -> Result<PathBuf, String> {
        let program = self.folder.join("bin").join(folder).join(name);
        if program.exists() {
            return Ok(program);
        }
        fs::create_dir_all(program.parent().expect("a folder")).expect("target/ is writable");
        let makefile = self.tree.makefile(folder)?;
        let sources = makefile.sources(name).into_iter().map(|name| self.tree.folder.join(folder).join(name));
        let new = program.with_extension(format!("{}.new", std::process::id()));
        let mut command = self.compiler();
        command.args(makefile.macros(name)).args(sources);
        command.arg(self.archive(if makefile.threaded { "thread" } else { "single" }));
        said(command.args(["-Wl,--gc-sections", "-lm", "-lpthread", "-o"]).arg(&new))?;
        fs::rename(&new, &program).expect("target/ is writable");
        Ok(program)
    }

    fn compiler(&self) -> Command {
        let mut command = Command::new(&self.mpicc);
        let folders = [self.folder.join("include"), self.tree.folder.join("include")];
        let folders = folders.into_iter().chain([self.tree.folder.join("dtpools/include")]);
        command.args(FLAGS).args(folders.map(|folder| format!("-I{}", folder.display())));
        command
    }

    fn write_configuration(&self) {
        let folder = self.folder.join("include");
        fs::create_dir_all(&folder).expect("target/ is writable");
        let defined =
            FOUND.map(|name| if name.contains(' ') { name.to_owned() } else { format!("{name} 1") });
        let lines = defined.map(|name| {
            let macro_name = name.split(' ').next().unwrap_or("");
            format!("#ifndef {macro_name}\n#define {name}\n#endif\n")
        });
        let text = lines.concat();
        // One of the headers is asked for as `../dtpoolsconf.h`.
        for (name, text) in
            [("mpitestconf.h", text.as_str()), ("../dtpoolsconf.h", text.as_str()), ("mtest_mpix.h", "")]
        {
            fs::write(folder.join(name), text).expect("target/ is writable");
        }
    }

    fn archive(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("libmtest_{kind}.a"))
    }

    /// Builds the code that programs share as an archive: a program takes only the parts that it
    /// uses.
    fn support(&self, kind: &str, threaded: bool) -> Result<(), String> {
        let archive = self.archive(kind);
        if archive.exists() {
            return Ok(());
        }
        let objects = self.folder.join("support").join(kind);
        fs::create_dir_all(&objects).expect("target/ is writable");
        let sources = self.support_sources(kind);
        let mut command = self.compiler();
        command.args(threaded.then_some("-DMTEST_USE_THREAD")).arg("-c").args(&sources);
        said(command.current_dir(&objects))?;
        let names = sources.iter().filter_map(|source| source.file_stem());
        let names = names.map(|name| objects.join(name).with_extension("o"));
        let new = archive.with_extension("new");
        said(Command::new("ar").arg("rcs").arg(&new).args(names))?;
        fs::rename(new, archive).expect("target/ is writable");
        Ok(())
    }

    fn support_sources(&self, kind: &str) -> Vec<PathBuf> {
        let util = self.tree.folder.join("util");
        let names = ["mtest.c", "mtest_common.c", "dtypes.c", "run_mpitests.c"].map(str::to_owned);
        let names = names.into_iter().chain([format!("mtest_{kind}.c")]).map(|name| util.join(name));
        // Older trees do not have all of these.
        let mut sources: Vec<PathBuf> = names.filter(|path| path.exists()).collect();
        let pools = fs::read_dir(self.tree.folder.join("dtpools/src")).into_iter().flatten().flatten();
        let mut pools: Vec<PathBuf> = pools.map(|file| file.path()).filter(|path| is_c(path)).collect();
        pools.sort();
        sources.append(&mut pools);
        sources
    }
}

fn is_c(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "c")
}

fn key(tree: &Tree, tools: &Tools) -> u64 {
    let header = fs::read(&tools.header).expect("the library's header");
    let mut hasher = DefaultHasher::new();
    (&tools.mpicc, header, &tree.folder, FLAGS, FOUND).hash(&mut hasher);
    hasher.finish()
}

/// Runs a compiler.
fn said(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
