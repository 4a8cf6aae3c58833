//! Writes the declarations of the C functions that the companion library calls. Those that are no
//! part of the standard are looked for when they are called: the C library may lack them.

use super::binding::Binding;
use crate::IN_BUILD;
use crate::function::Function;

/// The declarations.
pub(super) fn write(bindings: &[Binding<'_>]) -> String {
    let mut text = format!(
        "//! C's functions. {IN_BUILD}\n\
         #![allow(missing_docs, non_snake_case, non_camel_case_types)]\n\n\
         use crate::generated::types::*;\n\
         use std::ffi::{{c_char, c_double, c_int, c_void}};\n\n",
    );
    // Functions that MPI-3.0 removed call something else.
    let bindings = || bindings.iter().filter(|binding| binding.name == binding.of_c);
    for Binding { name, function, large, .. } in bindings().filter(|b| !b.function.variadic) {
        text += &format!("pub type {name} = {};\n", function.pointer(*large));
    }
    text += "\nunsafe extern \"C\" {\n";
    for Binding { name, function, large, .. } in bindings().filter(|b| !b.function.extension) {
        let (signature, result) = (function.signature(*large), function.result());
        let more = if function.variadic { ", ..." } else { "" };
        for prefix in ["", "P"] {
            text += &format!("    pub fn {prefix}MPI_{name}({signature}{more}) -> {result};\n");
        }
    }
    text += "}\n";
    for Binding { name, function, .. } in bindings().filter(|b| b.function.extension) {
        text += &["", "P"].map(|prefix| looked_for(function, name, prefix)).concat();
    }
    text
}

/// A function that calls the one of this name in the C library, or returns
/// `MPI_ERR_UNSUPPORTED_OPERATION`.
fn looked_for(function: &Function, name: &str, prefix: &str) -> String {
    let whole = format!("{prefix}{}_{name}", function.prefix());
    let arguments: Vec<&str> = function.parameters(false).map(|p| p.name.as_str()).collect();
    format!(
        "\npub unsafe extern \"C\" fn {whole}({}) -> {} {{\n    \
             // SAFETY: C's function of this name has this type; the caller's arguments.\n    \
             unsafe {{\n        \
                 let found = crate::extension::find(c\"{whole}\");\n        \
                 let found = std::mem::transmute::<*mut c_void, Option<{name}>>(found);\n        \
                 found.map_or(crate::extension::MISSING, |function| function({}))\n    \
             }}\n}}\n",
        function.signature(false),
        function.result(),
        arguments.join(", "),
    )
}
