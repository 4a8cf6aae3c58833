//! Protocol Buffers, as far as a trace needs them: fields of a message, written one after the other
//! (the encoding's wire types 0, 1 and 2).

/// A message that is being written.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Appends a number.
    pub(super) fn number(mut self, field: u32, value: u64) -> Message {
        self.tag(field, 0);
        self.varint(value);
        self
    }

    /// Appends a number that may be negative: `int32` and `int64` of the format's language.
    pub(super) fn signed(self, field: u32, value: i64) -> Message {
        self.number(field, value as u64)
    }

    /// Appends a number of eight bytes (`fixed64`).
    pub(super) fn fixed(mut self, field: u32, value: u64) -> Message {
        self.tag(field, 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Appends a text.
    pub(super) fn text(self, field: u32, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    /// Appends a message.
    pub(super) fn message(self, field: u32, message: Message) -> Message {
        self.bytes(field, &message.0)
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Message {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    /// The bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn tag(&mut self, field: u32, wire_type: u32) {
        self.varint(u64::from(field << 3 | wire_type));
    }

    /// Appends seven bits a byte, the lowest first; the highest bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_format_says() {
        let inner = Message::default().text(2, "hi");
        let message = Message::default().number(1, 300).fixed(47, 1).message(3, inner).signed(4, -1);
        let mut expected = vec![0x08, 0xac, 0x02, 0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0];
        expected.extend([0x1a, 4, 0x12, 2, b'h', b'i', 0x20]);
        expected.extend([0xff; 9]);
        expected.push(1);
        assert_eq!(message.into_bytes(), expected);
    }
}
