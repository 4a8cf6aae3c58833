//! The hints of windows (MPI-5.0, 12.2): those that are known, and their values in use.

use super::Flavor;
use super::apply::Domain;
use super::part::Part;
use crate::error::Result;
use crate::info::Info;
use verbena_memory::LINE_BYTES;

/// The hint that says at how many bytes memory that is allocated begins.
const ALIGNMENT: &str = "mpi_minimum_memory_alignment";
/// The alignment of memory in bytes, if the program does not ask for more: a cache line.
const ALIGNMENT_MIN: usize = LINE_BYTES;

/// The hint that tells how elements change at once in accumulates, which the members' memory
/// decides when the window is made ([`Domain`]): by a `processor`'s atomics where it has some, all
/// under locks (`locked`), or each of the two at some members. A program can only read it.
const ATOMICITY: &str = "verbena_atomicity";

/// The hint that allows the parts of a shared window to lie apart.
pub(super) const APART: &str = "alloc_shared_noncontig";

/// The windows that have a hint, and the time at which it counts.
#[derive(Clone, Copy, PartialEq)]
enum When {
    /// All windows, at any time.
    Always,
    /// Windows that allocate memory, when they are made: later the value stays.
    Allocating,
    /// Windows of memory that all members load and store: it counts when they are made, and can be
    /// taken back later.
    Sharing,
}

impl When {
    /// Returns whether a window of this flavor has the hint.
    fn is_of(self, flavor: Flavor) -> bool {
        match self {
            When::Always => true,
            When::Allocating => matches!(flavor, Flavor::Allocate | Flavor::Shared),
            When::Sharing => flavor == Flavor::Shared,
        }
    }
}

/// The truth about a window, whatever the hints claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Truths {
    /// The parts of all members are of one size.
    same_size: bool,
    /// All members gave the same unit of displacement.
    same_unit: bool,
    /// The window was made with the hint [`APART`].
    apart: bool,
}

impl Truths {
    /// The truth of a window of these parts, made with these hints.
    pub(super) fn of(parts: &[Part], hints: &Info) -> Truths {
        let alike = |number: fn(&Part) -> u64| parts.windows(2).all(|two| number(&two[0]) == number(&two[1]));
        Truths {
            same_size: alike(|part| part.size),
            same_unit: alike(|part| part.unit as u64),
            apart: is_set(hints, APART),
        }
    }

    /// Returns whether a hint may be "true".
    fn allows(&self, key: &str) -> bool {
        match key {
            "same_size" => self.same_size,
            "same_disp_unit" => self.same_unit,
            APART => self.apart,
            _ => true,
        }
    }
}

/// The known hints and the values that are in use unless the program gives others.
const KNOWN: [(&str, &str, Valid, When); 8] = [
    ("no_locks", "false", is_flag, When::Always),
    ("accumulate_ordering", "rar,raw,war,waw", is_ordering, When::Always),
    ("accumulate_ops", "same_op_no_op", is_ops, When::Always),
    ("mpi_accumulate_granularity", "0", is_number, When::Always),
    ("same_size", "false", is_flag, When::Always),
    ("same_disp_unit", "false", is_flag, When::Always),
    (APART, "false", is_flag, When::Sharing),
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

/// The known hints of a window of this flavor with the values in use: those of `given` that are
/// valid.
pub(super) fn in_use(given: Option<&Info>, flavor: Flavor) -> Result<Info> {
    let hints = Info::new();
    for (key, default, valid, _) in KNOWN.into_iter().filter(|hint| hint.3.is_of(flavor)) {
        let given = given.map(|given| text(given, key)).transpose()?.flatten();
        let value = given.filter(|value| valid(value)).unwrap_or_else(|| default.into());
        hints.set(key.as_bytes(), value.as_bytes())?;
    }
    if When::Allocating.is_of(flavor) {
        hints.set(ALIGNMENT.as_bytes(), alignment(&hints).to_string().as_bytes())?;
    }
    Ok(hints)
}

/// Notes what was decided when the window was made of these parts. Claims that are not so are
/// ignored (MPI-5.0, 12.2.1).
pub(super) fn decide(hints: &Info, parts: &[Part], flavor: Flavor, truths: &Truths) -> Result<()> {
    for key in ["same_size", "same_disp_unit"] {
        if !truths.allows(key) {
            hints.set(key.as_bytes(), b"false")?;
        }
    }
    hints.set(ATOMICITY.as_bytes(), atomicity(parts, flavor).as_bytes())
}

/// The domains of the members with memory, in words.
fn atomicity(parts: &[Part], flavor: Flavor) -> &'static str {
    let has_memory = |part: &&Part| part.size > 0 || flavor == Flavor::Dynamic;
    let has = |domain| parts.iter().filter(has_memory).any(|part| part.domain(flavor) == domain);
    match (has(Domain::Processor), has(Domain::Locked)) {
        (true, true) => "processor,locked",
        (false, true) => "locked",
        (_, false) => "processor",
    }
}

/// Takes over the valid hints of `given` (`MPI_Win_set_info`) that the window has, but for the
/// alignment of memory that is there, and for claims that are not so. What a program asks less of
/// than the library does (order, operations, granularity, parts that may lie apart) is told as it
/// asks, as MPICH does.
pub(super) fn update(hints: &Info, given: &Info, truths: &Truths) -> Result<()> {
    for (key, _, valid, _) in KNOWN.into_iter().filter(|hint| hint.3 != When::Allocating) {
        if text(hints, key)?.is_some()
            && let Some(value) = text(given, key)?
            && valid(&value)
            && (value != "true" || truths.allows(key))
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
    use verbena_channel::heap::Ticket;

    const ALL_TRUE: Truths = Truths { same_size: true, same_unit: true, apart: true };

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
        let hints = in_use(Some(&given), Flavor::Shared).unwrap();
        assert_eq!(hints.len(), KNOWN.len());
        assert!(is_set(&hints, "no_locks") && !is_set(&hints, "same_size"));
        assert_eq!(value(&hints, "accumulate_ordering").as_deref(), Some("rar,raw,war,waw"));
        assert_eq!(value(&hints, "colour"), None);
        given.set(b"accumulate_ordering", b"rar,waw").unwrap();
        update(&hints, &given, &ALL_TRUE).unwrap();
        assert_eq!(value(&hints, "accumulate_ordering").as_deref(), Some("rar,waw"));
        assert_eq!(value(&hints, "verbena_atomicity"), None, "the members decide it");
    }

    #[test]
    fn every_default_is_valid() {
        assert!(KNOWN.iter().all(|(_, value, valid, _)| valid(value)));
    }

    #[test]
    fn hints_are_told_as_given_but_for_the_alignment() {
        let given = Info::new();
        given.set(b"no_locks", b"true").unwrap();
        let hints = in_use(Some(&given), Flavor::Allocate).unwrap();
        given.set(b"no_locks", b"false").unwrap();
        given.set(ALIGNMENT.as_bytes(), b"8192").unwrap();
        update(&hints, &given, &ALL_TRUE).unwrap();
        assert!(!is_set(&hints, "no_locks"));
        assert_eq!(alignment(&hints), ALIGNMENT_MIN);
    }

    #[test]
    fn claims_that_are_not_so_are_ignored() {
        let claims = ["same_size", "same_disp_unit"];
        let given = Info::new();
        claims.iter().for_each(|key| given.set(key.as_bytes(), b"true").unwrap());
        let part = |size, unit| Part::new(4096, size, unit, None, None);
        let told = |parts: &[Part], given: Option<&Info>| {
            let hints = in_use(given, Flavor::Create).unwrap();
            let truths = Truths::of(parts, &hints);
            decide(&hints, parts, Flavor::Create, &truths).unwrap();
            (hints, truths)
        };
        let unlike = [part(128, 8), part(64, 4)];
        let (hints, truths) = told(&unlike, Some(&given));
        assert_eq!(claims.map(|key| is_set(&hints, key)), [false; 2]);
        update(&hints, &given, &truths).unwrap();
        assert_eq!(claims.map(|key| is_set(&hints, key)), [false; 2]);
        let (hints, _) = told(&[part(128, 8); 3], Some(&given));
        assert_eq!(claims.map(|key| is_set(&hints, key)), [true; 2]);
        // Nobody claims anything, and later too much.
        let (hints, truths) = told(&[part(128, 8), part(128, 4)], None);
        assert_eq!(claims.map(|key| is_set(&hints, key)), [false; 2]);
        update(&hints, &given, &truths).unwrap();
        assert_eq!(claims.map(|key| is_set(&hints, key)), [true, false]);
        // A claim can be taken back.
        given.set(b"same_size", b"false").unwrap();
        update(&hints, &given, &truths).unwrap();
        assert!(!is_set(&hints, "same_size"));
    }

    /// A window tells a hint whatever the program gives, or never.
    #[test]
    fn windows_tell_the_hints_that_mean_something_for_them() {
        use Flavor::{Allocate, Create, Dynamic, Shared};
        let all: &[Flavor] = &[Create, Allocate, Dynamic, Shared];
        let table: [(&str, &str, &[Flavor]); KNOWN.len()] = [
            ("no_locks", "true", all),
            ("accumulate_ordering", "none", all),
            ("accumulate_ops", "same_op", all),
            ("mpi_accumulate_granularity", "8", all),
            ("same_size", "true", all),
            ("same_disp_unit", "true", all),
            (APART, "true", &[Shared]),
            (ALIGNMENT, "4096", &[Allocate, Shared]),
        ];
        for (key, asked, flavors) in table {
            let given = Info::new();
            given.set(key.as_bytes(), asked.as_bytes()).unwrap();
            for flavor in all {
                let has = flavors.contains(flavor);
                let (plain, hints) = (in_use(None, *flavor).unwrap(), in_use(Some(&given), *flavor).unwrap());
                assert_eq!(value(&plain, key).is_some(), has, "{key} {flavor:?}");
                assert_eq!(value(&hints, key).as_deref(), has.then_some(asked), "{key} {flavor:?}");
                update(&plain, &given, &ALL_TRUE).unwrap();
                assert_eq!(value(&plain, key).is_some(), has, "{key} {flavor:?}, later");
            }
        }
    }

    /// A window in one piece never says that its parts may lie apart. One of several pieces says
    /// what the program set (MPICH's test win_info asks for it).
    #[test]
    fn parts_that_may_lie_apart_are_told_of_windows_made_so() {
        let given = Info::new();
        for made in ["true", "false"] {
            given.set(APART.as_bytes(), made.as_bytes()).unwrap();
            let hints = in_use(Some(&given), Flavor::Shared).unwrap();
            let truths = Truths::of(&[], &hints);
            for (later, told) in [("false", "false"), ("true", made)] {
                given.set(APART.as_bytes(), later.as_bytes()).unwrap();
                update(&hints, &given, &truths).unwrap();
                assert_eq!(value(&hints, APART).as_deref(), Some(told));
            }
        }
    }

    #[test]
    fn the_domain_of_the_members_memory_is_told() {
        let ticket = |offset| Some(Ticket { offset, bytes: 80 });
        let mapped = Part::new(4096, 80, 8, ticket(100), ticket(7));
        let (apart, alone) = (Part::new(4096, 80, 8, None, ticket(7)), Part::new(4096, 80, 8, None, None));
        let empty = Part::new(0, 0, 8, None, ticket(7));
        let told = |parts: &[Part], flavor| {
            let hints = in_use(None, flavor).unwrap();
            decide(&hints, parts, flavor, &Truths::of(parts, &hints)).unwrap();
            value(&hints, ATOMICITY).unwrap()
        };
        assert_eq!(told(&[mapped, empty], Flavor::Allocate), "processor");
        assert_eq!(told(&[alone], Flavor::Create), "processor");
        assert_eq!(told(&[apart, empty], Flavor::Create), "locked");
        assert_eq!(told(&[apart, mapped], Flavor::Create), "processor,locked");
        assert_eq!(told(&[empty, empty], Flavor::Dynamic), "locked");
        assert_eq!(told(&[empty], Flavor::Create), "processor");
    }

    #[test]
    fn the_alignment_in_use_is_told() {
        let given = Info::new();
        let told = |asked: &str| {
            given.set(ALIGNMENT.as_bytes(), asked.as_bytes()).unwrap();
            value(&in_use(Some(&given), Flavor::Allocate).unwrap(), ALIGNMENT).unwrap()
        };
        let asked = ["8192", "8", "100", "-1"];
        assert_eq!(asked.map(told), ["8192", "64", "64", "64"]);
        assert_eq!(alignment(&in_use(None, Flavor::Allocate).unwrap()), ALIGNMENT_MIN);
    }
}
