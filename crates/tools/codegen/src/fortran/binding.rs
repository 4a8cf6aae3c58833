//! A function as Fortran sees it.

use super::facts::Facts;
use crate::function::{Condition, Form, Function, Parameter as OfC};
use crate::kind::{Direction, HANDLES, Kind};
use crate::table::Table;
use anyhow::{Context, Result, bail};

/// The kind of an INTEGER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// The default kind.
    Default,
    /// `MPI_ADDRESS_KIND`.
    Address,
    /// `MPI_COUNT_KIND`.
    Count,
    /// `MPI_OFFSET_KIND`.
    Offset,
}

/// The form that a section of an array takes when it is passed as choice buffer to `mpi_f08`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A datatype of its own, in place of these parameters: count and datatype.
    Typed(String, String),
    /// A contiguous copy for the time of the call.
    Copied,
    /// A contiguous copy until the request is complete; whether that is persistent.
    Kept(bool),
    /// The section must be contiguous.
    Whole,
    /// The call uses only the address.
    Address,
}

/// The meaning of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum What {
    Buffer(Shape),
    CPtr,
    Detached,
    Integer(Width),
    Integers(Width),
    Weights,
    Ranges,
    Index,
    Indices,
    Logical,
    Logicals,
    Address,
    /// A handle, by the table's word.
    Handle(&'static str),
    Handles(&'static str),
    Status,
    Statuses,
    Text,
    /// Strings, up to a blank one or as many as the call says.
    Texts,
    /// Such lists, one for each of `count`, side by side.
    TextLists,
    /// A procedure, by the name of the C type.
    Procedure(String),
}

/// A parameter.
pub(super) struct Parameter {
    /// The name of the parameter.
    pub name: String,
    /// The meaning of the parameter.
    pub what: What,
    /// The direction of the value.
    pub direction: Direction,
    /// The length of an array or string, as the table says.
    pub length: Option<String>,
    /// The buffer that makes it insignificant by being `MPI_IN_PLACE`.
    pub given: Option<String>,
    /// The type in Rust's declaration of the C function.
    pub ctype: String,
}

impl Parameter {
    /// Narrows an address in C to a default INTEGER, as MPI-1's Fortran has it.
    fn narrow(&mut self) {
        match self.what {
            What::Integer(Width::Address) => self.what = What::Integer(Width::Default),
            What::Integers(Width::Address) => self.what = What::Integers(Width::Default),
            _ => return,
        }
        self.ctype = self.ctype.replace("MPI_Aint", "c_int");
    }
}

/// A form of a function.
pub(super) struct Binding<'a> {
    /// The function.
    pub function: &'a Function,
    /// The family of the function.
    pub family: &'a str,
    /// True for the large form.
    pub large: bool,
    /// The C name without `MPI_` (or `MPIX_`).
    pub name: String,
    /// The C function that it calls, without that.
    pub of_c: String,
    /// Fortran's parameters without IERROR; C's that Fortran lacks are left out.
    pub parameters: Vec<Parameter>,
    /// True if `mpi_f08` lacks it: removed, or deprecated before there was `mpi_f08`.
    pub old: bool,
}

impl Binding<'_> {
    /// The name with its beginning.
    pub(super) fn whole_name(&self) -> String {
        format!("{}_{}", self.function.prefix(), self.name)
    }

    /// Returns whether `mpi_f08` passes something in another way than `mpi`.
    pub(super) fn differs(&self) -> bool {
        self.parameters.iter().any(|p| matches!(p.what, What::Buffer(_) | What::Detached))
    }

    /// Returns whether `mpi_f08` passes descriptors of arrays.
    pub(super) fn has_buffer(&self) -> bool {
        self.parameters.iter().any(|p| matches!(p.what, What::Buffer(_)))
    }

    /// Returns whether it takes a procedure.
    pub(super) fn has_procedure(&self) -> bool {
        self.parameters.iter().any(|p| matches!(p.what, What::Procedure(_)))
    }
}

/// All functions that Fortran has and that are wanted.
pub(super) fn all<'a>(
    table: &'a Table,
    facts: &Facts,
    wanted: impl Fn(&Function) -> bool,
) -> Result<Vec<Binding<'a>>> {
    let is_ours = |function: &&Function| !facts.functions_of_c.contains(&function.name) && wanted(function);
    let mut bindings = Vec::new();
    for family in table.families.iter().filter(|family| !facts.families_of_c.contains(&family.name)) {
        for function in family.functions.iter().filter(is_ours) {
            for (name, large) in function.forms() {
                let mut parameters = parameters(function, large, facts).with_context(|| name.clone())?;
                if family.removed {
                    parameters.iter_mut().for_each(Parameter::narrow);
                }
                let old = family.removed || function.deprecated.as_deref() == Some("2.0");
                let prefix = format!("{}_", function.prefix());
                let name = name.trim_start_matches(&prefix).to_string();
                let of_c = facts.instead(&name).map_or(name.clone(), String::from);
                bindings.push(Binding { function, family: &family.name, large, name, of_c, parameters, old });
            }
        }
    }
    Ok(bindings)
}

fn parameters(function: &Function, large: bool, facts: &Facts) -> Result<Vec<Parameter>> {
    let all: Vec<&OfC> = function.parameters(large).collect();
    let mut parameters = Vec::new();
    for (at, parameter) in all.iter().enumerate() {
        let of_fortran = match facts.kind(&function.name, &parameter.name) {
            Some("none") => continue,
            Some(kind) => special(kind)?,
            None => Special { kind: Some(parameter.kind.clone()), ..Special::default() },
        };
        let what = match (&of_fortran.what, &of_fortran.kind) {
            (Some(what), _) => what.clone(),
            (None, Some(kind)) if kind.base == "buffer" => {
                What::Buffer(shape(function, &parameter.name, &all[at + 1..], facts))
            }
            (None, Some(kind)) => what(kind, large).with_context(|| parameter.name.clone())?,
            (None, None) => bail!("{} has no kind", parameter.name),
        };
        let given = parameter.conditions.iter().find_map(|condition| match condition {
            Condition::Given(buffer) => Some(buffer.clone()),
            _ => None,
        });
        let kind = of_fortran.kind.as_ref();
        let ctype = kind.map_or(parameter.kind.ctype(large), |kind| kind.ctype(large)).rust();
        parameters.push(Parameter {
            name: if parameter.name == "indx" { "index".into() } else { parameter.name.clone() },
            what,
            direction: kind.map_or(of_fortran.direction, |kind| kind.direction),
            length: kind.map_or(of_fortran.length.clone(), |kind| kind.length.clone()),
            given,
            ctype,
        });
    }
    Ok(parameters)
}

/// A kind of `api/fortran.toml`: one of the table's, or a word of Fortran's own.
#[derive(Default)]
struct Special {
    kind: Option<Kind>,
    what: Option<What>,
    direction: Direction,
    length: Option<String>,
}

fn special(text: &str) -> Result<Special> {
    let (direction, rest) = match text.strip_prefix("out ") {
        Some(rest) => (Direction::Out, rest),
        None => (Direction::In, text),
    };
    let (word, length) = match rest.split_once('[') {
        Some((word, length)) => (word, Some(length.trim_end_matches(']').to_string())),
        None => (rest, None),
    };
    let what = match word {
        "address" => What::Address,
        "c_ptr" => What::CPtr,
        "detached" => What::Detached,
        "logicals" => What::Logicals,
        "index" => What::Index,
        "indices" => What::Indices,
        "weights" => What::Weights,
        "texts" => What::Texts,
        "text_lists" => What::TextLists,
        _ => return Ok(Special { kind: Some(Kind::parse(text)?), ..Special::default() }),
    };
    Ok(Special { kind: None, what: Some(what), direction, length })
}

/// Returns what a kind of the table is in Fortran.
fn what(kind: &Kind, large: bool) -> Result<What> {
    let count = if large { Width::Count } else { Width::Default };
    let address = if large { Width::Count } else { Width::Address };
    let narrow = if large { Width::Address } else { Width::Default };
    Ok(match kind.base.as_str() {
        "int" | "natural" | "elements" | "dest" | "source" | "root" | "rank" | "tag" | "any_tag" => {
            What::Integer(Width::Default)
        }
        "flag" => What::Logical,
        "count" | "number" | "size" => What::Integer(count),
        "disp_unit" => What::Integer(narrow),
        "aint" => What::Integer(Width::Address),
        "aint_number" | "aint_size" => What::Integer(address),
        "offset" => What::Integer(Width::Offset),
        "mpicount" | "mpi_elements" => What::Integer(Width::Count),
        "ints" => What::Integers(Width::Default),
        "counts" | "numbers" => What::Integers(count),
        "displs" => What::Integers(narrow),
        "aints" => What::Integers(Width::Address),
        "aint_numbers" => What::Integers(address),
        "mpicounts" => What::Integers(Width::Count),
        "datatypes" | "transfers" => What::Handles("datatype"),
        "requests" => What::Handles("request"),
        "infos" => What::Handles("info"),
        "string" => What::Text,
        "status" => What::Status,
        "statuses" => What::Statuses,
        "ranges" => What::Ranges,
        "fn" => What::Procedure(kind.ctype(large).rust()),
        _ => What::Handle(handle(kind)?),
    })
}

fn handle(kind: &Kind) -> Result<&'static str> {
    let word = if kind.base == "transfer" { "datatype" } else { kind.base.as_str() };
    let ctype = kind.ctype(false).rust();
    let known = HANDLES.iter().find(|(name, of_c)| *name == word || (word == "value" && *of_c == ctype));
    Ok(known.with_context(|| format!("Fortran has no kind for `{}`: api/fortran.toml", kind.base))?.0)
}

/// Returns what becomes of a section. If a count and a datatype follow the buffer and mean all of
/// it, it is a datatype. Else it is a copy, until the call returns or its request is complete.
fn shape(function: &Function, name: &str, rest: &[&OfC], facts: &Facts) -> Shape {
    let of_all = function.collective.as_ref().is_none_or(|(_, collective)| collective == "Bcast");
    let typed = |count: &OfC, datatype: &OfC| {
        matches!(count.kind.base.as_str(), "count" | "mpi_elements")
            && matches!(datatype.kind.base.as_str(), "transfer" | "datatype")
            && function.name != "Reduce_local"
    };
    let form = function.collective.as_ref().map(|(form, _)| *form);
    match rest {
        [count, datatype, ..] if of_all && typed(count, datatype) => {
            Shape::Typed(count.name.clone(), datatype.name.clone())
        }
        _ if facts.of_address.contains(&function.name) => Shape::Address,
        _ if is_done_at_return(function, name) => Shape::Copied,
        _ if form == Some(Form::Nonblocking) => Shape::Kept(false),
        _ if form == Some(Form::Persistent) => Shape::Kept(true),
        _ => Shape::Whole,
    }
}

fn is_done_at_return(function: &Function, buffer: &str) -> bool {
    let blocking = function.collective.as_ref().is_some_and(|(form, _)| *form == Form::Blocking);
    let packs = function.name.contains("ack") && matches!(buffer, "inbuf" | "outbuf");
    blocking || packs || function.name == "Reduce_local"
}
