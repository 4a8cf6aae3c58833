//! Items written.

use super::kind;

/// The body of a message while it is written.
#[derive(Debug, Default)]
pub struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    /// A request.
    pub fn command(command: u8) -> Packer {
        let mut packer = Packer::default();
        packer.one();
        packer.bytes.push(command);
        packer
    }

    /// The bytes.
    pub fn done(self) -> Vec<u8> {
        self.bytes
    }

    /// Adds a string.
    pub fn text(&mut self, text: &str) {
        self.one();
        self.raw_text(text);
    }

    /// Adds a rank.
    pub fn rank(&mut self, rank: u32) {
        self.one();
        self.bytes.extend(rank.to_be_bytes());
    }

    /// Adds a status.
    pub fn status(&mut self, status: i32) {
        self.one();
        self.bytes.extend(status.to_be_bytes());
    }

    /// Adds a scope.
    pub fn scope(&mut self, scope: u8) {
        self.one();
        self.bytes.push(scope);
    }

    /// Adds a number of things.
    pub fn size(&mut self, size: u64) {
        self.one();
        self.raw_size(size);
    }

    /// Adds the name of a process.
    pub fn process(&mut self, namespace: &str, rank: u32) {
        self.one();
        self.raw_text(namespace);
        self.bytes.extend(rank.to_be_bytes());
    }

    /// Adds a wish: an info that is true.
    pub fn wish(&mut self, name: &str) {
        self.one();
        self.raw_text(name);
        self.bytes.extend(0_u32.to_be_bytes());
        self.bytes.extend(kind::BOOL.to_be_bytes());
        self.bytes.push(1);
    }

    /// Adds a name and bytes.
    pub fn pair(&mut self, name: &str, value: &[u8]) {
        self.one();
        self.raw_text(name);
        self.bytes.extend(kind::OBJECT.to_be_bytes());
        self.raw_size(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// Adds items as one item.
    pub fn buffer(&mut self, items: &[u8]) {
        self.one();
        self.bytes.push(super::NOT_DESCRIBED);
        self.raw_size(items.len() as u64);
        self.bytes.extend_from_slice(items);
    }

    /// The number of values of an item.
    fn one(&mut self) {
        self.bytes.extend(1_i32.to_be_bytes());
    }

    fn raw_size(&mut self, size: u64) {
        self.bytes.extend(kind::UINT64.to_be_bytes());
        self.bytes.extend(size.to_be_bytes());
    }

    fn raw_text(&mut self, text: &str) {
        // A zero byte would end the string at the server.
        let text = text.split('\0').next().unwrap_or_default();
        self.bytes.extend((text.len() as u32 + 1).to_be_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }
}
