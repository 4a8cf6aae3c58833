//! The order of what is to be spawned, from the arguments of the call (MPI-5.0, 11.8.2 and 11.8.4).
//! The keys of both families of libraries are understood; others are ignored.

use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::info::Info;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use verbena_boot::spawn::Program;
use verbena_settings::{INITIAL_ERRHANDLER, Kind};

/// One command of a call.
pub struct Command<'a> {
    /// The program.
    pub program: &'a [u8],
    /// The program's arguments.
    pub arguments: Vec<Vec<u8>>,
    /// The number of processes wanted.
    pub count: i32,
    /// The info object.
    pub info: Option<&'a Info>,
}

/// The largest number of processes of a command.
const PROCESSES_MAX: i32 = 1 << 16;

impl Command<'_> {
    /// The program that the launcher is asked for. `MPI_ERR_ARG` for a number of processes that
    /// makes no sense, `MPI_ERR_INFO_VALUE` for a value that cannot be read, `MPI_ERR_SPAWN` if the
    /// key `soft` allows no number.
    pub fn program(&self) -> Result<Program> {
        if !(1..=PROCESSES_MAX).contains(&self.count) {
            return Err(wrong_count(self.count));
        }
        if self.program.is_empty() {
            return Err(no_command());
        }
        let hosts: Vec<Vec<u8>> =
            ["host", "hosts", "add-host"].into_iter().filter_map(|key| self.value(&[key])).collect();
        let count = match self.value(&["soft"]) {
            Some(soft) => allowed(&soft, self.count)?,
            None => self.count,
        };
        let directory = self.value(&["wdir"]).map(OsString::from_vec);
        let here = || std::env::current_dir().ok().map(|directory| directory.into_os_string());
        let mut environment = self.value(&["env"]).map_or(Ok(Vec::new()), |env| variables(&env))?;
        environment.extend(self.initial_errhandler()?);
        Ok(Program {
            count: count as u32,
            program: self.found_in_path(),
            arguments: self.arguments.iter().cloned().map(OsString::from_vec).collect(),
            environment,
            directory: directory.or_else(here),
            hosts: (!hosts.is_empty()).then(|| OsString::from_vec(hosts.join(&b','))),
            host_file: self.value(&["hostfile", "add-hostfile"]).map(OsString::from_vec),
            map_by: self.value(&["map_by", "map-by"]).map(OsString::from_vec),
        })
    }

    /// The variable for the key `mpi_initial_errhandler`.
    fn initial_errhandler(&self) -> Result<Option<(OsString, OsString)>> {
        let Some(value) = self.value(&["mpi_initial_errhandler"]) else { return Ok(None) };
        let Kind::Choice(names) = &INITIAL_ERRHANDLER.kind else { return Ok(None) };
        let known = std::str::from_utf8(&value).ok().filter(|name| names.contains(name));
        let name = known.ok_or_else(|| wrong_value("mpi_initial_errhandler", &value, &names.join(" or ")))?;
        Ok(Some((INITIAL_ERRHANDLER.about.name.into(), name.into())))
    }

    /// The value of the first of these keys that is set.
    fn value(&self, keys: &[&str]) -> Option<Vec<u8>> {
        let info = self.info?;
        keys.iter().find_map(|key| info.get(key.as_bytes()).ok().flatten()).filter(|value| !value.is_empty())
    }

    /// The program, looked for in the directories of the key `path`.
    fn found_in_path(&self) -> OsString {
        let program = OsStr::from_bytes(self.program);
        let path = self.value(&["path"]).filter(|_| !self.program.contains(&b'/')).unwrap_or_default();
        let directories = path.split(|byte| b":;".contains(byte)).filter(|directory| !directory.is_empty());
        let mut found = directories.map(|directory| Path::new(OsStr::from_bytes(directory)).join(program));
        found.find(|path| path.is_file()).map_or(program.to_owned(), |path| path.into_os_string())
    }
}

/// The variables of the key `env`: `NAME=VALUE` on each line.
fn variables(text: &[u8]) -> Result<Vec<(OsString, OsString)>> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let variable = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'=').filter(|at| *at > 0);
        let at = at.ok_or_else(|| wrong_value("env", line, "NAME=VALUE on each line"))?;
        let part = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Ok((part(&line[..at]), part(&line[at + 1..])))
    };
    lines.map(variable).collect()
}

/// The largest number up to `most` that the key `soft` allows: a list of numbers and of ranges
/// `FIRST:LAST` or `FIRST:LAST:STRIDE`.
fn allowed(text: &[u8], most: i32) -> Result<i32> {
    let wrong = || wrong_value("soft", text, "numbers and ranges FIRST:LAST:STRIDE, with commas between");
    let words = std::str::from_utf8(text).map_err(|_| wrong())?;
    let mut best = None;
    for range in words.split(',') {
        let numbers = range.split(':').map(|number| number.trim().parse::<i32>());
        let numbers: Vec<i32> = numbers.collect::<std::result::Result<_, _>>().map_err(|_| wrong())?;
        let found = match numbers[..] {
            [number] => (number <= most).then_some(number),
            [first, last] => largest(first, last, 1, most),
            [first, last, stride] if stride != 0 => largest(first, last, stride, most),
            _ => return Err(wrong()),
        };
        best = best.max(found);
    }
    best.filter(|count| *count > 0).ok_or_else(|| none_allowed(words, most))
}

/// The largest number of a range that is at most `most`.
fn largest(first: i32, last: i32, stride: i32, most: i32) -> Option<i32> {
    let [first, last, stride, most] = [first, last, stride, most].map(i64::from);
    if (last - first).signum() == -stride.signum() {
        return None;
    }
    let steps = (last - first) / stride;
    let (low, high) =
        if stride > 0 { (first, first + steps * stride) } else { (first + steps * stride, first) };
    let size = stride.abs();
    let found = if high <= most { high } else { low + (most - low).div_euclid(size) * size };
    (low <= found).then_some(found as i32)
}

#[cold]
fn wrong_count(count: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "that many processes cannot be spawned",
        format!("maxprocs is {count}; it can be 1 to {PROCESSES_MAX}"),
        "the number was computed from something unset",
        "pass the number of processes that are wanted",
    )
}

#[cold]
fn no_command() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the command to be spawned is empty",
        "the argument command",
        "the string was not filled in",
        "pass the name or the path of a program",
    )
}

#[cold]
fn wrong_value(key: &str, value: &[u8], form: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_INFO_VALUE,
        format!("the value of the info key {key} cannot be read"),
        format!("\"{}\"", String::from_utf8_lossy(value)),
        "it does not have the form that the key has",
        format!("write {form}"),
    )
}

#[cold]
fn none_allowed(soft: &str, most: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_SPAWN,
        "the info key soft allows no number of processes",
        format!("soft is \"{soft}\", maxprocs {most}"),
        "all its numbers are larger than maxprocs, or none is positive",
        "let soft have a number from 1 to maxprocs",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(pairs: &[(&str, &str)]) -> Info {
        let info = Info::new();
        pairs.iter().for_each(|(key, value)| info.set(key.as_bytes(), value.as_bytes()).unwrap());
        info
    }

    fn program(count: i32, pairs: &[(&str, &str)]) -> Result<Program> {
        let info = info(pairs);
        Command { program: b"x", arguments: vec![b"a b".to_vec()], count, info: Some(&info) }.program()
    }

    #[test]
    fn keys_of_both_families_are_understood_and_others_ignored() {
        let keys =
            [("host", "a"), ("hosts", "b,c"), ("wdir", "/tmp"), ("env", "A=1\nB=x=y"), ("colour", "red")];
        let program = program(3, &keys).unwrap();
        assert_eq!((program.count, program.hosts.unwrap().to_str()), (3, Some("a,b,c")));
        assert_eq!(program.directory.unwrap(), "/tmp");
        assert_eq!(program.environment, [("A".into(), "1".into()), ("B".into(), "x=y".into())]);
        assert_eq!(
            super::tests::program(1, &[]).unwrap().directory,
            std::env::current_dir().ok().map(Into::into)
        );
    }

    #[test]
    fn the_initial_error_handler_is_told_by_its_variable() {
        let given = |name: &str| program(1, &[("mpi_initial_errhandler", name), ("env", "A=1")]);
        for name in ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"] {
            let variable = ("VERBENA_INITIAL_ERRHANDLER".into(), name.into());
            assert_eq!(given(name).unwrap().environment, [("A".into(), "1".into()), variable]);
        }
        assert_eq!(given("mpi_errors_ignored").unwrap_err().class, mpi::MPI_ERR_INFO_VALUE);
    }

    #[test]
    fn a_program_is_found_in_the_path_that_was_given() {
        let info = info(&[("path", "/no/such/place:/bin:/usr/bin")]);
        let command =
            |program: &'static [u8]| Command { program, arguments: vec![], count: 1, info: Some(&info) };
        assert_eq!(command(b"sh").program().unwrap().program, "/bin/sh");
        assert_eq!(command(b"no-such-program").program().unwrap().program, "no-such-program");
        assert_eq!(command(b"./sh").program().unwrap().program, "./sh");
    }

    #[test]
    fn the_largest_number_that_is_allowed_is_taken() {
        for (soft, most, count) in
            [("2", 4, 2), ("1,3,7", 4, 3), ("0:4", 4, 4), ("1:9:3", 8, 7), ("8:1:-3", 6, 5), ("9,1:2", 4, 2)]
        {
            assert_eq!(program(most, &[("soft", soft)]).unwrap().count, count, "{soft}");
        }
        assert_eq!(program(2, &[("soft", "3:9")]).unwrap_err().class, mpi::MPI_ERR_SPAWN);
        for wrong in ["x", "1:2:0", "1:2:3:4", ",", "1-3"] {
            assert_eq!(program(2, &[("soft", wrong)]).unwrap_err().class, mpi::MPI_ERR_INFO_VALUE, "{wrong}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(program(0, &[]).unwrap_err().class, mpi::MPI_ERR_ARG);
        assert_eq!(program(i32::MAX, &[]).unwrap_err().class, mpi::MPI_ERR_ARG);
        assert_eq!(program(1, &[("env", "A")]).unwrap_err().class, mpi::MPI_ERR_INFO_VALUE);
    }
}
