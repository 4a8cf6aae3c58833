//! The outcome of a trial.

use std::fmt;
use verbena_testing::Lack;

/// The outcome of a trial of a package.
#[derive(Debug)]
pub(super) struct Verdict {
    /// The package and the trial, as `wheel: mpi4py`.
    what: String,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    Passed,
    Lacking(Lack, String),
    Failed(String),
}

/// The end of a trial: done, or a thing that the machine lacks, with words about it.
pub(super) type Tried = anyhow::Result<Option<(Lack, String)>>;

impl Verdict {
    /// Judges what a trial returned.
    pub(super) fn of(what: impl Into<String>, tried: Tried) -> Verdict {
        let outcome = match tried {
            Ok(None) => Outcome::Passed,
            Ok(Some((lack, why))) => Outcome::Lacking(lack, why),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        };
        Verdict { what: what.into(), outcome }
    }

    /// Returns whether the package is wrong.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }

    /// Judges in a test: a failure is one, and what is lacking is a skip.
    ///
    /// # Panics
    /// If it is a failure.
    #[cfg(test)]
    pub(super) fn assert(&self) {
        match &self.outcome {
            Outcome::Passed => {}
            Outcome::Lacking(lack, why) => verbena_testing::skip(*lack, &format!("{}: {why}", self.what)),
            Outcome::Failed(_) => panic!("{self}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Passed => write!(f, "{}: passed", self.what),
            Outcome::Lacking(lack, why) => write!(f, "{}: not tried ({lack:?}): {why}", self.what),
            Outcome::Failed(why) => write!(f, "{}: FAILED: {why}", self.what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_is_no_failure() {
        assert!(!Verdict::of("a", Ok(None)).is_failure());
        let lacking = Verdict::of("a: b", Ok(Some((Lack::Optional, "no tool".into()))));
        assert_eq!(
            (lacking.is_failure(), lacking.to_string()),
            (false, "a: b: not tried (Optional): no tool".into())
        );
        let failed = Verdict::of("a", Err(anyhow::anyhow!("wrong")));
        assert_eq!((failed.is_failure(), failed.to_string()), (true, "a: FAILED: wrong".into()));
    }
}
