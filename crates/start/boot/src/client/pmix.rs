//! The PMIx client. See [`crate::pmix`] for the wire.

use crate::environment::{Place, Process, Proof};
use crate::error::BootError;
use crate::link::Link;
use crate::munge;
use crate::pmix::{self, HEADER_BYTES, Header, Identity, JobData, Malformed, Security};
use std::time::Duration;

/// The time that a server has for an answer that depends on no other process.
pub const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// The time that a server has to hear of an abort before this process ends.
const ABORT_TIME_MAX: Duration = Duration::from_secs(1);

/// The status of a server that wants to prove something first: a security that we do not speak.
const WANTS_HANDSHAKE: i32 = -14;

/// A server that has accepted this process.
#[derive(Debug)]
pub struct Pmix {
    link: Link,
    namespace: String,
    /// Our index at the server.
    index: u32,
    /// The tag of the next request.
    tag: u32,
    round: u32,
    answer_time_max: Duration,
}

impl Pmix {
    /// Connects, introduces this process, and learns the size of the job. No answer is waited for
    /// longer than `answer_time_max`, fences aside.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, is silent, or is none.
    pub fn greet(place: &Place, answer_time_max: Duration) -> Result<(Pmix, Process), BootError> {
        let link = Link::connect_within(place.address, answer_time_max)?;
        let namespace = place.namespace.clone();
        let mut client = Pmix { link, namespace, index: 0, tag: pmix::TAG_FIRST, round: 0, answer_time_max };
        client.introduce(place)?;
        let body = client.ask("job data", pmix::job_request())?;
        let data = JobData::parse(&body, place.rank).map_err(|why| malformed("job data", &why))?;
        let size = data.size.unwrap_or(0);
        if place.rank >= size {
            return Err(BootError::Unexpected {
                command: "job data".into(),
                expected: format!("more than {} processes", place.rank),
                got: size.to_string(),
            });
        }
        let job = place.namespace.clone();
        // PRRTE counts slots, of which an oversubscribed job has fewer than processes.
        let universe_size = data.universe_size.map(|slots| slots.max(size));
        let (rank, appnum) = (place.rank, data.appnum);
        Ok((client, Process { rank, size, universe_size, appnum, job, parent: None }))
    }

    fn introduce(&mut self, place: &Place) -> Result<(), BootError> {
        // SAFETY: neither call takes or touches memory.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let no_proof = |why: String| refused("connect", &format!("it wants a proof by munge: {why}"));
        let security = match place.proof {
            Proof::Native => Security::Native { user, group },
            Proof::Munge => Security::Munge(munge::proof().map_err(no_proof)?),
            Proof::None => Security::None,
        };
        let identity =
            Identity { namespace: &place.namespace, rank: place.rank, dialect: place.dialect, security };
        self.link.send_bytes(&identity.emit(), "connect")?;
        match self.receive_word("connect")?.cast_signed() {
            0 => {}
            WANTS_HANDSHAKE => {
                return Err(refused("connect", "it wants a proof that this client cannot give"));
            }
            status => return Err(refused("connect", &format!("status {status}"))),
        }
        self.index = self.receive_word("connect")?;
        Ok(())
    }

    fn receive_word(&mut self, command: &str) -> Result<u32, BootError> {
        let bytes = self.link.receive_exactly(4, command, Some(self.answer_time_max))?;
        let word = bytes.first_chunk::<4>().copied().unwrap_or_default();
        Ok(u32::from_be_bytes(word))
    }

    /// Sends a request and waits for its answer.
    fn ask(&mut self, command: &str, body: Vec<u8>) -> Result<Vec<u8>, BootError> {
        let limit = Some(self.answer_time_max);
        self.ask_within(command, body, limit)
    }

    /// Sends a request and waits for its answer; once that begins, it must come within the limit
    /// for all.
    fn ask_within(
        &mut self,
        command: &str,
        body: Vec<u8>,
        limit: Option<Duration>,
    ) -> Result<Vec<u8>, BootError> {
        let tag = self.send(command, &body)?;
        loop {
            let bytes = self.link.receive_exactly(HEADER_BYTES, command, limit)?;
            let bytes = bytes.first_chunk::<HEADER_BYTES>().copied().unwrap_or([0; HEADER_BYTES]);
            let header = Header::parse(&bytes).map_err(|why| malformed(command, &why))?;
            let length = header.length as usize;
            let body = self.link.receive_exactly(length, command, Some(self.answer_time_max))?;
            // Others are events and output that nobody here asked for.
            if header.tag == tag {
                return Ok(body);
            }
        }
    }

    fn send(&mut self, command: &str, body: &[u8]) -> Result<u32, BootError> {
        let tag = self.tag;
        self.tag = self.tag.wrapping_add(1).max(pmix::TAG_FIRST);
        let header = Header { index: self.index, tag, length: body.len() as u32 };
        self.link.send_bytes(&[&header.emit()[..], body].concat(), command)?;
        Ok(tag)
    }

    /// Sends a request whose answer is a status.
    fn order(&mut self, command: &str, body: Vec<u8>, limit: Option<Duration>) -> Result<(), BootError> {
        let answer = self.ask_within(command, body, limit)?;
        accepted(command, &answer)
    }

    /// See [`crate::Boot::exchange`]. The cards of all processes of a node come together with the
    /// fence, so each is asked of the server on this node.
    pub fn exchange(&mut self, process: &Process, mine: &[u8]) -> Result<Vec<Vec<u8>>, BootError> {
        self.round += 1;
        let key = format!("vb-{}", self.round);
        self.order("commit", pmix::commit_request(&key, mine), Some(self.answer_time_max))?;
        self.order("fence", pmix::fence_request(&self.namespace, true), None)?;
        let fetch = |rank| if rank == process.rank { Ok(mine.to_vec()) } else { self.fetch(rank, &key) };
        (0..process.size).map(fetch).collect()
    }

    fn fetch(&mut self, rank: u32, key: &str) -> Result<Vec<u8>, BootError> {
        let answer = self.ask("get", pmix::get_request(&self.namespace, rank, key))?;
        accepted("get", &answer)?;
        let found = pmix::found(&answer, rank, key).map_err(|why| malformed("get", &why))?;
        found.ok_or_else(|| BootError::BadCard { rank, why: format!("there is no key {key}") })
    }

    /// See [`crate::Boot::barrier`].
    pub fn barrier(&mut self) -> Result<(), BootError> {
        self.order("fence", pmix::fence_request(&self.namespace, false), None)
    }

    /// See [`crate::Boot::abort`]. A server that finds this process gone before it has answered
    /// complains, so it is given a moment.
    pub fn abort(&mut self, code: i32, message: &str) -> Result<(), BootError> {
        self.answer_time_max = self.answer_time_max.min(ABORT_TIME_MAX);
        self.ask("abort", pmix::abort_request(code, message)).map(drop)
    }

    /// See [`crate::Boot::finalize`].
    pub fn finalize(mut self) -> Result<(), BootError> {
        self.ask("finalize", pmix::finalize_request()).map(drop)
    }
}

fn accepted(command: &str, answer: &[u8]) -> Result<(), BootError> {
    match pmix::status(answer).map_err(|why| malformed(command, &why))? {
        0 => Ok(()),
        status => Err(refused(command, &format!("status {status}"))),
    }
}

fn malformed(command: &str, why: &Malformed) -> BootError {
    BootError::NotPmix { command: command.to_owned(), why: why.to_string() }
}

fn refused(command: &str, reason: &str) -> BootError {
    BootError::RefusedByPmix { command: command.to_owned(), reason: reason.to_owned() }
}
