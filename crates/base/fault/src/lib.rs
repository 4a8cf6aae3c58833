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
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        let rest = [("on", &self.on), ("likely cause", &self.cause), ("what to do", &self.remedy)];
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
    fn an_empty_part_leaves_no_line() {
        let fault = Fault::new("It broke.", "rank 1", "", "mend it");
        assert_eq!(fault.to_string(), "It broke.\n  on: rank 1\n  what to do: mend it");
    }
}
