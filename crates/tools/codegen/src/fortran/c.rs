//! Writes the declarations of the C functions that the companion library calls.

use super::binding::Binding;
use crate::IN_BUILD;
use crate::function::Function;
use std::fmt::Write;

/// The declarations.
pub fn write(bindings: &[Binding<'_>]) -> String {
    let mut text = format!(
        "//! C's functions. {IN_BUILD}\n\
         #![allow(missing_docs, non_snake_case, non_camel_case_types)]\n\n\
         use crate::generated::types::*;\n\
         use std::ffi::{{c_char, c_double, c_int, c_void}};\n\n",
    );
    // Functions that MPI-3.0 removed call something else.
    let bindings = || bindings.iter().filter(|binding| binding.name == binding.of_c);
    for Binding { name, function, large, .. } in bindings().filter(|b| !b.function.variadic) {
        let (types, result) = (types(function, *large), result(function));
        writeln!(text, "pub type {name} = unsafe extern \"C\" fn({}) -> {result};", types.join(", "))
            .expect("writing to a string");
    }
    text += "\nunsafe extern \"C\" {\n";
    for Binding { name, function, large, .. } in bindings() {
        for prefix in ["", "P"] {
            writeln!(text, "    pub fn {prefix}MPI_{name}({};", declared(function, *large))
                .expect("writing to a string");
        }
    }
    text += "}\n";
    text
}

fn types(function: &Function, large: bool) -> Vec<String> {
    function.parameters(large).map(|p| p.kind.ctype(large).rust()).collect()
}

fn result(function: &Function) -> String {
    function.returns.as_ref().map_or("c_int".into(), |kind| kind.ctype(false).rust())
}

fn declared(function: &Function, large: bool) -> String {
    let mut all: Vec<String> =
        function.parameters(large).map(|p| format!("{}: {}", p.name, p.kind.ctype(large).rust())).collect();
    if function.variadic {
        all.push("...".into());
    }
    format!("{}) -> {}", all.join(", "), result(function))
}
