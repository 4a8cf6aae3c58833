//! The arguments of a call in words, for the message about its failure.

use crate::handles::{COMMS, DATATYPES, WINS};
use std::ffi::c_int;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::op::BUILTINS;

/// An argument's value, whatever its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i64),
    /// A handle.
    Handle(usize),
    /// An address.
    Address(usize),
    /// A function of the program.
    Function,
    /// Something that is not told.
    Other,
}

/// An argument: its name, its type as the source writes it, and its value.
pub type Argument = (&'static str, &'static str, Value);

/// The name and the type of each parameter of a function, as the source writes them.
pub type Parameters = &'static [(&'static str, &'static str)];

/// A type that arguments have.
pub trait Shown {
    /// The value for a message.
    fn shown(&self) -> Value;
}

impl Shown for c_int {
    fn shown(&self) -> Value {
        Value::Number((*self).into())
    }
}

impl Shown for i64 {
    fn shown(&self) -> Value {
        Value::Number(*self)
    }
}

impl Shown for usize {
    fn shown(&self) -> Value {
        Value::Handle(*self)
    }
}

impl<T> Shown for *const T {
    fn shown(&self) -> Value {
        Value::Address(*self as usize)
    }
}

impl<T> Shown for *mut T {
    fn shown(&self) -> Value {
        Value::Address(*self as usize)
    }
}

impl<T> Shown for Option<T> {
    fn shown(&self) -> Value {
        if self.is_some() { Value::Function } else { Value::Address(0) }
    }
}

/// The arguments as a person reads them, in parentheses; empty if none are known.
#[cold]
pub fn text(arguments: &[Argument]) -> String {
    let told: Vec<String> = arguments
        .iter()
        .map(|(name, kind, value)| format!("{name}={}", value_text(name, kind, *value)))
        .collect();
    if told.is_empty() { String::new() } else { format!("({})", told.join(", ")) }
}

fn value_text(name: &str, kind: &str, value: Value) -> String {
    match value {
        Value::Number(number) => number_text(name, number),
        Value::Handle(handle) => handle_text(kind, handle),
        Value::Address(0) => "NULL".into(),
        Value::Address(address) if address == mpi::MPI_IN_PLACE => "MPI_IN_PLACE".into(),
        Value::Address(address) => format!("{address:#x}"),
        Value::Function => "a function".into(),
        Value::Other => "...".into(),
    }
}

/// A number, or the name that MPI has for it in this parameter.
fn number_text(name: &str, number: i64) -> String {
    let is = |constant: c_int| number == i64::from(constant);
    let known = match name {
        "source" | "dest" | "rank" | "root" | "target_rank" => match () {
            () if is(mpi::MPI_PROC_NULL) => Some("MPI_PROC_NULL"),
            () if is(mpi::MPI_ANY_SOURCE) && name == "source" => Some("MPI_ANY_SOURCE"),
            () if is(mpi::MPI_ROOT) && name == "root" => Some("MPI_ROOT"),
            () => None,
        },
        "tag" | "recvtag" if is(mpi::MPI_ANY_TAG) => Some("MPI_ANY_TAG"),
        _ => None,
    };
    known.map_or_else(|| number.to_string(), str::to_owned)
}

/// A handle by its object's name, if it has one.
fn handle_text(kind: &str, handle: usize) -> String {
    let name = match kind {
        "MPI_Comm" => COMMS.get(handle).map(|comm| comm.name()).ok(),
        "MPI_Win" => WINS.get(handle).map(|win| win.name()).ok(),
        "MPI_Datatype" => DATATYPES.get(handle).map(|datatype| datatype.name().into_bytes()).ok(),
        "MPI_Op" => {
            let known = BUILTINS.iter().find(|(_, predefined, _)| *predefined == handle);
            known.map(|(_, _, name)| name.as_bytes().to_vec())
        }
        _ => None,
    };
    match name {
        Some(name) if !name.is_empty() => String::from_utf8_lossy(&name).into_owned(),
        _ => format!("{handle:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_by_name() {
        let buffer = 0x1000 as *const u8;
        let arguments = [
            ("buf", "*const c_void", buffer.shown()),
            ("count", "c_int", 3_i32.shown()),
            ("datatype", "MPI_Datatype", mpi::MPI_INT.shown()),
            ("op", "MPI_Op", mpi::MPI_SUM.shown()),
            ("source", "c_int", mpi::MPI_ANY_SOURCE.shown()),
            ("tag", "c_int", mpi::MPI_ANY_TAG.shown()),
            ("comm", "MPI_Comm", 0xdead_usize.shown()),
            ("status", "*mut MPI_Status", std::ptr::null::<u8>().shown()),
        ];
        let expected = "(buf=0x1000, count=3, datatype=MPI_INT, op=MPI_SUM, source=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, \
                        comm=0xdead, status=NULL)";
        assert_eq!(text(&arguments), expected);
        assert_eq!(text(&[]), "");
    }

    #[test]
    fn a_rank_that_is_no_rank_has_a_name() {
        assert_eq!(number_text("dest", mpi::MPI_PROC_NULL.into()), "MPI_PROC_NULL");
        assert_eq!(number_text("count", mpi::MPI_PROC_NULL.into()), mpi::MPI_PROC_NULL.to_string());
    }
}
