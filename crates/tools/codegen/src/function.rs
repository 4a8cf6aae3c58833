//! A function of the table, and the small language that describes it.
//!
//! ```text
//! Gather = "sendbuf: buffer, recvcount: count @root, ..., comm: comm; large, before_init"
//! ```
//!
//! Before the semicolon: parameters in C order, `name: kind`, each perhaps with conditions: `@root`
//! (significant at the root only), `@leaf` (not at the root of an intercommunicator), `@party` (not
//! beside it), `@given(x)` (not if `x` is `MPI_IN_PLACE`). A kind may begin with `large` (only in
//! the `_c` form). After it: `large` (there is a `_c` form), `before_init` (allowed while MPI is
//! not initialised), `once` (it begins or ends MPI), `returns kind`, `owner kind`, `deprecated
//! version`, `ladder rungs`, `together` (all processes of a file call it, and none stays away for a
//! wrong argument).
//!
//! In a family of collectives a line stands for the blocking, the nonblocking and the persistent
//! form.

use super::kind::{Direction, Kind};
use anyhow::{Context, Result, bail};

/// The ways in which a collective runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `MPI_X`.
    Blocking,
    /// `MPI_Ix`.
    Nonblocking,
    /// `MPI_X_init`.
    Persistent,
}

impl Form {
    /// The name of the collective `name` in this form, and the parameters that this form adds.
    fn derive(self, name: &str) -> (String, &'static [&'static str]) {
        match self {
            Form::Blocking => (name.into(), &[]),
            Form::Nonblocking => (format!("I{}", name.to_lowercase()), &["request: out request"]),
            Form::Persistent => (format!("{name}_init"), &["info: info?", "request: out request"]),
        }
    }
}

/// Functions that need the other processes though they send no message of the program: they make
/// communicators, windows and files, or start processes.
const MAKING: [&str; 22] = [
    "Cart_create",
    "Cart_sub",
    "Comm_accept",
    "Comm_connect",
    "Comm_create",
    "Comm_dup",
    "Comm_dup_with_info",
    "Comm_idup",
    "Comm_idup_with_info",
    "Comm_spawn",
    "Comm_spawn_multiple",
    "Comm_split",
    "Comm_split_type",
    "Dist_graph_create",
    "Dist_graph_create_adjacent",
    "File_open",
    "Graph_create",
    "Intercomm_merge",
    "Win_allocate",
    "Win_allocate_shared",
    "Win_create",
    "Win_create_dynamic",
];

/// A function.
#[derive(Default)]
pub(crate) struct Function {
    /// Name without `MPI_` (or `MPIX_`) and without `_c`.
    pub name: String,
    /// True if it is an extension, whose names begin with `MPIX_`.
    pub extension: bool,
    /// A collective's form, and the collective's name.
    pub collective: Option<(Form, String)>,
    /// The parameters in C order.
    pub parameters: Vec<Parameter>,
    /// True if the C parameters end with `...`.
    pub variadic: bool,
    /// True if there is a large-count form.
    pub large: bool,
    /// True if it may be called before initialisation and after finalisation.
    pub before_init: bool,
    /// True if it begins or ends MPI, which a program does once. Then `before_init` is true as
    /// well: the body looks.
    pub once: bool,
    /// The kind that it returns; `None` for an error code.
    pub returns: Option<Kind>,
    /// The owner of the error handler that gets errors, if no parameter says so: `file` (that of
    /// `MPI_FILE_NULL`) or `tool` (nobody's).
    pub owner: Option<String>,
    /// True if the body gets what is wrong in an argument instead of its value, so that the process
    /// takes part all the same and nobody waits for it.
    pub together: bool,
    /// Version of the standard that deprecated it.
    pub deprecated: Option<String>,
    /// The rungs of its fast path in the order in which they are tried
    /// (`crates/entry/abi/src/fast_path`).
    pub rungs: Vec<String>,
}

/// A parameter.
pub(crate) struct Parameter {
    /// The C name.
    pub name: String,
    /// The kind of the parameter.
    pub kind: Kind,
    /// True if only the large-count form has it.
    pub large_only: bool,
    /// The conditions under which it is significant.
    pub conditions: Vec<Condition>,
}

/// A condition under which a parameter is significant.
pub(crate) enum Condition {
    /// Significant at the root.
    Root,
    /// Significant anywhere but at the root of an intercommunicator.
    Leaf,
    /// Significant anywhere but beside the root of an intercommunicator.
    Party,
    /// Significant if this buffer is not `MPI_IN_PLACE`.
    Given(String),
}

impl Function {
    /// Parses a line of the table.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Function> {
        let (parameters, flags) = text.split_once(';').unwrap_or((text, ""));
        let mut function = Function { name: name.into(), ..Function::default() };
        for parameter in parameters.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            match parameter {
                "..." => function.variadic = true,
                _ => function
                    .parameters
                    .push(Parameter::parse(parameter).with_context(|| parameter.to_string())?),
            }
        }
        flags.split(',').map(str::trim).filter(|f| !f.is_empty()).try_for_each(|flag| function.flag(flag))?;
        Ok(function)
    }

    /// Parses a line that stands for a collective in all forms.
    pub(crate) fn collective(name: &str, text: &str) -> Result<Vec<Function>> {
        let forms = [Form::Blocking, Form::Nonblocking, Form::Persistent];
        forms.into_iter().map(|form| Function::of_form(form, name, text)).collect()
    }

    fn of_form(form: Form, collective: &str, text: &str) -> Result<Function> {
        let (name, more) = form.derive(collective);
        let mut function = Function::parse(&name, text)?;
        function.collective = Some((form, collective.into()));
        for parameter in more {
            function.parameters.push(Parameter::parse(parameter)?);
        }
        Ok(function)
    }

    fn flag(&mut self, flag: &str) -> Result<()> {
        match flag.split_once(' ').unwrap_or((flag, "")) {
            ("large", "") => self.large = true,
            ("before_init", "") => self.before_init = true,
            ("once", "") => (self.once, self.before_init) = (true, true),
            ("together", "") => self.together = true,
            ("returns", kind) => self.returns = Some(Kind::parse(kind)?),
            ("owner", kind) => self.owner = Some(kind.into()),
            ("deprecated", version) => self.deprecated = Some(version.into()),
            ("ladder", rungs) => self.rungs = rungs.split_whitespace().map(String::from).collect(),
            _ => bail!("unknown flag `{flag}`"),
        }
        Ok(())
    }

    /// Returns whether the MPICH face has its fast path too. That face translates communicators and
    /// datatypes for its fast paths, but no windows.
    pub(crate) fn is_quick_on_mpich(&self) -> bool {
        !self.rungs.is_empty() && !self.parameters.iter().any(|parameter| parameter.kind.base == "win")
    }

    /// The beginning of its C names: that of the standard, or that of extensions.
    pub(crate) fn prefix(&self) -> &'static str {
        if self.extension { "MPIX" } else { "MPI" }
    }

    /// The C name of its plain form.
    pub(crate) fn c_name(&self) -> String {
        format!("{}_{}", self.prefix(), self.name)
    }

    /// Returns whether it needs the other processes, so that it fails on a communicator that was
    /// revoked.
    pub(crate) fn communicates(&self) -> bool {
        let is_end = |p: &Parameter| matches!(p.kind.base.as_str(), "dest" | "source" | "tag" | "any_tag");
        self.collective.is_some()
            || MAKING.contains(&self.name.as_str())
            || self.parameters.iter().any(is_end)
    }

    /// The parameter that gets a request which it makes.
    pub(crate) fn new_request(&self) -> Option<&str> {
        let is_new = |p: &&Parameter| p.kind.direction == Direction::Out && p.kind.base == "request";
        self.parameters.iter().find(is_new).map(|parameter| parameter.name.as_str())
    }

    /// The C names of its forms, and whether each is the large one.
    pub(crate) fn forms(&self) -> Vec<(String, bool)> {
        let mut forms = vec![(format!("{}_{}", self.prefix(), self.name), false)];
        if self.large {
            forms.push((format!("{}_{}_c", self.prefix(), self.name), true));
        }
        forms
    }

    /// The parameters of one form.
    pub(crate) fn parameters(&self, large: bool) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(move |p| large || !p.large_only)
    }

    /// The parameters of one form, as Rust declares them.
    pub(crate) fn signature(&self, large: bool) -> String {
        let one = |p: &Parameter| format!("{}: {}", p.name, p.kind.ctype(large).rust());
        self.parameters(large).map(one).collect::<Vec<_>>().join(", ")
    }

    /// The Rust type that it returns.
    pub(crate) fn result(&self) -> String {
        self.returns.as_ref().map_or("c_int".into(), |kind| kind.ctype(false).rust())
    }

    /// The Rust type of a pointer to one form.
    pub(crate) fn pointer(&self, large: bool) -> String {
        let types: Vec<String> = self.parameters(large).map(|p| p.kind.ctype(large).rust()).collect();
        format!("unsafe extern \"C\" fn({}) -> {}", types.join(", "), self.result())
    }

    /// Returns whether it belongs to the tool information interface, whose errors go to no handler.
    pub(crate) fn is_of_tool(&self) -> bool {
        self.owner.as_deref() == Some("tool")
    }

    /// The name of its hand-written body. The forms of a collective have one in common.
    pub(crate) fn body(&self) -> String {
        self.collective.as_ref().map_or(&self.name, |(_, collective)| collective).to_lowercase()
    }

    /// The first parameter that is this handle, given by value.
    pub(crate) fn handle(&self, base: &str) -> Option<&str> {
        self.parameters.iter().find(|p| p.kind.is_in(base)).map(|p| p.name.as_str())
    }
}

impl Parameter {
    fn parse(text: &str) -> Result<Parameter> {
        let (name, rest) = text.split_once(':').context("no `:`")?;
        let mut parts = rest.split('@').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let (large_only, kind) = kind.strip_prefix("large ").map_or((false, kind), |kind| (true, kind));
        let conditions = parts.map(Condition::parse).collect::<Result<_>>()?;
        Ok(Parameter { name: name.trim().into(), kind: Kind::parse(kind)?, large_only, conditions })
    }
}

impl Condition {
    fn parse(text: &str) -> Result<Condition> {
        let given = text.strip_prefix("given(").and_then(|rest| rest.strip_suffix(')'));
        Ok(match (text, given) {
            ("root", _) => Condition::Root,
            ("leaf", _) => Condition::Leaf,
            ("party", _) => Condition::Party,
            (_, Some(buffer)) => Condition::Given(buffer.into()),
            _ => bail!("unknown condition `@{text}`"),
        })
    }
}
