//! Writes the entry points of the companion library: what Fortran passes is converted
//! ([`convert`](super::convert)), and C's function is called. A body of that name in
//! `crates/entry/fortran/src/calls` does it by hand.

use super::binding::{Binding, Parameter, What};
use super::convert::{Piece, Side, piece};
use super::face::Face;
use crate::IN_BUILD;
use crate::bodies::Bodies;
use anyhow::{Result, bail};
use std::fmt::Write;

/// The entry points of a family.
pub(super) fn write_family(
    chapter: &str,
    bindings: &[&Binding<'_>],
    bodies: &Bodies,
    face: Face,
) -> Result<String> {
    let mut text = format!(
        "//! {chapter}. {IN_BUILD}\n\
         #![allow(missing_docs, non_snake_case, unused_imports)]\n\n\
         use super::{{c, constants, types::*}};\n\
         use crate::arrays::Handles;\n\
         use crate::descriptor::Descriptor;\n\
         use crate::section::{{self, Copied, Typed}};\n\
         use crate::{{address, calls, handle, index, kept, logical, team, text}};\n\
         use std::ffi::{{c_char, c_int, c_void}};\n"
    );
    // Functions that return a value, and MPI_Pcontrol, which has no IERROR, are written by hand.
    for binding in bindings.iter().filter(|b| b.function.returns.is_none() && !b.function.variadic) {
        for (side, symbols) in sides(binding, face) {
            text += &entry(binding, side, &symbols, bodies)?;
        }
    }
    Ok(text)
}

/// The symbols of a function, by the way in which arguments come. `mpi` and `mpif.h` have no large
/// forms.
fn sides(binding: &Binding<'_>, face: Face) -> Vec<(Side, Vec<String>)> {
    let name = binding.name.to_lowercase();
    let prefix = binding.function.prefix().to_lowercase();
    let both = |tools: &str, name: &str| vec![format!("{prefix}_{name}_"), format!("{tools}_{name}_")];
    let of_tools = format!("p{prefix}");
    let old = if binding.large { vec![] } else { both(&of_tools, &name) };
    let of_f08 = match binding.old {
        true => vec![],
        false => face.names_of_f08(&name, ending(binding), binding.large),
    };
    let of_tools = if binding.function.extension { &of_tools } else { face.tools_of_f08() };
    let new: Vec<String> = of_f08.iter().flat_map(|name| both(of_tools, name)).collect();
    let sides = match binding.differs() {
        true => vec![(Side::Old, old), (face.new_side(), new)],
        false => vec![(Side::Old, [old, new].concat())],
    };
    sides.into_iter().filter(|(_, symbols)| !symbols.is_empty()).collect()
}

/// Returns the suffix that `mpi_f08` appends to the name of the procedure (MPI-5.0, 19.1.5).
pub(super) fn ending(binding: &Binding<'_>) -> &'static str {
    if binding.has_buffer() { "_f08ts" } else { "_f08" }
}

fn entry(binding: &Binding<'_>, side: Side, symbols: &[String], bodies: &Bodies) -> Result<String> {
    let body = binding.name.to_lowercase();
    let inner = match bodies.module(&body) {
        Some(module) => by_hand(module, &body, binding),
        None if binding.has_procedure() => {
            bail!("no `pub unsafe fn {body}` in crates/entry/fortran/src/calls")
        }
        None => generated(binding, side),
    };
    let of_c = |symbol: &String| if symbol.starts_with('p') { "P" } else { "" };
    let prefix = binding.function.prefix();
    let names: Vec<String> =
        symbols.iter().map(|symbol| format!("{symbol} {}{prefix}_{}", of_c(symbol), binding.of_c)).collect();
    let parameters: Vec<String> =
        binding.parameters.iter().map(|p| format!("{}: {}", p.name, piece(p, binding, side).takes)).collect();
    Ok(format!(
        "\nentry! {{\n    {}: {};\n    ({}; {}) call => {{\n{inner}    }}\n}}\n",
        binding.of_c,
        names.join(", "),
        parameters.join(", "),
        lengths(binding, side).join(", "),
    ))
}

/// The hidden lengths of character arguments.
fn lengths(binding: &Binding<'_>, side: Side) -> Vec<String> {
    let is_text = |p: &&Parameter| matches!(p.what, What::Text | What::Texts | What::TextLists);
    let hidden = |p: &&Parameter| is_text(p) && !(side == Side::New && binding.has_buffer());
    binding.parameters.iter().filter(hidden).map(|p| format!("{}_length: usize", p.name)).collect()
}

fn by_hand(module: &str, body: &str, binding: &Binding<'_>) -> String {
    let mut arguments = vec!["call".to_string()];
    arguments.extend(binding.parameters.iter().map(|p| p.name.clone()));
    arguments.extend(lengths(binding, Side::Old).iter().map(|l| l.trim_end_matches(": usize").to_string()));
    format!("        calls::{module}::{body}({})\n", arguments.join(", "))
}

fn generated(binding: &Binding<'_>, side: Side) -> String {
    let pieces: Vec<Piece> = binding.parameters.iter().map(|p| piece(p, binding, side)).collect();
    let mut text = String::new();
    let mut line = |line: &str| writeln!(text, "        {line}").expect("writing to a string");
    pieces.iter().flat_map(|piece| &piece.before).for_each(|statement| line(statement));
    let passed: Vec<&str> = pieces.iter().map(|piece| piece.passes.as_str()).collect();
    line(&format!("let code = call({});", passed.join(", ")));
    pieces.iter().flat_map(|piece| &piece.after).for_each(|statement| line(statement));
    line("code");
    text
}
