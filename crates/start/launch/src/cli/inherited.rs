//! The options about output and binding, which jobs get that ranks spawn, and two with which our
//! `mpiexec` tells that of such a job about the others.

use crate::load::Loads;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use std::ffi::OsString;
use verbena_boot::spawn::marked;
use verbena_fault::Fault;

/// The option with the number of the job among those that were spawned.
pub const JOB_NUMBER: &str = "job-number";
/// The option with the load of the hosts' processors by the bound ranks of other jobs.
pub const LOAD: &str = "processor-load";
/// The options about places and binding.
pub const PLACING: [&str; 3] = ["bind-to", "map-by", "rank-by"];
/// The options about output.
const OUTPUT: [&str; 4] = ["output", "output-filename", "outfile-pattern", "errfile-pattern"];
/// Options without a value.
const FLAGS: [&str; 2] = ["labels", "report-bindings"];

/// The place of a job among those that one command has started, directly or by spawning.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inherited {
    /// The number of a spawned job: 2, or 2.1 for the first that job 2 spawned.
    pub number: Option<String>,
    /// The load of the hosts' processors by the bound ranks of the job that spawned this one, and
    /// of others that it has spawned.
    pub load: Loads,
    /// The options that jobs get which this one spawns.
    pub options: Vec<OsString>,
    /// The options that such jobs get if they have none about places and binding.
    pub placing: Vec<OsString>,
}

/// The options.
pub(super) fn options() -> Vec<Arg> {
    [JOB_NUMBER, LOAD].map(|name| Arg::new(name).long(name).hide(true)).into()
}

/// Reads what was inherited, and what is to be.
///
/// # Errors
/// The load is none.
pub(super) fn read(parts: &[&ArgMatches]) -> Result<Inherited, Fault> {
    let load = parts.iter().find_map(|part| part.get_one::<String>(LOAD));
    let flags = FLAGS.iter().filter(|name| parts.iter().any(|part| part.get_flag(name)));
    let flags = flags.map(|name| OsString::from(format!("--{name}")));
    Ok(Inherited {
        number: job_number(parts),
        load: load.map_or(Ok(Loads::default()), |text| Loads::read(text).ok_or_else(|| no_load(text)))?,
        options: words(parts, &OUTPUT).chain(flags).collect(),
        placing: words(parts, &PLACING).collect(),
    })
}

/// The number of the job among those that were spawned, if this one was.
pub(super) fn job_number(parts: &[&ArgMatches]) -> Option<String> {
    parts.iter().find_map(|part| part.get_one::<String>(JOB_NUMBER).cloned())
}

/// The words of those of these options that were given, each from the first part that has it.
fn words(parts: &[&ArgMatches], names: &[&str]) -> impl Iterator<Item = OsString> {
    let value = |name: &str| {
        let is_given = |part: &&&ArgMatches| part.value_source(name) == Some(ValueSource::CommandLine);
        parts.iter().find(is_given)?.get_raw(name)?.next_back().map(ToOwned::to_owned)
    };
    names.iter().filter_map(move |name| Some([format!("--{name}").into(), marked(value(name)?)])).flatten()
}

fn no_load(text: &str) -> Fault {
    Fault::new(
        "The load of the processors is not understood.",
        format!("--{LOAD} {text}"),
        "the option is for mpiexec itself: it gives it to jobs that ranks spawn",
        "leave it out",
    )
}

#[cfg(test)]
mod tests {
    use super::super::options::command;
    use super::*;

    fn inherited(options: &str) -> Inherited {
        let words = std::iter::once("mpiexec").chain(options.split_whitespace());
        let matches = command().try_get_matches_from(words).unwrap();
        read(&[&matches]).unwrap()
    }

    fn text(words: &[OsString]) -> String {
        words.join(std::ffi::OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn options_about_output_and_binding_are_handed_down_and_no_others() {
        assert_eq!(inherited("-n 2 --host a --timeout 5 --genv A 1"), Inherited::default());
        let given = inherited("--bind-to core -l --outfile o.%r --map-by numa --map-by slot");
        assert_eq!(text(&given.options), "--outfile-pattern o.%r --labels");
        assert_eq!(text(&given.placing), "--bind-to core --map-by slot");
        assert_eq!(text(&inherited("--output tag,dir=a").options), "--output tag,dir=a");
    }

    #[test]
    fn the_load_of_other_jobs_is_read() {
        assert_eq!(inherited("--processor-load 0-1*1=a,b").load, Loads::read("0-1*1=a,b").unwrap());
        let matches = command().try_get_matches_from(["mpiexec", "--processor-load", "a:2"]).unwrap();
        assert!(read(&[&matches]).unwrap_err().on.contains("--processor-load a:2"));
    }
}
