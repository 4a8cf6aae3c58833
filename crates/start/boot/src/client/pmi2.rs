//! The PMI-2 client.

use super::KeyValues;
use crate::environment::Process;
use crate::error::BootError;
use crate::link::Link;
use crate::wire::{Dialect, Message};

/// The longest value that PMI-2 promises to carry (`PMI2_MAX_VALLEN`), less one for a closing zero
/// byte.
const VALUE_LENGTH_MAX: usize = 1023;

/// A launcher that accepted PMI-2.
#[derive(Debug)]
pub struct Pmi2 {
    link: Link,
    job: String,
    round: u32,
}

impl Pmi2 {
    /// Offers PMI-2, by a PMI-1 line as the protocol demands, and learns what this process is.
    pub fn greet(mut link: Link, rank: u32, job: Option<String>) -> Result<(Pmi2, Process), BootError> {
        link.dialect = Dialect::One;
        link.ask(&Message::new("init").with("pmi_version", 2).with("pmi_subversion", 0), "response_to_init")?;
        link.dialect = Dialect::Two;
        // Slurm demands its job id; Hydra, which gives none, aborts on an empty one.
        let greeting = Message::new("fullinit");
        let greeting = job.into_iter().fold(greeting, |greeting, job| greeting.with("pmijobid", job));
        let greeting = greeting.with("pmirank", rank).with("threaded", "FALSE");
        let answer = link.ask(&greeting, "fullinit-response")?;
        let (rank, size) = (demand(&answer, "rank")?, demand(&answer, "size")?);
        let job = link.ask(&Message::new("job-getid"), "job-getid-response")?;
        let job = job.get("jobid").unwrap_or("pmi2").to_owned();
        let mut client = Pmi2 { link, job: job.clone(), round: 0 };
        let universe_size = client.attribute("universeSize")?.and_then(|value| value.parse().ok());
        Ok((
            client,
            Process { rank, size, universe_size, appnum: answer.number("appnum"), job, parent: None },
        ))
    }

    /// A job attribute, if the launcher has it.
    fn attribute(&mut self, key: &str) -> Result<Option<String>, BootError> {
        let ask = Message::new("info-getjobattr").with("key", key);
        let answer = self.link.ask(&ask, "info-getjobattr-response")?;
        Ok(found(&answer))
    }

    /// See [`crate::Boot::abort`].
    pub fn abort(&mut self, code: i32, message: &str) -> Result<(), BootError> {
        let abort = Message::new("abort").with("isworld", "TRUE").with("exitcode", code).with("msg", message);
        self.link.send(&abort)
    }

    /// See [`crate::Boot::finalize`].
    pub fn finalize(mut self) -> Result<(), BootError> {
        self.link.ask(&Message::new("finalize"), "finalize-response").map(drop)
    }
}

impl KeyValues for Pmi2 {
    fn value_length_max(&self) -> usize {
        VALUE_LENGTH_MAX
    }

    fn next_round(&mut self) -> u32 {
        self.round += 1;
        self.round
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), BootError> {
        let put = Message::new("kvs-put").with("key", key).with("value", value);
        self.link.ask(&put, "kvs-put-response").map(drop)
    }

    fn fence(&mut self) -> Result<(), BootError> {
        self.link.ask(&Message::new("kvs-fence"), "kvs-fence-response").map(drop)
    }

    fn value(&mut self, rank: u32, key: &str) -> Result<String, BootError> {
        let get = Message::new("kvs-get").with("jobid", &self.job).with("srcid", rank).with("key", key);
        let answer = self.link.ask(&get, "kvs-get-response")?;
        found(&answer).ok_or_else(|| BootError::BadCard { rank, why: format!("there is no key {key}") })
    }
}

fn found(answer: &Message) -> Option<String> {
    (answer.get("found") == Some("TRUE")).then(|| answer.get("value").unwrap_or("").to_owned())
}

fn demand(answer: &Message, key: &str) -> Result<u32, BootError> {
    answer.number(key).ok_or_else(|| BootError::Unexpected {
        command: "fullinit".into(),
        expected: format!("a number '{key}'"),
        got: crate::wire::shorten(&format!("{answer:?}")),
    })
}
