//! The PMI-1 commands, and our extension.

use super::{Event, KEY_LENGTH_MAX, Server, Stage, VALUE_LENGTH_MAX, Waiting};
use verbena_boot::card;
use verbena_boot::spawn::{ranks_of, split};
use verbena_boot::wire::{Dialect, Message};

/// The error for a value that finds no room.
pub(super) const FULL: &str = "the_launcher_stores_no_more";

impl Server {
    pub(super) fn handle1(&mut self, rank: u32, frame: &str, message: &Message) {
        match message.cmd.as_str() {
            "init" => self.init(rank, message),
            "get_maxes" => self.answer(rank, &maxes()),
            "get_appnum" => {
                let appnum = self.about.appnums[rank as usize];
                self.answer(rank, &ok("appnum").with("appnum", appnum));
            }
            "get_universe_size" => self.answer(rank, &ok("universe_size").with("size", self.size())),
            "get_my_kvsname" => self.answer(rank, &ok("my_kvsname").with("kvsname", self.about.job.clone())),
            "get_ranks2hosts" => self.refuse1(rank, "put_ranks2hosts"),
            "put" => self.put(rank, message),
            "get" => self.get(rank, message),
            "barrier_in" => self.wait(rank, Waiting::Barrier),
            "publish_name" | "lookup_name" | "unpublish_name" => self.name1(rank, message),
            "finalize" => {
                self.finalise(rank);
                self.answer(rank, &ok("finalize_ack"));
            }
            "abort" => self.abort(rank, message),
            "spawn" if frame.starts_with("mcmd") => self.begin_spawn_block(rank),
            "verbena_spawn" => self.spawn(rank, message),
            "verbena_spawn_state" => {
                let number = message.number("number").unwrap_or(0);
                self.events.push_back(Event::SpawnState { rank, number });
            }
            "verbena_spawn_parted" => {
                let number = message.number("number");
                self.events.extend(number.map(|number| Event::SpawnParted { rank, number }));
            }
            "verbena_hello" => self.peers[rank as usize].stage = Stage::Initialised,
            "verbena_bye" => self.finalise(rank),
            "verbena_exchange" => {
                self.peers[rank as usize].card = message.get("card").unwrap_or("").to_owned();
                self.wait(rank, Waiting::Exchange);
            }
            other => self.refuse1(rank, &format!("{other}_result")),
        }
    }

    fn spawn(&mut self, rank: u32, message: &Message) {
        let decoded = |key| message.get(key).and_then(|text| card::decode(text).ok());
        let (words, ranks) = (decoded("words"), decoded("ranks").unwrap_or_default());
        let parent = message.get("parent").unwrap_or("").to_owned();
        match words.map(|words| split(&words)).filter(|words| !words.is_empty()) {
            Some(words) => {
                let ranks = ranks_of(&ranks, self.size() as u32);
                self.events.push_back(Event::Spawn { rank, words, parent, ranks });
            }
            None => self.answer_spawn(rank, &Err((Vec::new(), "the order cannot be read".into()))),
        }
    }

    /// Tells a rank how the start of its programs went: their number, or the processes that could
    /// not be started, and why.
    pub fn answer_spawn(&mut self, rank: u32, outcome: &Result<u32, (Vec<u32>, String)>) {
        if self.answer_spawn1(rank, outcome) {
            return;
        }
        let answer = Message::new("verbena_spawned");
        let answer = match outcome {
            Ok(number) => answer.with("rc", 0).with("number", number),
            Err((ranks, text)) => {
                let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
                let answer = answer.with("rc", 1).with("ranks", ranks.join(","));
                answer.with("text", card::encode(text.as_bytes()))
            }
        };
        self.answer(rank, &answer);
    }

    /// Tells a rank whether its programs have ended.
    pub fn answer_spawn_state(&mut self, rank: u32, is_over: bool) {
        self.answer(rank, &ok("verbena_spawn_state_is").with("over", u32::from(is_over)));
    }

    /// Handles the greeting, in PMI-1 form for both versions. All after it is in the agreed
    /// version.
    fn init(&mut self, rank: u32, message: &Message) {
        // The answer to a waiting rank comes in the dialect in which it asked.
        let is_free = self.peers[rank as usize].waiting.is_none();
        let two = message.number("pmi_version") == Some(2) && is_free;
        let version = if two { (2, 0) } else { (1, 1) };
        let answer = Message::new("response_to_init")
            .with("pmi_version", version.0)
            .with("pmi_subversion", version.1)
            .with("rc", 0);
        self.answer(rank, &answer);
        self.peers[rank as usize].stage = Stage::Initialised;
        if two {
            self.peers[rank as usize].dialect = Dialect::Two;
        }
    }

    fn put(&mut self, rank: u32, message: &Message) {
        let (Some(key), value) = (message.get("key"), message.get("value").unwrap_or("")) else {
            return self.refuse1(rank, "put_result");
        };
        if key.len() > KEY_LENGTH_MAX || value.len() > VALUE_LENGTH_MAX {
            return self.answer(rank, &Message::new("put_result").with("rc", -1).with("msg", "too_long"));
        }
        let answer = match self.store(key, value) {
            true => ok("put_result").with("msg", "success"),
            false => Message::new("put_result").with("rc", -1).with("msg", FULL),
        };
        self.answer(rank, &answer);
    }

    fn get(&mut self, rank: u32, message: &Message) {
        let found = message.get("key").and_then(|key| self.values.get(key));
        let answer = match found {
            Some(value) => ok("get_result").with("msg", "success").with("value", value),
            None => Message::new("get_result")
                .with("rc", -1)
                .with("msg", "key_not_found")
                .with("value", "unknown"),
        };
        self.answer(rank, &answer);
    }

    /// Handles `MPI_Publish_name` and its kin, within this job.
    fn name1(&mut self, rank: u32, message: &Message) {
        let service = message.get("service").unwrap_or("").to_owned();
        let refused =
            |answer: &str, rc: i32, why: &str| Message::new(answer).with("rc", rc).with("info", why);
        let answer = match message.cmd.as_str() {
            "publish_name" if self.names.contains_key(&service) => {
                refused("publish_result", 1, "the_name_is_published_already")
            }
            "publish_name" => match self.publish(rank, &service, message.get("port").unwrap_or("")) {
                true => ok("publish_result").with("info", "ok"),
                false => refused("publish_result", -1, FULL),
            },
            "unpublish_name" if self.unpublish(&service) => ok("unpublish_result").with("info", "ok"),
            "unpublish_name" => refused("unpublish_result", 1, "no_such_name"),
            _ => match self.names.get(&service) {
                Some((port, _)) => ok("lookup_result").with("info", "ok").with("port", port),
                None => refused("lookup_result", 1, "no_such_name"),
            },
        };
        self.answer(rank, &answer);
    }

    fn refuse1(&mut self, rank: u32, answer: &str) {
        self.answer(
            rank,
            &Message::new(answer).with("rc", -1).with("msg", "not_supported_by_verbena_mpiexec"),
        );
    }
}

fn ok(answer: &str) -> Message {
    Message::new(answer).with("rc", 0)
}

fn maxes() -> Message {
    let answer = ok("maxes").with("kvsname_max", 256).with("keylen_max", KEY_LENGTH_MAX);
    answer.with("vallen_max", VALUE_LENGTH_MAX)
}
