//! Writes the constants for Rust.

use super::table::{Constant, Group, Table};
use anyhow::Result;
use std::fmt::Write;

/// The constants. `note` says how the file is made.
pub(crate) fn write(table: &Table, note: &str) -> Result<String> {
    let mut text = format!("//! ABI values of the constants. {note}\n#![allow(missing_docs)]\n");
    for group in &table.predefined {
        for constant in &group.constants {
            writeln!(text, "pub const {}: usize = {:#x};", constant.name, constant.value)?;
        }
    }
    text += "/// The name of each predefined handle, whatever its type.\n#[rustfmt::skip]\n";
    text += "pub const HANDLES: &[(usize, &str)] = &[\n";
    for constant in table.predefined.iter().flat_map(|group| &group.constants) {
        writeln!(text, "    ({0}, \"{0}\"),", constant.name)?;
    }
    text += "];\n";
    for group in table.pointers.iter().chain(&table.integers) {
        for constant in &group.constants {
            writeln!(
                text,
                "pub const {}: {} = {};",
                constant.name,
                rust_type(group, constant),
                constant.value
            )?;
        }
    }
    Ok(text)
}

/// Pointers and lengths are `usize` in Rust, the rest is C's `int`.
pub(crate) fn rust_type(group: &Group, constant: &Constant) -> &'static str {
    match group.name.as_str() {
        "MPI_Offset" => "i64",
        name if name.contains('*') || is_handle(name) => "usize",
        _ if constant.name.starts_with("MPI_MAX_") => "usize",
        _ => "i32",
    }
}

/// Returns whether it is a handle type of the tool interface. Those stand among the constants with
/// a type of their own.
fn is_handle(name: &str) -> bool {
    name.starts_with("MPI_T_") && !matches!(name, "MPI_T_cb_safety" | "MPI_T_source_order")
}
