//! The programs that are to be started at once, and their words for `mpiexec`'s command line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The longest that words are on their way to `mpiexec`, in bytes.
const WORDS_BYTES_MAX: usize = 256 << 10;

/// One program that is to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The number of processes.
    pub count: u32,
    /// The program.
    pub program: OsString,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// Variables to set.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory to run in.
    pub directory: Option<OsString>,
    /// Hosts, as the option `-host` takes them.
    pub hosts: Option<OsString>,
    /// Files with hosts.
    pub host_file: Option<OsString>,
    /// Directories to look for the program in, as the option `-path` takes them.
    pub path: Option<OsString>,
    /// The numbers of processes that are allowed, as the option `-soft` takes them.
    pub soft: Option<OsString>,
    /// The way in which hosts get processes, as the option `-map-by` takes it.
    pub map_by: Option<OsString>,
    /// The order in which processes are numbered, as the option `-rank-by` takes it.
    pub rank_by: Option<OsString>,
    /// The objects that processes are bound to, as the option `-bind-to` takes them.
    pub bind_to: Option<OsString>,
}

/// The programs to be started at once, and the port at which they find who started them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The programs; their processes are numbered through them in order.
    pub programs: Vec<Program>,
    /// The port.
    pub parent: String,
    /// The ranks of the ordering job that will be connected with the processes.
    pub ranks: Vec<u32>,
}

impl Order {
    /// The number of processes.
    pub fn size(&self) -> u32 {
        self.programs.iter().map(|program| program.count).sum()
    }

    /// The words of the order for `mpiexec`'s command line, to be read by [`parts`].
    ///
    /// # Errors
    /// Says what such a line cannot carry.
    pub fn words(&self) -> Result<Vec<OsString>, String> {
        let mut words: Vec<OsString> = Vec::new();
        for program in &self.programs {
            if !words.is_empty() {
                words.push(SEPARATOR.into());
            }
            words.extend(program.words().into_iter().map(marked));
        }
        let bytes: usize = words.iter().map(|word| word.len() + 1).sum();
        if bytes > WORDS_BYTES_MAX {
            return Err(format!(
                "the arguments of the spawned programs take {bytes} bytes, at most {WORDS_BYTES_MAX} go"
            ));
        }
        Ok(words)
    }
}

impl Program {
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["-n".into(), self.count.to_string().into()];
        let options = [
            ("-wdir", &self.directory),
            ("-host", &self.hosts),
            ("-hostfile", &self.host_file),
            ("-path", &self.path),
            ("-soft", &self.soft),
            ("-map-by", &self.map_by),
            ("-rank-by", &self.rank_by),
            ("-bind-to", &self.bind_to),
        ];
        for (name, value) in options {
            words.extend(value.iter().flat_map(|value| [OsString::from(name), value.clone()]));
        }
        for (name, value) in &self.environment {
            words.extend(["-env".into(), name.clone(), value.clone()]);
        }
        words.push("--".into());
        words.push(self.program.clone());
        words.extend(self.arguments.iter().cloned());
        words
    }
}

/// The word between two programs.
const SEPARATOR: &str = ":";

/// A word as one that [`parts`] does not take for the one between programs: colons alone get
/// another.
pub fn marked(mut word: OsString) -> OsString {
    if is_colons(&word) {
        word.push(SEPARATOR);
    }
    word
}

fn is_colons(word: &OsStr) -> bool {
    !word.is_empty() && word.as_bytes().iter().all(|byte| *byte == b':')
}

/// The words of each program of an order, from those of [`Order::words`] and options before them.
pub fn parts(words: &[OsString]) -> Vec<Vec<OsString>> {
    let plain = |word: &OsString| match is_colons(word) {
        true => OsStr::from_bytes(&word.as_bytes()[1..]).to_owned(),
        false => word.clone(),
    };
    words.split(|word| word == SEPARATOR).map(|words| words.iter().map(plain).collect()).collect()
}

/// Joins words to one byte string; a zero byte ends each.
pub fn join(words: &[OsString]) -> Vec<u8> {
    words.iter().flat_map(|word| word.as_bytes().iter().copied().chain([0])).collect()
}

/// The words of such a byte string.
pub fn split(bytes: &[u8]) -> Vec<OsString> {
    let whole = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    match whole.is_empty() && bytes.is_empty() {
        true => Vec::new(),
        false => whole.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect(),
    }
}

/// A set of ranks as bytes: a bit for each, the lowest first.
pub fn bits(ranks: &[u32]) -> Vec<u8> {
    let mut bits = vec![0; ranks.iter().max().map_or(0, |last| *last as usize / 8 + 1)];
    ranks.iter().for_each(|rank| bits[*rank as usize / 8] |= 1 << (rank % 8));
    bits
}

/// The ranks of such bytes that are below `size`, in order.
pub fn ranks_of(bits: &[u8], size: u32) -> Vec<u32> {
    let has = |rank: &u32| bits.get(*rank as usize / 8).is_some_and(|byte| byte >> (rank % 8) & 1 == 1);
    (0..size).filter(has).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(count: u32, words: &[&str]) -> Program {
        let arguments = words[1..].iter().map(OsString::from).collect();
        Program { count, program: words[0].into(), arguments, ..Program::default() }
    }

    fn text(words: &[OsString]) -> String {
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_order_becomes_a_command_line() {
        let first = Program {
            directory: Some("/tmp".into()),
            hosts: Some("a,b".into()),
            environment: vec![("A".into(), "-1".into())],
            path: Some("/bin".into()),
            bind_to: Some("core".into()),
            ..program(2, &["x", "-n", "5"])
        };
        let order =
            Order { programs: vec![first, program(1, &["y"])], parent: "port".into(), ..Order::default() };
        let words = order.words().unwrap();
        assert_eq!(
            text(&words),
            "-n 2 -wdir /tmp -host a,b -path /bin -bind-to core -env A -1 -- x -n 5 : -n 1 -- y"
        );
        assert_eq!(split(&join(&words)), words);
        assert_eq!(order.size(), 3);
    }

    #[test]
    fn a_colon_among_the_arguments_separates_no_programs() {
        let first = Program { environment: vec![("A".into(), ":".into())], ..program(1, &["x", ":", "::"]) };
        let order = Order { programs: vec![first, program(1, &["y"])], ..Order::default() };
        let words = order.words().unwrap();
        let parts: Vec<String> = parts(&words).iter().map(|words| text(words)).collect();
        assert_eq!(parts, ["-n 1 -env A : -- x : ::", "-n 1 -- y"]);
    }

    #[test]
    fn words_survive_whatever_they_hold() {
        for words in [vec![], vec![OsString::new()], vec!["a".into(), "".into(), "b c\n".into()]] {
            assert_eq!(split(&join(&words)), words);
        }
    }

    #[test]
    fn ranks_are_bits() {
        for ranks in [&[][..], &[0], &[7, 8], &[0, 3, 64]] {
            assert_eq!(ranks_of(&bits(ranks), 65), ranks);
        }
        assert_eq!(ranks_of(&bits(&[64, 3]), 64), [3], "in order, and no others");
    }
}
