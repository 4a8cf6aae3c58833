//! The four-part message for people: what failed, on what, the likely cause, what to do.

use std::fmt;

/// A message to the user. Each part is one sentence or phrase without a newline; an empty part is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What failed, a full sentence.
    pub what: String,
    /// On what: rank, process, host, program, variable.
    pub on: String,
    /// The likely cause.
    pub cause: String,
    /// What to do about it.
    pub advice: String,
}

impl Report {
    /// Puts the four parts together.
    pub fn new(
        what: impl Into<String>,
        on: impl Into<String>,
        cause: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Report { what: what.into(), on: on.into(), cause: cause.into(), advice: advice.into() }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        let rest = [("on", &self.on), ("likely cause", &self.cause), ("what to do", &self.advice)];
        for (label, part) in rest.into_iter().filter(|(_, part)| !part.is_empty()) {
            write!(f, "\n  {label}: {part}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_parts_on_four_lines() {
        let report = Report::new("It broke.", "rank 1", "", "mend it");
        assert_eq!(report.to_string(), "It broke.\n  on: rank 1\n  what to do: mend it");
    }
}
