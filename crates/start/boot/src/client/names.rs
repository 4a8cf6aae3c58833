//! The launcher's name service, which PMI-1 and our extension have alike (MPI-5.0, 11.9.4).
//!
//! PMI-1 carries words. A service's name is base64; a port's is as it is, or base64 behind
//! [`ENCODED`] if it has other characters than those of a word.

use crate::card;
use crate::error::BootError;
use crate::link::Link;
use crate::wire::{Message, shorten};

/// The beginning of a port's name that is base64.
const ENCODED: &str = "base64:";

/// The name service of a launcher.
pub(super) struct Names<'a> {
    /// The line to the launcher.
    pub link: &'a mut Link,
    /// The longest line that the launcher takes, in bytes. It does not know what needs a longer
    /// one.
    pub line_length_max: usize,
}

impl Names<'_> {
    /// Tells the launcher the port of a service; `false` if it does not take it.
    pub(super) fn publish(&mut self, service: &[u8], port: &[u8]) -> Result<bool, BootError> {
        let message = named("publish_name", service).with("port", word_of(port));
        Ok(self.asked(&message, "publish_result")?.is_some())
    }

    /// Takes that back; `false` if the launcher does not know the service.
    pub(super) fn unpublish(&mut self, service: &[u8]) -> Result<bool, BootError> {
        Ok(self.asked(&named("unpublish_name", service), "unpublish_result")?.is_some())
    }

    /// The port of a service, if the launcher knows it.
    pub(super) fn lookup(&mut self, service: &[u8]) -> Result<Option<Vec<u8>>, BootError> {
        let message = named("lookup_name", service);
        let answer = self.asked(&message, "lookup_result")?;
        let word = answer.as_ref().and_then(|answer| answer.get("port")).filter(|word| !word.is_empty());
        word.map(|word| port_of(word).map_err(|why| damaged(&message.cmd, word, &why))).transpose()
    }

    /// Asks; the answer, if it is not a refusal.
    fn asked(&mut self, message: &Message, answer: &str) -> Result<Option<Message>, BootError> {
        if message.emit(self.link.dialect).len() > self.line_length_max {
            return Ok(None);
        }
        self.link.send(message)?;
        let got = self.link.answer(&message.cmd, answer)?;
        Ok((got.get("rc") == Some("0")).then_some(got))
    }
}

/// A command with the service's name as a word.
fn named(command: &str, service: &[u8]) -> Message {
    Message::new(command).with("service", card::encode(service))
}

/// A port's name as a word: with no space, nor what a launcher may take for the end of a value.
fn word_of(port: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"=;\"'\\".contains(byte);
    match std::str::from_utf8(port) {
        Ok(text) if !text.is_empty() && !text.starts_with(ENCODED) && port.iter().all(is_plain) => {
            text.into()
        }
        _ => format!("{ENCODED}{}", card::encode(port)),
    }
}

/// The port's name that [`word_of`] made a word.
fn port_of(word: &str) -> Result<Vec<u8>, String> {
    word.strip_prefix(ENCODED).map_or_else(|| Ok(word.into()), card::decode)
}

fn damaged(command: &str, word: &str, why: &str) -> BootError {
    let got = shorten(&format!("port={word}, {why}"));
    BootError::Unexpected { command: command.to_owned(), expected: "a port".to_owned(), got }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Dialect;
    use std::io::{BufRead, BufReader, Write};
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixStream;

    /// A launcher that keeps one port, as a word; returns the lines that it got.
    fn keeper(line: UnixStream) -> Vec<String> {
        let (mut port, mut lines) = (String::new(), Vec::new());
        for text in BufReader::new(line.try_clone().unwrap()).lines() {
            let text = text.unwrap();
            let message = Message::parse(&text, Dialect::One).unwrap();
            let answer = match message.cmd.as_str() {
                "publish_name" => {
                    port = message.get("port").unwrap_or_default().to_owned();
                    Message::new("publish_result").with("rc", 0)
                }
                _ => Message::new("lookup_result").with("rc", 0).with("port", &port),
            };
            (&line).write_all(&answer.emit(Dialect::One)).unwrap();
            lines.push(text);
        }
        lines
    }

    /// The port of a service as it comes back, and the lines that the launcher got.
    fn there_and_back(port: &[u8], line_length_max: usize) -> (bool, Option<Vec<u8>>, Vec<String>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let keeper = std::thread::spawn(move || keeper(theirs));
        let mut link = Link::inherit(ours.into_raw_fd());
        let mut names = Names { link: &mut link, line_length_max };
        let (taken, found) = (names.publish(b"a b", port).unwrap(), names.lookup(b"a b").unwrap());
        drop(link);
        (taken, found, keeper.join().unwrap())
    }

    #[test]
    fn a_port_comes_back_as_it_was_published() {
        let long = [b' '; 1023];
        for port in [&b"tag with space"[..], b"a\nb", b"", b"x\rb", b"p=q;r", b"base64:x", b"\xff\"", &long] {
            assert_eq!(there_and_back(port, usize::MAX).1.as_deref(), Some(port));
        }
    }

    #[test]
    fn a_port_that_is_a_word_goes_as_it_is() {
        for port in ["verbena1:00ff:10.0.0.1,10.0.0.2:4711:aa", "tag#0$port#123$description#a$"] {
            let (taken, found, lines) = there_and_back(port.as_bytes(), 1000);
            assert_eq!((taken, found.as_deref()), (true, Some(port.as_bytes())));
            assert_eq!(lines[0], format!("cmd=publish_name service=YSBi port={port}"));
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_not_sent() {
        let (taken, found, lines) = there_and_back(&[b'x'; 1000], 1000);
        assert_eq!((taken, found, lines.len()), (false, None, 1));
    }

    #[test]
    fn a_word_that_is_damaged_is_no_port() {
        assert!(port_of("base64:a b").is_err());
        assert!(damaged("lookup_name", "base64:!", "why").to_string().contains("expected a port"));
    }
}
