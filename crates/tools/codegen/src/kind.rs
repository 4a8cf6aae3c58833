//! The kinds of parameters. The C types of both forms follow from the kind.

use super::ctype::CType;
use anyhow::{Context, Result, bail};

/// The direction of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The call reads it.
    #[default]
    In,
    /// The call sets it.
    Out,
    /// The call reads and sets it.
    InOut,
}

/// A kind of parameter.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// The word of the table: `count`, `comm`, `ints` ...
    pub base: String,
    /// The direction of the value.
    pub direction: Direction,
    /// The length of an array or string, as the table says.
    pub length: Option<String>,
    /// True if the null handle is allowed.
    pub optional: bool,
    /// The C types of the `int` and the large form; for arrays that of an element.
    int: String,
    large: String,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Value,
    Pointer,
    Array,
}

/// Handles by the table's word.
pub(crate) const HANDLES: [(&str, &str); 11] = [
    ("comm", "MPI_Comm"),
    ("group", "MPI_Group"),
    ("datatype", "MPI_Datatype"),
    ("op", "MPI_Op"),
    ("errhandler", "MPI_Errhandler"),
    ("info", "MPI_Info"),
    ("session", "MPI_Session"),
    ("win", "MPI_Win"),
    ("file", "MPI_File"),
    ("message", "MPI_Message"),
    ("request", "MPI_Request"),
];

impl Kind {
    /// Parses a kind: `[out|inout] base[length]`, `base?`, `fn TYPE`, `handle base`, or a C type in
    /// back quotes.
    pub(crate) fn parse(text: &str) -> Result<Kind> {
        if let Some(ctype) = text.strip_prefix('`').and_then(|t| t.strip_suffix('`')) {
            return Ok(Kind::new("raw", Direction::In, ctype, ctype, Shape::Value));
        }
        let (direction, rest) = direction(text);
        if let Some(name) = rest.strip_prefix("fn ") {
            return Ok(callback(name));
        }
        if let Some(base) = rest.strip_prefix("handle ") {
            let ctype = scalar(base).with_context(|| format!("no handle `{base}`"))?.0;
            return Ok(Kind::new("value", Direction::In, ctype, ctype, Shape::Value));
        }
        let (rest, optional) = rest.strip_suffix('?').map_or((rest, false), |rest| (rest, true));
        let (base, length) = match rest.split_once('[') {
            Some((base, length)) => (base, Some(length.strip_suffix(']').context("no `]`")?.to_string())),
            None => (rest, None),
        };
        let kind = Kind::of(base, direction).with_context(|| format!("no kind `{base}`"))?;
        if length.is_none() && kind.shape == Shape::Array {
            bail!("the array kind `{base}` needs a length");
        }
        Ok(Kind { length, optional, ..kind })
    }

    fn new(base: &str, direction: Direction, int: &str, large: &str, shape: Shape) -> Kind {
        let (base, int, large) = (base.into(), int.into(), large.into());
        Kind { base, direction, length: None, optional: false, int, large, shape }
    }

    fn of(base: &str, direction: Direction) -> Option<Kind> {
        if let Some((int, large)) = scalar(base) {
            let shape = if direction == Direction::In { Shape::Value } else { Shape::Pointer };
            return Some(Kind::new(base, direction, int, large, shape));
        }
        if let Some((int, large)) = array(base) {
            return Some(Kind::new(base, direction, int, large, Shape::Array));
        }
        let (int, shape) = match base {
            "double" => ("double", Shape::Value),
            "buffer" | "pointer" | "const pointer" => ("void", Shape::Pointer),
            "string" | "text" => ("char", Shape::Pointer),
            "status" | "statuses" => ("MPI_Status", Shape::Pointer),
            "ranges" => ("int[][3]", Shape::Value),
            _ => return None,
        };
        Some(Kind::new(base, direction, int, int, shape))
    }

    /// Returns whether this is the handle `base`, read and given by value.
    pub(crate) fn is_in(&self, base: &str) -> bool {
        self.base == base && self.direction == Direction::In
    }

    /// Returns whether the two forms have different C types.
    pub(crate) fn differs(&self) -> bool {
        self.int != self.large
    }

    /// The C type in one form.
    pub(crate) fn ctype(&self, large: bool) -> CType {
        let base = if large { &self.large } else { &self.int };
        let constant =
            self.direction == Direction::In && self.base != "pointer" && self.shape != Shape::Value;
        let constant = if constant { "const " } else { "" };
        match self.shape {
            Shape::Value => CType::parse(base),
            Shape::Pointer => CType::parse(&format!("{constant}{base} *")),
            Shape::Array => CType::parse(&format!("{constant}{base}[]")),
        }
    }
}

fn direction(text: &str) -> (Direction, &str) {
    if let Some(rest) = text.strip_prefix("inout ") {
        (Direction::InOut, rest)
    } else if let Some(rest) = text.strip_prefix("out ") {
        (Direction::Out, rest)
    } else {
        (Direction::In, text)
    }
}

fn scalar(base: &str) -> Option<(&'static str, &'static str)> {
    Some(match base {
        "int" | "natural" | "elements" | "flag" => ("int", "int"),
        "dest" | "source" | "root" | "rank" | "tag" | "any_tag" => ("int", "int"),
        "count" | "number" | "size" => ("int", "MPI_Count"),
        "disp_unit" => ("int", "MPI_Aint"),
        "aint" => ("MPI_Aint", "MPI_Aint"),
        "aint_number" | "aint_size" => ("MPI_Aint", "MPI_Count"),
        "offset" => ("MPI_Offset", "MPI_Offset"),
        "mpicount" | "mpi_elements" => ("MPI_Count", "MPI_Count"),
        "tool_enum" => ("MPI_T_enum", "MPI_T_enum"),
        "cvar_handle" => ("MPI_T_cvar_handle", "MPI_T_cvar_handle"),
        "pvar_handle" => ("MPI_T_pvar_handle", "MPI_T_pvar_handle"),
        "pvar_session" => ("MPI_T_pvar_session", "MPI_T_pvar_session"),
        "event_registration" => ("MPI_T_event_registration", "MPI_T_event_registration"),
        "event_instance" => ("MPI_T_event_instance", "MPI_T_event_instance"),
        "source_order" => ("MPI_T_source_order", "MPI_T_source_order"),
        "transfer" => ("MPI_Datatype", "MPI_Datatype"),
        _ => HANDLES.iter().find(|h| h.0 == base).map(|h| (h.1, h.1))?,
    })
}

fn array(base: &str) -> Option<(&'static str, &'static str)> {
    Some(match base {
        "ints" => ("int", "int"),
        "counts" | "numbers" => ("int", "MPI_Count"),
        "displs" => ("int", "MPI_Aint"),
        "aints" => ("MPI_Aint", "MPI_Aint"),
        "aint_numbers" => ("MPI_Aint", "MPI_Count"),
        "mpicounts" => ("MPI_Count", "MPI_Count"),
        "datatypes" | "transfers" => ("MPI_Datatype", "MPI_Datatype"),
        "requests" => ("MPI_Request", "MPI_Request"),
        "infos" => ("MPI_Info", "MPI_Info"),
        _ => return None,
    })
}

/// Returns the kind of a callback. Function types that take counts have a large form of their own.
fn callback(name: &str) -> Kind {
    let int = format!("{name} *");
    let counts = matches!(name, "MPI_User_function" | "MPI_Datarep_conversion_function");
    let large = if counts { format!("{name}_c *") } else { int.clone() };
    Kind::new("fn", Direction::In, &int, &large, Shape::Value)
}
