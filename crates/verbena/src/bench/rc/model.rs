//! The same comparisons by the simulator's cost model of the papers' device: the real engine and the real channel `rc` above a
//! model. They stand beside the measurements where the device of this machine cannot show what the papers' device did.

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use verbena_sim::figures::{Table, tables};

/// The line above the tables.
pub const TITLE: &str = "The simulator's figures: a cost model of the papers' device, nothing measured here";

/// All tables of the cost model.
///
/// # Errors
/// What hung or failed in the simulator.
pub fn figures() -> Result<Vec<Table>> {
    tables().map_err(|reason| anyhow!("the simulator: {reason}"))
}

/// A table for programs.
pub fn json(table: &Table) -> Value {
    let rows = table.rows.iter().map(|row| json!({"name": row.name, "values": row.values}));
    json!({"title": table.title, "columns": table.columns, "rows": rows.collect::<Vec<_>>()})
}
