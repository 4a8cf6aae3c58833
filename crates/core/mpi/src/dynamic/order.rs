//! The order of what is to be spawned, from the arguments of the call (MPI-5.0, 11.8.2 and 11.8.4).
//! The keys of both families of libraries are understood; others are ignored.

use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::info::Info;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use verbena_boot::spawn::{Program, SoftError, largest_allowed};
use verbena_settings::{INITIAL_ERRHANDLER, Kind, MEMORY_KINDS};

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
        if self.count == 0 {
            return Err(no_processes(self.program));
        }
        if !(1..=PROCESSES_MAX).contains(&self.count) {
            return Err(wrong_count(self.count));
        }
        if self.program.is_empty() {
            return Err(no_command());
        }
        let hosts: Vec<Vec<u8>> =
            ["host", "hosts", "add-host"].into_iter().filter_map(|key| self.value(&[key])).collect();
        let count = match self.value(&["soft"]) {
            Some(soft) => allowed(&soft, self.count as u32)?,
            None => self.count as u32,
        };
        let directory = self.value(&["wdir"]).map(OsString::from_vec);
        let here = || std::env::current_dir().ok().map(|directory| directory.into_os_string());
        let mut environment = self.value(&["env"]).map_or(Ok(Vec::new()), |env| variables(&env))?;
        environment.extend(self.initial_errhandler()?);
        environment.extend(self.memory_kinds());
        Ok(Program {
            count,
            program: OsStr::from_bytes(self.program).to_owned(),
            arguments: self.arguments.iter().cloned().map(OsString::from_vec).collect(),
            environment,
            directory: directory.or_else(here),
            hosts: (!hosts.is_empty()).then(|| OsString::from_vec(hosts.join(&b','))),
            host_file: self.value(&["hostfile", "add-hostfile"]).map(OsString::from_vec),
            path: self.value(&["path"]).map(OsString::from_vec),
            soft: None,
            map_by: self.value(&["map_by", "map-by"]).map(OsString::from_vec),
            rank_by: self.value(&["rank_by", "rank-by"]).map(OsString::from_vec),
            bind_to: self.value(&["bind_to", "bind-to"]).map(OsString::from_vec),
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

    /// The variable for the key `mpi_memory_alloc_kinds`.
    fn memory_kinds(&self) -> Option<(OsString, OsString)> {
        let value = self.value(&["mpi_memory_alloc_kinds"])?;
        Some((MEMORY_KINDS.about.name.into(), OsString::from_vec(value)))
    }

    /// The value of the first of these keys that is set.
    fn value(&self, keys: &[&str]) -> Option<Vec<u8>> {
        let info = self.info?;
        keys.iter().find_map(|key| info.get(key.as_bytes()).ok().flatten()).filter(|value| !value.is_empty())
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

/// The largest number up to `most` that the key `soft` allows.
fn allowed(text: &[u8], most: u32) -> Result<u32> {
    let words = String::from_utf8_lossy(text);
    largest_allowed(&words, most).map_err(|error| match error {
        SoftError::Form => {
            wrong_value("soft", text, "numbers and ranges FIRST:LAST:STRIDE, with commas between")
        }
        SoftError::Nothing => none_allowed(&words, most),
    })
}

#[cold]
fn no_processes(program: &[u8]) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "no process can be spawned",
        format!("maxprocs is 0 for {}", String::from_utf8_lossy(program)),
        "the number was computed, and nothing is left to do; an intercommunicator has processes on both sides",
        "leave the call out on all processes, or the command out of MPI_Comm_spawn_multiple",
    )
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
fn none_allowed(soft: &str, most: u32) -> Error {
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
        let kinds = program(1, &[("mpi_memory_alloc_kinds", "mpi:alloc_mem")]).unwrap().environment;
        assert_eq!(kinds, [("VERBENA_MEMORY_KINDS".into(), "mpi:alloc_mem".into())]);
    }

    #[test]
    fn the_launcher_is_told_where_to_look_and_how_to_place_and_bind() {
        let keys = [("path", "/a:/b"), ("map_by", "numa"), ("rank_by", "fill"), ("bind_to", "core")];
        let told = program(1, &keys).unwrap();
        let words = [told.path, told.map_by, told.rank_by, told.bind_to].map(|word| word.unwrap());
        assert_eq!(words, ["/a:/b", "numa", "fill", "core"]);
    }

    #[test]
    fn the_key_soft_takes_the_largest_number_that_it_allows() {
        assert_eq!(program(8, &[("soft", "1:9:3")]).unwrap().count, 7);
        assert_eq!(program(2, &[("soft", "3:9")]).unwrap_err().class, mpi::MPI_ERR_SPAWN);
        assert_eq!(program(2, &[("soft", "1:2:0")]).unwrap_err().class, mpi::MPI_ERR_INFO_VALUE);
    }

    #[test]
    fn nonsense_is_refused() {
        let none = program(0, &[]).unwrap_err();
        assert_eq!(none.class, mpi::MPI_ERR_ARG);
        assert!(none.fault.cause.contains("processes on both sides"), "{none}");
        assert_eq!(program(i32::MAX, &[]).unwrap_err().class, mpi::MPI_ERR_ARG);
        assert_eq!(program(1, &[("env", "A")]).unwrap_err().class, mpi::MPI_ERR_INFO_VALUE);
    }
}
