//! Keeps the symbols that debuggers look for in `mpiexec` ([`verbena_launch::mpir`]) where they
//! find them, also in a program without its symbol table.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bin=mpiexec=-rdynamic");
}
