//! Fortran programs built for MPICH and Intel MPI run on `libmpifort.so.12` unchanged: nothing of
//! ours is there when they are built.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_tests::peers::INTEL;
use verbena_tests::sources::unpacked;
use verbena_tests::{build_dir, job, shell, staged, top};

/// The headers and libraries that a program is built with.
struct Kit {
    name: &'static str,
    include: PathBuf,
    libraries: Vec<PathBuf>,
}

/// Intel MPI's, from its package for Python.
fn intel() -> Kit {
    let include = INTEL.file("include/mpif.h").with_file_name("");
    let libraries = ["lib/libmpifort.so.12", "lib/libmpi.so.12"].map(|file| INTEL.file(file)).to_vec();
    Kit { name: "intel", include, libraries }
}

/// Debian's MPICH, whose libraries have names of their own.
fn debian() -> Kit {
    let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
    let include = unpacked("libmpich-dev").join("usr/include").join(&triplet).join("mpich");
    let lib = unpacked("libmpich12").join("usr/lib").join(triplet);
    let libraries = ["libmpichfort.so.12", "libmpich.so.12"].map(|file| lib.join(file)).to_vec();
    Kit { name: "debian", include, libraries }
}

/// Compiles `tests/programs/fortran/FILE` with a kit.
fn built(kit: &Kit, file: &str, name: &str, flags: &[&str]) -> PathBuf {
    let folder = build_dir().join(format!("{name}.mpifort-{}", kit.name));
    std::fs::create_dir_all(&folder).expect("target/ is writable");
    let program = folder.join("program");
    let mut command = Command::new("gfortran");
    command.args(["-O1", "-g", "-w", "-fallow-argument-mismatch", "-I"]).arg(&kit.include);
    command.arg("-J").arg(&folder).arg("-o").arg(&program).args(flags);
    command.arg(top().join("tests/programs/fortran").join(file)).args(&kit.libraries);
    // The kit's libraries need others, which they find when they run.
    shell(command.arg("-Wl,--allow-shlib-undefined"));
    program
}

/// Runs a program on our libraries, at 1, 2 and 4 ranks.
#[track_caller]
fn passes(program: &Path, name: &str) {
    let lib = staged("lib/libmpifort.so.12");
    for ranks in [1, 2, 4] {
        let job = job(ranks, program).env("LD_LIBRARY_PATH", lib.parent().expect("a folder"));
        let own = program.parent().expect("a folder");
        let ended = job.env("FORTRAN_TEST_DIR", own).env("VERBENA_NAMES", own.join("names")).run().ok();
        assert!(ended.stdout.contains(&format!("{name}: ok with {ranks} ranks")), "{ended:?}");
        // The dynamic linker would say so if a variable had another size.
        assert!(!ended.stderr.contains("different size"), "{ended:?}");
    }
}

/// The programs for both older styles.
const OLDER: [&str; 6] = ["messages", "collect", "objects", "windows", "files", "spawning"];
/// MPICH's include file does not declare MPI_Aint_add and MPI_Aint_diff.
const INCLUDE: &str = "-DAINT_UNDECLARED";

#[test]
fn programs_of_intel_mpi_s_include_file() {
    for name in OLDER {
        let flags = [INCLUDE, "-DSYNC_REG_MISSING"];
        passes(&built(&intel(), &format!("{name}.F90"), &format!("{name}-include"), &flags), name);
    }
}

#[test]
fn programs_of_mpich_s_include_file() {
    for name in OLDER {
        passes(&built(&debian(), &format!("{name}.F90"), &format!("{name}-include"), &[INCLUDE]), name);
    }
}

/// MPICH's module does not declare MPI_CONVERSION_FN_NULL.
#[test]
fn programs_of_mpich_s_module_mpi() {
    for name in OLDER.into_iter().filter(|&name| name != "files") {
        passes(&built(&debian(), &format!("{name}.F90"), &format!("{name}-module"), &["-DSTYLE_MPI"]), name);
    }
}

/// Debian's module has no MPI_Op_create_c.
#[test]
fn programs_of_mpich_s_module_mpi_f08() {
    passes(&built(&debian(), "hello.f90", "hello", &[]), "hello");
    for name in ["modern", "windows_modern", "spawning_modern"] {
        passes(&built(&debian(), &format!("{name}.F90"), name, &["-DOP_CREATE_C_MISSING"]), name);
    }
}

/// A program that Debian ships for MPICH. Without its data it says who it is, on one rank, and
/// stops for want of an input file, on both.
#[test]
fn debian_s_mocassin_starts() {
    let program = unpacked("mocassin").join("usr/bin/mocassin");
    let lib = staged("lib/libmpifort.so.12");
    let ended = job(2, program).env("LD_LIBRARY_PATH", lib.parent().expect("a folder")).run();
    assert_eq!(ended.stdout.matches("MOCASSIN version").count(), 1, "{ended:?}");
    assert_eq!(ended.stdout.matches("can't open file input/input.in").count(), 2, "{ended:?}");
}

/// The names that a library defines.
fn names(library: &Path) -> BTreeSet<String> {
    let said = shell(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(library)).stdout;
    said.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_string())).collect()
}

/// Parts of the names that MPICH's library has and ours has not.
const LACKING: [&str; 8] = [
    // Tables of MPICH's types for CLASS, and constants, which the compiler puts into the program.
    "_MOD___",
    "__mpi_f08_compile_constants_MOD_",
    // What its own modules call.
    "__mpi_c_interface_glue_MOD_",
    "_c2f",
    "_f2c",
    "_assign_",
    // Functions that our C library has not.
    "_delete_error_",
    "mpix",
];

/// A program that is loaded at once, as Python loads its modules, stops at the first name that is
/// missing. gfortran's names are meant: it adds one underscore, and a module's name in front.
#[test]
fn names_of_mpich_s_fortran_library() {
    let [theirs, _] = &debian().libraries[..] else { panic!("two libraries") };
    let ours = names(&staged("lib/libmpifort.so.12"));
    let is_asked_for = |name: &&String| {
        let compiled = name.starts_with("__mpi_") && name.contains("_MOD_");
        let entry = (name.starts_with("mpi_") || name.starts_with("pmpi")) && name.ends_with('_');
        // Nobody calls procedures that are passed by the names of tools.
        let passed = name.starts_with("pmpi_") && (name.ends_with("_fn_") || name.ends_with("_fn_null_"));
        compiled || entry && !passed && !name.ends_with("__")
    };
    let theirs = names(theirs);
    let asked: Vec<&String> = theirs.iter().filter(is_asked_for).collect();
    assert!(asked.len() > 1000, "only {} names", asked.len());
    let lacks = |name: &&&String| !ours.contains(name.as_str());
    let lacking: Vec<&&String> = asked.iter().filter(lacks).collect();
    let unknown: Vec<_> =
        lacking.iter().filter(|name| !LACKING.iter().any(|part| name.contains(part))).collect();
    assert!(unknown.is_empty(), "these are missing as well: {unknown:?}");
    for part in LACKING {
        assert!(lacking.iter().any(|name| name.contains(part)), "nothing with {part} is missing any more");
    }
}
