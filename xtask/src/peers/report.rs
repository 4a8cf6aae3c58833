//! The report of `verbena bench --json`, as far as it is read.

use serde::Deserialize;

/// The part of `verbena bench --json` that is read.
#[derive(Debug, Deserialize)]
pub(crate) struct Report {
    /// The machine.
    pub machine: String,
    /// The library's words about itself.
    pub library: Option<Library>,
    /// The points.
    pub entries: Vec<Entry>,
}

/// The identity that a library reports.
#[derive(Debug, Deserialize)]
pub(crate) struct Library {
    /// The name and version of the library.
    pub name: String,
}

/// A measured point.
#[derive(Debug, Deserialize)]
pub(crate) struct Entry {
    /// The metric's name.
    pub metric: String,
    /// The message size.
    pub bytes: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// The unit.
    pub unit: String,
    /// The median.
    pub value: Option<f64>,
    /// The reason why there is no value.
    pub failure: Option<String>,
}

/// The point as the worker's command line names it.
pub(crate) fn point_name(entry: &Entry) -> String {
    if entry.bytes == 0 { entry.metric.clone() } else { format!("{}:{}", entry.metric, entry.bytes) }
}
