//! C types, as C declares them and as Rust does.

/// A C type: a base name, perhaps const, behind a number of pointers, the outermost perhaps written
/// as an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CType {
    base: String,
    constant: bool,
    pointers: usize,
    /// The text after the name of a parameter: `[]`, `[][3]` or nothing.
    suffix: &'static str,
}

impl CType {
    /// Parses a type as the table writes it: `const int[]`, `char ***`, `int[][3]`, `MPI_Comm`.
    pub(crate) fn parse(text: &str) -> CType {
        let (constant, rest) = text.strip_prefix("const ").map_or((false, text), |rest| (true, rest));
        let (rest, suffix) = match rest.find('[') {
            Some(at) if rest.ends_with("[3]") => (&rest[..at], "[][3]"),
            Some(at) => (&rest[..at], "[]"),
            None => (rest, ""),
        };
        let pointers = rest.matches('*').count();
        CType { base: rest.replace('*', "").trim().into(), constant, pointers, suffix }
    }

    /// The C declaration of a parameter of this type.
    pub(crate) fn declare(&self, name: &str) -> String {
        format!("{}{}{}", self.prefix(), name, self.suffix)
    }

    /// The type as C writes it without a name.
    pub(crate) fn prefix(&self) -> String {
        let constant = if self.constant { "const " } else { "" };
        format!("{constant}{} {}", self.base, "*".repeat(self.pointers))
    }

    /// The Rust type.
    pub(crate) fn rust(&self) -> String {
        let base = match self.base.as_str() {
            "int" | "MPI_T_cb_safety" | "MPI_T_source_order" => "c_int",
            "char" => "c_char",
            "void" => "c_void",
            "double" => "c_double",
            other => other,
        };
        // A pointer to a function type is the nullable function type of types.rs.
        let function = base.contains("_function");
        let pointers = self.pointers - usize::from(function && self.pointers > 0);
        let element = if self.suffix == "[][3]" { "[c_int; 3]" } else { base };
        let pointers = pointers + usize::from(!self.suffix.is_empty());
        let pointer = if self.constant { "*const " } else { "*mut " };
        format!("{}{element}", pointer.repeat(pointers))
    }
}

/// Splits the C type of a function, `int (MPI_Comm comm, ...)`, into its result and its parameters.
pub(crate) fn function(text: &str) -> (&str, Vec<&str>) {
    let (result, rest) = text.split_once('(').expect("a function type has parentheses");
    let parameters = rest.trim_end().trim_end_matches(')');
    (result.trim(), parameters.split(',').map(str::trim).collect())
}

/// The type of a declared parameter: `int *flag` gives `int *`.
pub(crate) fn without_name(parameter: &str) -> &str {
    parameter.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_and_rust_agree() {
        let cases = [
            ("const int[]", "const int x[]", "*const c_int"),
            ("char ***", "char ***x", "*mut *mut *mut c_char"),
            ("int[][3]", "int x[][3]", "*mut [c_int; 3]"),
            ("MPI_User_function *", "MPI_User_function *x", "MPI_User_function"),
            ("char **[]", "char **x[]", "*mut *mut *mut c_char"),
        ];
        for (text, c, rust) in cases {
            let parsed = CType::parse(text);
            assert_eq!((parsed.declare("x").as_str(), parsed.rust().as_str()), (c, rust));
        }
    }
}
