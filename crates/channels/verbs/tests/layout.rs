//! Compares what `verbena_verbs::raw` declares with rdma-core's own header through a C compiler.
//!
//! Needs libibverbs-dev (`packaging/debian-packages.txt`).

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_testing::{Lack, skip};
use verbena_verbs::raw::{CONSTANTS, LAYOUTS, Layout};

/// Writes a C program that does not compile if anything differs.
fn program(layouts: &[Layout], constants: &[(&str, u32)]) -> String {
    let mut c = String::from("#include <stddef.h>\n#include <infiniband/verbs.h>\n");
    for layout in layouts {
        let of = layout.c_type;
        if let Some(size) = layout.size {
            claim(&mut c, &format!("sizeof({of}) == {size}"));
            claim(&mut c, &format!("_Alignof({of}) == {}", layout.alignment));
        }
        for (name, offset, size) in layout.fields.iter().filter(|field| !field.0.starts_with('_')) {
            claim(&mut c, &format!("offsetof({of}, {name}) == {offset}"));
            claim(&mut c, &format!("sizeof((({of} *)0)->{name}) == {size}"));
        }
    }
    for (name, value) in constants {
        claim(&mut c, &format!("{name} == {value}u"));
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
        .any(|folder| Path::new(folder).join("infiniband/verbs.h").exists());
    if !there {
        skip(Lack::Installed, "infiniband/verbs.h is not there (Debian: libibverbs-dev)");
    }
    there
}

#[test]
fn every_structure_and_constant_is_as_in_the_header() {
    if header() {
        compile("layout.c", &program(LAYOUTS, CONSTANTS)).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_difference_is_found() {
    if header() {
        const WRONG: &[(&str, usize, usize)] = &[("lkey", 8, 4)];
        let moved = Layout { c_type: "struct ibv_sge", size: Some(16), alignment: 8, fields: WRONG };
        let error = compile("moved.c", &program(&[moved], &[])).expect_err("lkey is at 12");
        assert!(error.contains("offsetof(struct ibv_sge, lkey) == 8"), "{error}");
        let error = compile("value.c", &program(&[], &[("IBV_QPT_RC", 3)])).expect_err("IBV_QPT_RC is 2");
        assert!(error.contains("IBV_QPT_RC == 3"), "{error}");
    }
}
