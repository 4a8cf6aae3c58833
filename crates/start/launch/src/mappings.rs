//! The files that a process has mapped.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;

/// A mapped file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The distance of its first byte from the file's beginning.
    pub(crate) offset: u64,
    /// Set if it may be run.
    pub(crate) is_code: bool,
    pub(crate) path: String,
}

impl Mapping {
    /// The file that lies at an address, and the distance of the address from where the file's
    /// beginning is mapped with it: a program may map a file of its own once more, to read it.
    pub(crate) fn offset(all: &[Mapping], address: u64) -> Option<(&str, u64)> {
        let found = Mapping::at(all, address)?;
        let begins = |one: &&Mapping| one.path == found.path && one.offset == 0 && one.start <= found.start;
        let first = all.iter().filter(begins).max_by_key(|one| one.start);
        let start = first.map_or(found.start.saturating_sub(found.offset), |first| first.start);
        Some((found.path.as_str(), address - start))
    }

    /// The mapping that holds an address.
    pub(crate) fn at(all: &[Mapping], address: u64) -> Option<&Mapping> {
        all.iter().find(|mapping| (mapping.start..mapping.end).contains(&address))
    }
}

/// A file's path as a process sees it, which may be in a container.
pub(crate) fn inside(pid: i32, path: &str) -> String {
    let inside = format!("/proc/{pid}/root{path}");
    if std::fs::metadata(&inside).is_ok() { inside } else { path.to_owned() }
}

/// Opens a file to be read. `None` for one that is no regular file: a pipe with a name would keep
/// us waiting for its writer, and a device has no end.
pub(crate) fn open(path: &str) -> Option<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}

/// The lowest address for which an ELF file of 64 bits was linked.
pub(crate) fn linked_at(file: &[u8]) -> Option<u64> {
    const LOAD: u32 = 1;
    let word = |at: usize| Some(u64::from_le_bytes(file.get(at..at + 8)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_le_bytes(file.get(at..at + 2)?.try_into().ok()?));
    if file.get(..5)? != b"\x7fELF\x02" {
        return None;
    }
    let (table, size, count) = (word(32)? as usize, usize::from(half(54)?), usize::from(half(56)?));
    let segments = (0..count).map(|n| table.saturating_add(n.saturating_mul(size)));
    let is_load = |at: &usize| {
        let sort = file.get(*at..at.saturating_add(4)).and_then(|bytes| bytes.try_into().ok());
        sort.map(u32::from_le_bytes) == Some(LOAD)
    };
    segments.filter(is_load).filter_map(|at| word(at + 16)).min().map(|address| address & !0xfff)
}

/// The files that a process has mapped.
pub(crate) fn of_process(pid: i32) -> Vec<Mapping> {
    mappings(&String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default()))
}

/// The files in `/proc/PID/maps`.
pub(crate) fn mappings(maps: &str) -> Vec<Mapping> {
    let mapping = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let path = &rest[rest.find('/')?..];
        let (permissions, rest) = rest.split_once(' ')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some(Mapping {
            start: number(start)?,
            end: number(end)?,
            offset: number(rest.split(' ').next()?)?,
            is_code: permissions.contains('x'),
            // The kernel writes the end of a line in a name so.
            path: path.replace("\\012", "\n"),
        })
    };
    maps.lines().filter_map(mapping).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_files_are_read() {
        let maps = "00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/a b\n\
                    7ffc0000-7ffc1000 rw-p 00000000 00:00 0           [stack]\n";
        let (start, end, offset) = (0x40_0000, 0x45_2000, 0x1000);
        assert_eq!(
            mappings(maps),
            [Mapping { start, end, offset, is_code: true, path: "/usr/bin/a b".into() }]
        );
    }

    #[test]
    fn a_name_may_have_lines() {
        let all = mappings("1000-9000 r-xp 00000000 08:02 7 /tmp/a\\012b\n");
        assert_eq!(Mapping::offset(&all, 0x1010), Some(("/tmp/a\nb", 0x10)));
    }

    #[test]
    fn a_pipe_with_a_name_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("verbena-pipe-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo is there");
        assert!(made.success());
        let (sender, receiver) = std::sync::mpsc::channel();
        let name = path.to_str().expect("a name").to_owned();
        std::thread::spawn(move || sender.send(open(&name).is_none()));
        let refused = receiver.recv_timeout(std::time::Duration::from_secs(10));
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(refused, Ok(true));
    }

    #[test]
    fn a_file_that_is_mapped_twice_has_the_loaders_distances() {
        let maps = "1000-9000 r--p 00000000 08:02 7 /lib/x.so\n\
                    20000-22000 r--p 00000000 08:02 7 /lib/x.so\n\
                    22000-24000 r-xp 00002000 08:02 7 /lib/x.so\n\
                    30000-39000 r--p 00000000 08:02 7 /lib/x.so\n\
                    50000-51000 r-xp 00003000 08:02 8 /lib/part.so\n";
        let all = mappings(maps);
        assert_eq!(Mapping::offset(&all, 0x22010), Some(("/lib/x.so", 0x2010)));
        assert_eq!(Mapping::offset(&all, 0x1010), Some(("/lib/x.so", 0x10)));
        assert_eq!(Mapping::offset(&all, 0x50010), Some(("/lib/part.so", 0x3010)));
        assert_eq!(Mapping::offset(&all, 0x40000), None);
    }

    #[test]
    fn garbage_is_no_program() {
        assert_eq!(linked_at(b"#!/bin/sh"), None);
        assert_eq!(linked_at(b"\x7fELF\x02"), None);
    }
}
