//! Gives the shared library the name that the ABI prescribes, so that programs find whichever
//! implementation is installed (MPI-5.0, 20.1).

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    // MPI_X jumps to PMPI_X directly; a tool replaces MPI_X for the program, never for the library
    // itself.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    // A thread of the library may run to the end of the process (channel rc, rc/cache/watch.rs):
    // dlclose must not unload it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
