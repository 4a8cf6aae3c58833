//! Writes the C types for Rust: handles and callbacks.

use super::ctype::{CType, function, without_name};
use super::table::Table;
use anyhow::Result;
use std::fmt::Write;

/// The types. `note` says how the file is made, `handle_type` the Rust type of a handle.
pub(crate) fn write(table: &Table, note: &str, handle_type: impl Fn(&str) -> &'static str) -> Result<String> {
    let mut text = format!(
        "//! Types of the C interface. {note}\n\
         #![allow(missing_docs, non_camel_case_types)]\n\n\
         use crate::status::Status;\n\
         use std::ffi::{{c_int, c_void}};\n\n\
         pub type MPI_Aint = i64;\n\
         pub type MPI_Count = i64;\n\
         pub type MPI_Offset = i64;\n\
         pub type MPI_Status = Status;\n",
    );
    for handle in &table.handles {
        writeln!(text, "pub type {handle} = {};", handle_type(handle))?;
    }
    for (name, ctype) in &table.callbacks {
        writeln!(text, "pub type {name} = {};", callback(ctype))?;
    }
    for (name, old) in &table.aliases {
        writeln!(text, "pub type {name} = {old};")?;
    }
    Ok(text)
}

fn callback(ctype: &str) -> String {
    let (result, parameters) = function(ctype);
    let parameters: Vec<String> = parameters.into_iter().map(parameter).collect();
    let result =
        if result == "void" { String::new() } else { format!(" -> {}", CType::parse(result).rust()) };
    format!("Option<unsafe extern \"C\" fn({}){result}>", parameters.join(", "))
}

fn parameter(declaration: &str) -> String {
    match declaration {
        "..." => "...".into(),
        _ => CType::parse(without_name(declaration)).rust(),
    }
}
