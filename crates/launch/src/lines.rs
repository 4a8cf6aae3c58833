//! The ranks' output in whole lines, so that lines of different ranks are never torn. No I/O.

/// The longest line that is kept back until it is whole, in bytes; a longer one is passed on in pieces.
pub const LINE_LENGTH_MAX: usize = 64 << 20;

/// One output stream of one rank.
#[derive(Debug, Default)]
pub struct Lines {
    label: String,
    partial: Vec<u8>,
    /// With a single rank there is nobody to tear a line: bytes pass through, prompts appear at once.
    raw: bool,
}

impl Lines {
    /// A stream whose lines each get the label in front.
    pub fn labelled(label: String) -> Lines {
        Lines { label, ..Lines::default() }
    }

    /// A stream that is passed through as it comes.
    pub fn raw() -> Lines {
        Lines { raw: true, ..Lines::default() }
    }

    /// Takes bytes; writes all lines that are whole now to `sink`.
    pub fn push(&mut self, bytes: &[u8], sink: &mut Sink) {
        if self.raw {
            return sink.write(bytes);
        }
        match bytes.iter().rposition(|&byte| byte == b'\n') {
            None => self.partial.extend_from_slice(bytes),
            Some(last) => {
                self.partial.extend_from_slice(&bytes[..=last]);
                self.flush(sink);
                self.partial.extend_from_slice(&bytes[last + 1..]);
            }
        }
        if self.partial.len() > LINE_LENGTH_MAX {
            self.flush(sink);
        }
    }

    /// The stream has ended: writes what is left, without adding a newline.
    pub fn finish(&mut self, sink: &mut Sink) {
        self.flush(sink);
    }

    fn flush(&mut self, sink: &mut Sink) {
        if self.partial.is_empty() {
            return;
        }
        sink.start_line();
        if self.label.is_empty() {
            sink.write(&self.partial);
        } else {
            for line in self.partial.split_inclusive(|&byte| byte == b'\n') {
                sink.write(self.label.as_bytes());
                sink.write(line);
            }
        }
        self.partial.clear();
    }
}

/// Bytes on their way to a standard stream.
#[derive(Debug, Default)]
pub struct Sink {
    bytes: Vec<u8>,
    /// How many bytes have been taken from the front.
    taken: usize,
    /// Whether the last byte ever written was not a newline.
    open_line: bool,
}

impl Sink {
    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if let Some(last) = bytes.last() {
            self.open_line = *last != b'\n';
        }
    }

    /// Makes sure that what follows starts on a new line, after a last line without newline of another rank.
    pub fn start_line(&mut self) {
        if self.open_line {
            self.write(b"\n");
        }
    }

    /// What waits to be written.
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// The first `count` bytes have been written.
    pub fn consume(&mut self, count: usize) {
        self.taken += count;
        // Moving the rest to the front costs as much as it is long: only once half is gone.
        if self.taken * 2 >= self.bytes.len() {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sink: &Sink) -> String {
        String::from_utf8(sink.pending().to_vec()).unwrap()
    }

    #[test]
    fn lines_of_two_ranks_do_not_mix() {
        let (mut a, mut b, mut sink) = (Lines::default(), Lines::default(), Sink::default());
        a.push(b"aaa", &mut sink);
        b.push(b"bbb\nbb", &mut sink);
        a.push(b"AAA\n", &mut sink);
        b.finish(&mut sink);
        a.push(b"end\n", &mut sink);
        assert_eq!(text(&sink), "bbb\naaaAAA\nbb\nend\n");
    }

    #[test]
    fn labels_on_every_line() {
        let (mut a, mut sink) = (Lines::labelled("[3] ".into()), Sink::default());
        a.push(b"x\n\ny\nz", &mut sink);
        a.finish(&mut sink);
        assert_eq!(text(&sink), "[3] x\n[3] \n[3] y\n[3] z");
    }

    #[test]
    fn raw_bytes_pass_at_once() {
        let (mut a, mut sink) = (Lines::raw(), Sink::default());
        a.push(b"prompt> ", &mut sink);
        assert_eq!(text(&sink), "prompt> ");
    }

    #[test]
    fn an_endless_line_does_not_eat_the_memory() {
        let (mut a, mut sink) = (Lines::default(), Sink::default());
        a.push(&vec![b'x'; LINE_LENGTH_MAX], &mut sink);
        assert_eq!(sink.pending().len(), 0);
        a.push(b"x", &mut sink);
        assert_eq!(sink.pending().len(), LINE_LENGTH_MAX + 1);
    }

    #[test]
    fn consumed_bytes_are_gone() {
        let mut sink = Sink::default();
        sink.write(b"abcdef");
        sink.consume(2);
        assert_eq!(text(&sink), "cdef");
        sink.consume(3);
        assert_eq!(text(&sink), "f");
        sink.consume(1);
        assert_eq!(text(&sink), "");
    }
}
