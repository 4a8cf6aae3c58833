//! The ranks' output on its way to a place that several streams share. Bytes go out as the ranks
//! wrote them, and at once; a line that was begun keeps the bytes of other streams back for a short
//! time, so that lines are seldom mixed. The two streams of a rank keep each other back too: what
//! was written first need not arrive first. No I/O and no clock.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::time::{Duration, Instant};

/// The longest time that a begun line keeps the bytes of other streams back.
pub const HOLD_TIME_MAX: Duration = Duration::from_millis(100);
/// The most that a begun line keeps back, in bytes of all other streams together.
pub const HELD_BYTES_MAX: usize = 4 << 20;

/// An output stream of a rank: 0 is standard output, 1 standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source {
    /// The rank.
    pub rank: u32,
    /// The number of the stream.
    pub stream: usize,
}

/// Bytes of a stream that wait for the end of another one's line.
#[derive(Debug, Default)]
struct Held {
    bytes: Vec<u8>,
    /// True once the stream has ended: nobody will complete its last line.
    has_ended: bool,
}

/// Bytes on their way to a place that several streams share.
#[derive(Debug, Default)]
pub struct Sink {
    bytes: Vec<u8>,
    /// The number of bytes taken from the front.
    taken: usize,
    /// True if each line begins with the number of its rank.
    labels: bool,
    /// True if the last byte ever written was no newline.
    is_in_line: bool,
    /// The stream whose line is open, as long as it may go on. Nothing is held without one.
    holder: Option<Source>,
    held: HashMap<Source, Held>,
    /// The streams with held bytes, in the order in which they came.
    order: VecDeque<Source>,
    held_bytes: usize,
    /// The time when held bytes go out whatever the line.
    deadline: Option<Instant>,
}

impl Sink {
    /// An empty one; with `labels`, each line begins with the number of its rank.
    pub fn new(labels: bool) -> Sink {
        Sink { labels, ..Sink::default() }
    }

    /// Takes bytes of a rank at the time `now`.
    pub fn push(&mut self, source: Source, bytes: &[u8], now: Instant) {
        let is_free = self.holder.is_none_or(|holder| holder == source);
        if bytes.is_empty() {
        } else if !is_free {
            self.hold(source, bytes, now);
        } else if self.held.is_empty() {
            self.emit(source, bytes);
        } else {
            // The others' turn comes at the end of the line.
            let (lines, rest) = split_after_last_line(bytes);
            self.emit(source, if lines.is_empty() { rest } else { lines });
            if !lines.is_empty() {
                self.release();
                self.push(source, rest, now);
            }
        }
    }

    /// Ends a stream: nothing more comes from it.
    pub fn finish(&mut self, source: Source) {
        if let Some(held) = self.held.get_mut(&source) {
            held.has_ended = true;
        }
        if self.holder == Some(source) {
            self.holder = None;
            self.release();
        }
    }

    /// The time when [`Sink::handle_time`] must be called.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Lets go what was kept back for long enough.
    pub fn handle_time(&mut self, now: Instant) {
        if self.deadline.is_some_and(|at| now >= at) {
            self.release_all();
        }
    }

    /// Writes a line of our own; an open line ends before it.
    pub fn say(&mut self, text: &str) {
        self.end_line();
        self.release_all();
        self.end_line();
        self.holder = None;
        self.write(text.as_bytes());
        self.write(b"\n");
    }

    /// Lets all bytes go that are kept back, and the open line with them.
    pub fn release_all(&mut self) {
        self.holder = None;
        let rests = self.release_lines();
        for (source, held) in rests {
            self.emit_held(source, &held);
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

    fn hold(&mut self, source: Source, bytes: &[u8], now: Instant) {
        let held = self.held.entry(source).or_insert_with(|| {
            self.order.push_back(source);
            Held::default()
        });
        held.bytes.extend_from_slice(bytes);
        self.held_bytes += bytes.len();
        self.deadline.get_or_insert(now + HOLD_TIME_MAX);
        if self.held_bytes > HELD_BYTES_MAX {
            self.release_all();
        }
    }

    /// Lets held bytes go at the end of a line: whole lines first, and then the line that was begun
    /// first, which keeps the others back in its turn.
    fn release(&mut self) {
        let deadline = self.deadline;
        for (source, held) in self.release_lines() {
            if self.holder.is_none() {
                self.emit_held(source, &held);
            } else {
                self.held_bytes += held.bytes.len();
                self.order.push_back(source);
                self.held.insert(source, held);
                self.deadline = deadline;
            }
        }
    }

    /// Writes all whole lines that are held; returns the lines that were only begun.
    fn release_lines(&mut self) -> Vec<(Source, Held)> {
        let mut rests = Vec::new();
        for source in std::mem::take(&mut self.order) {
            let Some(mut held) = self.held.remove(&source) else { continue };
            let count = split_after_last_line(&held.bytes).0.len();
            self.emit(source, &held.bytes[..count]);
            held.bytes.drain(..count);
            if !held.bytes.is_empty() {
                rests.push((source, held));
            }
        }
        (self.held_bytes, self.deadline) = (0, None);
        rests
    }

    fn emit_held(&mut self, source: Source, held: &Held) {
        self.emit(source, &held.bytes);
        if held.has_ended {
            self.holder = None;
        }
    }

    /// Writes bytes of a rank, with labels if that is wanted.
    fn emit(&mut self, source: Source, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        if !self.labels {
            self.write(bytes);
        } else {
            if self.holder.is_none_or(|holder| holder != source) {
                self.end_line();
            }
            for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                if !self.is_in_line {
                    write!(self.bytes, "[{}] ", source.rank).expect("memory takes it");
                }
                self.write(line);
            }
        }
        self.holder = (*last != b'\n').then_some(source);
    }

    fn end_line(&mut self) {
        if self.is_in_line {
            self.write(b"\n");
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if let Some(last) = bytes.last() {
            self.is_in_line = *last != b'\n';
        }
    }
}

/// The whole lines, and what is behind them.
fn split_after_last_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    bytes.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Source = Source { rank: 0, stream: 0 };
    const B: Source = Source { rank: 1, stream: 0 };
    const C: Source = Source { rank: 2, stream: 0 };

    fn text(sink: &Sink) -> String {
        String::from_utf8(sink.pending().to_vec()).unwrap()
    }

    /// A sink that has taken these bytes at one time.
    fn sink(labels: bool, pieces: &[(Source, &str)]) -> (Sink, Instant) {
        let (mut sink, now) = (Sink::new(labels), Instant::now());
        pieces.iter().for_each(|(source, text)| sink.push(*source, text.as_bytes(), now));
        (sink, now)
    }

    #[test]
    fn what_a_rank_writes_at_the_start_of_a_line_goes_out_at_once() {
        for labels in [false, true] {
            let (sink, _) = sink(labels, &[(A, "one\n"), (B, "prompt> "), (B, "yes")]);
            let shown = if labels { "[0] one\n[1] prompt> yes" } else { "one\nprompt> yes" };
            assert_eq!((text(&sink).as_str(), sink.deadline()), (shown, None));
        }
    }

    #[test]
    fn lines_of_ranks_do_not_mix() {
        let pieces =
            [(A, "aaa"), (B, "bbb\nbb"), (C, "c"), (A, "AAA\na"), (B, "B\n"), (C, "C\n"), (A, "A\n")];
        let (sink, _) = sink(false, &pieces);
        assert_eq!(text(&sink), "aaaAAA\nbbb\nbbB\ncC\naA\n");
        assert_eq!((sink.deadline(), sink.held_bytes), (None, 0));
    }

    #[test]
    fn a_line_that_is_not_completed_keeps_others_back_for_a_while_only() {
        let (mut sink, now) = sink(false, &[(A, "name? "), (B, "x\ny")]);
        sink.push(C, b"z\n", now + HOLD_TIME_MAX / 2);
        assert_eq!((text(&sink).as_str(), sink.deadline()), ("name? ", Some(now + HOLD_TIME_MAX)));
        sink.handle_time(now + HOLD_TIME_MAX / 2);
        assert_eq!(text(&sink), "name? ");
        sink.handle_time(now + HOLD_TIME_MAX);
        assert_eq!((text(&sink).as_str(), sink.deadline()), ("name? x\nz\ny", None));
        // The line is now that of the last.
        sink.push(A, b"me\n", now);
        assert_eq!(text(&sink), "name? x\nz\ny");
        sink.push(B, b"Y\n", now);
        assert_eq!(text(&sink), "name? x\nz\nyY\nme\n");
    }

    #[test]
    fn many_begun_lines_go_out_together() {
        let (mut sink, now) = sink(false, &[(A, "a"), (B, "b"), (C, "c")]);
        sink.handle_time(now + HOLD_TIME_MAX);
        assert_eq!((text(&sink).as_str(), sink.deadline()), ("abc", None));
    }

    #[test]
    fn no_byte_is_added_without_labels() {
        let (mut sink, _) = sink(false, &[(A, "x"), (B, "y"), (C, "z")]);
        sink.finish(B);
        sink.finish(A);
        assert_eq!((text(&sink).as_str(), sink.deadline()), ("xyz", None));
        sink.finish(C);
        sink.push(A, b"late", Instant::now());
        assert_eq!(text(&sink), "xyzlate");
    }

    #[test]
    fn the_lines_of_one_rank_s_streams_do_not_mix_either() {
        let err = Source { rank: 0, stream: 1 };
        let (mut sink, _) = sink(false, &[(err, "warn"), (A, "out\n"), (err, "ing\n"), (A, "o"), (err, "e")]);
        assert_eq!(text(&sink), "warning\nout\no");
        sink.finish(A);
        assert_eq!(text(&sink), "warning\nout\noe");
    }

    #[test]
    fn a_label_on_every_line() {
        let (mut sink, now) = sink(true, &[(A, "x\n\ny\nz"), (B, "bb"), (A, "Z\n")]);
        assert_eq!(text(&sink), "[0] x\n[0] \n[0] y\n[0] zZ\n[1] bb");
        sink.push(A, b"a\na", now);
        sink.handle_time(now + HOLD_TIME_MAX);
        sink.push(A, b"A\n", now);
        assert_eq!(text(&sink).split_at(24).1, "[1] bb\n[0] a\n[0] aA\n");
    }

    #[test]
    fn our_own_words_have_a_line_of_their_own() {
        let (mut sink, now) = sink(false, &[(A, "a"), (B, "b\nbb")]);
        sink.say("mpiexec: words");
        assert_eq!((text(&sink).as_str(), sink.deadline()), ("a\nb\nbb\nmpiexec: words\n", None));
        sink.push(A, b"A\n", now);
        assert_eq!(text(&sink), "a\nb\nbb\nmpiexec: words\nA\n");
    }

    #[test]
    fn endless_lines_do_not_eat_the_memory() {
        let (mut sink, now) = (Sink::new(false), Instant::now());
        sink.push(A, &vec![b'a'; 2 * HELD_BYTES_MAX], now);
        assert_eq!(sink.pending().len(), 2 * HELD_BYTES_MAX);
        sink.push(B, &vec![b'b'; HELD_BYTES_MAX - 1], now);
        sink.push(C, b"c", now);
        assert_eq!(sink.pending().len(), 2 * HELD_BYTES_MAX);
        sink.push(C, b"c", now);
        assert_eq!((sink.pending().len(), sink.held_bytes), (3 * HELD_BYTES_MAX + 1, 0));
    }

    #[test]
    fn consumed_bytes_are_gone() {
        let (mut sink, _) = sink(false, &[(A, "abcdef")]);
        sink.consume(2);
        assert_eq!(text(&sink), "cdef");
        sink.consume(3);
        assert_eq!(text(&sink), "f");
        sink.consume(1);
        assert_eq!(text(&sink), "");
    }
}
