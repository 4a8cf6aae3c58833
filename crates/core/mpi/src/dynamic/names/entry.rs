//! The file of a published name: lines `KEY VALUE`.

use crate::comm::words::fingerprint;
use std::fs;
use verbena_machine::node;

/// The longest part of a service's name that stands in the name of its file.
const READABLE_MAX: usize = 40;

/// A published name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub service: Vec<u8>,
    pub port: Vec<u8>,
    pub owner: Owner,
}

/// A process that owns names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    machine: u64,
    /// The namespace of process ids.
    namespace: u64,
    pid: u32,
    /// The time at which the process started, in ticks since the machine did.
    started: u64,
}

/// The name of a service's file: what is readable of the service's name, and a number.
pub(super) fn file_name(service: &[u8]) -> String {
    let plain = |byte: &u8| match byte {
        byte if byte.is_ascii_alphanumeric() || *byte == b'-' => char::from(*byte),
        _ => '_',
    };
    let readable: String = service.iter().map(plain).take(READABLE_MAX).collect();
    format!("{readable}-{:016x}", fingerprint(service.iter().copied()))
}

impl Owner {
    /// This process.
    pub(super) fn this_process() -> Owner {
        let pid = std::process::id();
        let started = started_at(pid).unwrap_or(0);
        Owner { machine: node::machine(), namespace: node::namespace("pid"), pid, started }
    }

    /// Returns whether the process is known to be dead: one of another machine, or in a container,
    /// may live.
    fn is_dead(&self) -> bool {
        let is_here = (self.machine, self.namespace) == (node::machine(), node::namespace("pid"));
        is_here && started_at(self.pid) != Some(self.started)
    }

    /// A word that no other process has.
    pub(super) fn word(&self) -> String {
        let Owner { machine, namespace, pid, started } = self;
        format!("{machine:x}-{namespace:x}-{pid}-{started:x}")
    }
}

impl Entry {
    /// The name as this process owns it.
    pub(super) fn of_this_process(service: &[u8], port: &[u8]) -> Entry {
        Entry { service: service.into(), port: port.into(), owner: Owner::this_process() }
    }

    /// The text of the file. Services and ports may have any characters.
    pub(super) fn text(&self) -> String {
        let Owner { machine, namespace, pid, started } = self.owner;
        let (service, port) = (self.service.escape_ascii(), self.port.escape_ascii());
        format!("port {port}\nowner {machine} {namespace} {pid} {started}\nservice {service}\n")
    }

    /// Reads a text.
    pub(super) fn parse(text: &str) -> Option<Entry> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        let owner: Vec<u64> = value("owner")?.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [machine, namespace, pid, started] = owner[..] else { return None };
        let owner = Owner { machine, namespace, pid: pid.try_into().ok()?, started };
        Some(Entry { service: unescaped(value("service")?)?, port: unescaped(value("port")?)?, owner })
    }

    /// Returns whether the process that owns the name is known to be dead.
    pub(super) fn owner_is_dead(&self) -> bool {
        self.owner.is_dead()
    }
}

/// The bytes whose [`slice::escape_ascii`] this is.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next()? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    Some(out)
}

/// The time at which a process started, in ticks since the machine did; `None` if there is none.
fn started_at(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may have spaces.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_and_any_port_survive() {
        let long = [1; 1024];
        for text in
            [&b""[..], b"a", b"ocean model", "zw\u{f6}lf\n\t\\u{1}".as_bytes(), b"\"'\r", b"\xff\\x0", &long]
        {
            let entry = Entry::of_this_process(text, text);
            assert_eq!(Entry::parse(&entry.text()), Some(entry.clone()));
            assert!(!entry.owner_is_dead());
            assert!(file_name(text).len() < 100 && !file_name(text).contains('/'));
        }
        assert_ne!(file_name(b"a/b"), file_name(b"a_b"));
    }

    #[test]
    fn a_dead_owner_is_told_from_a_living_and_from_an_unknown_one() {
        let owner = Owner::this_process();
        assert!(!owner.is_dead());
        assert!(Owner { started: owner.started + 1, ..owner.clone() }.is_dead());
        assert!(Owner { pid: u32::MAX / 2, ..owner.clone() }.is_dead());
        assert!(!Owner { machine: owner.machine ^ 1, pid: u32::MAX / 2, ..owner }.is_dead());
    }

    #[test]
    fn damaged_files_say_nothing() {
        let whole = Entry::of_this_process(b"a", b"port").text();
        for text in ["", "port x", "port x\nowner 1 2 3\nservice a", "port x\nowner 1 2 3 y\nservice a"] {
            assert_eq!(Entry::parse(text), None, "{text}");
        }
        assert_eq!(Entry::parse(&whole.replace("owner", "x")), None);
        for text in ["\\", "\\x", "\\x1", "\\xzz"] {
            assert_eq!(unescaped(text), None, "{text}");
        }
    }
}
