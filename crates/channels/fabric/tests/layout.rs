//! Compares what `verbena_fabric::raw` declares with libfabric's own headers through a C compiler.
//!
//! Needs libfabric-dev (`packaging/debian-packages.txt`).

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_fabric::raw::{CONSTANTS, LAYOUTS, Layout, TABLES};
use verbena_testing::{Lack, skip};

const HEADERS: [&str; 7] = ["fabric", "fi_errno", "fi_eq", "fi_domain", "fi_endpoint", "fi_cm", "fi_rma"];

/// Writes a C program that does not compile if anything differs.
fn program<'a>(layouts: impl Iterator<Item = &'a Layout>, constants: &[(&str, u64)]) -> String {
    let mut c = String::from("#include <stddef.h>\n#include <sys/uio.h>\n");
    for header in HEADERS {
        writeln!(c, "#include <rdma/{header}.h>").expect("a string takes all");
    }
    for layout in layouts {
        let of = layout.c_type;
        if let Some(size) = layout.size {
            claim(&mut c, &format!("sizeof({of}) == {size}"));
            claim(&mut c, &format!("_Alignof({of}) == {}", layout.alignment));
        }
        for (name, offset, size) in layout.fields {
            // A name that Rust keeps for itself ends with an underscore here.
            let name = name.trim_end_matches('_');
            claim(&mut c, &format!("offsetof({of}, {name}) == {offset}"));
            claim(&mut c, &format!("sizeof((({of} *)0)->{name}) == {size}"));
        }
    }
    for (name, value) in constants {
        claim(&mut c, &format!("(unsigned long long)({name}) == {value}ull"));
    }
    c
}

fn claim(c: &mut String, what: &str) {
    writeln!(c, "_Static_assert({what}, \"{what}\");").expect("a string takes all");
}

fn compile(name: &str, program: &str) -> Result<(), String> {
    let source = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&source, program).expect("a file in the target folder");
    let run = Command::new("cc").args(["-fsyntax-only", "-w"]).arg(&source).output().expect("cc");
    if run.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&run.stderr).into_owned()) }
}

fn header() -> bool {
    let there = ["/usr/include", "/usr/local/include"]
        .iter()
        .any(|folder| Path::new(folder).join("rdma/fabric.h").exists());
    if !there {
        skip(Lack::Installed, "rdma/fabric.h is not there (Debian: libfabric-dev)");
    }
    there
}

#[test]
fn every_structure_and_constant_is_as_in_the_headers() {
    if header() {
        let program = program(LAYOUTS.iter().chain(TABLES), CONSTANTS);
        compile("fabric-layout.c", &program).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_difference_is_found() {
    if header() {
        const WRONG: &[(&str, usize, usize)] = &[("len", 8, 8)];
        let moved = Layout { c_type: "struct fi_cq_data_entry", size: Some(40), alignment: 8, fields: WRONG };
        let error = compile("fabric-moved.c", &program([moved].iter(), &[])).expect_err("len is at 16");
        assert!(error.contains("offsetof(struct fi_cq_data_entry, len) == 8"), "{error}");
        let error =
            compile("fabric-value.c", &program([].iter(), &[("FI_EP_RDM", 2)])).expect_err("FI_EP_RDM is 3");
        assert!(error.contains("FI_EP_RDM) == 2ull"), "{error}");
    }
}
