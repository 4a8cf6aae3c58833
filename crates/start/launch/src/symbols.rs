//! The functions and lines of addresses in a process: from the files that it has mapped.

use addr2line::Loader;
use std::collections::HashMap;
use verbena_hang::Place;

/// The most places of one thread.
const PLACES_MAX: usize = 24;
/// The most places of a crash.
const CRASH_PLACES_MAX: usize = 12;
/// Functions behind which nothing of the program comes.
const ENDS: [&str; 2] = ["main", "MAIN__"];

/// The files that were read so far: many ranks run the same program.
#[derive(Default)]
pub struct Symbols {
    files: HashMap<String, Option<Module>>,
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.files.keys()).finish()
    }
}

/// A program or library.
struct Module {
    loader: Loader,
    /// The address for which it was linked.
    linked_at: u64,
}

/// A mapped file.
#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    path: String,
}

impl Symbols {
    /// The places of these return addresses in a process, the innermost first.
    pub fn places(&mut self, pid: i32, addresses: &[u64]) -> Vec<Place> {
        if addresses.is_empty() {
            return Vec::new();
        }
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let mappings = mappings(&maps);
        let mut found = Vec::new();
        for &address in addresses {
            // A return address may lie behind the end of its function.
            let places = self.of_address(pid, &mappings, address.wrapping_sub(1));
            let is_end = places.iter().any(|place| ENDS.contains(&place.function.as_str()));
            found.extend(places);
            if is_end || found.len() >= PLACES_MAX {
                break;
            }
        }
        found.truncate(PLACES_MAX);
        found
    }

    /// The places of a crash: a line of return addresses, and lines of `/proc/PID/maps`.
    pub fn of_crash(&mut self, text: &str) -> Vec<Place> {
        let (addresses, maps) = text.split_once('\n').unwrap_or_default();
        let addresses = addresses.split(' ').filter_map(|word| u64::from_str_radix(word, 16).ok());
        let mappings = mappings(maps);
        let places = addresses.flat_map(|address| self.of_address(0, &mappings, address.wrapping_sub(1)));
        let mut found: Vec<Place> = Vec::new();
        for place in places {
            let is_end = ENDS.contains(&place.function.as_str());
            found.push(place);
            if is_end || found.len() >= CRASH_PLACES_MAX {
                break;
            }
        }
        found
    }

    fn of_address(&mut self, pid: i32, mappings: &[Mapping], address: u64) -> Vec<Place> {
        let within = |mapping: &&Mapping| (mapping.start..mapping.end).contains(&address);
        let Some(mapping) = mappings.iter().find(within) else { return Vec::new() };
        let path = mapping.path.as_str();
        // The first mapping of a file holds its beginning.
        let Some(first) = mappings.iter().find(|one| one.path == path) else { return Vec::new() };
        let offset = address - first.start;
        let module = self.files.entry(path.to_owned()).or_insert_with(|| Module::open(pid, path));
        let places = module.as_ref().map_or(Vec::new(), |module| module.places(offset));
        if !places.is_empty() {
            return places;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        vec![Place { function: format!("{name}+{offset:#x}"), line: None }]
    }
}

impl Module {
    /// Opens a file as the process sees it, which may be in a container.
    fn open(pid: i32, path: &str) -> Option<Module> {
        let inside = format!("/proc/{pid}/root{path}");
        let path = if std::fs::metadata(&inside).is_ok() { inside } else { path.to_owned() };
        let linked_at = linked_at(&read_start(&path)?)?;
        Some(Module { loader: Loader::new(&path).ok()?, linked_at })
    }

    /// The functions at this distance from the module's beginning, those that were inlined first.
    fn places(&self, offset: u64) -> Vec<Place> {
        let address = offset.wrapping_add(self.linked_at);
        let mut places = Vec::new();
        if let Ok(mut frames) = self.loader.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let named = frame.function.as_ref().and_then(|name| name.demangle().ok());
                // With line tables alone only the symbols tell the function.
                let function = named.map(|name| name.into_owned()).or_else(|| self.symbol(address));
                let Some(function) = function else { continue };
                let line = frame.location.and_then(|at| Some((at.file?.to_owned(), at.line?)));
                places.push(Place { function, line });
            }
        }
        if places.is_empty()
            && let Some(function) = self.symbol(address)
        {
            places.push(Place { function, line: None });
        }
        places
    }

    fn symbol(&self, address: u64) -> Option<String> {
        let name = self.loader.find_symbol(address)?;
        Some(addr2line::demangle_auto(name.into(), None).into_owned())
    }
}

/// The beginning of a file: its header and the table of its segments.
fn read_start(path: &str) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut start = Vec::new();
    std::fs::File::open(path).ok()?.take(4096).read_to_end(&mut start).ok()?;
    Some(start)
}

/// The lowest address for which an ELF file of 64 bits was linked.
fn linked_at(file: &[u8]) -> Option<u64> {
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

/// The files in `/proc/PID/maps`.
fn mappings(maps: &str) -> Vec<Mapping> {
    let mapping = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let path = &rest[rest.find('/')?..];
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some(Mapping { start: number(start)?, end: number(end)?, path: path.to_owned() })
    };
    maps.lines().filter_map(mapping).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_files_are_read() {
        let maps = "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/a b\n\
                    7ffc0000-7ffc1000 rw-p 00000000 00:00 0           [stack]\n";
        let expected = Mapping { start: 0x40_0000, end: 0x45_2000, path: "/usr/bin/a b".into() };
        assert_eq!(mappings(maps), [expected]);
    }

    #[test]
    fn garbage_is_no_program() {
        assert_eq!(linked_at(b"#!/bin/sh"), None);
        assert_eq!(linked_at(b"\x7fELF\x02"), None);
    }

    /// A function whose return address is known.
    #[inline(never)]
    fn here() -> u64 {
        here as *const () as u64
    }

    #[test]
    fn a_function_of_this_process_is_found() {
        let places = Symbols::default().places(std::process::id() as i32, &[here() + 1]);
        let place = places.first().expect("a place");
        assert!(place.function.contains("here"), "{places:?}");
        assert!(place.line.as_ref().is_some_and(|(file, _)| file.ends_with("symbols.rs")), "{places:?}");
        assert_eq!(Symbols::default().places(-1, &[7]), []);
    }
}
