//! The time limit of a job: `--timeout`, else the variable `MPIEXEC_TIMEOUT`, as with MPICH's
//! mpiexec.

use clap::ArgMatches;
use std::time::Duration;
use verbena_fault::Fault;

/// The variable that holds the limit in seconds.
const VARIABLE: &str = "MPIEXEC_TIMEOUT";

/// Reads the limit. In the variable, 0 and less mean no limit, as in MPICH.
///
/// # Errors
/// The variable holds no number of seconds.
pub(super) fn read(
    parts: &[&ArgMatches],
    get: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Duration>, Fault> {
    if let Some(seconds) = parts.iter().find_map(|part| part.get_one::<f64>("timeout")) {
        return Ok(Some(Duration::from_secs_f64(*seconds)));
    }
    let Some(text) = get(VARIABLE).filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    match text.trim().parse::<f64>() {
        Ok(seconds) if seconds <= 0.0 => Ok(None),
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map(Some).map_err(|_| nonsense(&text)),
        Err(_) => Err(nonsense(&text)),
    }
}

fn nonsense(text: &str) -> Fault {
    Fault::new(
        "The time limit is not understood.",
        format!("{VARIABLE}=\"{text}\""),
        "it is not a number of seconds",
        "set it to a number of seconds, such as 60, or unset it; --timeout goes before it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(options: &[&str], value: Option<&str>) -> Result<Option<f64>, String> {
        let words = std::iter::once("mpiexec").chain(options.iter().copied());
        let options = super::super::command().try_get_matches_from(words).unwrap();
        let get = |name: &str| value.filter(|_| name == VARIABLE).map(str::to_owned);
        let limit = read(&[&options], &get).map_err(|fault| fault.to_string())?;
        Ok(limit.map(|limit| limit.as_secs_f64()))
    }

    #[test]
    fn the_option_goes_before_the_variable() {
        assert_eq!(limit(&[], None), Ok(None));
        assert_eq!(limit(&[], Some("10")), Ok(Some(10.0)));
        assert_eq!(limit(&["--timeout", "0.5"], Some("10")), Ok(Some(0.5)));
    }

    #[test]
    fn no_limit_and_nonsense() {
        for none in ["", "0", "-1"] {
            assert_eq!(limit(&[], Some(none)), Ok(None), "{none:?}");
        }
        for nonsense in ["ten", "1e300", "nan"] {
            assert!(limit(&[], Some(nonsense)).unwrap_err().contains(nonsense), "{nonsense:?}");
        }
    }
}
