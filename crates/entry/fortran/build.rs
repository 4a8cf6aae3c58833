//! Makes the entry points and the Fortran modules from the API table, gives the shared library its
//! name in the standard (MPI-5.0, 20.4), and makes it need `libmpi_abi.so.1`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    verbena_codegen::build_fortran().expect("the API table makes entry points and modules");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpifort_abi.so.1");
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    stand_in(&Path::new(&folder).join("libmpi_abi.so"));
    println!("cargo::rustc-cdylib-link-arg=-L{folder}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--no-as-needed,-lmpi_abi,--as-needed");
    // The library in the same folder, unless LD_LIBRARY_PATH names another.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN,--enable-new-dtags");
}

/// Makes an empty library with the C library's name. Cargo builds the two in any order, and only
/// the name goes into ours: at run time any library of the standard ABI will do.
fn stand_in(library: &Path) {
    let linker = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(&linker);
    command.args(["-shared", "-nostdlib", "-Wl,-soname,libmpi_abi.so.1", "-x", "c", "/dev/null", "-o"]);
    let status = command.arg(library).status();
    assert!(status.is_ok_and(|status| status.success()), "{linker} could not make {}", library.display());
}
