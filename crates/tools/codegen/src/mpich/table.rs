//! Writes the table between the two libraries: its types for `crates/entry/faces`, and what either
//! library fills it with.

use crate::entry::ladder_of;
use crate::function::Function;
use crate::table::Table;
use crate::{IN_BUILD, IN_TREE, Output};

/// The types in `crates/entry/faces`, and how `crates/entry/abi` fills the table.
pub(crate) fn outputs(table: &Table) -> Vec<Output> {
    let faces = "crates/entry/faces/src/generated";
    vec![
        Output::new(
            &format!("{faces}/mod.rs"),
            format!("//! Types of functions. {IN_TREE}\n\npub mod calls;\npub mod functions;\n"),
        ),
        Output::new(&format!("{faces}/functions.rs"), functions(table)),
        Output::new(&format!("{faces}/calls.rs"), calls(table)),
        Output::new("crates/entry/abi/src/generated/entries.rs", fill(table)),
        Output::new("crates/entry/abi/src/generated/mpich.rs", jumps(table)),
    ]
}

/// The functions of the standard ABI in order: family, name, function and form.
fn all(table: &Table) -> impl Iterator<Item = (&str, String, &Function, bool)> {
    table.families.iter().flat_map(|family| {
        let forms = |function| Function::forms(function).into_iter().map(move |form| (function, form));
        let functions = family.functions.iter().flat_map(forms);
        functions.map(|(function, (name, large))| (family.name.as_str(), name, function, large))
    })
}

/// The calls with a fast path on the MPICH face.
fn quick(table: &Table) -> impl Iterator<Item = (&str, &Function)> {
    all(table)
        .filter(|(_, _, function, large)| !large && function.is_quick_on_mpich())
        .map(|(family, _, function, _)| (family, function))
}

/// Returns whether the first rung needs nothing of the library, so that the MPICH face takes it
/// itself, by `<name>_<rung>` in `crates/entry/mpich/src/calls/rest.rs`: a jump would cost a third
/// more.
pub(crate) fn takes_first_itself(function: &Function) -> bool {
    function.rungs.first().is_some_and(|rung| rung == "sent")
}

fn functions(table: &Table) -> String {
    let mut text = format!(
        "//! The entry points of the standard ABI. {IN_TREE}\n\
         #![allow(missing_docs, non_snake_case, non_camel_case_types, dead_code)]\n\n\
         use crate::Function;\n\
         use crate::standard::Status as MPI_Status;\n\
         use std::ffi::{{c_char, c_double, c_int, c_void}};\n\n\
         type MPI_Aint = i64;\ntype MPI_Count = i64;\ntype MPI_Offset = i64;\n"
    );
    table.handles.iter().for_each(|handle| text += &format!("type {handle} = usize;\n"));
    table.callbacks.iter().for_each(|(name, _)| text += &format!("type {name} = Function;\n"));
    text += "\n/// The `PMPI_` functions.\n#[repr(C)]\npub struct Functions {\n";
    for (_, name, function, large) in all(table) {
        text += &format!("    pub {name}: {},\n", function.pointer(large));
    }
    text + "}\n"
}

fn calls(table: &Table) -> String {
    let mut text = format!(
        "//! The calls with a fast path on the MPICH face. {IN_TREE}\n\
         #![allow(missing_docs, non_camel_case_types)]\n\n\
         use crate::mpich::Status as MPI_Status;\n{TYPES}\n\
         /// These calls. Communicators and datatypes are standard handles, all else is as in the MPICH ABI.\n\
         #[repr(C)]\n\
         pub struct Calls {{\n"
    );
    for (_, function) in quick(table) {
        text += &format!("    pub {}: {},\n", function.body(), function.pointer(false));
    }
    text + "}\n"
}

/// The types of the arguments of these calls.
const TYPES: &str = "use std::ffi::{c_int, c_void};\n\n\
    type MPI_Comm = usize;\n\
    type MPI_Datatype = usize;\n\
    type MPI_Request = i32;\n";

fn fill(table: &Table) -> String {
    let mut text = format!(
        "//! All entry points in one table. {IN_TREE}\n#![allow(clippy::missing_transmute_annotations)]\n\n\
         use std::mem::transmute;\n\
         use verbena_faces::Functions;\n\n\
         /// The `PMPI_` functions. Their types differ from those of the table only in the names of what pointers lead to.\n\
         // SAFETY: the same functions, whose pointers have one form.\n\
         pub const FUNCTIONS: Functions = unsafe {{ Functions {{\n"
    );
    for (family, name, _, _) in all(table) {
        text += &format!("    {name}: transmute(super::{family}::P{name} as *const ()),\n");
    }
    text + "} };\n"
}

fn jumps(table: &Table) -> String {
    let mut text = format!(
        "//! The calls with a fast path on the MPICH face. {IN_TREE}\n\
         #![allow(missing_docs, non_camel_case_types)]\n\n\
         use crate::fast_path::{{Incoming, Outgoing}};\n\
         use verbena_faces::Calls;\n\
         use verbena_faces::mpich::Status as MPI_Status;\n{TYPES}\n"
    );
    for (_, function) in quick(table) {
        let rungs = &function.rungs[usize::from(takes_first_itself(function))..];
        let ladder = ladder_of(function, rungs, false).expect("it has rungs");
        text += &format!("jump! {{ {}({}) {ladder} }}\n", function.body(), function.signature(false));
    }
    text += "\n/// All of them.\npub const CALLS: Calls = Calls {\n";
    quick(table).for_each(|(_, function)| text += &format!("    {},\n", function.body()));
    text + "};\n"
}

/// Writes the part of these calls that `crates/entry/mpich` does itself.
pub(crate) fn write_fallbacks(table: &Table) -> String {
    let mut text = format!(
        "//! What the fast paths leave to this face. {IN_BUILD}\n\n\
         use verbena_faces::Calls;\n\n\
         /// The calls.\n\
         pub const CALLS: Calls = Calls {{\n"
    );
    for (family, function) in quick(table) {
        text += &format!("    {0}: super::{family}::{0},\n", function.body());
    }
    text + "};\n"
}
