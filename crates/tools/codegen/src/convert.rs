//! The checks and conversions of one parameter in an entry point: a statement, and the body's
//! argument.

use super::function::{Condition, Function, Parameter};
use super::kind::Direction::{In, InOut, Out};

/// The conversion of one parameter.
pub(crate) struct Conversion {
    /// A Rust statement that shadows the raw parameter by the checked one; empty if it is given as
    /// it is.
    pub statement: String,
    /// The argument of the body.
    pub argument: String,
    /// Statements run in this order: handles, then the root, then scalars, then arrays.
    pub rank: u8,
}

/// Returns the name of the handles of a registry in `crate::handles`.
fn registry(base: &str) -> Option<&'static str> {
    Some(match base {
        "comm" => "COMMS",
        "group" => "GROUPS",
        "datatype" => "DATATYPES",
        "op" => "OPS",
        "errhandler" => "ERRHANDLERS",
        "info" => "INFOS",
        "session" => "SESSIONS",
        "win" => "WINS",
        "file" => "FILES",
        _ => return None,
    })
}

/// Converts a parameter of one form of a function.
pub(crate) fn convert(function: &Function, parameter: &Parameter, large: bool) -> Conversion {
    let name = &parameter.name;
    if parameter.large_only && !large {
        return Conversion { statement: String::new(), argument: absent(parameter).into(), rank: 0 };
    }
    let Some(value) = value(function, parameter, large) else {
        return Conversion { statement: String::new(), argument: name.clone(), rank: 0 };
    };
    let condition = condition(function, parameter);
    if function.together && is_checked_together(parameter) {
        let outcome = value.strip_suffix('?').unwrap_or(&value);
        let outcome = match condition {
            Some(condition) => {
                format!("if {condition} {{ {outcome} }} else {{ Ok({}) }}", insignificant(parameter))
            }
            None => outcome.into(),
        };
        let statement = format!("let {name} = {outcome};");
        return Conversion { statement, argument: name.clone(), rank: rank(parameter) };
    }
    let (value, argument) = match (&condition, parameter.kind.base.as_str()) {
        (Some(_), "transfer" | "op") => (format!("Some({value})"), format!("{name}.as_deref()")),
        // Hints for a persistent collective: checked, but not used.
        (_, "info") if function.collective.is_some() => (value, String::new()),
        (_, "info") if parameter.kind.optional && parameter.kind.direction == In => {
            (value, format!("{name}.as_deref()"))
        }
        (_, "transfer" | "transfers" | "datatypes") if parameter.kind.direction == In => {
            (value, format!("&{name}"))
        }
        (_, base) if parameter.kind.direction == In && registry(base).is_some() => {
            (value, format!("&{name}"))
        }
        _ if parameter.large_only && parameter.kind.base == "count" => {
            (format!("Some({value})"), name.clone())
        }
        _ => (value, name.clone()),
    };
    let statement = match condition {
        None if argument.is_empty() => format!("{value};"),
        Some(condition) => {
            format!("let {name} = if {condition} {{ {value} }} else {{ {} }};", insignificant(parameter))
        }
        None => format!("let {name} = {value};"),
    };
    Conversion { statement, argument, rank: rank(parameter) }
}

/// Returns whether a parameter that is wrong in one process is told to the body of a call in which
/// all processes take part, rather than ending the call there.
fn is_checked_together(parameter: &Parameter) -> bool {
    parameter.kind.direction == In
        && matches!(
            parameter.kind.base.as_str(),
            "count" | "transfer" | "info" | "string" | "natural" | "ints" | "infos"
        )
}

/// Returns what the body gets for a parameter that only the large form has.
fn absent(parameter: &Parameter) -> &'static str {
    match (parameter.kind.direction, parameter.kind.base.as_str()) {
        (In, _) => "0",
        (_, "count") => "None",
        _ => "&mut []",
    }
}

fn insignificant(parameter: &Parameter) -> &'static str {
    match parameter.kind.base.as_str() {
        "transfer" | "op" | "info" => "None",
        "string" => "c\"\"",
        "ints" | "infos" => "&[][..]",
        "transfers" => "Vec::new()",
        "counts" | "displs" => "Counts::NONE",
        _ => "0",
    }
}

fn rank(parameter: &Parameter) -> u8 {
    match parameter.kind.base.as_str() {
        "comm" | "win" | "file" | "session" | "buffer" => 0,
        "root" => 1,
        _ if parameter.kind.length.is_some() => 3,
        _ => 2,
    }
}

fn condition(function: &Function, parameter: &Parameter) -> Option<String> {
    let comm = function.handle("comm").unwrap_or("comm");
    let all: Vec<String> = parameter
        .conditions
        .iter()
        .map(|condition| match condition {
            Condition::Root => format!("args::is_root(root, &{comm})"),
            Condition::Party => format!("args::is_party(root, &{comm})"),
            Condition::Leaf => format!("args::is_leaf(root, &{comm})"),
            Condition::Given(buffer) => format!("!{buffer}.is_in_place()"),
        })
        .collect();
    if all.is_empty() { None } else { Some(all.join(" && ")) }
}

/// The checked value of a parameter; `None` if it is given as it is.
fn value(function: &Function, parameter: &Parameter, large: bool) -> Option<String> {
    let (kind, name) = (&parameter.kind, &parameter.name);
    let wide = if large || !kind.differs() { name.clone() } else { format!("i64::from({name})") };
    let comm = function.handle("comm").unwrap_or("comm");
    let base = kind.base.as_str();
    if let Some(length) = &kind.length {
        return Some(array(function, parameter, length));
    }
    Some(match (kind.direction, base) {
        (_, "raw" | "value" | "fn" | "pointer" | "const pointer") => return callback(parameter, large),
        (_, "buffer") => format!("Address::new({name})"),
        (In, "int" | "aint" | "offset" | "mpicount" | "request" | "message") => return None,
        (In, "tool_enum" | "cvar_handle" | "pvar_handle" | "pvar_session") => return None,
        (In, "event_registration" | "event_instance") => return None,
        (In, "flag") => format!("{name} != 0"),
        (In, "count" | "size") => format!("args::{base}({wide})?"),
        (In, "mpi_elements") => format!("args::count({name})?"),
        (In, "number" | "disp_unit") => wide,
        (In, "aint_number") => return None,
        (In, "aint_size") => format!("args::size({name})?"),
        (In, "natural" | "elements" | "tag" | "any_tag") => format!("args::{base}({name})?"),
        (In, "dest" | "source" | "root" | "rank") => format!("args::{base}({name}, &{comm})?"),
        (In, "transfer") => match count_of_message(function, name) {
            Some(count) => format!("args::transfer_of({count}, {name})?"),
            None => format!("args::transfer({name})?"),
        },
        (In, "info") if kind.optional => format!("args::optional_info({name})?"),
        (In, "string") => format!("args::string({name})?"),
        (In, "status") => format!("args::reference({name})?"),
        (In, "comm") if function.communicates() => match function.new_request() {
            Some(request) => format!("handles::usable_or_null({name}, {request})?"),
            None => format!("handles::usable({name})?"),
        },
        (In, _) => format!("handles::{}.get({name})?", registry(base).expect("a handle")),
        (Out, _) if kind.optional => format!("Out::optional({name})"),
        (InOut, _) if kind.optional => format!("InOut::optional({name})"),
        (Out, "status") => format!("StatusOut::new({name})"),
        (Out, "flag") => format!("OutFlag::new({name})?"),
        (Out | InOut, "count" | "disp_unit") => format!("args::out_count({name})?"),
        (Out, _) => format!("Out::new({name})?"),
        (InOut, _) => format!("InOut::new({name})?"),
    })
}

/// Returns the parameter that says how many elements of this datatype a message has. `None` if the
/// call sends or receives no message from one process to another.
fn count_of_message<'a>(function: &'a Function, datatype: &str) -> Option<&'a str> {
    let names_a_message = |p: &Parameter| matches!(p.kind.base.as_str(), "dest" | "source" | "message");
    let place = function.parameters.iter().position(|p| p.name == datatype)?;
    let before = &function.parameters[place.checked_sub(1)?];
    let is_message = before.kind.base == "count" && function.parameters.iter().any(names_a_message);
    is_message.then_some(before.name.as_str())
}

/// A callback whose type differs between the forms says which one it is.
fn callback(parameter: &Parameter, large: bool) -> Option<String> {
    let form = if large { "Large" } else { "Int" };
    parameter.kind.differs().then(|| format!("Form::{form}({})", parameter.name))
}

fn array(function: &Function, parameter: &Parameter, length: &str) -> String {
    let (kind, name) = (&parameter.kind, &parameter.name);
    if kind.base == "text" {
        return format!("TextOut::new({name}, {length})");
    }
    let length = length_of(function, length);
    let constructor = match (kind.direction, kind.base.as_str()) {
        (Out, "string") => "OutString::new",
        (_, "statuses") => return format!("StatusesOut::new({name}, {length})"),
        (In, "counts") => "args::counts",
        (In, "numbers" | "displs" | "aints" | "aint_numbers") => "args::numbers",
        (In, "datatypes") => "args::datatypes",
        (In, "transfers") => "args::transfers",
        (In, "ranges") => "args::slice",
        (In, _) => "args::slice",
        _ => "args::slice_mut",
    };
    format!("{constructor}({name}, {length})?")
}

/// The length of an array as an `i64`.
fn length_of(function: &Function, length: &str) -> String {
    let comm = function.handle("comm").unwrap_or("comm");
    match length {
        "#remote" => return format!("{comm}.targets().size().into()"),
        "#local" => return format!("{comm}.size().into()"),
        "#indegree" => return format!("args::indegree(&{comm})?"),
        "#outdegree" => return format!("args::outdegree(&{comm})?"),
        _ if length.starts_with("MPI_MAX") => return format!("mpi::{length} as i64"),
        _ => {}
    }
    let (name, more) = length.split_once(' ').map_or((length, String::new()), |(n, m)| (n, format!(" {m}")));
    let parameter = function.parameters.iter().find(|p| p.name == name);
    if function.together && parameter.is_some_and(is_checked_together) {
        return format!("{name}.as_ref().map_or(0, |{name}| i64::from(*{name})){more}");
    }
    let wide = parameter.is_some_and(|p| matches!(p.kind.base.as_str(), "count" | "size"));
    if wide { format!("{name}{more}") } else { format!("i64::from({name}){more}") }
}
