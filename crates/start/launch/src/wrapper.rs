//! The compiler wrappers `mpicc`, `mpicxx` and `mpifort`: they add the flags that MPI needs. No
//! I/O.
//!
//! Questions on the command line are those of MPICH (`-show`, `-compile-info`, `-link-info`) and
//! Open MPI (`-showme`, `-showme:compile`, `-showme:link`, ...): CMake's `FindMPI` asks both. Of
//! MPICH's further options `-echo` is obeyed, and those that have no meaning here are ignored with
//! a note.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use verbena_fault::Fault;

/// The language that a wrapper compiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `mpicc`.
    C,
    /// `mpicxx`, `mpic++`, `mpiCC`.
    Cxx,
    /// `mpifort`, `mpif90`, `mpif77`.
    Fortran,
}

impl Language {
    /// The language of the wrapper with this name.
    pub fn of_name(name: &OsStr) -> Language {
        let name = Path::new(name).file_name().unwrap_or(name).to_string_lossy().into_owned();
        let is_any_of = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        match () {
            () if is_any_of(&["mpicxx", "mpic++", "mpiCC", "mpicpc"]) => Language::Cxx,
            () if is_any_of(&["mpif"]) => Language::Fortran,
            () => Language::C,
        }
    }

    /// The variable that names another compiler.
    pub fn variable(self) -> &'static str {
        self.by("VERBENA_CC", "VERBENA_CXX", "VERBENA_FC")
    }

    /// The option that names another compiler, without the dash.
    pub fn option(self) -> &'static str {
        self.by("cc=", "cxx=", "fc=")
    }

    fn compiler(self) -> &'static str {
        self.by("cc", "c++", "gfortran")
    }

    /// The libraries for `-l`, in link order.
    fn libraries(self) -> &'static [&'static str] {
        if self == Language::Fortran { &["mpifort_abi", "mpi_abi"] } else { &["mpi_abi"] }
    }

    /// The options that the compiler needs besides directories. `mpif.h` holds no interfaces, and a
    /// program that passes buffers of several types to one procedure is right in MPI, but not for
    /// gfortran since version 10.
    fn compile_options(self, compiler: &OsStr) -> Vec<OsString> {
        let is_gfortran = compiler.to_string_lossy().contains("gfortran");
        let options =
            if self == Language::Fortran && is_gfortran { vec!["-fallow-argument-mismatch"] } else { vec![] };
        options.into_iter().map(OsString::from).collect()
    }

    fn by(self, c: &'static str, cxx: &'static str, fortran: &'static str) -> &'static str {
        match self {
            Language::C => c,
            Language::Cxx => cxx,
            Language::Fortran => fortran,
        }
    }
}

/// An installation of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    /// The folder that holds all its others.
    pub root: PathBuf,
    /// The name of the folder with the libraries: one of [`LIBRARY_FOLDERS`].
    pub lib: &'static str,
}

/// Names of the folder with the libraries (`LIBDIR` of `make install`), the usual one first.
pub const LIBRARY_FOLDERS: [&str; 2] = ["lib", "lib64"];

impl Prefix {
    /// The directory of `mpi.h`.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// The directory of `libmpi_abi.so`.
    pub fn lib(&self) -> PathBuf {
        self.root.join(self.lib)
    }

    fn compile_flags(&self, language: Language, compiler: &OsStr) -> Vec<OsString> {
        let mut flags = vec![joined("-I", &self.include())];
        flags.extend(language.compile_options(compiler));
        flags
    }

    /// The link flags, by which a program finds the library without LD_LIBRARY_PATH. With the new
    /// tags that variable still goes first: so the program also runs on other libraries of the
    /// standard ABI.
    fn link_flags(&self, language: Language) -> Vec<OsString> {
        let lib = self.lib();
        let mut flags =
            vec![joined("-L", &lib), joined("-Wl,-rpath,", &lib), "-Wl,--enable-new-dtags".into()];
        flags.extend(language.libraries().iter().map(|name| OsString::from(format!("-l{name}"))));
        flags
    }
}

fn joined(flag: &str, path: &Path) -> OsString {
    let mut word = OsString::from(flag);
    word.push(path);
    word
}

/// The task of a wrapper.
#[derive(Debug, PartialEq, Eq)]
pub enum Task {
    /// Print this line.
    Print(String),
    /// Run this command.
    Run(Vec<OsString>),
    /// Write this to standard error, then run the command.
    SayAndRun(String, Vec<OsString>),
}

/// Options of MPICH's and Intel MPI's wrappers that mean nothing here; those that end in `=` have a
/// value.
const IGNORED: [&str; 5] = ["-profile=", "-config=", "-static-mpi", "-static_mpi", "-nativelinking"];

fn is_ignored(word: &str) -> bool {
    let is = |option: &&str| if option.ends_with('=') { word.starts_with(*option) } else { word == *option };
    IGNORED.iter().any(is)
}

/// The note about words that were ignored.
fn note(ignored: &[&str]) -> Fault {
    Fault::new(
        "Note: options of another MPI's wrapper are ignored.",
        ignored.join(", "),
        "the command line was written for MPICH or Intel MPI",
        "nothing, unless a static library or another configuration is needed: there is none",
    )
}

/// A question asked instead of a compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Command,
    CompileCommand,
    LinkCommand,
    CompileFlags,
    LinkFlags,
    IncludeDirectories,
    LibraryDirectories,
    Libraries,
    Version,
    Help,
}

fn question(word: &str) -> Option<Question> {
    Some(match word.strip_prefix("--").or_else(|| word.strip_prefix('-'))? {
        "show" | "showme" | "showme:command-line" => Question::Command,
        "compile-info" | "compile_info" => Question::CompileCommand,
        "link-info" | "link_info" => Question::LinkCommand,
        "showme:compile" => Question::CompileFlags,
        "showme:link" => Question::LinkFlags,
        "showme:incdirs" => Question::IncludeDirectories,
        "showme:libdirs" => Question::LibraryDirectories,
        "showme:libs" => Question::Libraries,
        "showme:version" => Question::Version,
        "help" => Question::Help,
        _ => return None,
    })
}

/// Decides what to do for a wrapper's arguments. `compiler` is the value of the language's
/// [variable](Language::variable), if it is set.
pub fn task(language: Language, prefix: &Prefix, compiler: Option<OsString>, arguments: &[OsString]) -> Task {
    let mut compiler = compiler.filter(|name| !name.is_empty()).unwrap_or_else(|| language.compiler().into());
    let (mut asked, mut rest, mut ignored, mut aloud) = (None, Vec::new(), Vec::new(), false);
    for word in arguments {
        let text = word.to_str().unwrap_or("");
        if let Some(question) = question(text) {
            asked = Some(question);
        } else if text == "-echo" {
            aloud = true;
        } else if is_ignored(text) {
            ignored.push(text);
        } else if let Some(name) =
            text.strip_prefix('-').and_then(|text| text.strip_prefix(language.option()))
        {
            compiler = name.into();
        } else {
            rest.push(word.clone());
        }
    }
    let call = Call { language, prefix, compiler };
    match asked {
        None => {
            let command = call.command(&rest);
            let note = (!ignored.is_empty()).then(|| format!("mpicc: {}", note(&ignored)));
            let said: Vec<String> = note.into_iter().chain(aloud.then(|| shell_line(&command))).collect();
            if said.is_empty() { Task::Run(command) } else { Task::SayAndRun(said.join("\n"), command) }
        }
        Some(question) => Task::Print(call.answer(question, &rest)),
    }
}

/// Splits a compiler's name, which may have arguments, as in `VERBENA_CC="ccache gcc"`.
fn compiler_words(compiler: &OsStr) -> Vec<OsString> {
    match compiler.to_str() {
        Some(text) if !Path::new(compiler).exists() => text.split_whitespace().map(OsString::from).collect(),
        _ => vec![compiler.to_owned()],
    }
}

/// The inputs of a wrapper.
struct Call<'a> {
    language: Language,
    prefix: &'a Prefix,
    compiler: OsString,
}

impl Call<'_> {
    fn compile_flags(&self) -> Vec<OsString> {
        self.prefix.compile_flags(self.language, &self.compiler)
    }

    fn link_flags(&self) -> Vec<OsString> {
        self.prefix.link_flags(self.language)
    }

    /// The whole command. Our include directory comes after the user's own, which so go first, and
    /// the library after the objects that need it.
    fn command(&self, rest: &[OsString]) -> Vec<OsString> {
        let mut words = compiler_words(&self.compiler);
        words.extend_from_slice(rest);
        if rest.iter().any(|word| !word.to_string_lossy().starts_with('-')) {
            words.extend(self.compile_flags());
            if links(rest) {
                words.extend(self.link_flags());
            }
        }
        words
    }

    fn answer(&self, question: Question, rest: &[OsString]) -> String {
        let (compile, link) = (self.compile_flags(), self.link_flags());
        let start = |flags: &[OsString]| {
            shell_line(&[compiler_words(&self.compiler), rest.to_vec(), flags.to_vec()].concat())
        };
        match question {
            Question::Command if links(rest) => start(&[compile, link].concat()),
            Question::Command | Question::CompileCommand => start(&compile),
            Question::LinkCommand => start(&link),
            Question::CompileFlags => shell_line(&compile),
            Question::LinkFlags => shell_line(&link),
            Question::IncludeDirectories => self.prefix.include().display().to_string(),
            Question::LibraryDirectories => self.prefix.lib().display().to_string(),
            Question::Libraries => self.language.libraries().join(" "),
            Question::Version => format!("Verbena {}", env!("CARGO_PKG_VERSION")),
            Question::Help => self.help(),
        }
    }

    fn help(&self) -> String {
        let (language, compiler) = (self.language, self.compiler.to_string_lossy());
        let name = language.by("mpicc", "mpicxx", "mpifort");
        let (option, variable) = (language.option(), language.variable());
        let source = language.by("hello.c", "hello.cc", "hello.f90");
        format!(
            "Usage: {name} [options of the compiler] file...\n\
             \n\
             Runs {compiler} with the folders of mpi.h, of the Fortran modules and of the libraries, and\n\
             with the libraries when it links. All other words go to the compiler.\n\
             \n\
             \x20 -show, --showme                       print the whole command line, and run nothing\n\
             \x20 --showme:compile, -compile-info       print what is needed to compile\n\
             \x20 --showme:link, -link-info             print what is needed to link\n\
             \x20 --showme:incdirs, libdirs, libs       print folders and libraries by themselves\n\
             \x20 --showme:version                      print the version of Verbena\n\
             \x20 -echo                                 print the whole command line, and run it\n\
             \x20 -{option:<36} use this compiler ({variable} does so too)\n\
             \n\
             Example: {name} -O2 -o hello {source}, then mpiexec -n 4 ./hello\n\
             The compiler's own help: {compiler} --help. Manual page: man {name}",
            option = format!("{option}COMPILER"),
        )
    }
}

/// Returns whether the compiler will link: no option stops it before.
fn links(rest: &[OsString]) -> bool {
    let stops = ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"];
    !rest.iter().any(|word| stops.iter().any(|stop| word == stop))
}

/// Quotes words for a shell.
fn shell_line(words: &[OsString]) -> String {
    let quoted = |word: &OsString| {
        let text = word.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=+:@%".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text.into_owned()
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(language: Language, compiler: Option<&str>, line: &str) -> Task {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        task(language, &Prefix { root: "/p".into(), lib: "lib" }, compiler.map(OsString::from), &words)
    }

    fn run(line: &str) -> String {
        match of(Language::C, None, line) {
            Task::Run(words) => shell_line(&words),
            other => panic!("{other:?}"),
        }
    }

    fn print(line: &str) -> String {
        match of(Language::C, None, line) {
            Task::Print(text) => text,
            other => panic!("{other:?}"),
        }
    }

    const LINK: &str = "-L/p/lib -Wl,-rpath,/p/lib -Wl,--enable-new-dtags -lmpi_abi";

    #[test]
    fn compiling_and_linking() {
        assert_eq!(run("-c x.c -o x.o"), "cc -c x.c -o x.o -I/p/include");
        assert_eq!(run("x.c -lm"), format!("cc x.c -lm -I/p/include {LINK}"));
        assert_eq!(run("--version"), "cc --version");
    }

    #[test]
    fn help_is_the_wrapper_s_own() {
        for word in ["-help", "--help"] {
            let text = print(word);
            assert!(text.starts_with("Usage: mpicc [options of the compiler] file...\n"), "{text}");
            assert!(text.contains("\n  -cc=COMPILER ") && text.contains("VERBENA_CC"), "{text}");
        }
        assert_eq!(run("--help=optimizers"), "cc --help=optimizers", "the compiler's own");
        let Task::Print(text) = of(Language::Fortran, None, "--help") else { panic!("ran") };
        assert!(text.contains("Usage: mpifort ") && text.contains("Runs gfortran "), "{text}");
    }

    #[test]
    fn questions_of_mpich_and_open_mpi() {
        assert_eq!(print("-show"), format!("cc -I/p/include {LINK}"));
        assert_eq!(print("-show -c x.c"), "cc -c x.c -I/p/include");
        assert_eq!(print("-compile-info"), "cc -I/p/include");
        assert_eq!(print("-link-info"), format!("cc {LINK}"));
        for dashes in ["-", "--"] {
            assert_eq!(print(&format!("{dashes}showme:compile")), "-I/p/include");
            assert_eq!(print(&format!("{dashes}showme:link")), LINK);
            assert_eq!(print(&format!("{dashes}showme:incdirs")), "/p/include");
            assert_eq!(print(&format!("{dashes}showme:libdirs")), "/p/lib");
            assert_eq!(print(&format!("{dashes}showme:libs")), "mpi_abi");
        }
    }

    #[test]
    fn further_options_of_mpich_do_not_reach_the_compiler() {
        let command = "cc -c x.c -I/p/include";
        let Task::SayAndRun(said, words) = of(Language::C, None, "-echo -c x.c") else { panic!("silent") };
        assert_eq!((said.as_str(), shell_line(&words).as_str()), (command, command));
        let line = "-profile=x -static-mpi -config=y -c x.c";
        let Task::SayAndRun(said, words) = of(Language::C, None, line) else { panic!("silent") };
        assert_eq!(shell_line(&words), command);
        assert!(
            said.contains("on: -profile=x, -static-mpi, -config=y") && said.lines().count() == 4,
            "{said}"
        );
        assert_eq!(print("-echo -profile=x -show -c x.c"), command);
        assert_eq!(run("-static -c x.c"), "cc -static -c x.c -I/p/include", "the compiler's own");
    }

    #[test]
    fn fortran_has_two_libraries() {
        let Task::Run(words) = of(Language::Fortran, None, "x.f90") else { panic!("printed") };
        let library = LINK.replace("-lmpi_abi", "-lmpifort_abi -lmpi_abi");
        let expected = format!("gfortran x.f90 -I/p/include -fallow-argument-mismatch {library}");
        assert_eq!(shell_line(&words), expected);
        let Task::Run(words) = of(Language::Fortran, Some("flang"), "-c x.f90") else { panic!("printed") };
        assert_eq!(shell_line(&words), "flang -c x.f90 -I/p/include");
        let libraries = of(Language::Fortran, None, "-showme:libs");
        assert_eq!(libraries, Task::Print("mpifort_abi mpi_abi".into()));
    }

    #[test]
    fn another_compiler_by_variable_or_option() {
        let first = |task| match task {
            Task::Run(words) => words[0].to_str().unwrap().to_owned(),
            Task::Print(text) | Task::SayAndRun(text, _) => text,
        };
        assert_eq!(first(of(Language::C, Some("clang -v"), "x.c")), "clang");
        assert_eq!(first(of(Language::C, Some("clang"), "-cc=gcc x.c")), "gcc");
        assert_eq!(first(of(Language::Cxx, None, "x.cc")), "c++");
        assert_eq!(first(of(Language::Cxx, None, "-cxx=g++ x.cc")), "g++");
    }

    #[test]
    fn the_name_tells_the_language() {
        for (name, language) in [
            ("/usr/bin/mpicc", Language::C),
            ("mpicxx", Language::Cxx),
            ("./mpic++", Language::Cxx),
            ("mpiCC", Language::Cxx),
            ("mpifort", Language::Fortran),
            ("/opt/bin/mpif90", Language::Fortran),
            ("mpif77", Language::Fortran),
        ] {
            assert_eq!(Language::of_name(OsStr::new(name)), language, "{name}");
        }
    }

    #[test]
    fn words_with_spaces_are_quoted() {
        assert_eq!(shell_line(&["a b".into(), "it's".into(), "".into()]), r"'a b' 'it'\''s' ''");
    }
}
