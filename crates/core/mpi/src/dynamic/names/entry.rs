//! The file of a published name: lines `KEY VALUE`.

use crate::comm::words::fingerprint;
use std::fs;
use verbena_machine::node;

/// The longest part of a service's name that stands in the name of its file.
const READABLE_MAX: usize = 40;

/// A published name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub service: String,
    pub port: String,
    /// The machine, the namespace of process ids, the id and the start of the process that owns it.
    machine: u64,
    namespace: u64,
    pid: u32,
    started: u64,
}

/// The name of a service's file: what is readable of the service's name, and a number.
pub(super) fn file_name(service: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let readable: String = service.chars().map(plain).take(READABLE_MAX).collect();
    format!("{readable}-{:016x}", fingerprint(service.bytes()))
}

impl Entry {
    /// The name as this process owns it.
    pub(super) fn of_this_process(service: &str, port: &str) -> Entry {
        let pid = std::process::id();
        Entry {
            service: service.into(),
            port: port.into(),
            machine: node::machine(),
            namespace: node::namespace("pid"),
            pid,
            started: started_at(pid).unwrap_or(0),
        }
    }

    /// The text of the file. Names of services may have any characters.
    pub(super) fn text(&self) -> String {
        let Entry { machine, namespace, pid, started, .. } = self;
        let service = self.service.escape_default();
        format!("port {}\nowner {machine} {namespace} {pid} {started}\nservice {service}\n", self.port)
    }

    /// Reads a text.
    pub(super) fn parse(text: &str) -> Option<Entry> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        let owner: Vec<u64> = value("owner")?.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [machine, namespace, pid, started] = owner[..] else { return None };
        let service = unescaped(value("service")?)?;
        let pid = u32::try_from(pid).ok()?;
        Some(Entry { service, port: value("port")?.to_owned(), machine, namespace, pid, started })
    }

    /// Returns whether the process that owns the name is known to be dead: one of another machine,
    /// or in a container, may live.
    pub(super) fn owner_is_dead(&self) -> bool {
        let is_here = (self.machine, self.namespace) == (node::machine(), node::namespace("pid"));
        is_here && started_at(self.pid) != Some(self.started)
    }
}

/// The text whose [`str::escape_default`] this is.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next()? {
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'u' => {
                let digits: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                out.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
            }
            other => out.push(other),
        }
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
    fn any_name_survives() {
        for service in ["a", "ocean model", "zwölf\n\t\\u{1}", "\"'", &"x".repeat(500)] {
            let entry = Entry::of_this_process(service, "verbena1:0::1:00");
            assert_eq!(Entry::parse(&entry.text()), Some(entry.clone()));
            assert!(!entry.owner_is_dead());
            assert!(file_name(service).len() < 100 && !file_name(service).contains('/'));
        }
        assert_ne!(file_name("a/b"), file_name("a_b"));
    }

    #[test]
    fn a_dead_owner_is_told_from_a_living_and_from_an_unknown_one() {
        let entry = Entry::of_this_process("a", "port");
        assert!(Entry { started: entry.started + 1, ..entry.clone() }.owner_is_dead());
        assert!(Entry { pid: u32::MAX / 2, ..entry.clone() }.owner_is_dead());
        assert!(!Entry { machine: entry.machine ^ 1, pid: u32::MAX / 2, ..entry }.owner_is_dead());
    }

    #[test]
    fn damaged_files_say_nothing() {
        let whole = Entry::of_this_process("a", "port").text();
        for text in ["", "port x", "port x\nowner 1 2 3\nservice a", "port x\nowner 1 2 3 y\nservice a"] {
            assert_eq!(Entry::parse(text), None, "{text}");
        }
        assert_eq!(Entry::parse(&whole.replace("owner", "x")), None);
        assert_eq!(unescaped("\\u{x}"), None);
    }
}
