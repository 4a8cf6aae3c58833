//! Figures of the simulator beside the measurements: the same comparisons where the device of this
//! machine cannot show what the papers' device did, or where there are not that many processes.

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use std::fmt;
use verbena_sim::figures::Table;

/// Computed tables, under a line that says that nobody measured them.
pub(crate) struct Model {
    title: &'static str,
    tables: Vec<Table>,
}

impl Model {
    /// Creates the model from the tables that the simulator computed.
    ///
    /// # Errors
    /// The text of what hung or failed there.
    pub(crate) fn new(title: &'static str, tables: Result<Vec<Table>, String>) -> Result<Model> {
        Ok(Model { title, tables: tables.map_err(|reason| anyhow!("the simulator: {reason}"))? })
    }

    /// The tables for programs.
    pub(crate) fn json(&self) -> Value {
        json!({"title": self.title, "tables": self.tables.iter().map(of_table).collect::<Vec<_>>()})
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}\n", self.title)?;
        self.tables.iter().try_for_each(|table| writeln!(f, "{table}"))
    }
}

fn of_table(table: &Table) -> Value {
    let rows = table.rows.iter().map(|row| json!({"name": row.name, "values": row.values}));
    json!({"title": table.title, "columns": table.columns, "rows": rows.collect::<Vec<_>>()})
}
