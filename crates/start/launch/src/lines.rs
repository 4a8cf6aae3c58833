//! The ranks' output in whole lines, so that lines of different ranks are never torn. No I/O.

/// The longest line that is held until it is whole, in bytes. A longer one is passed on in pieces;
/// lines of other ranks may come between them.
pub const LINE_LENGTH_MAX: usize = 1 << 20;

/// One output stream of one rank.
#[derive(Debug, Default)]
pub struct Lines {
    /// The number by which the sink knows whose line is open.
    id: usize,
    label: String,
    partial: Vec<u8>,
    /// True for a job of one rank, whose lines nobody can tear: bytes pass through, prompts appear
    /// at once.
    raw: bool,
}

impl Lines {
    /// A stream with whole lines; no other stream has the same `id`.
    pub fn new(id: usize) -> Lines {
        Lines { id, ..Lines::default() }
    }

    /// A stream that puts the label before each line.
    pub fn labelled(id: usize, label: String) -> Lines {
        Lines { label, ..Lines::new(id) }
    }

    /// A stream that passes bytes through as they come.
    pub fn raw(id: usize) -> Lines {
        Lines { raw: true, ..Lines::new(id) }
    }

    /// Takes bytes; writes all lines that are now whole to `sink`.
    pub fn push(&mut self, bytes: &[u8], sink: &mut Sink) {
        if self.raw {
            return sink.write(bytes, Some(self.id));
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

    /// Ends the stream: writes the rest, without adding a newline.
    pub fn finish(&mut self, sink: &mut Sink) {
        self.flush(sink);
    }

    fn flush(&mut self, sink: &mut Sink) {
        if self.partial.is_empty() {
            return;
        }
        let goes_on = sink.open_line == Some(self.id);
        if !goes_on {
            sink.start_line();
        }
        for (i, line) in self.partial.split_inclusive(|&byte| byte == b'\n').enumerate() {
            if !(self.label.is_empty() || goes_on && i == 0) {
                sink.write(self.label.as_bytes(), Some(self.id));
            }
            sink.write(line, Some(self.id));
        }
        self.partial.clear();
    }
}

/// Bytes on their way to a standard stream.
#[derive(Debug, Default)]
pub struct Sink {
    bytes: Vec<u8>,
    /// The number of bytes taken from the front.
    taken: usize,
    /// The stream whose line is open, if the last byte ever written was no newline.
    open_line: Option<usize>,
}

impl Sink {
    /// Adds bytes of the stream `id`; `None`: our own bytes.
    pub fn write(&mut self, bytes: &[u8], id: Option<usize>) {
        self.bytes.extend_from_slice(bytes);
        if let Some(last) = bytes.last() {
            self.open_line = id.filter(|_| *last != b'\n');
        }
    }

    /// Ends an open line of another rank, so that what follows starts on a new line.
    pub fn start_line(&mut self) {
        if self.open_line.is_some() {
            self.write(b"\n", None);
        }
    }

    /// The bytes that wait to be written.
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Drops the first `count` bytes, which have been written.
    pub fn consume(&mut self, count: usize) {
        self.taken += count;
        // Moving the rest costs its length, so it is done only once half is gone.
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
        let (mut a, mut b, mut sink) = (Lines::new(0), Lines::new(1), Sink::default());
        a.push(b"aaa", &mut sink);
        b.push(b"bbb\nbb", &mut sink);
        a.push(b"AAA\n", &mut sink);
        b.finish(&mut sink);
        a.push(b"end\n", &mut sink);
        assert_eq!(text(&sink), "bbb\naaaAAA\nbb\nend\n");
    }

    #[test]
    fn labels_on_every_line() {
        let (mut a, mut sink) = (Lines::labelled(3, "[3] ".into()), Sink::default());
        a.push(b"x\n\ny\nz", &mut sink);
        a.finish(&mut sink);
        assert_eq!(text(&sink), "[3] x\n[3] \n[3] y\n[3] z");
    }

    #[test]
    fn raw_bytes_pass_at_once() {
        let (mut a, mut sink) = (Lines::raw(0), Sink::default());
        a.push(b"prompt> ", &mut sink);
        assert_eq!(text(&sink), "prompt> ");
    }

    #[test]
    fn an_endless_line_does_not_eat_the_memory() {
        let (mut a, mut sink) = (Lines::labelled(1, "[1] ".into()), Sink::default());
        a.push(&vec![b'x'; LINE_LENGTH_MAX], &mut sink);
        assert_eq!(sink.pending().len(), 0);
        a.push(b"x", &mut sink);
        assert_eq!(sink.pending().len(), 4 + LINE_LENGTH_MAX + 1);
        // While nobody else writes, the line stays one, with one label.
        a.push(b"y\nz\n", &mut sink);
        assert!(sink.pending().ends_with(b"xxy\n[1] z\n"), "{:?}", sink.pending().last_chunk::<20>());
        a.push(&vec![b'x'; LINE_LENGTH_MAX + 1], &mut sink);
        Lines::new(2).push(b"two\n", &mut sink);
        a.push(b"y\n", &mut sink);
        assert!(sink.pending().ends_with(b"x\ntwo\n[1] y\n"), "{:?}", sink.pending().last_chunk::<20>());
    }

    #[test]
    fn consumed_bytes_are_gone() {
        let mut sink = Sink::default();
        sink.write(b"abcdef", None);
        sink.consume(2);
        assert_eq!(text(&sink), "cdef");
        sink.consume(3);
        assert_eq!(text(&sink), "f");
        sink.consume(1);
        assert_eq!(text(&sink), "");
    }
}
