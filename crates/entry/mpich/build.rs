//! Makes the entry points from the API table, and gives the shared library the name that programs
//! of the MPICH ABI ask for.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi.so.12");
    // MPI_X jumps to PMPI_X directly: a tool replaces MPI_X for the program, never for the library.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    println!("cargo::rerun-if-changed=build.rs");
    verbena_codegen::build_mpich().expect("the API table makes entry points");
}
