//! Makes the entry points from the API table, gives the shared library the name that Fortran
//! programs of the MPICH ABI ask for, and makes it need `libmpi.so.12`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    verbena_codegen::build_mpifort().expect("the API table makes entry points");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpifort.so.12");
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    stand_in(&Path::new(&folder).join("libmpi.so"));
    println!("cargo::rustc-cdylib-link-arg=-L{folder}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--no-as-needed,-lmpi,--as-needed");
    // The library in the same folder, unless LD_LIBRARY_PATH names another.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN,--enable-new-dtags");
}

/// Makes an empty library with the C library's name. Cargo builds the two in any order, and only
/// the name goes into ours.
fn stand_in(library: &Path) {
    let linker = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(&linker);
    command.args(["-shared", "-nostdlib", "-Wl,-soname,libmpi.so.12", "-x", "c", "/dev/null", "-o"]);
    let status = command.arg(library).status();
    assert!(status.is_ok_and(|status| status.success()), "{linker} could not make {}", library.display());
}
