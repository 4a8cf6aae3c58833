//! Fortran programs in all three styles, built by the staged `mpifort`; the same binaries on other
//! libraries of the ABI.

use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_tests::peers::{INTEL, MPICH};
use verbena_tests::{Ended, Job, build_dir, job, shell, staged, top};

/// Compiles `tests/programs/fortran/FILE` with these flags. `name` is the program's, and of the
/// folder for its modules.
fn fortran(file: &str, name: &str, flags: &[&str]) -> PathBuf {
    build(&staged("bin/mpifort"), file, &format!("{name}.fortran.{}", std::process::id()), flags)
}

fn build(compiler: &Path, file: &str, name: &str, flags: &[&str]) -> PathBuf {
    let folder = build_dir().join(name);
    std::fs::create_dir_all(&folder).expect("writable");
    let program = folder.join("program");
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-w", "-J"]).arg(&folder).arg("-o").arg(&program);
    shell(command.arg(top().join("tests/programs/fortran").join(file)).args(flags));
    program
}

/// Runs a job of this program. Files and published names are in its own folder: other tests have
/// the same at this time.
fn run(job: Job, program: &Path) -> Ended {
    let own = program.parent().expect("a folder");
    job.env("FORTRAN_TEST_DIR", own).env("VERBENA_NAMES", own.join("names")).run().ok()
}

#[track_caller]
fn passes(program: &Path, name: &str) {
    for ranks in [1, 2, 4] {
        let ended = run(job(ranks, program), program);
        assert!(ended.stdout.contains(&format!("{name}: ok with {ranks} ranks")), "{ended:?}");
    }
}

/// The programs for both older styles.
const OLDER: [&str; 4] = ["messages", "collect", "objects", "windows"];
/// More, for this library alone: others cannot convert the elements of files, and other launchers
/// do not spawn a program that does not exist.
const OWN: [&str; 2] = ["files", "spawning"];

#[test]
fn programs_with_the_include_file() {
    for name in OLDER.into_iter().chain(OWN) {
        passes(&fortran(&format!("{name}.F90"), &format!("{name}-include"), &[]), name);
    }
}

#[test]
fn programs_with_the_module_mpi() {
    for name in OLDER.into_iter().chain(OWN) {
        passes(&fortran(&format!("{name}.F90"), &format!("{name}-module"), &["-DSTYLE_MPI"]), name);
    }
}

#[test]
fn programs_with_the_module_mpi_f08() {
    for name in ["modern", "windows_modern", "files_modern", "spawning_modern"] {
        passes(&fortran(&format!("{name}.F90"), name, &[]), name);
    }
}

/// A program that names the functions about lost processes in Fortran alone goes on after a death.
#[test]
fn programs_go_on_without_a_rank_in_all_three_styles() {
    for style in ["-DSTYLE_INCLUDE", "-DSTYLE_MPI", "-DSTYLE_F08"] {
        let program = fortran("survive.F90", &format!("survive{style}"), &[style]);
        let ended = run(job(4, &program), &program);
        assert!(ended.stdout.contains("survive: ok with 3 ranks left"), "{style}: {ended:?}");
    }
}

/// Fortran hands its handles and statuses to C code. The code is unmodified and uses functions of
/// the standard's C interface that the ABI lacks and the header has, so the program runs on MPICH's
/// library as well, which has no such functions.
#[test]
fn handles_and_statuses_pass_between_fortran_and_c() {
    let object = build_dir().join(format!("integers.{}.o", std::process::id()));
    let source = top().join("tests/programs/fortran/integers.c");
    let strict = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-pedantic", "-Werror", "-c", "-o"];
    shell(Command::new(staged("bin/mpicc")).args(strict).arg(&object).arg(source));
    let program = fortran("integers.f90", "integers", &[object.to_str().expect("utf-8")]);
    passes(&program, "integers");
    let ended = run(MPICH.job(2).arg(&program), &program);
    assert!(ended.stdout.contains("integers: ok with 2 ranks"), "{ended:?}");
}

/// Explicit interfaces find the errors that the include file lets through.
#[test]
fn the_modules_refuse_wrong_arguments() {
    for module in ["mpi", "mpi_f08"] {
        let source = build_dir().join(format!("wrong-{module}.f90"));
        let text = format!("program wrong\n  use {module}\n  call MPI_Comm_rank(1.5, 'a')\nend program\n");
        std::fs::write(&source, text).expect("writable");
        let output = Command::new(staged("bin/mpifort")).arg("-fsyntax-only").arg(&source).output();
        let output = output.expect("mpifort starts");
        assert!(!output.status.success(), "{module} let it through");
        let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
        assert!(said.contains("mismatch") || said.contains("no specific subroutine"), "{said}");
    }
}

/// Fixed form, on our library, on MPICH's and on Intel's, whose `mpif.h` and Fortran library it is
/// built with then: the same results to the last digit.
#[test]
fn results_of_a_fixed_form_program_are_those_of_other_libraries() {
    let ours = fortran("fixed.f", "fixed", &[]);
    let theirs = built_by_intel("fixed.f");
    for ranks in [1, 2, 4] {
        let result = run(job(ranks, &ours), &ours).stdout;
        assert!(result.contains(&format!("fixed: ok with {ranks} ranks")), "{result}");
        assert_eq!(result, run(MPICH.job(ranks).arg(&ours), &ours).stdout, "on MPICH, {ranks} ranks");
        assert_eq!(result, run(INTEL.job(ranks).arg(&theirs), &theirs).stdout, "of Intel, {ranks} ranks");
    }
}

/// Builds a program with nothing of ours in it.
fn built_by_intel(file: &str) -> PathBuf {
    let name = format!("intel.fortran.{}", std::process::id());
    let include = format!("-I{}", INTEL.file("include/mpif.h").with_file_name("").display());
    let folder = INTEL.file("lib/libmpifort.so.12").with_file_name("");
    let folder = folder.display().to_string();
    let libraries = [format!("-L{folder}"), format!("-Wl,-rpath,{folder}")];
    let flags = [include.as_str(), &libraries[0], &libraries[1], "-lmpifort", "-lmpi"];
    build(Path::new("gfortran"), file, &name, &flags)
}

/// The companion library needs nothing but the standard's C functions, so it works on any library
/// of the ABI. One check is left out: after an error handler of the program's has returned,
/// functions of MPICH 5.0.2's `libmpi_abi` return MPI_SUCCESS, in C as well, where MPI-5.0 (9.3)
/// wants the code.
#[test]
fn our_companion_library_works_on_mpich() {
    let lost = "-DCODE_LOST_BEHIND_HANDLER";
    let older = OLDER.into_iter().flat_map(|name| [(name, vec![lost]), (name, vec![lost, "-DSTYLE_MPI"])]);
    for (at, (name, flags)) in older.chain([("modern", vec![lost])]).enumerate() {
        let program = fortran(&format!("{name}.F90"), &format!("{name}-mpich{at}"), &flags);
        let ended = run(MPICH.job(2).arg(&program), &program);
        assert!(ended.stdout.contains(&format!("{name}: ok with 2 ranks")), "{name} {flags:?}: {ended:?}");
    }
}

/// Fixed form ends at column 72, and a statement begins in column 7; free form knows no other
/// comment than `!`.
#[test]
fn the_include_file_is_valid_in_both_forms() {
    for (ending, flags) in [("f", vec![]), ("f90", vec![]), ("f", vec!["-ffree-form"])] {
        let source = build_dir().join(format!("form{}.{ending}", flags.len()));
        let text = "      program form\n      implicit none\n      include 'mpif.h'\n      integer i\n      \
                    i = MPI_COMM_WORLD + MPI_ERR_LASTCODE\n      end\n";
        std::fs::write(&source, text).expect("writable");
        shell(
            Command::new(staged("bin/mpifort"))
                .args(["-Wall", "-Werror=line-truncation", "-fsyntax-only"])
                .args(flags)
                .arg(&source),
        );
    }
}
