//! The options about the ranks' output: labels, and files for it.

use super::inherited;
use crate::files::Outputs;
use clap::ArgMatches;
use verbena_fault::Fault;

/// The qualifier with which Open MPI writes files only.
const NO_COPY: &str = ":nocopy";

/// Reads the options; each is taken from the first part that has it.
///
/// # Errors
/// Both kinds of files at once.
pub(super) fn read(parts: &[&ArgMatches]) -> Result<Outputs, Fault> {
    let value = |name: &str| parts.iter().find_map(|part| part.get_one::<String>(name).cloned());
    let words = value("output").map(|text| directives(&text)).transpose()?.unwrap_or_default();
    let labels = words.labels || parts.iter().any(|part| part.get_flag("labels"));
    let patterns = [value("outfile-pattern"), value("errfile-pattern")];
    let job = inherited::job_number(parts);
    let Some(folder) = value("output-filename").or(words.folder) else {
        return Ok(Outputs { labels, patterns, copied: false, job });
    };
    if patterns.iter().any(Option::is_some) {
        return Err(both(&folder));
    }
    let (folder, copied) = match folder.split_once(':') {
        Some((name, _)) if folder[name.len()..].eq_ignore_ascii_case(NO_COPY) => (name, false),
        _ => (folder.as_str(), true),
    };
    let (folder, number) = (folder.replace('%', "%%"), folder_number(job.as_deref()));
    let pattern = |stream: &str| Some(format!("{folder}/{number}/rank.%R/{stream}"));
    Ok(Outputs { labels, patterns: [pattern("stdout"), pattern("stderr")], copied, job: None })
}

/// The number of a job in Open MPI's files: 1, and from 2 on for spawned ones.
fn folder_number(job: Option<&str>) -> String {
    let (first, rest) = job.map_or(("0", ""), |job| job.split_at(job.find('.').unwrap_or(job.len())));
    format!("{}{rest}", first.parse::<u32>().unwrap_or(0).saturating_add(1))
}

/// The words of `--output`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Directives {
    labels: bool,
    folder: Option<String>,
}

/// Reads the words of `--output`, as `tag,dir=DIR:nocopy`.
fn directives(text: &str) -> Result<Directives, Fault> {
    let mut read = Directives::default();
    for word in text.split(',') {
        match word.split_once('=') {
            None if ["tag", "rank", "tag-detailed", "tag-fullname"].contains(&word) => read.labels = true,
            Some(("dir" | "directory", folder)) if !folder.is_empty() => read.folder = Some(folder.into()),
            _ => return Err(no_directive(text, word)),
        }
    }
    Ok(read)
}

fn no_directive(text: &str, word: &str) -> Fault {
    Fault::new(
        "The ranks' output cannot be had in this form.",
        format!("--output {text}: {word}"),
        "the words are tag and dir=DIR; others of Open MPI (timestamp, merge, xml, file, raw) are not there",
        "leave it out; -outfile-pattern FILE.%r writes a file for each rank",
    )
}

fn both(folder: &str) -> Fault {
    Fault::new(
        "The ranks' output can go to one kind of file only.",
        format!("--output-filename {folder}, and --outfile-pattern or --errfile-pattern"),
        "a script for Open MPI and one for MPICH were put together",
        "leave one out",
    )
}

#[cfg(test)]
mod tests {
    use super::super::options::command;
    use super::*;

    fn outputs(words: &[&str]) -> Result<Outputs, Fault> {
        let matches = command().try_get_matches_from([&["mpiexec"], words].concat()).unwrap();
        read(&[&matches])
    }

    #[test]
    fn files_as_open_mpi_names_them() {
        let copied = outputs(&["--output-filename", "out%"]).unwrap();
        let pattern = |stream: &str| Some(format!("out%%/1/rank.%R/{stream}"));
        assert_eq!((&copied.patterns, copied.copied), (&[pattern("stdout"), pattern("stderr")], true));
        assert!(!outputs(&["--output-filename", "out:nocopy"]).unwrap().copied);
        assert_eq!(
            outputs(&["--output-filename", "a:b"]).unwrap().patterns[0].as_deref(),
            Some("a:b/1/rank.%R/stdout")
        );
    }

    /// The first job that job 2 of those that were spawned here has spawned itself is 2.1.
    #[test]
    fn spawned_jobs_have_folders_of_their_own() {
        let pattern = |job| {
            let outputs = outputs(&["--output-filename", "out", "--job-number", job]).unwrap();
            (outputs.patterns[0].clone().unwrap(), outputs.job)
        };
        assert_eq!(pattern("1"), ("out/2/rank.%R/stdout".into(), None));
        assert_eq!(pattern("2.1"), ("out/3.1/rank.%R/stdout".into(), None));
        let mpich = outputs(&["--outfile", "o.%r", "--job-number", "2.1"]).unwrap();
        assert_eq!(mpich.job.as_deref(), Some("2.1"));
    }

    #[test]
    fn output_as_open_mpi_5_has_it() {
        assert!(outputs(&["--output", "tag"]).unwrap().labels);
        assert_eq!(
            outputs(&["--output", "tag,dir=a"]).unwrap(),
            outputs(&["--output-filename", "a", "-l"]).unwrap()
        );
        for wrong in ["xml", "tag,merge", "dir=", ""] {
            let fault = outputs(&["--output", wrong]).unwrap_err().to_string();
            assert!(fault.lines().count() == 4 && fault.contains("--output"), "{fault}");
        }
    }

    #[test]
    fn files_as_mpich_names_them() {
        let patterns = [Some("o.%r".into()), None];
        let expected = Outputs { labels: true, patterns, ..Outputs::default() };
        assert_eq!(outputs(&["-l", "--outfile", "o.%r"]).unwrap(), expected);
        assert!(outputs(&["--outfile", "o", "--output-filename", "p"]).is_err());
        assert_eq!(outputs(&["--tag-output"]).unwrap(), Outputs { labels: true, ..Outputs::default() });
    }
}
