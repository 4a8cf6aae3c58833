//! The lines of MPICH's test lists: a program, its number of ranks, and words of the form
//! `name=value`.
//!
//! `arg`, `env` and `mpiexecarg` say how the program is started; `resultTest` says how its output
//! is judged (see [`super::judge`]); the others say when it can be run at all.

use super::judge::Rule;

/// A run of one program, as a line of a test list asks for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// The folder, from the suite's top, as in `errors/coll`.
    pub folder: String,
    /// The program.
    pub program: String,
    /// The number of ranks.
    pub ranks: u32,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Variables for its environment.
    pub env: Vec<(String, String)>,
    /// Arguments for the launcher.
    pub launcher_args: Vec<String>,
    /// The rule by which it is judged.
    pub rule: Rule,
    /// The list's own time limit, in seconds.
    pub seconds_max: Option<u64>,
    /// The memory that it needs, in GB.
    pub memory_gb: f64,
    /// True if it is only right where `MPICH` extends the standard.
    pub extension: bool,
    /// True if it needs a graphics processor.
    pub gpu: bool,
    /// The ticket of `MPICH` for which it is known to fail.
    pub known_failure: Option<String>,
    /// True if the generator of datatype tests made the list.
    pub pool: bool,
}

impl Entry {
    /// Returns what tells it from the others, on one line.
    pub fn id(&self) -> String {
        let env = self.env.iter().filter(|(name, _)| !is_cvar(name));
        let env = env.map(|(name, value)| format!("{name}={value}"));
        let start = [format!("{}/{}", self.folder, self.program), self.ranks.to_string()];
        start.into_iter().chain(self.args.iter().cloned()).chain(env).collect::<Vec<_>>().join(" ")
    }

    /// Returns the first folder of its path, by which results are counted.
    pub fn family(&self) -> &str {
        self.folder.split('/').next().unwrap_or("")
    }

    fn word(&mut self, word: &str) {
        // A word without `=` means nothing to MPICH's script either.
        let Some((name, value)) = word.split_once('=') else { return };
        match name {
            "arg" => self.args.push(value.to_owned()),
            "mpiexecarg" => self.launcher_args.push(value.to_owned()),
            "env" => self.env.extend(value.split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned()))),
            "resultTest" => self.rule = Rule::named(value),
            "timeLimit" => self.seconds_max = value.parse().ok(),
            "mem" => self.memory_gb = value.parse().unwrap_or(0.0),
            "strict" => self.extension = value.eq_ignore_ascii_case("false"),
            "hasgpu" => self.gpu = true,
            "xfail" => self.known_failure = Some(value.to_owned()),
            _ => {}
        }
    }
}

/// Returns whether a variable of the environment chooses between MPICH's own algorithms.
pub fn is_cvar(name: &str) -> bool {
    name.starts_with("MPIR_CVAR_")
}

/// The words of each line that says something.
pub fn lines(text: &str) -> impl Iterator<Item = Vec<String>> {
    let words = |line: &str| {
        let line = substituted(line);
        let said = line.split('#').next().unwrap_or("");
        said.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    text.lines().map(words).filter(|words| !words.is_empty())
}

/// The entry of these words.
pub fn entry(folder: &str, words: &[String], pool: bool) -> Entry {
    let ranks = words.get(1).and_then(|ranks| ranks.parse().ok()).unwrap_or(2);
    let (folder, program) = (folder.to_owned(), words[0].clone());
    let mut entry = Entry { folder, program, ranks, pool, ..Entry::default() };
    for word in words.iter().skip(2) {
        entry.word(word);
    }
    entry
}

/// Names between `@` that stand for nothing where only the standard is tested: the rest of the line
/// is void.
const OFF: [&str; 6] = ["coll_error", "mpix", "perfdir", "faultsdir", "ftdir", "ckpointdir"];

/// A line with its `@name@` filled in as the suite's own `configure` does for a library with every
/// feature.
fn substituted(line: &str) -> String {
    let mut out = String::new();
    for (at, part) in line.split('@').enumerate() {
        match (at % 2, part) {
            (0, text) => out.push_str(text),
            (_, name) if OFF.contains(&name) => out.push('#'),
            (_, "errordir") => out.push_str("errors"),
            (_, name) => out.push_str(name.strip_suffix("dir").unwrap_or("")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<Entry> {
        lines(text).map(|words| entry("coll", &words, false)).collect()
    }

    #[test]
    fn a_line_says_how_a_program_is_run() {
        let text =
            "# a comment\n\nop 4 arg=-x=1 arg=y env=A=b env=MPIR_CVAR_Z=0 timeLimit=600 mem=2.5 word\n";
        let found = &entries(text)[0];
        assert_eq!(found.id(), "coll/op 4 -x=1 y A=b");
        assert_eq!((found.seconds_max, found.memory_gb, found.env.len()), (Some(600), 2.5, 2));
        assert_eq!(entries("bare # words\n")[0].id(), "coll/bare 2");
    }

    #[test]
    fn what_stands_in_the_way_of_a_run_is_known() {
        let found = &entries("op 1 strict=false xfail=ticket1 resultTest=TestErrFatal hasgpu=1\n")[0];
        assert!(found.extension && found.gpu && found.rule == Rule::Fatal);
        assert_eq!(found.known_failure.as_deref(), Some("ticket1"));
    }

    #[test]
    fn names_between_signs_are_filled_in() {
        let filled = ["@rmadir@", "@errordir@ 2", "@mpix@op 2", "@largetest@op 8"].map(substituted);
        assert_eq!(filled, ["rma", "errors 2", "#op 2", "op 8"]);
    }
}
