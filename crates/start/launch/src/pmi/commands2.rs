//! The PMI-2 commands.

use super::commands1::FULL;
use super::{Server, Stage, Waiting};
use verbena_boot::wire::Message;

impl Server {
    pub(super) fn handle2(&mut self, rank: u32, message: &Message) {
        match message.cmd.as_str() {
            "fullinit" => self.full_init(rank, message),
            "job-getid" => {
                let job = self.about.job.clone();
                self.answer(rank, &ok(message).with("jobid", job));
            }
            "info-getjobattr" => self.job_attribute(rank, message),
            "info-putnodeattr" => {
                let key = self.node_key(rank, message);
                self.put2(rank, &key, message);
            }
            "info-getnodeattr" => self.look_up(rank, message, &self.node_key(rank, message)),
            "kvs-put" => self.put2(rank, message.get("key").unwrap_or(""), message),
            "kvs-get" => self.look_up(rank, message, message.get("key").unwrap_or("")),
            "kvs-fence" => self.wait(rank, Waiting::Fence),
            "finalize" => {
                self.finalise(rank);
                self.answer(rank, &ok(message));
            }
            "abort" => self.abort(rank, message),
            _ => self.answer(
                rank,
                &response(message).with("rc", 1).with("errmsg", "not supported by this mpiexec"),
            ),
        }
    }

    fn full_init(&mut self, rank: u32, message: &Message) {
        self.peers[rank as usize].stage = Stage::Initialised;
        let answer = response(message)
            .with("pmi-version", 2)
            .with("pmi-subversion", 0)
            .with("rank", rank)
            .with("size", self.size())
            .with("appnum", self.about.appnums[rank as usize])
            .with("debugged", "FALSE")
            .with("pmiverbose", "FALSE")
            .with("rc", 0);
        self.answer(rank, &answer);
    }

    fn job_attribute(&mut self, rank: u32, message: &Message) {
        match message.get("key") {
            Some("universeSize") => {
                let size = self.size();
                self.answer(rank, &response(message).with("found", "TRUE").with("value", size).with("rc", 0));
            }
            key => self.look_up(rank, message, key.unwrap_or("")),
        }
    }

    fn put2(&mut self, rank: u32, key: &str, message: &Message) {
        let answer = match self.store(key, message.get("value").unwrap_or("")) {
            true => ok(message),
            false => response(message).with("rc", 1).with("errmsg", FULL),
        };
        self.answer(rank, &answer);
    }

    fn look_up(&mut self, rank: u32, message: &Message, key: &str) {
        let answer = match self.values.get(key) {
            Some(value) => response(message).with("found", "TRUE").with("value", value).with("rc", 0),
            None => response(message).with("found", "FALSE").with("rc", 0),
        };
        self.answer(rank, &answer);
    }

    /// The key of a node attribute: each node has its own name space.
    fn node_key(&self, rank: u32, message: &Message) -> String {
        format!("node/{}/{}", self.about.nodes[rank as usize], message.get("key").unwrap_or(""))
    }
}

/// An answer with its name, and the thread's mark if the client gave one.
fn response(message: &Message) -> Message {
    let answer = Message::new(&format!("{}-response", message.cmd));
    match message.get("thrid") {
        Some(thread) => answer.with("thrid", thread),
        None => answer,
    }
}

fn ok(message: &Message) -> Message {
    response(message).with("rc", 0)
}
