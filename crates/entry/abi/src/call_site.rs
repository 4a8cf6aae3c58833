//! The function that a program called, by the bytes of the call in front of a return address.
//!
//! An entry point that jumps into its general way leaves no frame of its own, so that the stack
//! does not name it. The call in the program does: it goes through a table of addresses, which the
//! loader filled.

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
    // SAFETY: the bytes in front of a return address are those of the call; the code of a program
    // can be read.
    let call = unsafe { bytes::<CALL_BYTES>(return_address - CALL_BYTES) };
    let slot = match destination(&call, return_address)? {
        Destination::Slot(slot) => slot,
        Destination::Code(code) => {
            // SAFETY: the call goes there, so there is code; a function that is shorter has padding
            // behind it.
            let stub = unsafe { bytes::<STUB_BYTES>(code) };
            match slot_of_stub(&stub, code) {
                Some(slot) => slot,
                None => return Some(code),
            }
        }
    };
    // SAFETY: the call has just gone through this word of the module's table.
    Some(unsafe { (slot as *const usize).read_unaligned() })
}

/// # Safety
/// There are `N` bytes of code at the address.
unsafe fn bytes<const N: usize>(address: usize) -> [u8; N] {
    // SAFETY: the caller's promise.
    unsafe { (address as *const [u8; N]).read_unaligned() }
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

    #[inline(never)]
    extern "C" fn caller_of_walk() -> usize {
        let mut found = [0; 2];
        let count = crate::frames::walk(&mut found);
        assert_eq!(count, 2);
        found[1]
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn this_functions_call_is_read() {
        // The first frame is that of the function itself, the second its return address here.
        let called = function_called(caller_of_walk());
        let expected = caller_of_walk as *const () as usize;
        assert!(called.is_some_and(|called| called == expected), "{called:x?} {expected:x}");
    }
}
