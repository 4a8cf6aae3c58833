//! Items read. Nothing is believed: no length makes more memory than there are bytes.

use super::{Malformed, kind};

/// The depth to which values may lie within values.
const DEPTH_MAX: u32 = 16;

/// A value of any type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number that is not negative.
    Number(u64),
    /// A string.
    Text(String),
    /// A byte object.
    Bytes(Vec<u8>),
    /// Anything else.
    Other,
}

/// The body of a message while it is read.
#[derive(Debug, Clone)]
pub struct Unpacker<'a> {
    bytes: &'a [u8],
}

impl<'a> Unpacker<'a> {
    /// Begins to read.
    pub fn new(bytes: &'a [u8]) -> Unpacker<'a> {
        Unpacker { bytes }
    }

    /// Returns whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads an item of one value.
    ///
    /// # Errors
    /// Another number of values, and the errors of `read`.
    pub fn counted<T>(
        &mut self,
        read: impl FnOnce(&mut Unpacker<'a>) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        match self.word("the number of values")? {
            1 => read(self),
            other => Err(Malformed::Number("the number of values", other.into())),
        }
    }

    /// Reads four bytes as a number; `name` says what for.
    ///
    /// # Errors
    /// The end.
    pub fn word(&mut self, name: &'static str) -> Result<u32, Malformed> {
        let (bytes, rest) = self.bytes.split_first_chunk::<4>().ok_or(Malformed::Short(name))?;
        self.bytes = rest;
        Ok(u32::from_be_bytes(*bytes))
    }

    /// Reads a string.
    ///
    /// # Errors
    /// The end, or bytes that are no text.
    pub fn text(&mut self) -> Result<String, Malformed> {
        let length = self.word("the length of a string")?;
        let bytes = self.take(u64::from(length), "a string")?;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        std::str::from_utf8(&bytes[..end]).map(str::to_owned).map_err(|_| Malformed::NotText)
    }

    /// Reads a byte object.
    ///
    /// # Errors
    /// The end.
    pub fn object(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.size()?;
        self.take(length, "a byte object")
    }

    /// Reads the name of a process; returns its rank.
    ///
    /// # Errors
    /// The end.
    pub fn process(&mut self) -> Result<u32, Malformed> {
        self.text()?;
        self.word("a rank")
    }

    /// Reads a name and its value.
    ///
    /// # Errors
    /// The end, or a value of an unknown type.
    pub fn pair(&mut self) -> Result<(String, Value), Malformed> {
        let name = self.text()?;
        Ok((name, self.described(0)?))
    }

    /// Reads a value behind its type.
    fn described(&mut self, depth: u32) -> Result<Value, Malformed> {
        let kind = self.kind()?;
        self.value(kind, depth)
    }

    fn value(&mut self, kind: u16, depth: u32) -> Result<Value, Malformed> {
        if depth > DEPTH_MAX {
            return Err(Malformed::Deep);
        }
        if let Some(width) = width(kind) {
            return self.number(width).map(Value::Number);
        }
        match kind {
            kind::UNDEFINED => Ok(Value::Other),
            kind::STRING | kind::FLOAT | kind::DOUBLE => self.text().map(Value::Text),
            kind::SIZE => self.size().map(Value::Number),
            kind::PID | kind::INT | kind::UINT => self.system(),
            kind::TIMEVAL => self.take(16, "a time").map(|_| Value::Other),
            kind::VALUE => self.described(depth + 1),
            kind::OBJECT => self.object().map(|bytes| Value::Bytes(bytes.to_vec())),
            kind::COMPRESSED => self.object().map(|_| Value::Other),
            kind::BUFFER => {
                self.number(1)?;
                self.object().map(|_| Value::Other)
            }
            _ => self.composed(kind, depth).map(|()| Value::Other),
        }
    }

    /// Passes over a value that holds others.
    fn composed(&mut self, kind: u16, depth: u32) -> Result<(), Malformed> {
        match kind {
            kind::PROCESS => self.process().map(drop),
            kind::PAIR => {
                self.text()?;
                self.described(depth + 1).map(drop)
            }
            kind::INFO => {
                self.text()?;
                self.word("flags")?;
                self.described(depth + 1).map(drop)
            }
            kind::PUBLISHED => {
                self.process()?;
                self.text()?;
                self.described(depth + 1).map(drop)
            }
            kind::VARIABLE => {
                self.text()?;
                self.text()?;
                self.number(1).map(drop)
            }
            kind::INFO_ARRAY => {
                let count = self.size()?;
                self.array(kind::INFO, count, depth)
            }
            kind::ARRAY => {
                let (kind, count) = (self.kind()?, self.size()?);
                self.array(kind, count, depth)
            }
            unknown => Err(Malformed::Type(unknown)),
        }
    }

    /// Passes over the elements of an array. A type that is told for each machine is told once.
    fn array(&mut self, kind: u16, count: u64, depth: u32) -> Result<(), Malformed> {
        let kind = match kind {
            kind::UNDEFINED => return Ok(()),
            kind::SIZE | kind::PID | kind::INT | kind::UINT if count > 0 => self.kind()?,
            kind => kind,
        };
        for _ in 0..count {
            // Each value of a known type takes bytes, so a false count ends soon.
            if self.is_empty() {
                return Err(Malformed::Short("an array"));
            }
            self.value(kind, depth + 1)?;
        }
        Ok(())
    }

    fn kind(&mut self) -> Result<u16, Malformed> {
        self.number(2).map(|number| number as u16)
    }

    /// A number of things.
    fn size(&mut self) -> Result<u64, Malformed> {
        match self.system()? {
            Value::Number(number) => Ok(number),
            _ => Err(Malformed::Short("a number of bytes")),
        }
    }

    /// A number behind the type that it has on the machine of the server.
    fn system(&mut self) -> Result<Value, Malformed> {
        let kind = self.kind()?;
        let width = width(kind).ok_or(Malformed::Type(kind))?;
        self.number(width).map(Value::Number)
    }

    fn number(&mut self, width: usize) -> Result<u64, Malformed> {
        let bytes = self.take(width as u64, "a number")?;
        Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn take(&mut self, count: u64, name: &'static str) -> Result<&'a [u8], Malformed> {
        let count = usize::try_from(count).map_err(|_| Malformed::Short(name))?;
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Malformed::Short(name))?;
        self.bytes = rest;
        Ok(taken)
    }
}

/// The bytes of a number of this type; `None` for what is no number.
fn width(kind: u16) -> Option<usize> {
    match kind {
        kind::BOOL | kind::BYTE | kind::INT8 | kind::UINT8 | kind::PROCESS_STATE | kind::ALLOCATION => {
            Some(1)
        }
        kind::PERSISTENCE..=kind::COMMAND => Some(1),
        kind::INT16 | kind::UINT16 | kind::TYPE | kind::CHANNEL => Some(2),
        kind::INT32 | kind::UINT32 | kind::STATUS | kind::DIRECTIVES | kind::RANK => Some(4),
        kind::INT64 | kind::UINT64 | kind::TIME => Some(8),
        _ => None,
    }
}
