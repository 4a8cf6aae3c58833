//! What the values of an experiment lie over.

use crate::metric::format_size;

/// What the horizontal axis of a picture shows.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Its name.
    pub name: &'static str,
    /// How its values are written.
    pub label: fn(usize) -> String,
}

/// The axis of most pictures.
pub const SIZES: Axis = Axis { name: "message size", label: format_size };
