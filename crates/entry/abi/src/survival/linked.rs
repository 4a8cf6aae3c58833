//! The functions about lost processes that the program, or a library that it has loaded, was linked
//! with.
//!
//! An object names the functions that it calls in its relocations, by symbols that it does not
//! define. Only objects that need a library of MPI are read. Modules for Python do not count: a
//! binding names all functions of MPI, whatever the script calls.

use std::ffi::{CStr, c_int, c_void};

/// The functions, without `MPIX_Comm_`. Fortran has them as `mpix_comm_..._`, or `..._f08_`.
const FUNCTIONS: [&[u8]; 10] = [
    b"ack_failed",
    b"agree",
    b"failure_ack",
    b"failure_get_acked",
    b"get_failed",
    b"iagree",
    b"is_revoked",
    b"ishrink",
    b"revoke",
    b"shrink",
];

/// The tags of the dynamic section that are read (System V ABI, chapter 5).
const NEEDED: i64 = 1;
const PLT_BYTES: i64 = 2;
const STRINGS: i64 = 5;
const SYMBOLS: i64 = 6;
const RELOCATIONS: i64 = 7;
const RELOCATIONS_BYTES: i64 = 8;
const PLT_RELOCATIONS: i64 = 23;

/// An entry of the dynamic section.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    tag: i64,
    value: u64,
}

/// A relocation with an addend: the only sort on 64-bit machines.
#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    _offset: u64,
    info: u64,
    _addend: i64,
}

/// A symbol.
#[repr(C)]
#[derive(Clone, Copy)]
struct Symbol {
    name: u32,
    _info: u8,
    _other: u8,
    section: u16,
    _value: u64,
    _size: u64,
}

/// Returns whether some loaded object names one of the functions.
pub(crate) fn names_functions() -> bool {
    let mut found = false;
    // SAFETY: `look` has the type that the call wants, and `found` lives as long as the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

/// Looks at one object; returns 1 if it is enough.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _bytes: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader passes an object of its list, which it does not change during the call.
    let object = unsafe { Object::of(&*info) };
    let names = object.is_some_and(|object| object.needs_mpi() && object.names_functions());
    if names {
        // SAFETY: `found` is the place that `names_functions` passed.
        unsafe { found.cast::<bool>().write(true) };
    }
    names.into()
}

/// A loaded object.
struct Object {
    base: u64,
    dynamic: *const Entry,
}

impl Object {
    /// The object, if it has a dynamic section.
    ///
    /// # Safety
    /// The loader has described it so, and it stays loaded.
    unsafe fn of(info: &libc::dl_phdr_info) -> Option<Object> {
        let count = info.dlpi_phnum.into();
        // SAFETY: the loader gives this many headers.
        let mut headers = (0..count).map(|at| unsafe { info.dlpi_phdr.add(at).read() });
        let dynamic = headers.find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let at = info.dlpi_addr + dynamic.p_vaddr;
        Some(Object { base: info.dlpi_addr, dynamic: at as *const Entry })
    }

    /// The entries of the dynamic section.
    fn entries(&self) -> impl Iterator<Item = Entry> {
        let dynamic = self.dynamic;
        // SAFETY: the section is mapped, and ends with an entry whose tag is 0.
        (0..).map(move |at| unsafe { dynamic.add(at).read() }).take_while(|entry| entry.tag != 0)
    }

    fn value(&self, tag: i64) -> Option<u64> {
        self.entries().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }

    /// The address of a table: some loaders have added the object's to it, some have not.
    fn address(&self, tag: i64) -> Option<u64> {
        self.value(tag).map(|value| if value < self.base { self.base + value } else { value })
    }

    /// The string at this offset.
    fn string(&self, offset: u64) -> Option<&[u8]> {
        let at = self.address(STRINGS)? + offset;
        // SAFETY: the loader reads the same strings; all end with a zero.
        Some(unsafe { CStr::from_ptr(at as *const _) }.to_bytes())
    }

    fn needs_mpi(&self) -> bool {
        let mut needed = self.entries().filter(|entry| entry.tag == NEEDED);
        needed.any(|entry| {
            self.string(entry.value).is_some_and(|name| name.windows(3).any(|part| part == b"mpi"))
        })
    }

    /// The relocations of a table of this many bytes.
    fn relocations(&self, table: i64, bytes: i64) -> impl Iterator<Item = Relocation> {
        let count = self.value(bytes).unwrap_or(0) as usize / size_of::<Relocation>();
        let at = self.address(table).unwrap_or(0) as *const Relocation;
        let count = if at.is_null() { 0 } else { count };
        // SAFETY: the loader reads the same table.
        (0..count).map(move |n| unsafe { at.add(n).read() })
    }

    /// The name of the symbol with this number, if the object does not define it.
    fn undefined(&self, number: u64) -> Option<&[u8]> {
        let symbols = self.address(SYMBOLS)? as *const Symbol;
        // SAFETY: a relocation of the object names it.
        let symbol = unsafe { symbols.add(number as usize).read() };
        if symbol.section == 0 { self.string(symbol.name.into()) } else { None }
    }

    fn names_functions(&self) -> bool {
        let mut found = false;
        let plain = self.relocations(RELOCATIONS, RELOCATIONS_BYTES);
        for relocation in plain.chain(self.relocations(PLT_RELOCATIONS, PLT_BYTES)) {
            let number = relocation.info >> 32;
            let Some(name) = Some(number).filter(|number| *number != 0).and_then(|n| self.undefined(n))
            else {
                continue;
            };
            if name.starts_with(b"PyModule") {
                return false;
            }
            found |= is_one(name);
        }
        found
    }
}

/// Returns whether this symbol is one of the functions.
fn is_one(symbol: &[u8]) -> bool {
    let of_fortran = || {
        let name = symbol.strip_prefix(b"mpix_comm_")?.strip_suffix(b"_")?;
        Some(name.strip_suffix(b"_f08").unwrap_or(name))
    };
    let name = symbol.strip_prefix(b"MPIX_Comm_").or_else(of_fortran);
    name.is_some_and(|name| FUNCTIONS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_known_in_c_and_fortran() {
        for name in ["MPIX_Comm_agree", "mpix_comm_ishrink_", "mpix_comm_failure_get_acked_f08_"] {
            assert!(is_one(name.as_bytes()), "{name}");
        }
        for name in
            ["MPI_Comm_agree", "PMPIX_Comm_agree", "MPIX_Comm_agreed", "mpix_comm_agree", "mpi_comm_free_"]
        {
            assert!(!is_one(name.as_bytes()), "{name}");
        }
    }
}
