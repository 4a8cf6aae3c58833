//! The message for people: every failure that a user reads has four parts: what failed, on what,
//! the likely cause, and what to do.
//!
//! A leaf: the crates that meet failures (`boot`, `channel`, `launch`) share the type, so one text
//! reaches the user whichever layer it began in.
//!
//! What must never be here: any knowledge of MPI, of a launcher or of a channel.

use std::fmt;
use std::io::Write;

// Every crate stands on this one: on another platform nothing else is tried.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("Verbena is for Linux on x86-64 and aarch64 alone; this target is another one");

/// A number with its noun: `1 element`, `2 processes`.
pub fn count(number: impl fmt::Display, noun: &str) -> String {
    let number = number.to_string();
    let ending = match (&*number, noun.ends_with('s')) {
        ("1", _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {noun}{ending}")
}

/// A number of bytes for people: `1 byte`, `500 bytes`, `23.5 GiB`.
pub fn size(bytes: u64) -> String {
    let in_unit = |shift: u32, unit: &str| {
        let tenths = (u128::from(bytes) * 10) >> shift;
        match tenths % 10 {
            0 => format!("{} {unit}", tenths / 10),
            rest => format!("{}.{rest} {unit}", tenths / 10),
        }
    };
    match bytes {
        ..1024 => count(bytes, "byte"),
        1024..0x10_0000 => in_unit(10, "KiB"),
        0x10_0000..0x4000_0000 => in_unit(20, "MiB"),
        _ => in_unit(30, "GiB"),
    }
}

/// The remedy for a rank that a group of this size does not have.
pub fn rank_below(size: i32) -> String {
    match size {
        1 => "pass rank 0, the only one".into(),
        _ => format!("pass a rank from 0 to {}", size - 1),
    }
}

/// A failure in four parts. Each is one sentence or phrase without a newline; an empty part is left
/// out of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The thing that failed.
    pub what: String,
    /// On what: rank, process, both ends, device, path, size, variable.
    pub on: String,
    /// The likely cause.
    pub cause: String,
    /// The remedy: what to do about it.
    pub remedy: String,
}

impl Fault {
    /// Puts the four parts together.
    pub fn new(
        what: impl Into<String>,
        on: impl Into<String>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Fault {
        Fault { what: what.into(), on: on.into(), cause: cause.into(), remedy: remedy.into() }
    }

    /// Takes a text apart that [`Fault`] gave, in another process. Lines that are no labelled part
    /// belong to the first part.
    pub fn of_text(text: &str) -> Fault {
        let mut fault = Fault::new("", "", "", "");
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (part, words) = match line.split_once(": ") {
                Some((ON, words)) => (&mut fault.on, words),
                Some((CAUSE, words)) => (&mut fault.cause, words),
                Some((REMEDY, words)) => (&mut fault.remedy, words),
                _ => (&mut fault.what, line),
            };
            if !part.is_empty() {
                part.push_str("; ");
            }
            part.push_str(words);
        }
        fault
    }
}

/// The labels of the last three parts.
const ON: &str = "on";
const CAUSE: &str = "likely cause";
const REMEDY: &str = "what to do";

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        let rest = [(ON, &self.on), (CAUSE, &self.cause), (REMEDY, &self.remedy)];
        for (label, part) in rest.into_iter().filter(|(_, part)| !part.is_empty()) {
            write!(f, "\n  {label}: {part}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// Writes a text and the end of its last line to standard error, in one piece: other ranks write
/// there too.
pub fn complain(text: impl fmt::Display) {
    // Where nobody listens nothing can be done.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_parts_stand_on_four_lines() {
        let fault = Fault::new("It broke.", "rank 1", "rust", "mend it");
        let text = "It broke.\n  on: rank 1\n  likely cause: rust\n  what to do: mend it";
        assert_eq!(fault.to_string(), text);
    }

    #[test]
    fn a_text_is_taken_apart() {
        for fault in
            [Fault::new("It broke: at once.", "rank 1", "rust", "mend it"), Fault::new("a", "", "", "b")]
        {
            assert_eq!(Fault::of_text(&fault.to_string()), fault);
        }
        let text = "It broke.\n  and more\n  on: a\n  on: b";
        assert_eq!(Fault::of_text(text), Fault::new("It broke.; and more", "a; b", "", ""));
    }

    #[test]
    fn an_empty_part_leaves_no_line() {
        let fault = Fault::new("It broke.", "rank 1", "", "mend it");
        assert_eq!(fault.to_string(), "It broke.\n  on: rank 1\n  what to do: mend it");
    }

    #[test]
    fn bytes_are_told_in_the_largest_unit() {
        let told = [1, 1023, 1024, 1536, 6 << 20, 25_275_924_480].map(size);
        assert_eq!(told, ["1 byte", "1023 bytes", "1 KiB", "1.5 KiB", "6 MiB", "23.5 GiB"]);
    }

    #[test]
    fn a_number_has_its_noun() {
        let told = [count(1, "element"), count(0, "byte"), count(2, "process"), count(1, "process")];
        assert_eq!(told, ["1 element", "0 bytes", "2 processes", "1 process"]);
        assert_eq!(rank_below(1), "pass rank 0, the only one");
        assert_eq!(rank_below(4), "pass a rank from 0 to 3");
    }
}
