//! The texts of PMI-1 and PMI-2, without any I/O: both the client here and the server in `mpiexec`
//! use it.
//!
//! | | PMI-1 | PMI-2 |
//! | --- | --- | --- |
//! | frame | one line, ended by `\n` | six characters of decimal length, then that many bytes |
//! | fields | `cmd=NAME key=value ...`, split at spaces | `cmd=NAME;key=value;...;`, `;;` stands for `;` |
//!
//! A PMI-2 conversation starts with one PMI-1 line each way (`cmd=init pmi_version=2 ...`). The
//! protocols are described in "PMI: A Scalable Parallel Process-Management Interface" (Balaji et
//! al., EuroMPI 2010) and on the MPICH wiki.
//!
//! Our own `mpiexec` adds, in PMI-1 framing: `verbena_hello` and `verbena_bye` (no answer), and
//! `verbena_exchange card=C`, answered to all when all have given theirs by
//! `verbena_cards cards=C0,C1,...`; `verbena_spawn words=W parent=PORT ranks=B`, answered by
//! `verbena_spawned rc=0 number=N` or `rc=1 ranks=R,... text=T`; `verbena_spawn_state number=N`,
//! answered by `verbena_spawn_state_is over=0` or `1`; `verbena_spawn_parted number=N` (no answer),
//! which each of the ranks B says for itself. W, T and B are base64; B has a bit for each rank. It
//! also adds `call=C text=C` to `abort`, for a process that an error ended: `mpiexec` shows the
//! text.

use thiserror::Error;

/// The framing and field syntax of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Lines and spaces.
    One,
    /// Length prefixes and semicolons.
    Two,
}

/// The number of characters of a PMI-2 length prefix.
const LENGTH_DIGITS: usize = 6;

/// The reason why a text is no PMI message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// A message longer than the reader allows.
    #[error("a message is longer than {limit} bytes")]
    TooLong {
        /// The reader's limit in bytes.
        limit: usize,
    },
    /// A PMI-2 length prefix that is no number.
    #[error("the length prefix '{got}' is no number")]
    BadLength {
        /// The six characters.
        got: String,
    },
    /// Bytes that are no UTF-8.
    #[error("a message is not UTF-8 text")]
    NotText,
    /// A message that does not start with `cmd=` or `mcmd=`.
    #[error("a message has no cmd= field: '{got}'")]
    NoCommand {
        /// The message, shortened.
        got: String,
    },
}

/// Collects received bytes and yields whole frames.
#[derive(Debug)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// The end of the part searched for a newline: long lines arrive in pieces, and are searched
    /// once.
    searched: usize,
    limit: usize,
}

impl Inbox {
    /// An empty inbox that refuses frames over `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Inbox { bytes: Vec::new(), searched: 0, limit }
    }

    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame without its framing, or `None` if more bytes are needed.
    ///
    /// # Errors
    /// Bytes that cannot be framed; the conversation cannot go on after that.
    pub fn next(&mut self, dialect: Dialect) -> Result<Option<String>, WireError> {
        match dialect {
            Dialect::One => self.next_line(),
            Dialect::Two => self.next_counted(),
        }
    }

    fn next_line(&mut self) -> Result<Option<String>, WireError> {
        let Some(at) = self.bytes[self.searched..].iter().position(|&byte| byte == b'\n') else {
            self.searched = self.bytes.len();
            return self.check_limit(self.bytes.len()).map(|()| None);
        };
        let end = self.searched + at;
        self.check_limit(end)?;
        self.take(0, end, end + 1)
    }

    fn next_counted(&mut self) -> Result<Option<String>, WireError> {
        let Some(prefix) = self.bytes.get(..LENGTH_DIGITS) else { return Ok(None) };
        let prefix = String::from_utf8_lossy(prefix);
        let length: usize = prefix
            .trim()
            .parse()
            .map_err(|_| WireError::BadLength { got: prefix.escape_debug().to_string() })?;
        self.check_limit(length)?;
        let end = LENGTH_DIGITS + length;
        if self.bytes.len() < end { Ok(None) } else { self.take(LENGTH_DIGITS, end, end) }
    }

    fn check_limit(&self, length: usize) -> Result<(), WireError> {
        if length > self.limit { Err(WireError::TooLong { limit: self.limit }) } else { Ok(()) }
    }

    /// Takes `start..end` as a frame and drops everything up to `used`.
    fn take(&mut self, start: usize, end: usize, used: usize) -> Result<Option<String>, WireError> {
        let frame = std::str::from_utf8(&self.bytes[start..end]).map(str::to_owned);
        self.bytes.drain(..used);
        self.searched = 0;
        frame.map(Some).map_err(|_| WireError::NotText)
    }
}

/// A PMI message: a command and its fields, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The command's name.
    pub cmd: String,
    fields: Vec<(String, String)>,
}

impl Message {
    /// A message without fields.
    pub fn new(cmd: &str) -> Self {
        Message { cmd: cmd.to_owned(), fields: Vec::new() }
    }

    /// The message with one more field. Newlines become spaces: they would end a PMI-1 message.
    pub fn with(mut self, key: &str, value: impl ToString) -> Self {
        self.fields.push((key.to_owned(), value.to_string().replace('\n', " ")));
        self
    }

    /// The value of the first field named `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The value of `key` as a number, if it is there and is one.
    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.trim().parse().ok()
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// A frame that does not start with a command. Fields without `=` are dropped: launchers put
    /// free text into messages.
    pub fn parse(frame: &str, dialect: Dialect) -> Result<Message, WireError> {
        let mut fields = match dialect {
            Dialect::One => split_spaces(frame),
            Dialect::Two => split_semicolons(frame),
        };
        match fields.first() {
            Some((key, cmd)) if (key == "cmd" || key == "mcmd") && !cmd.is_empty() => {
                let (_, cmd) = fields.remove(0);
                Ok(Message { cmd, fields })
            }
            _ => Err(WireError::NoCommand { got: shorten(frame) }),
        }
    }

    /// The bytes to send, framing included.
    pub fn emit(&self, dialect: Dialect) -> Vec<u8> {
        match dialect {
            Dialect::One => self.emit_line(),
            Dialect::Two => self.emit_counted(),
        }
    }

    fn emit_line(&self) -> Vec<u8> {
        let mut text = format!("cmd={}", self.cmd);
        for (key, value) in &self.fields {
            text.extend([" ", key, "=", value]);
        }
        text.push('\n');
        text.into_bytes()
    }

    fn emit_counted(&self) -> Vec<u8> {
        // The name of an answer is that of the request, which may be anything.
        let mut text = format!("cmd={};", self.cmd.replace(';', ";;"));
        for (key, value) in &self.fields {
            text.extend([key, "=", &value.replace(';', ";;"), ";"]);
        }
        format!("{:6}{text}", text.len()).into_bytes()
    }
}

/// Shortens a text to at most 80 characters, for messages to people.
pub fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(80).collect::<String>().escape_debug().to_string();
    if text.chars().nth(80).is_some() {
        short.push_str("...");
    }
    short
}

/// Splits the fields of a PMI-1 line. The value of `message` and `msg` runs to the end of the line
/// when it comes last, as launchers and clients write free text there.
fn split_spaces(line: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut rest = line.trim();
    while let Some((key, after)) = rest.split_once('=') {
        let key = key.rsplit(' ').next().unwrap_or(key);
        let end = match key {
            "message" => after.len(),
            _ => after.find(' ').unwrap_or(after.len()),
        };
        fields.push((key.to_owned(), after[..end].to_owned()));
        rest = after[end..].trim_start();
    }
    fields
}

/// The fields of a PMI-2 text.
fn split_semicolons(text: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != ';' {
            field.push(c);
        } else if chars.next_if_eq(&';').is_some() {
            field.push(';');
        } else {
            fields.extend(key_and_value(&std::mem::take(&mut field)));
        }
    }
    fields.extend(key_and_value(&field));
    fields
}

fn key_and_value(field: &str) -> Option<(String, String)> {
    field.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: &[u8], dialect: Dialect) -> Result<Vec<String>, WireError> {
        let mut inbox = Inbox::new(1000);
        let mut all = Vec::new();
        for byte in bytes {
            inbox.push(&[*byte]);
            while let Some(frame) = inbox.next(dialect)? {
                all.push(frame);
            }
        }
        Ok(all)
    }

    #[test]
    fn lines_come_whole_however_they_arrive() {
        assert_eq!(frames(b"cmd=a\ncmd=b x=1\npart", Dialect::One).unwrap(), ["cmd=a", "cmd=b x=1"]);
    }

    #[test]
    fn counted_frames_come_whole_however_they_arrive() {
        assert_eq!(
            frames(b"     6cmd=a;000008cmd=b;x;    99c", Dialect::Two).unwrap(),
            ["cmd=a;", "cmd=b;x;"]
        );
    }

    #[test]
    fn both_dialects_bring_back_what_was_sent() {
        let message = Message::new("put").with("key", "k-1").with("value", "a=b").with("n", 42);
        for dialect in [Dialect::One, Dialect::Two] {
            let frame = frames(&message.emit(dialect), dialect).unwrap().remove(0);
            assert_eq!(Message::parse(&frame, dialect).unwrap(), message);
        }
    }

    #[test]
    fn semicolons_in_values_are_doubled() {
        let message = Message::new("x").with("v", "a;b;;c");
        let bytes = message.emit(Dialect::Two);
        assert_eq!(bytes, b"    18cmd=x;v=a;;b;;;;c;");
        let frame = frames(&bytes, Dialect::Two).unwrap().remove(0);
        assert_eq!(Message::parse(&frame, Dialect::Two).unwrap().get("v"), Some("a;b;;c"));
        let message = Message::new(";x").with("v", 1);
        let frame = frames(&message.emit(Dialect::Two), Dialect::Two).unwrap().remove(0);
        assert_eq!(Message::parse(&frame, Dialect::Two).unwrap(), message);
    }

    #[test]
    fn the_message_of_an_abort_keeps_its_spaces() {
        let message = Message::parse("cmd=abort exitcode=3 message=all is = lost", Dialect::One).unwrap();
        assert_eq!((message.number("exitcode"), message.get("message")), (Some(3), Some("all is = lost")));
    }

    #[test]
    fn numbers_that_are_none_are_absent() {
        let message = Message::parse("cmd=x n=abc", Dialect::One).unwrap();
        assert_eq!(message.number::<u32>("n"), None);
        assert_eq!(message.number::<u32>("m"), None);
    }

    #[test]
    fn garbage_is_an_error_and_never_a_panic() {
        assert!(matches!(frames(b"abcdef", Dialect::Two), Err(WireError::BadLength { .. })));
        assert!(matches!(frames(b"    -1", Dialect::Two), Err(WireError::BadLength { .. })));
        assert!(matches!(frames(b"999999", Dialect::Two), Err(WireError::TooLong { .. })));
        assert!(matches!(frames(&[b'x'; 1001], Dialect::One), Err(WireError::TooLong { .. })));
        assert!(matches!(frames(b"\xff\xfe\n", Dialect::One), Err(WireError::NotText)));
        for text in ["", " ", "=", "x=1", "cmd", ";;;=;", "\u{e9}="] {
            for dialect in [Dialect::One, Dialect::Two] {
                assert!(Message::parse(text, dialect).is_err(), "{text}");
            }
        }
    }

    /// A fixed pseudo-random stream (xorshift), so that a failure repeats.
    #[test]
    fn random_bytes_never_panic() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..64)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    b"cmd=;\n 0123456789\xff\xc3z"[(state % 20) as usize]
                })
                .collect();
            for dialect in [Dialect::One, Dialect::Two] {
                for frame in frames(&bytes, dialect).unwrap_or_default() {
                    let _ = Message::parse(&frame, dialect);
                }
            }
        }
    }
}
