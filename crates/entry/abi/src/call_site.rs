//! The function that a program called, by the bytes of the call in front of a return address.
//!
//! An entry point that jumps into its general way leaves no frame of its own, so that the stack
//! does not name it. The call in the program does: it goes through a table of addresses, which the
//! loader filled. The bytes in front of a return address may look like a call and be none. So the
//! kernel reads for us, and answers with an error where no memory is.

/// The number of bytes in front of a return address that are looked at, and of a stub.
const CALL_BYTES: usize = 6;
const STUB_BYTES: usize = 11;

/// The destination of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    /// Code at this address.
    Code(usize),
    /// The code whose address lies at this address.
    Slot(usize),
}

/// The address of the function that was called from this place; `None` if the call does not tell.
pub(crate) fn function_called(return_address: usize) -> Option<usize> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let call = bytes::<CALL_BYTES>(return_address.checked_sub(CALL_BYTES)?)?;
    let slot = match destination(&call, return_address)? {
        Destination::Slot(slot) => slot,
        Destination::Code(code) => match slot_of_stub(&bytes::<STUB_BYTES>(code)?, code) {
            Some(slot) => slot,
            None => return Some(code),
        },
    };
    word(slot)
}

/// Returns whether an address is one behind a call, as far as its bytes tell.
pub(crate) fn is_behind_call(address: usize) -> bool {
    const MOST: usize = 7;
    let Some(code) = address.checked_sub(MOST).and_then(bytes::<MOST>) else { return false };
    if !cfg!(target_arch = "x86_64") {
        return true;
    }
    // Of a register, or of a word at a register or two and a distance of 0, 1 or 4 bytes.
    let by_pointer = |length: usize| code[MOST - length] == 0xff && (code[MOST - length + 1] >> 3) & 7 == 2;
    code[MOST - 5] == 0xe8 || [2, 3, 4, 6, 7].into_iter().any(by_pointer)
}

/// The word of this process at an address; `None` if it has none there.
pub(crate) fn word(address: usize) -> Option<usize> {
    bytes(address).map(usize::from_ne_bytes)
}

/// The bytes of this process at an address; `None` if it has none there.
fn bytes<const N: usize>(address: usize) -> Option<[u8; N]> {
    let mut found = [0; N];
    let to = libc::iovec { iov_base: found.as_mut_ptr().cast(), iov_len: N };
    let from = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: N };
    // SAFETY: the kernel checks the address, and fills our array, of which it gets the length.
    let count = unsafe { libc::process_vm_readv(libc::getpid(), &raw const to, 1, &raw const from, 1, 0) };
    (count == N as isize).then_some(found)
}

/// The destination of the call that ends at `end`.
fn destination(call: &[u8; CALL_BYTES], end: usize) -> Option<Destination> {
    let offset = i32::from_le_bytes([call[2], call[3], call[4], call[5]]);
    let at = end.wrapping_add_signed(offset as isize);
    match call {
        [0xff, 0x15, ..] => Some(Destination::Slot(at)),
        [_, 0xe8, ..] => Some(Destination::Code(at)),
        _ => None,
    }
}

/// The word that a stub of the linker jumps through.
fn slot_of_stub(stub: &[u8; STUB_BYTES], at: usize) -> Option<usize> {
    // A mark for the processor may come first, and a prefix of the jump.
    let marked = if stub.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { 4 } else { 0 };
    let start = if stub.get(marked) == Some(&0xf2) { marked + 1 } else { marked };
    let [0xff, 0x25, a, b, c, d] = *stub.get(start..start + 6)? else { return None };
    let offset = i32::from_le_bytes([a, b, c, d]);
    Some((at + start + 6).wrapping_add_signed(offset as isize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read() {
        assert_eq!(destination(&[0xff, 0x15, 0x10, 0, 0, 0], 0x1000), Some(Destination::Slot(0x1010)));
        assert_eq!(destination(&[0, 0xe8, 0xf0, 0xff, 0xff, 0xff], 0x1000), Some(Destination::Code(0xff0)));
        assert_eq!(destination(&[0x41, 0xff, 0xd0, 0, 0, 0], 0x1000), None);
    }

    #[test]
    fn stubs_are_read() {
        let plain = [0xff, 0x25, 0x10, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(slot_of_stub(&plain, 0x1000), Some(0x1016));
        let marked = [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0, 0, 0];
        assert_eq!(slot_of_stub(&marked, 0x1000), Some(0x101b));
        assert_eq!(slot_of_stub(&[0x55; STUB_BYTES], 0x1000), None);
    }

    /// `call *%rdx` behind an instruction with 0xe8 in it: the bytes say that the call goes far
    /// away.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn bytes_that_only_look_like_a_call_are_not_followed() {
        // In front of this program's own files, nothing is mapped.
        static CODE: [u8; 7] = [0x8b, 0x45, 0xe8, 0x89, 0xc7, 0xff, 0xd2];
        assert_eq!(function_called(CODE.as_ptr() as usize + CODE.len()), None);
        assert_eq!(function_called(3), None);
        assert_eq!(function_called(4096 + 100), None);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn an_address_behind_a_call_is_known() {
        for (code, expected) in [
            ([0_u8, 0, 0xe8, 1, 2, 3, 4], true),
            ([0, 0, 0, 0, 0, 0xff, 0xd2], true),
            ([0, 0, 0, 0x41, 0xff, 0x50, 0x08], true),
            ([0, 0xff, 0x15, 1, 2, 3, 4], true),
            ([0, 0, 0, 0, 0, 0xff, 0xe2], false),
            ([0; 7], false),
        ] {
            assert_eq!(is_behind_call(code.as_ptr() as usize + code.len()), expected, "{code:x?}");
        }
        assert!(!is_behind_call(3) && !is_behind_call(4096 + 100));
    }

    #[inline(never)]
    fn caller_of_walk() -> [usize; 4] {
        let mut found = [0; 4];
        assert_eq!(crate::frames::walk(&mut found), 4);
        found
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn this_functions_call_is_read() {
        // The frames are those of the walk, if it is one, of the function itself, and of this one.
        let called = caller_of_walk().map(function_called);
        let expected = caller_of_walk as *const () as usize;
        assert!(called.contains(&Some(expected)), "{called:x?} {expected:x}");
    }
}
