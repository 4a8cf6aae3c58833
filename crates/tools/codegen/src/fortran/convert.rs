//! The conversion of each kind of argument, in Rust: the type that comes, statements before the
//! call, the argument for C, statements after the call.

use super::binding::{Binding, Parameter, Shape, What};
use crate::kind::Direction;

/// The ways in which arguments come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Arguments by address, as in `mpif.h` and `mpi`, and in `mpi_f08` where there is no choice
    /// buffer.
    Old,
    /// Choice buffers and strings by descriptor.
    New,
    /// Choice buffers by descriptor, and strings as ever.
    Buffers,
}

/// The conversion of one argument.
#[derive(Default)]
pub(super) struct Piece {
    /// The Rust type that comes.
    pub takes: String,
    /// Statements before the call.
    pub before: Vec<String>,
    /// The expression for C.
    pub passes: String,
    /// Statements after the call, which find `code`.
    pub after: Vec<String>,
}

/// The conversion of this parameter.
pub(super) fn piece(p: &Parameter, binding: &Binding<'_>, side: Side) -> Piece {
    let descriptors = side != Side::Old && binding.has_buffer();
    match &p.what {
        What::Buffer(shape) if descriptors => section(p, shape),
        What::Buffer(_) => buffer(p),
        What::Text if descriptors && side == Side::New => text_of_descriptor(p),
        What::Text => text(p, binding),
        What::Integer(_) if descriptors => replaced(p, binding).unwrap_or_else(|| integer(p)),
        What::Handle(_) if descriptors => replaced(p, binding).unwrap_or_else(|| handle(p)),
        What::Integer(_) => integer(p),
        What::Handle(_) => watched(handle(p), p, binding, &format!("&[{}_c]", p.name)),
        What::Handles(_) => watched(handles(p), p, binding, &format!("{}_c.all()", p.name)),
        What::Logical => logical(p),
        What::Logicals => logicals(p),
        What::Index => counted(p, format!("index::one({});", p.name)),
        What::Indices => {
            let count = p.length.as_deref().unwrap_or_default();
            counted(p, format!("index::many({}, {count}, code);", p.name))
        }
        What::Status if p.direction != Direction::In => through(p, "address::status"),
        What::Statuses => through(p, "address::statuses"),
        What::Weights => through(p, "address::weights"),
        What::Detached if side == Side::Old => {
            let (name, before) = (&p.name, format!("let mut {0}_c = {0};", p.name));
            Piece {
                takes: p.ctype.clone(),
                before: vec![before],
                passes: format!("(&raw mut {name}_c).cast()"),
                after: vec![],
            }
        }
        What::Texts | What::TextLists => {
            Piece { takes: "*const c_char".into(), passes: p.name.clone(), ..Piece::default() }
        }
        // The address of a procedure; the body decides how to call it.
        What::Procedure(_) => Piece { takes: "usize".into(), passes: p.name.clone(), ..Piece::default() },
        What::Address if p.direction == Direction::In => {
            Piece { takes: "*const MPI_Aint".into(), passes: format!("*{}", p.name), ..Piece::default() }
        }
        What::Address => Piece { takes: "*mut MPI_Aint".into(), passes: p.name.clone(), ..Piece::default() },
        _ => Piece { takes: p.ctype.clone(), passes: p.name.clone(), ..Piece::default() },
    }
}

fn through(p: &Parameter, function: &str) -> Piece {
    Piece { takes: p.ctype.clone(), passes: format!("{function}({})", p.name), ..Piece::default() }
}

fn counted(p: &Parameter, after: String) -> Piece {
    Piece { takes: p.ctype.clone(), passes: p.name.clone(), after: vec![after], ..Piece::default() }
}

fn buffer(p: &Parameter) -> Piece {
    let before = vec![format!("let {0}_c = address::buffer({0});", p.name)];
    Piece { takes: p.ctype.clone(), before, passes: format!("{}_c", p.name), after: vec![] }
}

fn section(p: &Parameter, shape: &Shape) -> Piece {
    let name = &p.name;
    let mut piece = Piece { takes: "*const Descriptor".into(), ..Piece::default() };
    let make = match shape {
        Shape::Typed(count, datatype) => format!("tried!(Typed::new({name}, *{count} as i64, *{datatype}))"),
        Shape::Copied | Shape::Kept(_) => {
            let reads = p.direction == Direction::In || !p.ctype.starts_with("*const");
            format!("tried!(Copied::new({name}, {reads}, {}))", p.direction != Direction::In)
        }
        Shape::Whole => format!("tried!(section::whole({name}))"),
        Shape::Address => format!("section::place({name})"),
    };
    let is_object = matches!(shape, Shape::Typed(..) | Shape::Copied | Shape::Kept(_));
    let object = if is_object { format!("{name}_s") } else { format!("{name}_c") };
    piece.before.push(format!("let {object} = {make};"));
    if is_object {
        piece.before.push(format!("let {name}_c = {object}.address();"));
    }
    match shape {
        Shape::Copied => piece.after.push(format!("{object}.give_back();")),
        Shape::Kept(persistent) => {
            piece.after.push(format!("kept::keep({object}, code, request_c, {persistent});"));
        }
        _ => {}
    }
    piece.passes = format!("{name}_c");
    piece
}

/// A count or datatype that a section's own takes the place of.
fn replaced(p: &Parameter, binding: &Binding<'_>) -> Option<Piece> {
    let owner = binding.parameters.iter().find(|other| match &other.what {
        What::Buffer(Shape::Typed(count, datatype)) => *count == p.name || *datatype == p.name,
        _ => false,
    })?;
    let of_count = matches!(p.what, What::Integer(_));
    let (what, takes) = if of_count {
        (format!("count() as {}", p.ctype), format!("*const {}", p.ctype))
    } else {
        ("datatype()".into(), "*const c_int".into())
    };
    Some(Piece { takes, passes: format!("{}_s.{what}", owner.name), ..Piece::default() })
}

fn integer(p: &Parameter) -> Piece {
    match p.direction {
        Direction::In => {
            Piece { takes: format!("*const {}", p.ctype), passes: format!("*{}", p.name), ..Piece::default() }
        }
        _ => Piece { takes: p.ctype.clone(), passes: p.name.clone(), ..Piece::default() },
    }
}

fn logical(p: &Parameter) -> Piece {
    let name = &p.name;
    match p.direction {
        Direction::In => {
            Piece { takes: "*const c_int".into(), passes: format!("logical::of({name})"), ..Piece::default() }
        }
        _ => counted(p, format!("logical::tidy({name}, 1);")),
    }
}

fn logicals(p: &Parameter) -> Piece {
    let (name, length) = (&p.name, length(p));
    match p.direction {
        Direction::In => Piece {
            takes: p.ctype.clone(),
            before: vec![format!("let {name}_c = logical::array({name}, {length});")],
            passes: format!("{name}_c.as_ptr()"),
            after: vec![],
        },
        _ => counted(p, format!("if code == constants::MPI_SUCCESS {{ logical::tidy({name}, {length}); }}")),
    }
}

fn handle(p: &Parameter) -> Piece {
    let What::Handle(word) = p.what else { unreachable!("only handles come here") };
    let name = &p.name;
    if p.direction == Direction::In {
        let passes = format!("handle::{word}(*{name})");
        return Piece { takes: "*const c_int".into(), passes, ..Piece::default() };
    }
    let start = if p.direction == Direction::Out { "0".into() } else { format!("handle::{word}(*{name})") };
    Piece {
        takes: "*mut c_int".into(),
        before: vec![format!("let {name}_i = {start};"), format!("let mut {name}_c = {name}_i;")],
        passes: format!("&mut {name}_c"),
        after: vec![format!("if {name}_c != {name}_i {{ *{name} = handle::{word}_out({name}_c); }}")],
    }
}

/// Requests that the call may start or complete: copies of sections may be kept for them
/// (`kept.rs`).
fn watched(mut piece: Piece, p: &Parameter, binding: &Binding<'_>, all: &str) -> Piece {
    let name = &p.name;
    let function = binding.function.name.as_str();
    let asks = function.starts_with("Request_get_status");
    let is_request = matches!(p.what, What::Handle("request") | What::Handles("request"));
    if !is_request || !(asks || p.direction == Direction::InOut) {
        return piece;
    }
    if asks && matches!(p.what, What::Handle(_)) {
        piece.before.push(format!("let {name}_c = handle::request(*{name});"));
        piece.passes = format!("{name}_c");
    }
    if function.starts_with("Start") {
        piece.before.push(format!("kept::start({all});"));
        return piece;
    }
    piece.before.push(format!("let {name}_k = kept::take({all});"));
    let then = if function == "Request_free" { "freed()".into() } else { format!("settle({all})") };
    // Before the handles go back to the program, which another thread may then use.
    piece.after.insert(0, format!("{name}_k.{then};"));
    piece
}

fn handles(p: &Parameter) -> Piece {
    let What::Handles(word) = p.what else { unreachable!("only arrays of handles come here") };
    let (name, length) = (&p.name, length(p));
    let (takes, pointer) = match p.direction {
        Direction::In => ("*const c_int", "as_ptr"),
        _ => ("*mut c_int", "as_mut_ptr"),
    };
    let mut length = length;
    if let Some(buffer) = &p.given {
        length = format!("if address::is_in_place({buffer}_c) {{ 0 }} else {{ {length} }}");
    }
    let make = match p.direction {
        Direction::Out => format!("Handles::empty({length})"),
        _ => format!("Handles::of({name}, {length}, handle::{word})"),
    };
    let mutable = if p.direction == Direction::In { "" } else { "mut " };
    let after = match p.direction {
        Direction::In => vec![],
        _ => vec![format!("{name}_c.give_back({name}, handle::{word}_out);")],
    };
    let before = vec![format!("let {mutable}{name}_c = {make};")];
    Piece { takes: takes.into(), before, passes: format!("{name}_c.{pointer}()"), after }
}

fn text(p: &Parameter, binding: &Binding<'_>) -> Piece {
    let name = &p.name;
    if p.direction == Direction::In {
        // Blanks before a key or a value of an info object mean nothing either (MPI-5.0, chapter
        // 10).
        let read = if matches!(name.as_str(), "key" | "value") { "read_stripped" } else { "read" };
        let before = vec![format!("let {name}_c = text::{read}({name}, {name}_length);")];
        return Piece { takes: p.ctype.clone(), before, passes: format!("{name}_c.as_ptr()"), after: vec![] };
    }
    let room = p.length.as_deref().unwrap_or_default();
    let room = match room.split_once(' ') {
        Some((parameter, more)) => format!("text::room(*{parameter}) {more}"),
        None => format!("constants::{room}"),
    };
    // Where there is a flag, the string is set only if that is true.
    let flag = binding.parameters.iter().find(|p| p.what == What::Logical && p.direction == Direction::Out);
    let condition = flag.map_or(String::new(), |flag| format!(" && *{} != 0", flag.name));
    Piece {
        takes: p.ctype.clone(),
        before: vec![format!("let mut {name}_c = vec![0; {room}];")],
        passes: format!("{name}_c.as_mut_ptr()"),
        after: vec![format!(
            "if code == constants::MPI_SUCCESS{condition} {{ text::write(&{name}_c, {name}, {name}_length); }}"
        )],
    }
}

fn text_of_descriptor(p: &Parameter) -> Piece {
    let before = vec![format!("let {0}_c = text::read_descriptor({0});", p.name)];
    Piece {
        takes: "*const Descriptor".into(),
        before,
        passes: format!("{}_c.as_ptr()", p.name),
        after: vec![],
    }
}

/// The number of elements of an array, as an expression of `usize`.
fn length(p: &Parameter) -> String {
    match p.length.as_deref().unwrap_or_default() {
        "#local" => "team::local(*comm)".into(),
        "#remote" => "team::remote(*comm)".into(),
        "#indegree" => "team::degrees(*comm).0".into(),
        "#outdegree" => "team::degrees(*comm).1".into(),
        "#dims" => "team::dims(*comm)".into(),
        parameter => format!("team::number(*{parameter} as i64)"),
    }
}
