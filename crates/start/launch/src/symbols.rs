//! The functions and lines of addresses in a process: from the files that it has mapped.

use crate::asleep::Sleeper;
use crate::mappings::{self, Mapping, inside, linked_at, mappings, of_process};
use crate::unwind::Unwinder;
use addr2line::Loader;
use std::collections::HashMap;
use verbena_hang::Place;

/// The most places of one thread.
const PLACES_MAX: usize = 24;
/// The most places of a crash.
const CRASH_PLACES_MAX: usize = 12;
/// The most return addresses of a thread that sleeps.
const FRAMES_MAX: usize = 48;
/// The beginnings of the names of the C library's files.
const C_LIBRARY: [&str; 4] = ["libc.so", "libc-2", "libpthread", "ld-"];
/// Functions behind which nothing of the program comes.
const ENDS: [&str; 2] = ["main", "MAIN__"];

/// The files that were read so far: many ranks run the same program.
#[derive(Default)]
pub struct Symbols {
    files: HashMap<String, Option<Module>>,
    unwinder: Unwinder,
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

impl Symbols {
    /// The places of these return addresses in a process, the innermost first.
    pub fn places(&mut self, pid: i32, addresses: &[u64]) -> Vec<Place> {
        if addresses.is_empty() {
            return Vec::new();
        }
        let mappings = of_process(pid);
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

    /// The return addresses of a thread that sleeps, from the function on that called the C
    /// library, the innermost first.
    pub fn addresses_of_sleeper(&mut self, pid: i32, sleeper: &Sleeper) -> Vec<u64> {
        let Some(thread) = &sleeper.thread else { return Vec::new() };
        let mappings = of_process(pid);
        behind_c_library(&mappings, self.unwinder.addresses(pid, &mappings, thread, FRAMES_MAX))
    }

    /// These return addresses from the function on that called the C library, if all begin there.
    pub fn behind_c_library(pid: i32, found: Vec<u64>) -> Vec<u64> {
        if found.is_empty() { found } else { behind_c_library(&of_process(pid), found) }
    }

    fn of_address(&mut self, pid: i32, mappings: &[Mapping], address: u64) -> Vec<Place> {
        let Some((path, offset)) = Mapping::offset(mappings, address) else { return Vec::new() };
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
        let path = inside(pid, path);
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

/// These return addresses without those in the C library that come first.
fn behind_c_library(mappings: &[Mapping], mut found: Vec<u64>) -> Vec<u64> {
    let is_c_library = |address: &u64| {
        let name = path_at(mappings, *address).rsplit('/').next().unwrap_or_default();
        C_LIBRARY.iter().any(|start| name.starts_with(start))
    };
    let first = found.iter().position(|address| !is_c_library(address));
    found.drain(..first.unwrap_or(0));
    found
}

/// Returns whether a return address lies in an interpreter of Python, or in a module that comes
/// with it. These go on with a sleep after a signal (PEP 475), unless they wait for one.
pub(crate) fn is_in_python(pid: i32, address: u64) -> bool {
    let mappings = of_process(pid);
    let path = path_at(&mappings, address);
    let name = path.rsplit('/').next().unwrap_or(path);
    ["python3", "libpython3"].iter().any(|start| name.starts_with(start)) || path.contains("/lib-dynload/")
}

/// The file at a return address; empty if there is none.
fn path_at(mappings: &[Mapping], address: u64) -> &str {
    Mapping::offset(mappings, address.wrapping_sub(1)).map_or("", |(path, _)| path)
}

/// The beginning of a file: its header and the table of its segments.
fn read_start(path: &str) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut start = Vec::new();
    mappings::open(path)?.take(4096).read_to_end(&mut start).ok()?;
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

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
