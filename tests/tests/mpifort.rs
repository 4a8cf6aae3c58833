//! Fortran programs built for MPICH and Intel MPI run on `libmpifort.so.12` unchanged: nothing of
//! ours is there when they are built.

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
        let ended = job.env("FORTRAN_TEST_DIR", build_dir()).run().ok();
        assert!(ended.stdout.contains(&format!("{name}: ok with {ranks} ranks")), "{ended:?}");
        // The dynamic linker would say so if a variable had another size.
        assert!(!ended.stderr.contains("different size"), "{ended:?}");
    }
}

const OLDER: [&str; 4] = ["messages", "collect", "objects", "windows"];

#[test]
fn programs_of_intel_mpi_s_include_file() {
    for name in OLDER {
        passes(&built(&intel(), &format!("{name}.F90"), &format!("{name}-include"), &[]), name);
    }
}

#[test]
fn programs_of_mpich_s_include_file() {
    for name in OLDER {
        passes(&built(&debian(), &format!("{name}.F90"), &format!("{name}-include"), &[]), name);
    }
}

#[test]
fn programs_of_mpich_s_module_mpi() {
    for name in OLDER {
        passes(&built(&debian(), &format!("{name}.F90"), &format!("{name}-module"), &["-DSTYLE_MPI"]), name);
    }
}

#[test]
fn programs_of_mpich_s_module_mpi_f08() {
    passes(&built(&debian(), "hello.f90", "hello", &[]), "hello");
    passes(&built(&debian(), "windows_modern.F90", "windows_modern", &[]), "windows_modern");
}
