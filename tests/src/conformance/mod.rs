//! MPICH's own test suite, unmodified, on a library of the standard ABI.
//!
//! The programs are built with the staged `mpicc`, run as their test lists say, judged as MPICH's
//! `runtests` does, and compared with `tests/conformance-expectations.toml`.
//! `cargo xtask conformance` is the command; `tests/tests/conformance.rs` runs all that is written.
//!
//! | module | job |
//! | --- | --- |
//! | [`tree`] | the suite's sources and lists |
//! | [`testlist`] | the lines of the lists |
//! | [`makefile`] | the parts of a program |
//! | [`choice`] | which entries are run, and at how many ranks |
//! | [`build`] | the programs |
//! | [`library`] | the library under test |
//! | [`run`](mod@run) | one run of one entry |
//! | [`judge`] | whether it was right |
//! | [`expectations`] | the entries that are not expected to pass, and why |
//! | [`report`] | the outcome of all |
//! | [`parallel`] | several at a time |

pub mod build;
pub mod choice;
pub mod expectations;
pub mod judge;
pub mod library;
pub mod makefile;
pub mod parallel;
pub mod report;
pub mod run;
pub mod testlist;
pub mod tree;

use build::Builder;
use choice::Choice;
use expectations::{Expect, Expectations, TreeKind, is_within};
use library::Library;
use parallel::each;
use regex_lite::Regex;
use report::Report;
use run::{Outcome, Run, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;
use testlist::Entry;
use tree::Tree;

/// The choice of entries to run, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The suite's sources; Debian's, if not given.
    pub source: Option<PathBuf>,
    /// The library, if not the staged one: a prefix, or the name of a peer.
    pub library: Option<PathBuf>,
    /// The number of ranks for entries that ask for more.
    pub ranks_max: u32,
    /// The pattern that the lines of entries must fit.
    pub only: Option<Regex>,
    /// The folders whose entries are run; empty for all that are written.
    pub folders: Vec<String>,
    /// The number of programs that are built, or entries that are run, at a time.
    pub jobs: usize,
    /// The time limit of an entry in seconds, unless its list says otherwise.
    pub seconds_max: u64,
    /// The number of times that an entry whose time was up is run again, alone and with more time.
    pub retries: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            source: None,
            library: None,
            ranks_max: 4,
            only: None,
            folders: vec![],
            jobs: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            seconds_max: 60,
            retries: 1,
        }
    }
}

/// Builds and runs what the options name, and compares it with what is expected.
///
/// # Errors
/// The suite, the library or the expectations cannot be read, or nothing can be built.
///
/// # Panics
/// If nothing is staged, or Debian's source package cannot be fetched.
pub fn run(options: &Options) -> Result<Report, String> {
    let start = Instant::now();
    let library = options.library.as_deref().map_or_else(|| Ok(Library::staged()), Library::under)?;
    let tree = Tree::find(options.source.as_deref())?;
    let expectations = expected(&tree)?;
    let (chosen, mut outcomes) = chosen(&tree, options, &expectations, library.ours)?;
    let expectations = library.ours.then_some(expectations);
    outcomes.extend(executed(&tree, &library, options, expectations.as_ref(), chosen)?);
    let whole = tree.debian && options.only.is_none() && options.folders.is_empty() && options.ranks_max == 4;
    Ok(Report { outcomes, expectations, whole, seconds: start.elapsed().as_secs_f64() })
}

fn expected(tree: &Tree) -> Result<Expectations, String> {
    let path = expectations::path();
    let named = |error: String| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|error| named(error.to_string()))?;
    Expectations::parse(&text, if tree.debian { TreeKind::Debian } else { TreeKind::Newer }).map_err(named)
}

/// The entries to run, and the outcomes of those that are not.
fn chosen(
    tree: &Tree,
    options: &Options,
    expectations: &Expectations,
    ours: bool,
) -> Result<(Vec<Entry>, Vec<Outcome>), String> {
    let mut choice = Choice::new(options.ranks_max);
    let (mut chosen, mut others) = (Vec::new(), Vec::new());
    for entry in tree.entries()?.into_iter().filter(|entry| is_asked_for(entry, options)) {
        match choice.take(entry.clone()) {
            Err(why) => others.push(Outcome::not_run(entry, Verdict::Skipped, &why)),
            Ok(entry) if options.only.as_ref().is_some_and(|only| !only.is_match(&entry.id())) => {}
            Ok(entry) => match unwritten(&entry, options, expectations, ours) {
                Some(why) => others.push(Outcome::not_run(entry, Verdict::Skipped, &why)),
                None => chosen.push(entry),
            },
        }
    }
    Ok((chosen, others))
}

fn is_asked_for(entry: &Entry, options: &Options) -> bool {
    options.folders.is_empty() || options.folders.iter().any(|folder| is_within(&entry.folder, folder))
}

/// Returns why the expectations keep an entry from being run.
fn unwritten(entry: &Entry, options: &Options, expectations: &Expectations, ours: bool) -> Option<String> {
    if !ours {
        return None;
    }
    let family = expectations.unwritten(&entry.folder).filter(|_| options.folders.is_empty());
    let hangs = expectations.of(&entry.id()).filter(|exception| exception.expect == Expect::Skip);
    let family = family.map(|family| format!("issue {}: {}", family.issue, family.reason));
    family.or_else(|| hangs.map(|exception| format!("it would hang: {}", exception.reason)))
}

/// Builds and runs the entries. Those that were late and are not excused are run again, alone.
fn executed(
    tree: &Tree,
    library: &Library,
    options: &Options,
    expectations: Option<&Expectations>,
    chosen: Vec<Entry>,
) -> Result<Vec<Outcome>, String> {
    let builder = Builder::new(tree)?;
    let programs: BTreeSet<(String, String)> = chosen.iter().map(program_of).collect();
    let programs: Vec<(String, String)> = programs.into_iter().collect();
    let built = each(options.jobs, &programs, |(folder, name)| builder.program(folder, name));
    let built: BTreeMap<_, _> = programs.into_iter().zip(built).collect();
    let go = |entry: &Entry, patience: u64| match &built[&program_of(entry)] {
        Err(said) => Outcome::not_run(entry.clone(), Verdict::Unbuilt, said),
        Ok(program) => one(tree, library, options, (entry, program), patience),
    };
    let mut outcomes = each(options.jobs, &chosen, |entry| go(entry, 1));
    for patience in 2..2 + options.retries {
        let is_excused =
            |outcome: &Outcome| expectations.is_some_and(|e| e.of(&outcome.entry.id()).is_some());
        let late = |outcome: &&mut Outcome| outcome.verdict == Verdict::Late && !is_excused(outcome);
        for outcome in outcomes.iter_mut().filter(late) {
            *outcome = go(&outcome.entry, patience);
        }
    }
    Ok(outcomes)
}

fn one(
    tree: &Tree,
    library: &Library,
    options: &Options,
    (entry, program): (&Entry, &Path),
    patience: u64,
) -> Outcome {
    let (sources, seconds_max) = (tree.folder.as_path(), options.seconds_max);
    let outcome = Run { library, sources, program, entry, seconds_max, patience }.go();
    if outcome.is_failure() {
        eprintln!("{}: {} ({:.1} s)", entry.id(), outcome.why, outcome.seconds);
    }
    outcome
}

fn program_of(entry: &Entry) -> (String, String) {
    (entry.folder.clone(), entry.program.clone())
}
