//! The table of thresholds in a file, TOML: a number for each name in [`Table`]; what is not named keeps its default.

use super::{TABLE, Table};
use crate::error::{Error, Result};
use crate::generated::constants::MPI_ERR_OTHER;

/// The setting that names the file. All ranks must have the same.
const SETTING: &str = "VERBENA_COLL_TABLE";
/// The longest records that boards of few and of many ranks take for certain.
const RECORD_BYTES_MAX: [usize; 2] = [16_000, 4_000];

/// Reads the table that the setting names, if it is set. The first table of a process stays.
///
/// # Errors
/// The file cannot be read, is no TOML, names something unknown, or has a number that makes no sense.
pub fn load() -> Result<()> {
    let Ok(path) = std::env::var(SETTING) else { return Ok(()) };
    let text = std::fs::read_to_string(&path).map_err(|error| refused(&path, &error.to_string()))?;
    let table = parse(&text).map_err(|reason| refused(&path, &reason))?;
    TABLE.0.get_or_init(|| table);
    Ok(())
}

fn parse(text: &str) -> std::result::Result<Table, String> {
    let table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
    let windows = [table.alltoall_wide_window, table.alltoall_narrow_window];
    let pieces = [table.bcast_piece_min, table.board_exchange_piece, table.board_parts_piece];
    if windows.contains(&0) || pieces.contains(&0) {
        return Err("windows and pieces must be at least 1".into());
    }
    if table.short_few_max > RECORD_BYTES_MAX[0] || table.short_many_max > RECORD_BYTES_MAX[1] {
        let [few, many] = RECORD_BYTES_MAX;
        return Err(format!("short_few_max must be at most {few}, short_many_max at most {many}"));
    }
    Ok(table)
}

#[cold]
fn refused(path: &str, reason: &str) -> Error {
    Error::new(
        MPI_ERR_OTHER,
        "the table of collective algorithms cannot be used",
        format!("the file {path} that {SETTING} names: {reason}"),
        "it is missing, or was written for another version of Verbena",
        "correct the file, or take the setting away: the built-in table is used then",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_survives_a_file() {
        let table = Table { short_few_max: 77, ..Table::default() };
        assert_eq!(parse(&toml::to_string(&table).unwrap()), Ok(table));
        assert_eq!(parse("short_few_max = 77"), Ok(table));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_reason() {
        for (text, reason) in [
            ("warp = 1", "unknown field"),
            ("alltoall_wide_window = 0", "at least 1"),
            ("short_many_max = 100000", "at most"),
            ("short_many_max = -1", "invalid value"),
        ] {
            let error = refused("a.toml", &parse(text).unwrap_err());
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
    }
}
