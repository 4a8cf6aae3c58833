//! The hints of windows (MPI-5.0, 12.2): those that are known, and their values in use.

use crate::error::Result;
use crate::info::Info;
use verbena_memory::LINE_BYTES;

/// The hint that says at how many bytes memory that is allocated begins.
const ALIGNMENT: &str = "mpi_minimum_memory_alignment";
/// The alignment of memory in bytes, if the program does not ask for more: a cache line.
const ALIGNMENT_MIN: usize = LINE_BYTES;

/// The hint that tells who carries out accumulates, so that all of a window are atomic with each
/// other, and its only value: a processor of the target's node, in every window.
const ATOMICITY: (&str, &str) = ("verbena_atomicity", "processor");

/// The time at which a hint counts.
#[derive(Clone, Copy, PartialEq)]
enum When {
    Always,
    /// At the making of a window that allocates memory: later the value stays, and others do not
    /// have the hint.
    Allocating,
}

/// The known hints and the values that are in use unless the program gives others.
const KNOWN: [(&str, &str, Valid, When); 8] = [
    ("no_locks", "false", is_flag, When::Always),
    ("accumulate_ordering", "rar,raw,war,waw", is_ordering, When::Always),
    ("accumulate_ops", "same_op_no_op", is_ops, When::Always),
    ("mpi_accumulate_granularity", "0", is_number, When::Always),
    ("same_size", "false", is_flag, When::Always),
    ("same_disp_unit", "false", is_flag, When::Always),
    ("alloc_shared_noncontig", "false", is_flag, When::Always),
    (ALIGNMENT, "64", is_alignment, When::Allocating),
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

fn is_alignment(value: &str) -> bool {
    value.parse::<usize>().is_ok_and(usize::is_power_of_two)
}

/// All known hints with the values in use: those of `given` that are valid, and what a program can
/// only read. `allocates` says whether the window allocates memory.
pub(super) fn in_use(given: Option<&Info>, allocates: bool) -> Result<Info> {
    let hints = Info::new();
    let known = KNOWN.into_iter().filter(|hint| allocates || hint.3 != When::Allocating);
    for (key, default, valid, _) in known {
        let given = given.map(|given| text(given, key)).transpose()?.flatten();
        let value = given.filter(|value| valid(value)).unwrap_or_else(|| default.into());
        hints.set(key.as_bytes(), value.as_bytes())?;
    }
    if allocates {
        hints.set(ALIGNMENT.as_bytes(), alignment(&hints).to_string().as_bytes())?;
    }
    hints.set(ATOMICITY.0.as_bytes(), ATOMICITY.1.as_bytes())?;
    Ok(hints)
}

/// Takes over the valid hints of `given` (`MPI_Win_set_info`), but for the alignment of memory that
/// is there. Others that decide how a window is made have no effect any more, but are told as
/// given, as MPICH does.
pub(super) fn update(hints: &Info, given: &Info) -> Result<()> {
    for (key, _, valid, _) in KNOWN.into_iter().filter(|hint| hint.3 == When::Always) {
        if let Some(value) = text(given, key)?
            && valid(&value)
        {
            hints.set(key.as_bytes(), value.as_bytes())?;
        }
    }
    Ok(())
}

/// The alignment of memory that the hints ask for, in bytes: a power of two.
pub(super) fn alignment(hints: &Info) -> usize {
    let asked = text(hints, ALIGNMENT).ok().flatten().and_then(|value| value.parse().ok());
    asked.unwrap_or(ALIGNMENT_MIN).max(ALIGNMENT_MIN)
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
        for (key, value) in [
            ("no_locks", " TRUE"),
            ("same_size", "perhaps"),
            ("colour", "red"),
            ("verbena_atomicity", "device"),
        ] {
            given.set(key.as_bytes(), value.as_bytes()).unwrap();
        }
        let hints = in_use(Some(&given), true).unwrap();
        assert_eq!(hints.len(), KNOWN.len() + 1);
        assert!(is_set(&hints, "no_locks") && !is_set(&hints, "same_size"));
        assert_eq!(value(&hints, "accumulate_ordering").as_deref(), Some("rar,raw,war,waw"));
        assert_eq!(value(&hints, "colour"), None);
        given.set(b"accumulate_ordering", b"rar,waw").unwrap();
        update(&hints, &given).unwrap();
        assert_eq!(value(&hints, "accumulate_ordering").as_deref(), Some("rar,waw"));
        assert_eq!(value(&hints, "verbena_atomicity").as_deref(), Some("processor"));
    }

    #[test]
    fn every_default_is_valid() {
        assert!(KNOWN.iter().all(|(_, value, valid, _)| valid(value)));
    }

    #[test]
    fn hints_are_told_as_given_but_for_the_alignment() {
        let given = Info::new();
        given.set(b"no_locks", b"true").unwrap();
        let hints = in_use(Some(&given), true).unwrap();
        given.set(b"no_locks", b"false").unwrap();
        given.set(b"alloc_shared_noncontig", b"true").unwrap();
        given.set(ALIGNMENT.as_bytes(), b"8192").unwrap();
        update(&hints, &given).unwrap();
        assert!(!is_set(&hints, "no_locks") && is_set(&hints, "alloc_shared_noncontig"));
        assert_eq!(alignment(&hints), ALIGNMENT_MIN);
    }

    #[test]
    fn only_windows_that_allocate_tell_an_alignment() {
        let given = Info::new();
        let told = |asked: &str, allocates| {
            given.set(ALIGNMENT.as_bytes(), asked.as_bytes()).unwrap();
            value(&in_use(Some(&given), allocates).unwrap(), ALIGNMENT)
        };
        assert_eq!(told("8192", true).as_deref(), Some("8192"));
        assert_eq!(told("8", true).as_deref(), Some("64"));
        assert_eq!([told("100", true), told("-1", true)], [Some("64".into()), Some("64".into())]);
        assert_eq!(told("8192", false), None);
        assert_eq!(alignment(&in_use(None, true).unwrap()), ALIGNMENT_MIN);
    }
}
