//! The wire of PMIx, as OpenPMIx and its servers in PRRTE and Slurm speak it, in its dialects v2.1
//! and v3, which every later server offers too. No I/O.
//!
//! A client connects by TCP, says who it is ([`Identity::emit`]) and gets a status and its index.
//! From then on both sides send messages with a [`Header`] in front. A request has a tag of its
//! own, which its answer bears. Numbers are in network order.
//!
//! The body of a message is a sequence of packed items: the number of values (4 bytes), then the
//! values. Strings and byte objects have their length in front; a value whose type is not fixed
//! has the number of its type in front ([`kind`]).
//!
//! | module | job |
//! | --- | --- |
//! | [`pack`] | items written |
//! | [`unpack`] | items read |

pub mod kind;
pub mod pack;
pub mod unpack;

use pack::Packer;
use thiserror::Error;
use unpack::{Unpacker, Value};

/// The length of a header, in bytes.
pub const HEADER_BYTES: usize = 16;
/// The longest body that is taken from a server, in bytes.
pub const BODY_BYTES_MAX: usize = 256 << 20;
/// The first tag that a client may give to a request. Lower ones are for what nobody asked for.
pub const TAG_FIRST: u32 = 100;
/// The rank that stands for all of a namespace.
pub const RANK_ALL: u32 = u32::MAX - 1;

/// The name of the number of processes in a job.
const JOB_SIZE: &str = "pmix.job.size";
/// The name of the number of slots.
const UNIVERSE_SIZE: &str = "pmix.univ.size";
/// The name of the wish to collect data in a fence.
const COLLECT: &str = "pmix.collect";
/// The name of the data of one process, an object of rank and pairs.
const PROCESS_DATA: &str = "pmix.pblob";
/// The name of the number of an application.
const APPNUM: &str = "pmix.appnum";

/// The reason why bytes are no PMIx.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Malformed {
    /// A message ends before an item of it.
    #[error("a message ends within {0}")]
    Short(&'static str),
    /// A number that no server sends.
    #[error("{0} is {1}")]
    Number(&'static str, u64),
    /// A value of a type that this client does not know.
    #[error("a value is of the unknown type {0}")]
    Type(u16),
    /// Bytes that are no UTF-8.
    #[error("a name is no text")]
    NotText,
    /// Values within values, deeper than any server packs them.
    #[error("values lie too deep within values")]
    Deep,
}

/// A form of the items. The numbers are in the names of the variables of the server's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// That of PMIx 3.
    V3,
    /// That of PMIx 2.1.
    V21,
}

impl Dialect {
    /// The dialects, the best first, with the variable that holds the server's address.
    pub const ALL: [(Dialect, &str); 2] =
        [(Dialect::V3, "PMIX_SERVER_URI3"), (Dialect::V21, "PMIX_SERVER_URI21")];

    fn name(self) -> &'static str {
        match self {
            Dialect::V3 => "v3",
            Dialect::V21 => "v21",
        }
    }

    /// The version of the library that this client passes for.
    fn version(self) -> &'static str {
        match self {
            Dialect::V3 => "3.2.3",
            Dialect::V21 => "2.1.4",
        }
    }
}

/// The proof of a client that it is who it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Security {
    /// User and group.
    Native {
        /// The effective user.
        user: u32,
        /// The effective group.
        group: u32,
    },
    /// A credential of the service munge, with a closing zero byte.
    Munge(Vec<u8>),
    /// No proof.
    None,
}

/// A client, as it introduces itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The name of the job.
    pub namespace: &'a str,
    /// The client's rank in it.
    pub rank: u32,
    /// The dialect that it speaks.
    pub dialect: Dialect,
    /// The proof.
    pub security: Security,
}

impl Identity<'_> {
    /// The first message. Its length is in the order of this machine, as the server wants it.
    pub fn emit(&self) -> Vec<u8> {
        let (name, proof) = match &self.security {
            Security::Native { user, group } => {
                ("native", [user.to_ne_bytes(), group.to_ne_bytes()].concat())
            }
            Security::Munge(credential) => ("munge", credential.clone()),
            Security::None => ("none", Vec::new()),
        };
        let text = |text: &str| [text.as_bytes(), &[0]].concat();
        let body = [
            text(name),
            (proof.len() as u32).to_be_bytes().to_vec(),
            proof,
            vec![SIMPLE_CLIENT],
            text(self.namespace),
            self.rank.to_be_bytes().to_vec(),
            text(self.dialect.version()),
            text(self.dialect.name()),
            vec![NOT_DESCRIBED],
            // The server's answers then hold the data, not where they lie in shared memory.
            text("hash"),
        ]
        .concat();
        let mut message = (-1_i32).to_be_bytes().to_vec();
        message.extend(u32::MAX.to_be_bytes());
        message.extend((body.len() as u32).to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        message
    }
}

/// A client that is neither a tool nor a launcher.
const SIMPLE_CLIENT: u8 = 0;
/// Items without their types.
const NOT_DESCRIBED: u8 = 1;

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The client's index at the server.
    pub index: u32,
    /// The tag of the request.
    pub tag: u32,
    /// The length of the body, in bytes.
    pub length: u32,
}

impl Header {
    /// The bytes to send.
    pub fn emit(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.index.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.tag.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }

    /// Reads a header.
    ///
    /// # Errors
    /// A body that is too long.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Header, Malformed> {
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let header = Header { index: word(0), tag: word(4), length: word(8) };
        if header.length as usize > BODY_BYTES_MAX {
            return Err(Malformed::Number("the length of a message", header.length.into()));
        }
        Ok(header)
    }
}

/// The request for the data of the job.
pub fn job_request() -> Vec<u8> {
    Packer::command(kind::REQUEST).done()
}

/// The words of a job's data that a client of ours needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobData {
    /// The number of processes.
    pub size: Option<u32>,
    /// The number of slots.
    pub universe_size: Option<u32>,
    /// The application that this process belongs to.
    pub appnum: Option<u32>,
}

impl JobData {
    /// Reads the answer to [`job_request`] for the process of this rank.
    ///
    /// # Errors
    /// An answer that is no PMIx, or that ends before it tells the number of processes.
    pub fn parse(body: &[u8], rank: u32) -> Result<JobData, Malformed> {
        let mut items = Unpacker::new(body);
        let mut data = JobData::default();
        let _namespace = items.counted(|items| items.text())?;
        loop {
            match next_pair(&mut items) {
                Ok(None) => break,
                Ok(Some((name, value))) => data.take(&name, &value, rank)?,
                // The rest is only good to know.
                Err(_) if data.size.is_some() => break,
                Err(malformed) => return Err(malformed),
            }
        }
        if data.size.is_none() {
            return Err(Malformed::Short("the data of the job, which lack the number of processes"));
        }
        Ok(data)
    }

    fn take(&mut self, name: &str, value: &Value, rank: u32) -> Result<(), Malformed> {
        let number = match value {
            Value::Number(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        match (name, value) {
            (JOB_SIZE, _) => self.size = number,
            (UNIVERSE_SIZE, _) => self.universe_size = number,
            (PROCESS_DATA, Value::Bytes(bytes)) => self.take_process(bytes, rank)?,
            _ => {}
        }
        Ok(())
    }

    /// Takes what is told of one process.
    fn take_process(&mut self, bytes: &[u8], rank: u32) -> Result<(), Malformed> {
        let mut items = Unpacker::new(bytes);
        if items.counted(|items| items.word("a rank"))? != rank {
            return Ok(());
        }
        while let Ok(Some((name, value))) = next_pair(&mut items) {
            if let (APPNUM, Value::Number(number)) = (name.as_str(), value) {
                self.appnum = u32::try_from(number).ok();
            }
        }
        Ok(())
    }
}

/// The next name and value; `None` at the end. A value of a type that the server does not know in
/// this dialect has left its name and type only, and is passed over.
fn next_pair(items: &mut Unpacker<'_>) -> Result<Option<(String, Value)>, Malformed> {
    while !items.is_empty() {
        match items.counted(Unpacker::pair) {
            Err(Malformed::Type(_)) => {}
            read => return read.map(Some),
        }
    }
    Ok(None)
}

/// The request that stores a value under a name, for processes here and elsewhere.
pub fn commit_request(name: &str, value: &[u8]) -> Vec<u8> {
    let mut request = Packer::command(kind::COMMIT);
    for scope in [kind::SCOPE_LOCAL, kind::SCOPE_REMOTE] {
        let mut pairs = Packer::default();
        pairs.pair(name, value);
        request.scope(scope);
        request.buffer(&pairs.done());
    }
    request.done()
}

/// The request to wait for all processes of a namespace, which collects what they have stored if
/// `collect` is set.
pub fn fence_request(namespace: &str, collect: bool) -> Vec<u8> {
    let mut request = Packer::command(kind::FENCE);
    request.size(1);
    request.process(namespace, RANK_ALL);
    request.size(u64::from(collect));
    if collect {
        request.wish(COLLECT);
    }
    request.done()
}

/// The request for what a process has stored under a name.
pub fn get_request(namespace: &str, rank: u32, name: &str) -> Vec<u8> {
    let mut request = Packer::command(kind::GET);
    request.text(namespace);
    request.rank(rank);
    request.size(0);
    request.text(name);
    request.done()
}

/// The request to end the job with a status and a message.
pub fn abort_request(status: i32, message: &str) -> Vec<u8> {
    let mut request = Packer::command(kind::ABORT);
    request.status(status);
    request.text(message);
    request.size(0);
    request.done()
}

/// The farewell.
pub fn finalize_request() -> Vec<u8> {
    Packer::command(kind::FINALIZE).done()
}

/// The status of an answer: 0, or what has failed.
///
/// # Errors
/// The answer is no PMIx.
pub fn status(body: &[u8]) -> Result<i32, Malformed> {
    Unpacker::new(body).counted(|items| items.word("a status")).map(u32::cast_signed)
}

/// The value of this name in the answer to [`get_request`] for a rank; `None` if it is not there.
///
/// # Errors
/// The answer is no PMIx.
pub fn found(body: &[u8], rank: u32, name: &str) -> Result<Option<Vec<u8>>, Malformed> {
    let mut items = Unpacker::new(body);
    items.counted(|items| items.word("a status"))?;
    while !items.is_empty() {
        let object = items.counted(|items| items.object())?;
        let mut inner = Unpacker::new(object);
        let whose = inner.counted(Unpacker::process)?;
        while let Some((key, value)) = next_pair(&mut inner)? {
            match value {
                Value::Bytes(bytes) if key == name && whose == rank => return Ok(Some(bytes)),
                _ => {}
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
