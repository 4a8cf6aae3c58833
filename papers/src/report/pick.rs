//! The choice of a value of an experiment.

use super::results::{Measured, Results, Series};
use verbena_lab::metric::format_size;

/// A value of the results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pick {
    /// The experiment, as in `rc latency`. Those that begin with `sim` are the simulator's, those
    /// with `node` of this machine's shared memory.
    pub experiment: &'static str,
    /// The series: a variant, a candidate, a column.
    pub series: &'static str,
    /// The metric; empty where a series has only one.
    pub metric: &'static str,
    /// The place in the series.
    pub at: At,
}

/// A place in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum At {
    /// The value at this message size (or number on the axis).
    Size(usize),
    /// The value in the row of this name.
    Row(&'static str),
    /// The value with this many ranks.
    Ranks(usize),
    /// The value at this size, with this many ranks.
    SizeRanks(usize, usize),
    /// The largest value.
    Most,
    /// The least one.
    Least,
}

/// The word before the class of a program of others, in the name of its row.
const CLASS: &str = ", class ";

/// Returns the name of the row of a program that ran in a class.
pub(super) fn with_class(name: &str, class: &str) -> String {
    format!("{name}{CLASS}{class}")
}

/// Returns the class in the name of a row, if it names one.
pub(super) fn class(label: &str) -> Option<&str> {
    label.rsplit_once(CLASS).map(|(_, class)| class)
}

fn without_class(label: &str) -> &str {
    label.rsplit_once(CLASS).map_or(label, |(name, _)| name)
}

/// A pick, in short.
pub(super) const fn pick(
    experiment: &'static str,
    series: &'static str,
    metric: &'static str,
    at: At,
) -> Pick {
    Pick { experiment, series, metric, at }
}

/// The value that was found for a pick.
#[derive(Clone, Debug)]
pub(super) struct Found<'a> {
    /// The series that holds the value.
    pub series: &'a Series,
    /// The measurement itself.
    pub measured: &'a Measured,
}

impl Pick {
    /// Returns the value, if it was measured.
    ///
    /// # Errors
    /// Why it was not measured, if that is known.
    pub(super) fn find<'a>(&self, results: &'a Results) -> Result<Found<'a>, String> {
        let skipped = results.skipped.iter().rfind(|(experiment, _)| experiment == self.experiment);
        let not_run = format!("{} was not run", self.experiment);
        let mut reason = skipped.map_or_else(|| not_run.clone(), |(_, reason)| reason.clone());
        let before = reason.clone();
        let mut found: Option<Found<'a>> = None;
        for series in results.series.iter().filter(|series| series.experiment == self.experiment) {
            if series.name != self.series {
                if skipped.is_none() && reason == before {
                    reason = format!("{} has no series \"{}\"", self.experiment, self.series);
                }
                continue;
            }
            if skipped.is_none() && (reason == before || reason.contains("has no series")) {
                reason =
                    format!("{} has nothing at {} of \"{}\"", self.experiment, self.place(), self.series);
            }
            for measured in series.points.iter().filter(|measured| self.fits(measured)) {
                match (measured.value, &measured.failure) {
                    (Some(value), _) if found.as_ref().is_none_or(|best| self.prefers(value, best)) => {
                        found = Some(Found { series, measured });
                    }
                    (None, Some(failure)) => reason = failure.clone(),
                    _ => {}
                }
            }
        }
        found.ok_or(reason)
    }

    fn fits(&self, measured: &Measured) -> bool {
        let metric = self.metric.is_empty() || measured.metric == self.metric;
        let size = |bytes: usize| measured.x == Some(bytes as f64);
        metric
            && match self.at {
                At::Size(bytes) => size(bytes),
                At::Row(name) => without_class(&measured.label) == name,
                At::Ranks(ranks) => measured.ranks == ranks,
                At::SizeRanks(bytes, ranks) => size(bytes) && measured.ranks == ranks,
                At::Most | At::Least => true,
            }
    }

    /// Returns whether it can be a point of this size.
    #[cfg(test)]
    pub(super) fn takes(&self, bytes: usize) -> bool {
        match self.at {
            At::Size(size) | At::SizeRanks(size, _) => size == bytes,
            _ => true,
        }
    }

    /// Returns the ranks, if it asks for a number of them.
    #[cfg(test)]
    pub(super) fn ranks(&self) -> Option<usize> {
        match self.at {
            At::Ranks(ranks) | At::SizeRanks(_, ranks) => Some(ranks),
            _ => None,
        }
    }

    /// Returns whether a value is preferred to the best so far. Of several at one place the last
    /// counts: it was given last.
    fn prefers(&self, value: f64, best: &Found<'_>) -> bool {
        let best = best.measured.value.unwrap_or(f64::NAN);
        match self.at {
            At::Most => value > best,
            At::Least => value < best,
            _ => true,
        }
    }

    /// The place, for people.
    pub(super) fn place(&self) -> String {
        match self.at {
            At::Size(bytes) if self.metric == "polling_set" => format!("{bytes} rings"),
            At::Size(pairs) if self.experiment == "verbs look" => format!("{pairs} connections"),
            At::Size(burst) if self.metric.starts_with("discovery_") && burst > 0 => {
                format!("bursts of {burst}")
            }
            At::Size(bytes) => format_size(bytes),
            At::Row(name) => name.into(),
            At::Ranks(ranks) => format!("{ranks} ranks"),
            At::SizeRanks(bytes, ranks) => format!("{}, {ranks} ranks", format_size(bytes)),
            At::Most => "most".into(),
            At::Least => "least".into(),
        }
    }

    /// Returns where it is measured, for people.
    pub(super) fn source(&self) -> &'static str {
        match self.experiment.split(' ').next().unwrap_or("") {
            _ if self.experiment == "sim sources" => "our kernels",
            "sim" => "simulator",
            "counted" => "callgrind",
            "npb" => "NAS programs",
            "smg" => "hypre",
            "verbs" => "bare device, between nodes",
            "node" => "shared memory",
            "polling" => "between networks, over ofi",
            "threshold" if self.experiment.ends_with("node") => "shared memory of an emulated node",
            _ => "between nodes",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let point = |x: f64, value| Measured {
            metric: "latency".into(),
            unit: "us".into(),
            label: format_size(x as usize),
            x: Some(x),
            ranks: 2,
            value,
            jobs: Vec::new(),
            failure: value.is_none().then(|| "timed out".into()),
        };
        let points = vec![point(8.0, Some(2.0)), point(64.0, Some(3.0)), point(128.0, None)];
        let series =
            Series { experiment: "rc latency".into(), name: "a".into(), points, ..Series::default() };
        Results { series: vec![series], ..Results::default() }
    }

    #[test]
    fn values_are_found_by_size_row_and_rank() {
        let of = |at| pick("rc latency", "a", "latency", at).find(&results()).map(|f| f.measured.value);
        assert_eq!(of(At::Size(64)), Ok(Some(3.0)));
        assert_eq!(of(At::Row("8 B")), Ok(Some(2.0)));
        assert_eq!(of(At::Most), Ok(Some(3.0)));
        assert_eq!(of(At::Least), Ok(Some(2.0)));
        assert_eq!(of(At::SizeRanks(8, 2)), Ok(Some(2.0)));
    }

    #[test]
    fn a_row_is_found_whatever_its_class_is() {
        let label = with_class("is, 4", "S");
        assert_eq!((without_class(&label), class(&label)), ("is, 4", Some("S")));
        assert_eq!((without_class("is, 4"), class("is, 4")), ("is, 4", None));
    }

    #[test]
    fn what_is_missing_says_why() {
        let of = |experiment, series, at| {
            pick(experiment, series, "", at).find(&results()).map(|_| ()).expect_err("nothing")
        };
        assert_eq!(of("rc latency", "a", At::Size(128)), "timed out");
        assert!(of("rc latency", "b", At::Size(8)).contains("no series"));
        assert!(of("ud latency", "a", At::Size(8)).contains("was not run"));
    }
}
