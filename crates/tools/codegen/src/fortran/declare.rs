//! The declaration of a parameter in an interface.

use super::binding::{Parameter, What, Width};
use crate::kind::{Direction, HANDLES};

/// The module of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Module {
    /// `mpi`.
    Mpi,
    /// `mpi_f08`, in a call that returns when it is done with its buffers.
    F08,
    /// `mpi_f08`, in a call that keeps its buffers.
    F08Keeps,
}

/// Returns the declaration without the name, and the text after the name.
pub(super) fn declaration(p: &Parameter, module: Module) -> (String, &'static str) {
    let new = module != Module::Mpi;
    let intent = intent(p.direction);
    let integer = |width: &Width| format!("integer{}, {intent}", kind(*width));
    match &p.what {
        What::Buffer(_) if new => (buffer(p, module), ""),
        What::Buffer(_) => ("type(*), dimension(*)".into(), ""),
        What::CPtr | What::Detached if new => (format!("type(c_ptr), {intent}"), ""),
        // An INTEGER of kind MPI_ADDRESS_KIND or a TYPE(C_PTR); of a detached buffer the program
        // passes anything.
        What::CPtr | What::Detached => ("type(*), dimension(*)".into(), ""),
        What::Integer(width) => (integer(width), ""),
        What::Integers(width) => (integer(width), "(*)"),
        What::Weights => (
            format!("integer{}", if new && p.direction == Direction::In { ", intent(in)" } else { "" }),
            "(*)",
        ),
        What::Ranges => (format!("integer, {intent}"), "(3,*)"),
        What::Index => (format!("integer, {intent}"), ""),
        What::Indices => (format!("integer, {intent}"), "(*)"),
        What::Logical => (format!("logical, {intent}"), ""),
        What::Logicals => (format!("logical, {intent}"), "(*)"),
        What::Address => (format!("integer(MPI_ADDRESS_KIND), {intent}"), ""),
        What::Handle(word) => (format!("{}, {intent}", handle(word, new)), ""),
        What::Handles(word) => (format!("{}, {intent}", handle(word, new)), "(*)"),
        What::Status | What::Statuses => status(p, new),
        What::Text => (format!("character(len=*), {intent}"), ""),
        What::Texts => (format!("character(len=*), {intent}"), "(*)"),
        What::TextLists => (format!("character(len=*), {intent}"), "(count,*)"),
        What::Procedure(of_c) if new => (format!("procedure({of_c})"), ""),
        What::Procedure(_) => ("external".into(), ""),
    }
}

/// Returns the `intent` of a declaration, IERROR's too.
pub(super) fn intent(direction: Direction) -> &'static str {
    match direction {
        Direction::In => "intent(in)",
        Direction::Out => "intent(out)",
        Direction::InOut => "intent(inout)",
    }
}

fn kind(width: Width) -> &'static str {
    match width {
        Width::Default => "",
        Width::Address => "(MPI_ADDRESS_KIND)",
        Width::Count => "(MPI_COUNT_KIND)",
        Width::Offset => "(MPI_OFFSET_KIND)",
    }
}

/// `MPI_IN_PLACE` and its like may be passed where a call sets a buffer, so that has no intent.
fn buffer(p: &Parameter, module: Module) -> String {
    let intent = if p.direction == Direction::In { ", intent(in)" } else { "" };
    let keeps = if module == Module::F08Keeps { ", asynchronous" } else { "" };
    format!("type(*), dimension(..){intent}{keeps}")
}

fn handle(word: &str, new: bool) -> String {
    let of_c = HANDLES.iter().find(|(known, _)| *known == word).map_or("", |(_, of_c)| of_c);
    if new { format!("type({of_c})") } else { "integer".into() }
}

/// `MPI_STATUS_IGNORE` may be passed where a call sets a status, so that has no intent.
fn status(p: &Parameter, new: bool) -> (String, &'static str) {
    let intent = match p.direction {
        Direction::Out => String::new(),
        direction => format!(", {}", self::intent(direction)),
    };
    match (&p.what, new) {
        (What::Statuses, true) => (format!("type(MPI_Status){intent}"), "(*)"),
        (What::Statuses, false) => (format!("integer{intent}"), "(MPI_STATUS_SIZE,*)"),
        (_, true) => (format!("type(MPI_Status){intent}"), ""),
        (_, false) => (format!("integer{intent}"), "(MPI_STATUS_SIZE)"),
    }
}

/// Returns the declarations of all, those that are alike on one line.
pub(super) fn lines(parameters: &[Parameter], module: Module) -> Vec<(String, Vec<String>)> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for p in parameters {
        let (declared, shape) = declaration(p, module);
        let name = format!("{}{shape}", p.name);
        match lines.iter_mut().find(|(known, _)| *known == declared) {
            Some((_, names)) => names.push(name),
            None => lines.push((declared, vec![name])),
        }
    }
    lines
}
