//! Requests and statuses of the MPICH ABI. The fast paths in `libmpi_abi.so.1` read and write
//! these; `libmpi.so.12` translates them where a call goes the general way.
//!
//! A handle that the program made has the form `3 << 30 | kind << 26 | generation << 22 | index`:
//! the kind and the index of the standard handle, and the lowest four bits of its generation. No
//! predefined handle has the top bits 3, which MPICH itself gives to objects made at run time.
//! The kind of a receive of the engine is 15 there, all ones, which takes the fewest instructions.

use std::ffi::c_int;

/// The top bits of every handle that the program made.
pub const MADE: u32 = 3 << 30;
/// The lowest bit of the kind.
pub const KIND_SHIFT: u32 = 26;
/// The lowest bit of the generation; the index lies below.
pub const GENERATION_SHIFT: u32 = 22;
/// The bits of the index.
pub const INDEX: u32 = (1 << GENERATION_SHIFT) - 1;
/// The largest index that is here what it is in the standard handle.
pub const PLAIN_INDEX: u32 = INDEX >> 1;
/// The standard index of an operation of a further engine has the engine's number in bits 24 to 26.
/// Here it has it in bits 18 to 20, below a bit that says so.
const STANDARD_ENGINE_SHIFT: u32 = 24;
const ENGINE_SHIFT: u32 = 18;
/// The bits of the generation that a handle keeps.
pub const GENERATIONS: u32 = (1 << (KIND_SHIFT - GENERATION_SHIFT)) - 1;

/// `MPI_REQUEST_NULL`.
pub const REQUEST_NULL: i32 = 0x2c00_0000;
/// The request of every send that was complete when it started (as in MPICH, one of those made
/// beforehand).
pub const SENT: i32 = 0x6c00_0001;
/// `MPI_ANY_SOURCE`.
pub const ANY_SOURCE: c_int = -2;
/// `MPI_ANY_TAG`.
pub const ANY_TAG: c_int = -1;
/// The address that stands for `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
pub const STATUS_IGNORE: usize = 1;

/// The index here of the standard index; `None` if it does not fit.
#[inline]
pub const fn index_of(standard: u32) -> Option<u32> {
    let (engine, place) = (standard >> STANDARD_ENGINE_SHIFT, standard & ((1 << STANDARD_ENGINE_SHIFT) - 1));
    match engine {
        _ if standard <= PLAIN_INDEX => Some(standard),
        1..8 if place < 1 << ENGINE_SHIFT => Some((PLAIN_INDEX + 1) | engine << ENGINE_SHIFT | place),
        _ => None,
    }
}

/// The standard index of the index here.
#[inline(always)]
pub const fn standard_index(index: u32) -> u32 {
    if index <= PLAIN_INDEX { index } else { standard_index_of_further(index) }
}

/// The standard index of an operation of a further engine. Not in line: most are the first one's.
#[cold]
#[inline(never)]
const fn standard_index_of_further(index: u32) -> u32 {
    let (engine, place) = ((index & PLAIN_INDEX) >> ENGINE_SHIFT, index & ((1 << ENGINE_SHIFT) - 1));
    engine << STANDARD_ENGINE_SHIFT | place
}

/// The request of an engine's receive whose index fits; the other bits of its generation are lost.
#[inline(always)]
pub const fn receive(index: u32, generation: u32) -> i32 {
    ((generation | !GENERATIONS) << GENERATION_SHIFT | index) as i32
}

/// The index and the generation, if this is the request of an engine's receive. Only the bits
/// [`GENERATIONS`] of the generation are known; the others mean nothing.
#[inline(always)]
pub const fn receive_in(request: i32) -> Option<(u32, u32)> {
    let form = request as u32;
    if form >= !GENERATIONS << GENERATION_SHIFT {
        Some((form & INDEX, form >> GENERATION_SHIFT))
    } else {
        None
    }
}

/// A status of the MPICH ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)]
pub struct Status {
    /// The low 32 bits of the length in bytes.
    pub count_lo: c_int,
    /// The cancelled bit (the lowest), and the high 31 bits of the length.
    pub count_hi_and_cancelled: c_int,
    /// Rank of the sender.
    pub MPI_SOURCE: c_int,
    /// Tag of the message.
    pub MPI_TAG: c_int,
    /// Error code, meaningful after calls that return several statuses.
    pub MPI_ERROR: c_int,
}

const _: () = assert!(size_of::<Status>() == 20 && align_of::<Status>() == 4);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standard::Kind;

    #[test]
    fn a_receive_is_found_in_its_request() {
        for (index, generation) in [(1, 0), (77, 0xffff_fff3), (INDEX, 15)] {
            let (found, known) = receive_in(receive(index, generation)).unwrap();
            assert_eq!((found, known & GENERATIONS), (index, generation & GENERATIONS));
        }
    }

    #[test]
    fn the_engine_of_an_operation_survives_in_an_index() {
        for standard in [0, 1, PLAIN_INDEX, 1 << 24, 3 << 24 | 77, 7 << 24 | ((1 << 18) - 1)] {
            let index = index_of(standard).expect("it fits");
            assert!(index <= INDEX && standard_index(index) == standard, "{standard:#x}");
        }
        for standard in [PLAIN_INDEX + 1, (1 << 24) - 1, 1 << 24 | 1 << 18, 8 << 24] {
            assert_eq!(index_of(standard), None, "{standard:#x}");
        }
    }

    #[test]
    fn no_other_request_is_a_receive() {
        let send = MADE | (Kind::EngineSend as u32) << KIND_SHIFT;
        for request in
            [SENT as u32, REQUEST_NULL as u32, 0, 1, send, send | 5, MADE | 14 << 26, (!0 << 26) - 1]
        {
            assert_eq!(receive_in(request as i32), None, "{request:#x}");
        }
    }
}
