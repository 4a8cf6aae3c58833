//! A table of figures, for people and for programs.

use std::fmt;

/// A table: a row for each size or design, a column for each thing measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The subject, with its source.
    pub title: String,
    /// The names of the columns; the first one names the rows.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name.
    pub name: String,
    /// A value for each column but the first.
    pub values: Vec<f64>,
}

impl Table {
    /// An empty table.
    pub fn new(title: &str, columns: impl IntoIterator<Item = impl Into<String>>) -> Table {
        Table {
            title: title.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn add(&mut self, name: impl Into<String>, values: Vec<f64>) {
        assert_eq!(values.len() + 1, self.columns.len(), "a value for each column");
        self.rows.push(Row { name: name.into(), values });
    }

    /// The value in that row and column.
    ///
    /// # Panics
    /// If there is no such row or column.
    pub fn value(&self, row: &str, column: &str) -> f64 {
        let at = self.columns.iter().position(|name| name == column).expect("a column of the table");
        self.rows.iter().find(|found| found.name == row).expect("a row of the table").values[at - 1]
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title)?;
        writeln!(f, "| {} |", self.columns.join(" | "))?;
        writeln!(f, "|{}", " --- |".repeat(self.columns.len()))?;
        for row in &self.rows {
            let values: Vec<String> = row.values.iter().copied().map(number).collect();
            writeln!(f, "| {} | {} |", row.name, values.join(" | "))?;
        }
        Ok(())
    }
}

/// A number with two digits behind the point if it is small, one if it is large.
fn number(value: f64) -> String {
    if value.abs() < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

/// A size in bytes as tables show it.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        _ if bytes < 1 << 20 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
