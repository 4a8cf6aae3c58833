//! The arguments of a call in words, for the message about its failure.

use crate::handles::{self, COMMS, DATATYPES, WINS};
use std::ffi::c_int;
use verbena_mpi::generated::constants as mpi;

/// An argument's value, whatever its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i64),
    /// A handle.
    Handle(usize),
    /// An address.
    Address(usize),
    /// A function of the program.
    Function,
    /// Something that is not told.
    Other,
}

/// An argument: its name, its type as the source writes it, and its value.
pub type Argument = (&'static str, &'static str, Value);

/// The name and the type of each parameter of a function, as the source writes them.
pub type Parameters = &'static [(&'static str, &'static str)];

/// A type that arguments have.
pub trait Shown {
    /// The value for a message.
    fn shown(&self) -> Value;
}

impl Shown for c_int {
    fn shown(&self) -> Value {
        Value::Number((*self).into())
    }
}

impl Shown for i64 {
    fn shown(&self) -> Value {
        Value::Number(*self)
    }
}

impl Shown for usize {
    fn shown(&self) -> Value {
        Value::Handle(*self)
    }
}

impl<T> Shown for *const T {
    fn shown(&self) -> Value {
        Value::Address(*self as usize)
    }
}

impl<T> Shown for *mut T {
    fn shown(&self) -> Value {
        Value::Address(*self as usize)
    }
}

impl<T> Shown for Option<T> {
    fn shown(&self) -> Value {
        if self.is_some() { Value::Function } else { Value::Address(0) }
    }
}

/// The most bytes of a string that a message shows.
const STRING_SHOWN: usize = 64;
/// Memory is readable, or not, in whole pages of at least this many bytes.
const PAGE: usize = 4096;
/// Stands where something is left out.
pub(crate) const LEFT_OUT: &str = "...";

/// The arguments of a call in words. Strings are read when it is made.
pub struct Words {
    /// Each argument in words, and whether it is a bare address.
    words: Vec<(String, bool)>,
}

impl Words {
    /// The words for these arguments.
    #[cold]
    pub fn of(arguments: &[Argument]) -> Words {
        let words = |(name, kind, value): &Argument| {
            let text = value_text(name, kind, *value);
            let is_address = matches!(value, Value::Address(_)) && text.starts_with("0x");
            (format!("{name}={text}"), is_address)
        };
        Words { words: arguments.iter().map(words).collect() }
    }

    /// All arguments, in parentheses; empty if there are none.
    pub fn whole(&self) -> String {
        self.some(self.words.len(), true)
    }

    /// Returns the arguments as a text of at most `bytes` bytes. Addresses are left out first, then
    /// the last arguments; the least text is `(...)`.
    pub fn within(&self, bytes: usize) -> String {
        let all = self.words.len();
        let whole = [(all, true)].into_iter();
        let texts = whole.chain((0..=all).rev().map(|many| (many, false)));
        let mut texts = texts.map(|(many, addresses)| self.some(many, addresses));
        texts.find(|text| text.len() <= bytes).unwrap_or_else(|| self.some(0, false))
    }

    /// The first `many` arguments, with or without addresses.
    fn some(&self, many: usize, addresses: bool) -> String {
        let mut told: Vec<&str> = Vec::new();
        for (at, (text, is_address)) in self.words.iter().enumerate() {
            if at < many && (addresses || !is_address) {
                told.push(text);
            } else if told.last() != Some(&LEFT_OUT) {
                told.push(LEFT_OUT);
            }
        }
        if told.is_empty() { String::new() } else { format!("({})", told.join(", ")) }
    }
}

fn value_text(name: &str, kind: &str, value: Value) -> String {
    match value {
        Value::Number(number) => number_text(name, number),
        Value::Handle(handle) => handle_text(kind, handle),
        Value::Address(0) => "NULL".into(),
        Value::Address(address) if address == mpi::MPI_IN_PLACE => "MPI_IN_PLACE".into(),
        Value::Address(address) if kind.ends_with("const c_char") => {
            string_text(address).unwrap_or_else(|| format!("{address:#x}"))
        }
        Value::Address(address) => format!("{address:#x}"),
        Value::Function => "a function".into(),
        Value::Other => LEFT_OUT.into(),
    }
}

/// The string at this address in quotes, cut if it is long. `None` if it cannot be read: the
/// program may have given any address.
fn string_text(address: usize) -> Option<String> {
    let mut bytes = [0_u8; STRING_SHOWN + 1];
    let read = peek(address, &mut bytes);
    let end = bytes[..read].iter().position(|&byte| byte == 0);
    let shown = match end {
        Some(end) => &bytes[..end],
        None if read == bytes.len() => &bytes[..STRING_SHOWN],
        None => return None,
    };
    let cut = if end.is_none() { LEFT_OUT } else { "" };
    Some(format!("\"{}{cut}\"", String::from_utf8_lossy(shown).escape_debug()))
}

/// Reads memory of this process, and returns how many bytes there were. The kernel reads it: an
/// address that is none is no crash, and none is read where the kernel refuses.
fn peek(address: usize, into: &mut [u8]) -> usize {
    let first = into.len().min(PAGE - address % PAGE);
    let part = |at: usize, len: usize| libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address.wrapping_add(at)),
        iov_len: len,
    };
    // The kernel may read a part as a whole or not at all.
    let from = [part(0, first), part(first, into.len() - first)];
    let to = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: `to` is the slice, which is ours alone; the kernel checks the rest.
    let read = unsafe {
        let me = libc::syscall(libc::SYS_gettid) as libc::pid_t;
        libc::process_vm_readv(me, &raw const to, 1, from.as_ptr(), from.len() as _, 0)
    };
    usize::try_from(read).unwrap_or(0)
}

/// A number, or the name that MPI has for it in this parameter.
fn number_text(name: &str, number: i64) -> String {
    let is = |constant: c_int| number == i64::from(constant);
    let known = match name {
        "source" | "dest" | "rank" | "root" | "target_rank" => match () {
            () if is(mpi::MPI_PROC_NULL) => Some("MPI_PROC_NULL"),
            () if is(mpi::MPI_ANY_SOURCE) && name == "source" => Some("MPI_ANY_SOURCE"),
            () if is(mpi::MPI_ROOT) && name == "root" => Some("MPI_ROOT"),
            () => None,
        },
        "tag" | "recvtag" if is(mpi::MPI_ANY_TAG) => Some("MPI_ANY_TAG"),
        _ => None,
    };
    known.map_or_else(|| number.to_string(), str::to_owned)
}

/// A handle by its object's name, else by the name that MPI has for it, if there is one.
fn handle_text(kind: &str, handle: usize) -> String {
    let name = match kind {
        "MPI_Comm" => COMMS.get(handle).map(|comm| comm.name()).ok(),
        "MPI_Win" => WINS.get(handle).map(|win| win.name()).ok(),
        "MPI_Datatype" => DATATYPES.get(handle).map(|datatype| datatype.name().into_bytes()).ok(),
        _ => None,
    };
    match name {
        Some(name) if !name.is_empty() => String::from_utf8_lossy(&name).into_owned(),
        _ => handles::name(handle).map_or_else(|| format!("{handle:#x}"), str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{CString, c_char};

    #[test]
    fn arguments_are_told_by_name() {
        let buffer = 0x1000 as *const u8;
        let arguments = [
            ("buf", "*const c_void", buffer.shown()),
            ("count", "c_int", 3_i32.shown()),
            ("datatype", "MPI_Datatype", mpi::MPI_INT.shown()),
            ("op", "MPI_Op", mpi::MPI_SUM.shown()),
            ("source", "c_int", mpi::MPI_ANY_SOURCE.shown()),
            ("tag", "c_int", mpi::MPI_ANY_TAG.shown()),
            ("comm", "MPI_Comm", 0xdead_usize.shown()),
            ("status", "*mut MPI_Status", std::ptr::null::<u8>().shown()),
        ];
        let expected = "(buf=0x1000, count=3, datatype=MPI_INT, op=MPI_SUM, source=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, \
                        comm=0xdead, status=NULL)";
        let told = Words::of(&arguments);
        assert_eq!(told.whole(), expected);
        assert_eq!(told.within(expected.len()), expected);
        assert_eq!(Words::of(&[]).whole(), "");
        let without = "(..., count=3, datatype=MPI_INT, op=MPI_SUM, source=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, \
                       comm=0xdead, status=NULL)";
        assert_eq!(told.within(expected.len() - 1), without);
        assert_eq!(told.within(40), "(..., count=3, datatype=MPI_INT, ...)");
        assert_eq!(told.within(0), "(...)");
        assert_eq!(Words::of(&[]).within(0), "");
    }

    #[test]
    fn predefined_handles_have_names_always() {
        for (kind, handle, name) in [
            ("MPI_Comm", mpi::MPI_COMM_NULL, "MPI_COMM_NULL"),
            ("MPI_Comm", mpi::MPI_COMM_WORLD, "MPI_COMM_WORLD"),
            ("MPI_Datatype", mpi::MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL"),
            ("MPI_Info", mpi::MPI_INFO_NULL, "MPI_INFO_NULL"),
            ("MPI_Request", mpi::MPI_REQUEST_NULL, "MPI_REQUEST_NULL"),
            ("MPI_Op", mpi::MPI_MAX, "MPI_MAX"),
            ("MPI_Comm", mpi::MPI_INT, "MPI_INT"),
        ] {
            assert_eq!(value_text("handle", kind, handle.shown()), name);
        }
    }

    #[test]
    fn strings_stand_in_quotes_and_a_wrong_address_does_no_harm() {
        let shown = |address: *const c_char| value_text("key", "*const c_char", address.shown());
        assert_eq!(shown(c"no such\n".as_ptr()), "\"no such\\n\"");
        assert_eq!(shown(c"".as_ptr()), "\"\"");
        assert_eq!(shown(std::ptr::null()), "NULL");
        let long = CString::new("x".repeat(1000)).expect("no zero within");
        assert_eq!(shown(long.as_ptr()), format!("\"{}...\"", "x".repeat(STRING_SHOWN)));
        assert_eq!(shown(std::ptr::without_provenance(16)), "0x10");
        assert_eq!(shown(std::ptr::without_provenance(usize::MAX)), format!("{:#x}", usize::MAX));
    }

    #[test]
    fn a_string_at_the_end_of_its_memory_is_read() {
        // Whole pages, however large they are.
        const HALF: usize = 1 << 16;
        let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, whose second half is taken away again before anybody uses it.
        let end = unsafe {
            let both = libc::mmap(std::ptr::null_mut(), 2 * HALF, rights, flags, -1, 0);
            assert_ne!(both, libc::MAP_FAILED);
            let end = both.byte_add(HALF);
            assert_eq!(libc::mprotect(end, HALF, libc::PROT_NONE), 0);
            end.byte_sub(3).cast::<[u8; 3]>().write(*b"ab\0");
            end as usize
        };
        assert_eq!(string_text(end - 3).as_deref(), Some("\"ab\""));
        assert_eq!(string_text(end), None);
    }

    #[test]
    fn a_rank_that_is_no_rank_has_a_name() {
        assert_eq!(number_text("dest", mpi::MPI_PROC_NULL.into()), "MPI_PROC_NULL");
        assert_eq!(number_text("count", mpi::MPI_PROC_NULL.into()), mpi::MPI_PROC_NULL.to_string());
    }
}
