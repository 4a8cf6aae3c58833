//! The PMI-1 command `spawn`, by which programs of MPICH and Intel MPI start others: a block of
//! lines for each program, of which the last ends with `endcmd`.

use super::{Event, MESSAGE_LENGTH_MAX, Server};
use std::ffi::OsString;
use verbena_boot::spawn::{Order, Program, values_text};
use verbena_boot::wire::{Message, WireError};

/// The blocks of a command that is under way.
#[derive(Debug, Default)]
pub(super) struct Spawn {
    /// The lines of the block that is under way.
    lines: Vec<(String, String)>,
    programs: Vec<Program>,
    /// The values that the new processes find at their launcher.
    values: Vec<(String, String)>,
    /// The length of all lines, in bytes.
    bytes: usize,
}

impl Spawn {
    fn get(&self, key: &str) -> Option<&str> {
        self.lines.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn number(&self, key: &str) -> u32 {
        self.get(key).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// The pairs of a list, whose keys and values have names like these with a number behind.
    fn pairs(&self, count: &str, key: &str, value: &str) -> Vec<(String, String)> {
        let at = |number: u32| {
            let of = |name: &str| self.get(&format!("{name}{number}")).map(str::to_owned);
            Some((of(key)?, of(value)?))
        };
        (0..self.number(count)).map_while(at).collect()
    }

    /// Ends a block; `true` if it was the last.
    fn end_block(&mut self) -> bool {
        let argument = |number: u32| self.get(&format!("arg{number}")).map(OsString::from);
        let info = self.pairs("info_num", "info_key_", "info_val_");
        let value = |keys: &[&str]| {
            let found = info.iter().find(|(key, value)| keys.contains(&key.as_str()) && !value.is_empty());
            found.map(|(_, value)| OsString::from(value))
        };
        let program = Program {
            count: self.number("nprocs"),
            program: self.get("execname").unwrap_or_default().into(),
            arguments: (1..=self.number("argcnt")).map_while(argument).collect(),
            environment: Vec::new(),
            directory: value(&["wdir", "wd"]),
            hosts: value(&["host", "hosts"]),
            host_file: value(&["hostfile"]),
            path: value(&["path"]),
            soft: value(&["soft"]),
            map_by: value(&["map_by", "map-by"]),
            rank_by: value(&["rank_by", "rank-by"]),
            bind_to: value(&["bind_to", "bind-to"]),
        };
        let values = self.pairs("preput_num", "preput_key_", "preput_val_");
        let is_last = self.number("spawnssofar") >= self.number("totspawns");
        self.programs.push(program);
        self.values.extend(values);
        self.lines.clear();
        is_last
    }
}

impl Server {
    /// Begins a block.
    pub(super) fn begin_spawn_block(&mut self, rank: u32) {
        let peer = &mut self.peers[rank as usize];
        peer.in_block = true;
        peer.spawn.get_or_insert_default();
    }

    /// Handles a line inside a block.
    pub(super) fn handle_block_line(&mut self, rank: u32, line: &str) {
        let peer = &mut self.peers[rank as usize];
        let spawn = peer.spawn.get_or_insert_default();
        if line == "endcmd" {
            peer.in_block = false;
            if spawn.end_block() {
                self.order_spawn(rank);
            }
            return;
        }
        spawn.bytes += line.len();
        if spawn.bytes > MESSAGE_LENGTH_MAX {
            let error = WireError::TooLong { limit: MESSAGE_LENGTH_MAX };
            return self.events.push_back(Event::Garbled { rank, error });
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        spawn.lines.push((key.to_owned(), value.to_owned()));
    }

    fn order_spawn(&mut self, rank: u32) {
        let Some(spawn) = &mut self.peers[rank as usize].spawn else { return };
        let (programs, parent) = (std::mem::take(&mut spawn.programs), values_text(&spawn.values));
        let order = Order { programs, parent, ranks: Vec::new() };
        match order.words() {
            Ok(words) if order.programs.iter().all(|program| !program.program.is_empty()) => {
                let Order { parent, ranks, .. } = order;
                self.events.push_back(Event::Spawn { rank, words, parent, ranks });
            }
            Ok(_) => self.answer_spawn(rank, &Err((Vec::new(), "a program has no name".into()))),
            Err(why) => self.answer_spawn(rank, &Err((Vec::new(), why))),
        }
    }

    /// Answers a rank that has ordered programs so; `false` if it has not.
    pub(super) fn answer_spawn1(&mut self, rank: u32, outcome: &Result<u32, (Vec<u32>, String)>) -> bool {
        if self.peers[rank as usize].spawn.take().is_none() {
            return false;
        }
        let answer = Message::new("spawn_result");
        let answer = match outcome {
            Ok(_) => answer.with("rc", 0),
            Err((_, text)) => {
                let words: Vec<&str> = text.split_whitespace().collect();
                answer.with("rc", -1).with("msg", words.join("_"))
            }
        };
        self.answer(rank, &answer);
        true
    }
}
