//! The PMI-1 client.

use super::KeyValues;
use super::names::Names;
use crate::environment::Process;
use crate::error::BootError;
use crate::link::Link;
use crate::spawn::{Order, Program, SpawnError, found_in};
use crate::wire::{Message, shorten};
use std::ffi::OsStr;

/// The longest line that every launcher takes, in bytes.
const LINE_LENGTH_MAX: usize = 1000;

/// The key under which a spawned program finds the port of the one that spawned it.
const PARENT_KEY: &str = "verbena-parent";

/// A launcher that accepted PMI-1.
#[derive(Debug)]
pub struct Pmi1 {
    link: Link,
    space: String,
    value_length_max: usize,
    round: u32,
    /// True if it starts no processes beyond those that a job has room for, and lets a program that
    /// wants more wait without an end: Slurm, which tells the number of the job.
    pub(crate) counts_slots: bool,
}

/// A launcher's answer to the greeting.
pub enum Greeting {
    /// The launcher speaks PMI-1.
    Accepted(Pmi1),
    /// The launcher does not, but offers PMI-2.
    WantsPmi2(Link),
}

/// Introduces this process over a port: says which one calls, and learns its rank and size.
pub(super) fn introduce(link: &mut Link, id: u32) -> Result<(u32, u32), BootError> {
    link.ask(&Message::new("initack").with("pmiid", id), "initack")?;
    let (mut rank, mut size) = (None, None);
    // Three `set` messages come: size, rank and debug. The last one is of no interest, but must be
    // read.
    for _ in 0..3 {
        let message = link.expect("initack", "set")?;
        size = message.number::<u32>("size").or(size);
        rank = message.number::<u32>("rank").or(rank);
    }
    match (rank, size) {
        (Some(rank), Some(size)) if rank < size => Ok((rank, size)),
        _ => Err(unexpected("initack", "rank and size", &format!("rank {rank:?}, size {size:?}"))),
    }
}

impl Pmi1 {
    /// Offers PMI-1.
    pub fn greet(mut link: Link) -> Result<Greeting, BootError> {
        link.send(&Message::new("init").with("pmi_version", 1).with("pmi_subversion", 1))?;
        let answer = link.receive("init")?;
        let refused = answer.get("rc").is_some_and(|rc| rc != "0");
        match answer.number::<u32>("pmi_version") {
            Some(1) if !refused => {
                let client =
                    Pmi1 { link, space: String::new(), value_length_max: 0, round: 0, counts_slots: false };
                Ok(Greeting::Accepted(client))
            }
            Some(2) => Ok(Greeting::WantsPmi2(link)),
            _ => Err(unexpected("init", "pmi_version=1 and rc=0", &format!("{answer:?}"))),
        }
    }

    /// Asks for all that is to know.
    pub fn process(&mut self, rank: u32, size: u32, is_spawned: bool) -> Result<Process, BootError> {
        let maxes = self.link.ask(&Message::new("get_maxes"), "maxes")?;
        self.value_length_max = maxes.number("vallen_max").unwrap_or(256);
        let appnum = self.link.ask(&Message::new("get_appnum"), "appnum")?.number("appnum");
        let universe = self.link.ask(&Message::new("get_universe_size"), "universe_size")?;
        let space = self.link.ask(&Message::new("get_my_kvsname"), "my_kvsname")?;
        let named = space.get("kvsname").ok_or_else(|| unexpected("get_my_kvsname", "kvsname", "none"))?;
        self.space = named.to_owned();
        let parent = if is_spawned { self.parent()? } else { None };
        let (universe_size, job) = (universe.number("size"), self.space.clone());
        Ok(Process { rank, size, universe_size, appnum, job, parent })
    }

    /// The port of the program that spawned this one, if that was one of ours.
    fn parent(&mut self) -> Result<Option<String>, BootError> {
        let get = Message::new("get").with("kvsname", &self.space).with("key", PARENT_KEY);
        self.link.send(&get)?;
        let answer = self.link.answer("get", "get_result")?;
        let found = answer.get("value").filter(|_| answer.get("rc").is_none_or(|rc| rc == "0"));
        Ok(found.map(str::to_owned))
    }

    /// The name service.
    pub(super) fn names(&mut self) -> Names<'_> {
        Names { link: &mut self.link, line_length_max: LINE_LENGTH_MAX }
    }

    /// Has programs started.
    ///
    /// # Errors
    /// Why none runs.
    pub fn spawn(&mut self, order: &Order) -> Result<(), SpawnError> {
        let text = spawn_text(order).map_err(|why| SpawnError::Refused(Vec::new(), why))?;
        self.link.send_bytes(text.as_bytes(), "spawn")?;
        let answer = self.link.answer("spawn", "spawn_result")?;
        match answer.get("rc") {
            Some("0") | None => Ok(()),
            Some(rc) => {
                // Values have no spaces.
                let words = answer.get("msg").map(|words| words.replace('_', " "));
                let words = words.unwrap_or_else(|| format!("it gives no reason (rc={rc})"));
                Err(SpawnError::Refused(Vec::new(), format!("the launcher refused: {words}")))
            }
        }
    }

    /// See [`crate::Boot::abort`].
    pub fn abort(&mut self, code: i32, message: &str) -> Result<(), BootError> {
        self.link.send(&Message::new("abort").with("exitcode", code).with("message", message))
    }

    /// See [`crate::Boot::finalize`].
    pub fn finalize(mut self) -> Result<(), BootError> {
        self.link.ask(&Message::new("finalize"), "finalize_ack").map(drop)
    }
}

impl KeyValues for Pmi1 {
    fn value_length_max(&self) -> usize {
        // Launchers read a line of PMI-1 into 1024 bytes, whatever limits they announce for its
        // parts (Slurm 22.05 announces 1024 for the value alone). Room for the words around the
        // value, and for the key.
        let line_room = LINE_LENGTH_MAX.saturating_sub(self.space.len() + 80);
        // The limit told may count a closing zero byte.
        self.value_length_max.saturating_sub(1).min(line_room)
    }

    fn next_round(&mut self) -> u32 {
        self.round += 1;
        self.round
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), BootError> {
        let put = Message::new("put").with("kvsname", &self.space).with("key", key).with("value", value);
        self.link.ask(&put, "put_result").map(drop)
    }

    fn fence(&mut self) -> Result<(), BootError> {
        self.link.ask(&Message::new("barrier_in"), "barrier_out").map(drop)
    }

    fn value(&mut self, _rank: u32, key: &str) -> Result<String, BootError> {
        let get = Message::new("get").with("kvsname", &self.space).with("key", key);
        let answer = self.link.ask(&get, "get_result")?;
        answer.get("value").map(str::to_owned).ok_or_else(|| unexpected("get", key, "no value"))
    }
}

/// The multi-line command that starts programs.
///
/// # Errors
/// Says what such lines cannot carry.
fn spawn_text(order: &Order) -> Result<String, String> {
    let total = order.programs.len();
    let one = |(at, program): (usize, &Program)| {
        // Hydra takes one directory as the key path.
        let path = program.path.as_deref().unwrap_or_default();
        let found = found_in(path, &program.program, program.directory.as_deref());
        let mut lines = vec![
            "mcmd=spawn".to_owned(),
            format!("nprocs={}", program.count),
            format!("execname={}", line_of(&found)?),
            format!("totspawns={total}"),
            format!("spawnssofar={}", at + 1),
        ];
        for (number, argument) in (1..).zip(&program.arguments) {
            lines.push(format!("arg{number}={}", line_of(argument)?));
        }
        lines.push(format!("argcnt={}", program.arguments.len()));
        lines.extend([
            "preput_num=1".to_owned(),
            format!("preput_key_0={PARENT_KEY}"),
            format!("preput_val_0={}", order.parent),
        ]);
        let info = [("wdir", &program.directory), ("host", &program.hosts), ("hostfile", &program.host_file)];
        let info = info.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let info: Vec<_> = info.collect();
        lines.push(format!("info_num={}", info.len()));
        for (number, (key, value)) in info.iter().enumerate() {
            lines.push(format!("info_key_{number}={key}"));
            lines.push(format!("info_val_{number}={}", line_of(value)?));
        }
        if !program.environment.is_empty() {
            return Err(
                "PMI-1 cannot set variables (the info keys env, mpi_initial_errhandler and mpi_memory_alloc_kinds)"
                    .to_owned()
            );
        }
        lines.push("endcmd\n".to_owned());
        Ok(lines.join("\n"))
    };
    order.programs.iter().enumerate().map(one).collect()
}

/// A word as a part of a line. Hydra ends at an empty one.
fn line_of(word: &OsStr) -> Result<&str, String> {
    let text = word.to_str().filter(|text| !text.is_empty() && !text.contains('\n'));
    text.ok_or_else(|| {
        format!("PMI-1 cannot carry the word {word:?}: it is empty, has a line break, or is no text")
    })
}

fn unexpected(command: &str, expected: &str, got: &str) -> BootError {
    BootError::Unexpected { command: command.to_owned(), expected: expected.to_owned(), got: shorten(got) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spawn_is_told_line_by_line() {
        let program = Program {
            count: 2,
            program: "x".into(),
            arguments: vec!["a b".into(), "-n".into()],
            directory: Some("/tmp".into()),
            ..Program::default()
        };
        let order =
            Order { programs: vec![program.clone(), program], parent: "port".into(), ..Order::default() };
        let text = spawn_text(&order).expect("lines");
        let wanted = "mcmd=spawn\nnprocs=2\nexecname=x\ntotspawns=2\nspawnssofar=2\narg1=a b\narg2=-n\n\
                      argcnt=2\npreput_num=1\npreput_key_0=verbena-parent\npreput_val_0=port\n\
                      info_num=1\ninfo_key_0=wdir\ninfo_val_0=/tmp\nendcmd\n";
        assert!(text.ends_with(wanted), "{text}");
        assert_eq!(text.matches("endcmd\n").count(), 2);
    }

    #[test]
    fn what_lines_cannot_carry_is_refused() {
        let program = |argument: &str| Program {
            count: 1,
            program: "x".into(),
            arguments: vec![argument.into()],
            ..Program::default()
        };
        let text = |program| {
            spawn_text(&Order { programs: vec![program], parent: "port".into(), ..Order::default() })
        };
        assert!(text(program("a b")).is_ok());
        assert!(text(program("")).is_err() && text(program("a\nb")).is_err());
        let environment = vec![("A".into(), "1".into())];
        assert!(text(Program { environment, ..program("a") }).is_err());
    }
}
