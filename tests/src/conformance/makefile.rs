//! The suite's automake files: the sources and `-D` flags of each program.

/// A `Makefile.am`.
#[derive(Clone, Debug)]
pub struct Makefile {
    variables: Vec<(String, String)>,
    /// True if its programs use threads beside MPI's.
    pub threaded: bool,
}

impl Makefile {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Makefile {
        let joined = text.replace("\\\n", " ");
        let assignment = |line: &str| {
            let (name, value) = line.split_once('=')?;
            let name = name.trim_end();
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
            is_name.then(|| (name.to_owned(), value.trim().to_owned()))
        };
        let threaded = text.contains("Makefile_threads.mtest");
        Makefile { variables: joined.lines().filter_map(assignment).collect(), threaded }
    }

    /// The C sources of a program.
    pub fn sources(&self, program: &str) -> Vec<String> {
        let listed = self.value(&format!("{program}_SOURCES"));
        let listed = listed.map_or_else(|| format!("{program}.c"), str::to_owned);
        listed.split_whitespace().filter(|name| name.ends_with(".c")).map(str::to_owned).collect()
    }

    /// Returns the macros of a program, as `-DNAME` or `-DNAME=VALUE`.
    pub fn macros(&self, program: &str) -> Vec<String> {
        let flags = self.value(&format!("{program}_CPPFLAGS")).unwrap_or("");
        let own = flags.split_whitespace().filter(|flag| flag.starts_with("-D")).map(str::to_owned);
        own.chain(self.threaded.then(|| "-DMTEST_USE_THREAD".to_owned())).collect()
    }

    /// A variable's last value, as `make` would have it.
    fn value(&self, name: &str) -> Option<&str> {
        self.variables.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "include $(top_srcdir)/Makefile_single.mtest\nnoinst_PROGRAMS = a \\\n  b\n\
        nba_SOURCES   = a.c more.c a.h\nnba_CPPFLAGS = -DNONBLOCKING -DN=2 $(AM_CPPFLAGS)\n";

    #[test]
    fn a_program_has_the_sources_and_macros_that_are_listed() {
        let makefile = Makefile::parse(TEXT);
        assert_eq!(makefile.sources("nba"), ["a.c", "more.c"]);
        assert_eq!(makefile.macros("nba"), ["-DNONBLOCKING", "-DN=2"]);
    }

    #[test]
    fn what_is_not_listed_is_made_of_the_file_of_its_name() {
        let makefile = Makefile::parse(TEXT);
        assert_eq!((makefile.sources("b"), makefile.macros("b")), (vec!["b.c".to_owned()], vec![]));
        let threads = Makefile::parse("include $(top_srcdir)/threads/Makefile_threads.mtest\n");
        assert_eq!(threads.macros("b"), ["-DMTEST_USE_THREAD"]);
    }
}
