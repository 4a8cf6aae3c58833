//! The command `mpicc`: named `mpicxx` or `mpic++` it is for C++; `mpifort`, `mpif90` or `mpif77`,
//! for Fortran.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use verbena_fault::Fault;
use verbena_launch::wrapper::{LIBRARY_FOLDERS, Language, Prefix, Task, task};

fn main() {
    let mut words = env::args_os();
    let name = words.next().unwrap_or_else(|| "mpicc".into());
    let language = Language::of_name(&name);
    let arguments: Vec<OsString> = words.collect();
    let prefix = find_prefix().unwrap_or_else(|fault| stop(&fault));
    match task(language, &prefix, env::var_os(language.variable()), &arguments) {
        Task::Print(line) => println!("{line}"),
        Task::Run(command) => stop(&run(&command, language)),
        Task::SayAndRun(text, command) => {
            eprintln!("{text}");
            stop(&run(&command, language))
        }
    }
}

/// Becomes the compiler; returns only if that fails.
fn run(command: &[OsString], language: Language) -> Fault {
    let Some((compiler, arguments)) = command.split_first() else { return no_compiler(language) };
    let error = Command::new(compiler).args(arguments).exec();
    Fault::new(
        "Could not run the compiler.",
        format!("{}: {error}", compiler.display()),
        "it is not installed, or not in PATH",
        format!("install one, or name another by {} or -{}NAME", language.variable(), language.option()),
    )
}

fn no_compiler(language: Language) -> Fault {
    let variable = language.variable();
    Fault::new(
        "No compiler is named.",
        variable,
        "the variable holds only spaces",
        format!("unset {variable}"),
    )
}

/// The installation that this file belongs to: PREFIX/bin/mpicc. `VERBENA_PREFIX` names another.
fn find_prefix() -> Result<Prefix, Fault> {
    let named = env::var_os("VERBENA_PREFIX").filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = || env::current_exe().ok().and_then(|exe| Some(exe.parent()?.parent()?.to_owned()));
    let root = named.or_else(own).unwrap_or_default();
    let has_library = |lib: &&str| root.join(lib).join("libmpi_abi.so").exists();
    let lib = LIBRARY_FOLDERS.into_iter().find(has_library).unwrap_or(LIBRARY_FOLDERS[0]);
    let prefix = Prefix { root, lib };
    if prefix.include().join("mpi.h").is_file() {
        return Ok(prefix);
    }
    Err(Fault::new(
        "Found no mpi.h.",
        prefix.include().display().to_string(),
        "this mpicc is not in the bin directory of an installation",
        "run make install PREFIX=..., or set VERBENA_PREFIX to where it was installed",
    ))
}

fn stop(fault: &Fault) -> ! {
    eprintln!("mpicc: {fault}");
    std::process::exit(1)
}
