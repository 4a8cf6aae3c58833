//! The translation of one parameter in an entry point: its work before the call, the argument for
//! the standard face, and its work after the call.

use super::facts::Facts;
use crate::function::{Condition, Function, Parameter};
use crate::kind::Direction::{In, InOut, Out};
use crate::kind::{Direction, HANDLES};

/// The translation of one parameter.
#[derive(Default)]
pub(super) struct Conversion {
    /// A statement before the call, or nothing.
    pub before: String,
    /// The argument of the standard face's function.
    pub argument: String,
    /// The Rust type that translates the parameter beforehand, if that has a quick way for the
    /// usual values.
    pub quick: Option<&'static str>,
    /// A statement after the call, or nothing.
    pub after: String,
}

/// Translates a parameter of a function of this family.
pub(super) fn convert(family: &str, function: &Function, parameter: &Parameter, facts: &Facts) -> Conversion {
    let (name, kind) = (&parameter.name, &parameter.kind);
    if let Some(handle) = handle(parameter) {
        return match &kind.length {
            Some(length) => handles(function, parameter, handle, length),
            None => one_handle(name, kind.direction, handle),
        };
    }
    if matches!(kind.base.as_str(), "dest" | "root") {
        return Conversion { quick: Some("values::Rank"), ..argument(name.clone()) };
    }
    if let Some(class) = facts.class(function, parameter) {
        return constant(function, parameter, class);
    }
    match (kind.base.as_str(), kind.direction) {
        ("status", direction) => status(name, direction),
        ("statuses", _) => {
            let length = length_of(function, kind.length.as_deref().unwrap_or_default());
            object(name, &format!("Statuses::new({name}, {length})"), ".store()")
        }
        ("buffer", _) if facts.families.iter().any(|name| name == family) => {
            argument(format!("addresses::buffer_native({name})"))
        }
        ("string", Out) => string(function, parameter, facts),
        ("raw", _) if facts.weights.contains(name) => argument(format!("addresses::weights_native({name})")),
        ("pvar_handle", In) => argument(format!("addresses::pvar_native({name})")),
        _ => argument(name.clone()),
    }
}

/// The Rust name of the handle that a parameter is, or has an array of.
fn handle(parameter: &Parameter) -> Option<&'static str> {
    Some(match parameter.kind.base.as_str() {
        "transfer" | "datatypes" | "transfers" => "Datatype",
        "requests" => "Request",
        "infos" => "Info",
        "value" => {
            let ctype = parameter.kind.ctype(false).rust();
            HANDLES.iter().find(|handle| handle.1 == ctype)?.1.trim_start_matches("MPI_")
        }
        base => HANDLES.iter().find(|handle| handle.0 == base)?.1.trim_start_matches("MPI_"),
    })
}

fn argument(argument: String) -> Conversion {
    Conversion { argument, ..Conversion::default() }
}

/// A translation by an object that lives through the call.
fn object(name: &str, made: &str, store: &str) -> Conversion {
    let after = if store.is_empty() { String::new() } else { format!("{name}_native{store};") };
    Conversion {
        before: format!("let mut {name}_native = {made};"),
        after,
        ..argument(format!("{name}_native.native()"))
    }
}

fn one_handle(name: &str, direction: Direction, handle: &'static str) -> Conversion {
    match direction {
        // Nearly every call has these.
        In if matches!(handle, "Comm" | "Datatype") => {
            Conversion { quick: Some(handle), ..argument(name.to_string()) }
        }
        In => argument(format!("{handle}::native({name})")),
        Out => object(name, &format!("arrays::Out::<{handle}>::new({name})"), ".store()"),
        InOut => object(name, &format!("arrays::InOut::<{handle}>::new({name})"), ".store()"),
    }
}

fn handles(function: &Function, parameter: &Parameter, handle: &str, length: &str) -> Conversion {
    let name = &parameter.name;
    let mut length = length_of(function, length);
    for condition in &parameter.conditions {
        if let Condition::Given(buffer) = condition {
            length = format!("if addresses::is_in_place({buffer}) {{ 0 }} else {{ {length} }}");
        }
    }
    let store = if parameter.kind.direction == InOut { format!(".store({name})") } else { String::new() };
    object(name, &format!("Handles::<{handle}>::new({name}, {length})"), &store)
}

fn status(name: &str, direction: Direction) -> Conversion {
    match direction {
        In => object(name, &format!("StatusIn::new({name})"), ""),
        Out => object(name, &format!("StatusOut::new({name})"), ".store()"),
        InOut => object(name, &format!("StatusIn::new({name})"), ".store()"),
    }
}

/// A constant, or an array of constants, of this class.
fn constant(function: &Function, parameter: &Parameter, class: &str) -> Conversion {
    let (name, kind) = (&parameter.name, &parameter.kind);
    let pointer = kind.ctype(false).rust().starts_with("*mut");
    let length = kind.length.as_deref().map(|length| length_of(function, length));
    match (kind.direction, length) {
        (In, Some(length)) => Conversion {
            before: format!("let {name}_native = values::all({name}, {length}, values::{class}_native);"),
            ..argument(format!("values::address(&{name}_native)"))
        },
        (_, Some(length)) => Conversion {
            after: format!("values::set_all(code, {name}, {length}, values::{class}_face);"),
            ..argument(name.clone())
        },
        (InOut, None) => {
            let store = format!(".store(values::{class}_face)");
            object(name, &format!("values::Place::new({name}, values::{class}_native)"), &store)
        }
        (_, None) if pointer => Conversion {
            after: format!("values::set(code, {name}, values::{class}_face);"),
            ..argument(name.clone())
        },
        _ => argument(format!("values::{class}_native({name})")),
    }
}

/// A string that is set: the program may have less room here.
fn string(function: &Function, parameter: &Parameter, facts: &Facts) -> Conversion {
    let name = &parameter.name;
    let room = parameter.kind.length.as_deref().and_then(|constant| facts.smaller_room(constant));
    let Some(room) = room else { return argument(name.clone()) };
    let length = function.parameters.iter().find(|p| p.name == "resultlen");
    let length = length.map_or("std::ptr::null_mut()", |p| p.name.as_str());
    let mut made = object(name, &format!("Text::<{}>::new({name}, {})", room.native, room.face), "");
    made.after = format!("if code == 0 {{ {name}_native.store({length}); }}");
    made
}

/// The length of an array as an `i64`.
fn length_of(function: &Function, length: &str) -> String {
    let comm = function.handle("comm").unwrap_or("comm");
    match length.strip_prefix('#') {
        Some(which) => format!("table::length({comm}, table::Length::{})", camel(which)),
        None => format!("i64::from({length})"),
    }
}

fn camel(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}
