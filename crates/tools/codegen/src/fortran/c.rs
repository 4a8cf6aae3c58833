//! Writes the declarations of the C functions that the companion library calls.

use super::binding::Binding;
use crate::IN_BUILD;

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
    for Binding { name, function, large, .. } in bindings() {
        let (signature, result) = (function.signature(*large), function.result());
        let more = if function.variadic { ", ..." } else { "" };
        for prefix in ["", "P"] {
            text += &format!("    pub fn {prefix}MPI_{name}({signature}{more}) -> {result};\n");
        }
    }
    text += "}\n";
    text
}
