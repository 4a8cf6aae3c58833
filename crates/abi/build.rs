//! Gives the shared library the name that the ABI prescribes, so that programs find whichever
//! implementation is installed (MPI-5.0, 20.1).

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    println!("cargo::rerun-if-changed=build.rs");
}
