//! The book: every command and program in it is run on the staged installation, and does what its
//! page says; every page is linked, every link leads somewhere, and every setting and option that a
//! page names exists.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use verbena_testing::Lack;
use verbena_tests::book::block::{Block, Task, blocks};
use verbena_tests::book::links::{self, FOLDER};
use verbena_tests::book::output::difference;
use verbena_tests::book::place::{Place, Ran};
use verbena_tests::{shell, staged, top, venv};

macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        /// The pages whose examples are run.
        const TRIED: &[&str] = &[$($page),*];

        $(#[test]
        fn $test() {
            try_page($page);
        })*
    };
}

pages! {
    the_first_page: "BOOK.md",
    start: "book/start.md",
    install: "book/install.md",
    run: "book/run.md",
    launchers: "book/launchers.md",
    coming_from_other_libraries: "book/coming-from.md",
    when_it_fails: "book/fails.md",
    going_on_after_a_death: "book/survive.md",
    tune: "book/tune.md",
    performance: "book/performance.md",
    what_is_there: "book/there.md",
    the_tour_of_the_papers: "book/tour.md",
    how_it_works: "book/how.md",
    questions: "book/faq.md",
}

fn read(page: &str) -> String {
    let file = top().join(FOLDER).join(page);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn blocks_of(page: &str) -> Vec<(Block, Task)> {
    let all = blocks(&read(page)).unwrap_or_else(|why| panic!("{page}, {why}"));
    let task = |block: Block| {
        let task = block.task().unwrap_or_else(|why| panic!("{page}, {why}"));
        (block, task)
    };
    all.into_iter().map(task).collect()
}

/// Runs the blocks of a page in order.
fn try_page(page: &str) {
    let place = Place::new(page);
    let mut last: Option<Ran> = None;
    for (block, task) in blocks_of(page) {
        let at = format!("docs/{page}:{}", block.line);
        match task {
            Task::Write(name) => place.write(&name, &block.text),
            Task::Run { code, needs } => last = try_block(&place, &at, &block, code, &needs),
            Task::Compare { any_order } => {
                if let Some(Ran { printed, .. }) = &last
                    && let Some(why) = difference(&block.text, printed, any_order)
                {
                    panic!("{at}: {why}");
                }
            }
            Task::Leave(_) => last = None,
            Task::Show => {}
        }
    }
}

/// Runs a block; `None` if this machine lacks what it needs.
fn try_block(place: &Place, at: &str, block: &Block, code: i32, needs: &[String]) -> Option<Ran> {
    let lack = |name: &&String| name.as_str() != MPI4PY && !is_program(name);
    if let Some(name) = needs.iter().find(lack) {
        let kind = if INSTALLED.contains(&name.as_str()) { Lack::Installed } else { Lack::Optional };
        verbena_testing::skip(kind, &format!("{at} needs {name}"));
        return None;
    }
    let python = needs.iter().any(|name| name == MPI4PY).then(|| venv("bin"));
    let ran = place.run(&block.text, python.as_deref());
    assert!(!ran.hung, "{at} does not end; it printed:\n{}", ran.printed);
    assert_eq!(ran.code, code, "{at} ran\n{}and printed\n{}", block.text, ran.printed);
    Some(ran)
}

/// The word of a block that needs the virtual environment with mpi4py.
const MPI4PY: &str = "mpi4py";
/// Programs that `make test` installs.
const INSTALLED: [&str; 5] = ["cmake", "gfortran", "pkg-config", "ssh", "valgrind"];

fn is_program(name: &str) -> bool {
    let path = std::env::var("PATH").expect("PATH");
    path.split(':').any(|folder| Path::new(folder).join(name).is_file())
}

/// In the tree, and in the installation, where the pages are read as plain text.
#[test]
fn every_page_is_linked_and_every_link_leads_to_one() {
    for folder in [top().join(FOLDER), staged("share/doc/verbena")] {
        let faults = links::faults(&folder).expect("the book");
        assert!(faults.is_empty(), "{}:\n{}", folder.display(), faults.join("\n"));
    }
}

/// Pages that are generated have no examples of their own.
#[test]
fn every_page_with_an_example_is_tried() {
    for page in links::pages(&top().join(FOLDER)).expect("the summary") {
        let name = page.display().to_string();
        let has_own = name.starts_with(links::OWN) && !blocks_of(&name).is_empty();
        assert!(!has_own || TRIED.contains(&name.as_str()), "{name} has examples and no test here");
    }
}

/// A file that no command uses would count as tried without being so.
#[test]
fn every_file_of_a_page_is_used_by_a_command() {
    for page in TRIED {
        let all = blocks_of(page);
        for (at, (block, task)) in all.iter().enumerate() {
            let Task::Write(name) = task else { continue };
            let is_used = |(later, task): &(Block, Task)| {
                matches!(task, Task::Run { .. }) && later.text.contains(name.as_str())
            };
            let is_included = |(other, task): &(Block, Task)| {
                matches!(task, Task::Write(_)) && other.text.contains(name.as_str())
            };
            let rest = &all[at + 1..];
            let by_name = rest.iter().any(is_used) || all.iter().any(is_included);
            assert!(by_name || CONVENTIONAL.contains(&name.as_str()), "{page}:{}: {name}", block.line);
        }
    }
}

/// Names that programs look for by themselves.
const CONVENTIONAL: [&str; 2] = ["CMakeLists.txt", "Makefile"];

/// The first page tells its readers how many examples are not run.
#[test]
fn examples_that_are_not_run_are_counted() {
    let tasks: Vec<Task> = TRIED.iter().flat_map(|page| blocks_of(page)).map(|(_, task)| task).collect();
    let run = tasks.iter().filter(|task| matches!(task, Task::Run { .. })).count();
    let left = tasks.iter().filter(|task| matches!(task, Task::Leave(_))).count();
    let sentence = format!("Of {} examples {run} are run by a test, {left} are not", run + left);
    assert!(read("BOOK.md").contains(&sentence), "the first page must say: {sentence}");
}

/// The words of the book's own pages, with what joins them taken off.
fn words() -> Vec<(String, String)> {
    let split = |text: String| -> Vec<String> {
        let is_end = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '_' || letter == '-');
        text.split(is_end).map(str::to_owned).collect()
    };
    TRIED
        .iter()
        .flat_map(|page| split(read(page)).into_iter().map(|word| ((*page).to_owned(), word)))
        .collect()
}

/// The name that a page misspells on purpose, to show what is said of it.
const MISSPELT: &str = "VERBENA_CHANELS";

#[test]
fn every_setting_that_a_page_names_exists() {
    let known: BTreeSet<&str> = verbena_settings::all()
        .map(|setting| setting.about.name)
        .chain(verbena_settings::OTHERS.iter().copied())
        .collect();
    let mut named = 0;
    let is_meant = |word: &str| word.starts_with("VERBENA_") && word != MISSPELT;
    for (page, word) in words().iter().filter(|(_, word)| is_meant(word)) {
        named += 1;
        let is_family = word.ends_with('_');
        assert!(is_family || known.contains(word.as_str()), "{page}: there is no {word}");
    }
    assert!(named > 30, "only {named} settings are named: is this looking at the book?");
}

/// The last column of the tables of options says how Verbena calls what the others have.
#[test]
fn every_option_that_is_said_to_be_ours_is() {
    let help = shell(Command::new(staged("bin/mpiexec")).arg("-help")).stdout;
    // Aliases stand in the help without their dashes.
    let known: BTreeSet<&str> = help
        .split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'))
        .map(|word| word.trim_start_matches('-'))
        .collect();
    let page = read("book/coming-from.md");
    let mut named = 0;
    for row in page.lines().filter(|line| line.starts_with('|')) {
        let last = row.trim_end_matches(['|', ' ']).rsplit(" | ").next().unwrap_or_default();
        let is_of_mpiexec = |code: &&str| !code.starts_with("verbena ");
        for code in last.split('`').skip(1).step_by(2).filter(is_of_mpiexec) {
            let options = code.split_whitespace().filter(|word| word.starts_with('-'));
            for option in
                options.map(|word| word.trim_start_matches('-').split([':', '=']).next().unwrap_or(""))
            {
                named += 1;
                assert!(known.contains(option), "mpiexec -help has no {option}, in: {row}");
            }
        }
    }
    assert!(named > 20, "only {named} options are named: is this looking at the tables?");
}
