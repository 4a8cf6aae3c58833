//! Requests in a row, as wide as the library's ABI has them: a pointer, or an `int`.

use super::Handle;
use std::ffi::c_int;

/// Requests that were started and are waited for together.
pub(super) struct Requests {
    /// Room for them, in words of the wider kind.
    words: Vec<Handle>,
    /// The bytes of a request.
    request_bytes: usize,
    started: usize,
}

impl Requests {
    /// No requests yet, of this many bytes each.
    pub(super) fn new(request_bytes: usize) -> Requests {
        debug_assert!([size_of::<Handle>(), size_of::<c_int>()].contains(&request_bytes));
        Requests { words: Vec::new(), request_bytes, started: 0 }
    }

    /// The place for the next request. [`Requests::add`] keeps it.
    #[inline]
    pub(super) fn place(&mut self) -> *mut Handle {
        let at = self.started * self.request_bytes;
        // A whole word behind the place, whatever width is written.
        let needed = at / size_of::<Handle>() + 2;
        if self.words.len() < needed {
            self.words.resize(needed.max(2 * self.words.len()), 0);
        }
        self.words.as_mut_ptr().cast::<u8>().wrapping_add(at).cast()
    }

    /// Keeps the request that was written to the last place.
    #[inline]
    pub(super) fn add(&mut self) {
        self.started += 1;
    }

    /// All requests: their number and the first. They are forgotten.
    #[inline]
    pub(super) fn take(&mut self) -> (c_int, *mut Handle) {
        let count = std::mem::take(&mut self.started);
        (count as c_int, self.words.as_mut_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_lie_side_by_side_in_either_width() {
        for request_bytes in [4, 8] {
            let mut requests = Requests::new(request_bytes);
            for number in 1..=9_u32 {
                let place = requests.place().cast::<u8>();
                for (at, byte) in number.to_ne_bytes().into_iter().enumerate() {
                    // SAFETY: a place has room for the bytes of a request.
                    unsafe { place.add(at).write(byte) };
                }
                requests.add();
            }
            let (count, first) = requests.take();
            assert_eq!(count, 9);
            for number in 1..=9_u32 {
                let place = first.cast::<u8>().wrapping_add((number as usize - 1) * request_bytes);
                // SAFETY: the request that was written there.
                let read = unsafe { place.cast::<u32>().read_unaligned() };
                assert_eq!(read, number);
            }
            assert_eq!(requests.take().0, 0);
        }
    }
}
