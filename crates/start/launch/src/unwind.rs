//! The return addresses of a thread of another process, from copies of its registers and its stack
//! and from the tables for exceptions (`.eh_frame`) in the files that it runs.

use crate::mappings::{self, Mapping, inside, linked_at};
use addr2line::gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameOffset, EndianSlice, LittleEndian, RegisterRule,
    UnwindContext, UnwindSection,
};
use std::collections::HashMap;
use std::os::unix::fs::FileExt;

/// The registers that the tables speak of, by their numbers there (x86-64 psABI, figure 3.36).
pub const REGISTERS: usize = 17;
/// The stack pointer.
pub const STACK_POINTER: usize = 7;
/// The place of the return address; of the innermost frame, the next instruction.
pub const RETURN_ADDRESS: usize = 16;

/// A thread that stands still.
#[derive(Debug)]
pub struct StillThread {
    /// The registers; `None` for one that is not known.
    pub registers: [Option<u64>; REGISTERS],
    /// The stack, from its pointer on.
    pub stack: Vec<u8>,
}

/// The most bytes of a file's tables, and of the list of its sections: more is no program.
const TABLE_BYTES_MAX: usize = 256 << 20;

/// The tables of a file.
#[derive(Debug)]
pub struct Tables {
    /// The address for which the file was linked, and that for which its tables were.
    linked_at: u64,
    address: u64,
    bytes: Vec<u8>,
    /// The functions: the addresses where they begin, in their order, and the places of their
    /// entries.
    functions: Vec<(u64, usize)>,
}

/// The tables that were read so far, by file: many ranks run the same program.
#[derive(Debug, Default)]
pub struct Unwinder {
    files: HashMap<String, Option<Tables>>,
}

impl Unwinder {
    /// The return addresses of a thread of this process, the innermost first; at most `most`
    /// of them.
    pub(crate) fn addresses(
        &mut self,
        pid: i32,
        maps: &[Mapping],
        thread: &StillThread,
        most: usize,
    ) -> Vec<u64> {
        let bottom = thread.registers[STACK_POINTER].unwrap_or(0);
        let (mut registers, mut found) = (thread.registers, Vec::new());
        while let Some(at) = registers[RETURN_ADDRESS].filter(|_| found.len() < most) {
            if !Mapping::at(maps, at.wrapping_sub(1)).is_some_and(|mapping| mapping.is_code) {
                break;
            }
            let Some((path, offset)) = Mapping::offset(maps, at.wrapping_sub(1)) else { break };
            found.push(at);
            let tables = self.files.entry(path.to_owned()).or_insert_with(|| Tables::open(pid, path));
            let word =
                |address: u64| word(&thread.stack, usize::try_from(address.checked_sub(bottom)?).ok()?);
            match tables.as_ref().and_then(|tables| tables.caller(offset, &registers, word)) {
                Some(caller) => registers = caller,
                None => break,
            }
        }
        found
    }
}

impl Tables {
    fn open(pid: i32, path: &str) -> Option<Tables> {
        let file = mappings::open(&inside(pid, path))?;
        let read = |at: u64, length: usize| {
            let mut bytes = vec![0; Some(length).filter(|length| *length <= TABLE_BYTES_MAX)?];
            file.read_exact_at(&mut bytes, at).ok()?;
            Some(bytes)
        };
        let (address, bytes) = section(&read, ".eh_frame")?;
        let start = read(0, 4096).or_else(|| read(0, 64))?;
        let functions = functions(&bytes, address);
        Some(Tables { linked_at: linked_at(&start)?, address, bytes, functions })
    }

    /// The registers of the function that called the one at this distance from the file's
    /// beginning. `stacked`: the word of the stack at an address.
    fn caller(
        &self,
        offset: u64,
        own: &[Option<u64>; REGISTERS],
        stacked: impl Fn(u64) -> Option<u64>,
    ) -> Option<[Option<u64>; REGISTERS]> {
        let tables = EhFrame::<EndianSlice<'_, LittleEndian>>::new(&self.bytes, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(self.address);
        let mut context = UnwindContext::new();
        let at = offset.wrapping_add(self.linked_at);
        let before = self.functions.partition_point(|(start, _)| *start <= at);
        let (_, entry) = *self.functions.get(before.checked_sub(1)?)?;
        let entry = tables.fde_from_offset(&bases, EhFrameOffset(entry), EhFrame::cie_from_offset).ok()?;
        let row = entry.unwind_info_for_address(&tables, &bases, &mut context, at).ok()?;
        let known = |register: u16| own.get(usize::from(register)).copied().flatten();
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
        let frame = known(register.0)?.wrapping_add_signed(*offset);
        // A caller's frame lies above: a table that says otherwise leads round and round.
        if frame <= own[STACK_POINTER]? {
            return None;
        }
        let mut caller = *own;
        caller[RETURN_ADDRESS] = None;
        for (register, rule) in row.registers() {
            let Some(place) = caller.get_mut(usize::from(register.0)) else { continue };
            *place = match rule {
                RegisterRule::Offset(at) => stacked(frame.wrapping_add_signed(*at)),
                RegisterRule::ValOffset(at) => Some(frame.wrapping_add_signed(*at)),
                RegisterRule::Register(other) => known(other.0),
                RegisterRule::SameValue => continue,
                _ => None,
            };
        }
        caller[STACK_POINTER] = Some(frame);
        Some(caller)
    }
}

/// The functions that tables tell of: the addresses where they begin, in their order, and the
/// places of their entries.
fn functions(bytes: &[u8], address: u64) -> Vec<(u64, usize)> {
    let tables = EhFrame::<EndianSlice<'_, LittleEndian>>::new(bytes, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(address);
    let (mut entries, mut found) = (tables.entries(&bases), Vec::new());
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(entry) = entry else { continue };
        if let Ok(entry) = entry.parse(EhFrame::cie_from_offset) {
            found.push((entry.initial_address(), entry.offset()));
        }
    }
    found.sort_unstable();
    found
}

/// The address and the bytes of a section of an ELF file of 64 bits. `read` takes a distance from
/// the file's beginning and a number of bytes, and returns the bytes there.
fn section(read: &impl Fn(u64, usize) -> Option<Vec<u8>>, name: &str) -> Option<(u64, Vec<u8>)> {
    const HEADER_BYTES: usize = 64;
    let header = read(0, HEADER_BYTES)?;
    let half = |at: usize| Some(usize::from(u16::from_le_bytes(header.get(at..at + 2)?.try_into().ok()?)));
    let (size, count, names) = (half(58)?, half(60)?, half(62)?);
    let list = read(word(&header, 40)?, size.checked_mul(count)?)?;
    let header_of = |number: usize| list.get(number.checked_mul(size)?..)?.get(..HEADER_BYTES.min(size));
    let bytes = |header: &[u8]| read(word(header, 24)?, usize::try_from(word(header, 32)?).ok()?);
    let names = bytes(header_of(names)?)?;
    let is_named = |header: &[u8]| {
        let at = header.get(..4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes)?;
        let found = names.get(at as usize..)?;
        Some(found.starts_with(name.as_bytes()) && found.get(name.len()) == Some(&0))
    };
    let mut headers = (0..count).filter_map(header_of);
    let found = headers.find(|header| is_named(header) == Some(true))?;
    Some((word(found, 16)?, bytes(found)?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_tables() {
        let path = std::env::current_exe().expect("a program");
        let file = std::fs::read(path).expect("readable");
        let find = |file: &[u8], name: &str| {
            section(&|at: u64, length| Some(file.get(at as usize..)?.get(..length)?.to_vec()), name)
        };
        let (address, bytes) = find(&file, ".eh_frame").expect("tables");
        assert!(address > 0 && bytes.len() > 100);
        assert_eq!(find(&file, ".eh_fram"), None);
        assert_eq!(find(&file[..100], ".eh_frame"), None);
        assert_eq!(find(b"#!/bin/sh", ".eh_frame"), None);
        let functions = functions(&bytes, address);
        assert!(functions.len() > 100 && functions.is_sorted());
    }

    /// A table whose lengths are wrong ends the list, and a device is not read to its end.
    #[test]
    fn damaged_tables_and_devices_have_no_functions() {
        assert_eq!(functions(&[0xff; 64], 0), []);
        assert_eq!(functions(&[20, 0, 0, 0, 0, 0, 0, 0, 1, 0x7a], 0), []);
        assert!(Tables::open(0, "/dev/zero").is_none());
    }

    #[test]
    fn a_thread_of_which_nothing_is_known_has_no_addresses() {
        let thread = StillThread { registers: [None; REGISTERS], stack: Vec::new() };
        assert_eq!(Unwinder::default().addresses(0, &[], &thread, 9), []);
    }
}
