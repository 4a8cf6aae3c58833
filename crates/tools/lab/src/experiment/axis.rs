//! The axis over which the values of an experiment lie.

use crate::metric::format_size;

/// The horizontal axis of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// The name of the axis.
    pub name: &'static str,
    /// The function that writes a value of the axis.
    pub label: fn(usize) -> String,
}

/// The axis of most pictures.
pub const SIZES: Axis = Axis { name: "message size", label: format_size };
