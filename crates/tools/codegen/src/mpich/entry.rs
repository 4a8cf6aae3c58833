//! Writes the C entry points of the MPICH face: one Rust file for each family.

use super::convert::{Conversion, convert};
use super::facts::Facts;
use super::table::takes_first_itself;
use crate::IN_BUILD;
use crate::bodies::Bodies;
use crate::function::{Function, Parameter};
use crate::kind::Kind;
use crate::table::Family;
use anyhow::{Result, bail};

/// The entry points of a family.
pub(super) fn write_family(family: &Family, facts: &Facts, bodies: &Bodies) -> Result<String> {
    let mut text = format!(
        "//! {}. {IN_BUILD}\n\
         #![allow(missing_docs, non_snake_case)]\n\n\
         use crate::arrays::{{self, Handles}};\n\
         use crate::generated::types::*;\n\
         use crate::handles::*;\n\
         use crate::status::{{StatusIn, StatusOut, Statuses}};\n\
         use crate::text::Text;\n\
         use crate::{{addresses, calls, fortran, table, values}};\n\
         use std::ffi::{{c_char, c_double, c_int, c_void}};\n",
        family.chapter
    );
    for function in &family.functions {
        for (name, large) in function.forms() {
            text += &entry(&family.name, function, &name, large, facts, bodies)?;
        }
    }
    Ok(text)
}

fn entry(
    family: &str,
    function: &Function,
    name: &str,
    large: bool,
    facts: &Facts,
    bodies: &Bodies,
) -> Result<String> {
    let body = if large { format!("{}_c", function.body()) } else { function.body() };
    let names: Vec<&str> = function.parameters(large).map(|p| p.name.as_str()).collect();
    let (quick, does) = match (bodies.module(&body), &function.returns) {
        (Some(module), _) => (None, format!("    calls::{module}::{body}({})\n", names.join(", "))),
        (None, Some(kind)) if family == "handle" => (None, format!("    {}\n", integer(function, kind))),
        (None, Some(_)) => (None, format!("    native!({name}({}))\n", names.join(", "))),
        (None, None) if function.parameters.iter().any(|p| p.kind.base == "fn") => {
            bail!("MPI_{} takes a function, so crates/entry/mpich must have a body `{body}`", function.name)
        }
        (None, None) => translated(family, function, name, large, facts),
    };
    let (signature, result) = (function.signature(large), function.result());
    let (quick, does) = match function.is_quick_on_mpich() && !large {
        true => jump(function, does),
        false => (quick.map_or(String::new(), |handles| format!("; quick[{handles}]")), does),
    };
    Ok(format!("\nface! {{ {name} P{name}({signature}) -> {result}{quick} {{\n{does}}} }}\n"))
}

/// Returns how an entry point with a fast path jumps there, and what it does when the fast path
/// declines the call: ranks are not translated yet then.
fn jump(function: &Function, does: String) -> (String, String) {
    let handle = |p: &Parameter| match p.kind.ctype(false).rust().as_str() {
        "MPI_Comm" => Some(format!("{}: Comm", p.name)),
        "MPI_Datatype" => Some(format!("{}: Datatype", p.name)),
        _ => None,
    };
    let handles: Vec<String> = function.parameters(false).filter_map(handle).collect();
    let native = |p: &Parameter| match handle(p) {
        Some(_) => format!("{}: usize", p.name),
        None => format!("{}: {}", p.name, p.kind.ctype(false).rust()),
    };
    let natives: Vec<String> = function.parameters(false).map(native).collect();
    let (body, names): (_, Vec<&str>) =
        (function.body(), function.parameters(false).map(|p| p.name.as_str()).collect());
    let own = format!("; first calls::rest::{body}_{}({})", function.rungs[0], names.join(", "));
    let own = if takes_first_itself(function) { own } else { String::new() };
    let head = format!("{own}; jump {body}({}) translates[{}]", natives.join(", "), handles.join(", "));
    let ranks = function.parameters(false).filter(|p| p.kind.base == "dest");
    let ranks: String =
        ranks.map(|p| format!("    let {0} = values::Rank::native({0});\n", p.name)).collect();
    (head, ranks + &does)
}

/// A handle is its own integer here, unless it is that of a file.
fn integer(function: &Function, result: &Kind) -> String {
    let parameter = &function.parameters[0];
    match (result.base.as_str(), parameter.kind.ctype(false).rust().as_str()) {
        ("file", _) => "fortran::file_of(file)".into(),
        (_, "MPI_File") => "fortran::integer_of(file)".into(),
        _ => parameter.name.clone(),
    }
}

/// The handles with a fast path, if there are any; and what the entry does when these are
/// translated: it translates the rest, calls the standard face, and translates back.
fn translated(
    family: &str,
    function: &Function,
    name: &str,
    large: bool,
    facts: &Facts,
) -> (Option<String>, String) {
    let conversions: Vec<Conversion> =
        function.parameters(large).map(|p| convert(family, function, p, facts)).collect();
    let quick = conversions.iter().filter_map(|c| Some(format!("{}: {}", c.argument, c.quick?)));
    let quick: Vec<String> = quick.collect();
    let arguments: Vec<&str> = conversions.iter().map(|c| c.argument.as_str()).collect();
    let line = |statement: &String| format!("    {statement}\n");
    let before = conversions.iter().map(|c| &c.before).filter(|s| !s.is_empty()).map(line);
    let after = conversions.iter().map(|c| &c.after).filter(|s| !s.is_empty()).map(line);
    let call = format!("    let code = native!({name}({}));\n", arguments.join(", "));
    let does = before.chain([call]).chain(after).chain(["    values::code(code)\n".to_string()]).collect();
    (Some(quick.join(", ")).filter(|quick| !quick.is_empty()), does)
}
