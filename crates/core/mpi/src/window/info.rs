//! The hints of windows (MPI-5.0, 12.2): those that are known, and their values in use.

use crate::error::Result;
use crate::info::Info;

/// The known hints and the values that are in use unless the program gives others.
const KNOWN: [(&str, &str, Valid); 7] = [
    ("no_locks", "false", is_flag),
    ("accumulate_ordering", "rar,raw,war,waw", is_ordering),
    ("accumulate_ops", "same_op_no_op", is_ops),
    ("mpi_accumulate_granularity", "0", is_number),
    ("same_size", "false", is_flag),
    ("same_disp_unit", "false", is_flag),
    ("alloc_shared_noncontig", "false", is_flag),
];

/// A check of a hint's value. A hint with another value is ignored (MPI-5.0, chapter 10).
type Valid = fn(&str) -> bool;

fn is_flag(value: &str) -> bool {
    matches!(value, "true" | "false")
}

fn is_number(value: &str) -> bool {
    value.parse::<u64>().is_ok()
}

fn is_ops(value: &str) -> bool {
    matches!(value, "same_op" | "same_op_no_op")
}

fn is_ordering(value: &str) -> bool {
    value == "none" || value.split(',').all(|order| matches!(order.trim(), "rar" | "raw" | "war" | "waw"))
}

/// All known hints with the values in use: those of `given` that are valid.
pub(super) fn in_use(given: Option<&Info>) -> Result<Info> {
    let hints = Info::new();
    for (key, value, _) in KNOWN {
        hints.set(key.as_bytes(), value.as_bytes())?;
    }
    given.map_or(Ok(()), |given| update(&hints, given))?;
    Ok(hints)
}

/// Takes over the valid hints of `given` (`MPI_Win_set_info`). Those that decide how a window is
/// made have no effect any more, but are told as given.
pub(super) fn update(hints: &Info, given: &Info) -> Result<()> {
    for (key, _, valid) in KNOWN {
        if let Some(value) = text(given, key)?
            && valid(&value)
        {
            hints.set(key.as_bytes(), value.as_bytes())?;
        }
    }
    Ok(())
}

/// Returns whether the hint is "true".
pub(super) fn is_set(hints: &Info, key: &str) -> bool {
    matches!(text(hints, key), Ok(Some(value)) if value == "true")
}

fn text(info: &Info, key: &str) -> Result<Option<String>> {
    Ok(info.get(key.as_bytes())?.map(|value| String::from_utf8_lossy(&value).trim().to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(info: &Info, key: &str) -> Option<String> {
        text(info, key).unwrap()
    }

    #[test]
    fn every_known_hint_is_told_and_valid_values_count() {
        let given = Info::new();
        for (key, value) in [("no_locks", " TRUE"), ("same_size", "perhaps"), ("colour", "red")] {
            given.set(key.as_bytes(), value.as_bytes()).unwrap();
        }
        let hints = in_use(Some(&given)).unwrap();
        assert_eq!(hints.len(), KNOWN.len());
        assert!(is_set(&hints, "no_locks") && !is_set(&hints, "same_size"));
        assert_eq!(value(&hints, "accumulate_ordering").as_deref(), Some("rar,raw,war,waw"));
        assert_eq!(value(&hints, "colour"), None);
        given.set(b"accumulate_ordering", b"rar,waw").unwrap();
        update(&hints, &given).unwrap();
        assert_eq!(value(&hints, "accumulate_ordering").as_deref(), Some("rar,waw"));
    }

    #[test]
    fn every_default_is_valid() {
        assert!(KNOWN.iter().all(|(_, value, valid)| valid(value)));
    }
}
