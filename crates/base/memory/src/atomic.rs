//! Words that several threads or processes change at once, by a processor's atomics.
//!
//! A word has 1, 2, 4 or 8 bytes and lies at a multiple of its width; [`Region::is_aligned`] tells.
//! Reading acquires and writing releases, so that what a process wrote before it changed a word is
//! seen by whoever finds the change. All processes that map the memory see the same words.
//!
//! The loops ([`fold`], [`apply`], [`replace`], [`load`]) go through the words of a region in their
//! order, each word atomically, but not all of them at once. Their other operands need not be
//! aligned.

#[cfg(test)]
mod tests;

use super::{Plain, Region};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// The changes of integers for which processors have an instruction. All wrap around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Native {
    Add,
    And,
    Or,
    Xor,
}

/// The widest word, in bytes.
pub const WORD_BYTES_MAX: usize = 8;

/// Orders all that this thread has loaded and stored with all that it loads and stores from now on.
#[inline(always)]
pub fn full_fence() {
    // Any locked instruction does what `mfence` does to ordinary memory, in a fraction of the time.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: it leaves the word on top of the stack as it is.
    unsafe {
        std::arch::asm!("lock or dword ptr [rsp], 0")
    };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::sync::atomic::fence(Ordering::SeqCst);
}

/// An integer that processors change atomically.
///
/// # Safety
/// In all functions `at` leads to such an integer, aligned, which others change by atomics only.
trait Word: Plain + Eq {
    unsafe fn load(at: *mut Self) -> Self;
    unsafe fn store(at: *mut Self, value: Self);
    unsafe fn swap(at: *mut Self, value: Self) -> Self;
    unsafe fn change(native: Native, at: *mut Self, value: Self) -> Self;
    unsafe fn exchange(at: *mut Self, current: Self, new: Self) -> Result<Self, Self>;
    unsafe fn exchange_weak(at: *mut Self, current: Self, new: Self) -> Result<Self, Self>;
    fn of(number: u64) -> Self;
    fn number(self) -> u64;

    /// Changes the word as often as it takes until nobody came in between. Returns the former one.
    #[inline(always)]
    unsafe fn update(at: *mut Self, mut change: impl FnMut(Self) -> Self) -> Self {
        // SAFETY: the caller's promise, here and below.
        let mut former = unsafe { Self::load(at) };
        loop {
            // SAFETY: as above.
            match unsafe { Self::exchange_weak(at, former, change(former)) } {
                Ok(former) => return former,
                Err(other) => former = other,
            }
        }
    }
}

macro_rules! word {
    ($($word:ty: $cell:ty),*) => {$(
        // SAFETY of the blocks: the caller promises an aligned integer that is changed by atomics.
        impl Word for $word {
            #[inline(always)]
            unsafe fn load(at: *mut $word) -> $word {
                // SAFETY: the caller's promise.
                unsafe { <$cell>::from_ptr(at) }.load(Ordering::Acquire)
            }
            #[inline(always)]
            unsafe fn store(at: *mut $word, value: $word) {
                // SAFETY: the caller's promise.
                unsafe { <$cell>::from_ptr(at) }.store(value, Ordering::Release)
            }
            #[inline(always)]
            unsafe fn swap(at: *mut $word, value: $word) -> $word {
                // SAFETY: the caller's promise.
                unsafe { <$cell>::from_ptr(at) }.swap(value, Ordering::AcqRel)
            }
            #[inline(always)]
            unsafe fn change(native: Native, at: *mut $word, value: $word) -> $word {
                // SAFETY: the caller's promise.
                let cell = unsafe { <$cell>::from_ptr(at) };
                match native {
                    Native::Add => cell.fetch_add(value, Ordering::AcqRel),
                    Native::And => cell.fetch_and(value, Ordering::AcqRel),
                    Native::Or => cell.fetch_or(value, Ordering::AcqRel),
                    Native::Xor => cell.fetch_xor(value, Ordering::AcqRel),
                }
            }
            #[inline(always)]
            unsafe fn exchange(at: *mut $word, current: $word, new: $word) -> Result<$word, $word> {
                // SAFETY: the caller's promise.
                let cell = unsafe { <$cell>::from_ptr(at) };
                cell.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire)
            }
            #[inline(always)]
            unsafe fn exchange_weak(at: *mut $word, current: $word, new: $word) -> Result<$word, $word> {
                // SAFETY: the caller's promise.
                let cell = unsafe { <$cell>::from_ptr(at) };
                cell.compare_exchange_weak(current, new, Ordering::AcqRel, Ordering::Acquire)
            }
            #[inline(always)]
            fn of(number: u64) -> $word {
                number as $word
            }
            #[inline(always)]
            fn number(self) -> u64 {
                self.into()
            }
        }
    )*};
}

word!(u8: AtomicU8, u16: AtomicU16, u32: AtomicU32, u64: AtomicU64);

/// Evaluates an expression with `$Word` as the integer of this width in bytes.
macro_rules! by_width {
    ($width:expr, $Word:ident => $result:expr) => {
        match $width {
            1 => {
                type $Word = u8;
                $result
            }
            2 => {
                type $Word = u16;
                $result
            }
            4 => {
                type $Word = u32;
                $result
            }
            8 => {
                type $Word = u64;
                $result
            }
            width => no_word(width),
        }
    };
}

#[cold]
#[inline(never)]
fn no_word(width: usize) -> ! {
    panic!("no processor changes words of {width} bytes")
}

/// The words at an offset of a region. The functions panic if a word is out of range or not
/// aligned, or if no word has that width in bytes. Of values the lowest bytes count.
impl Region {
    /// Returns whether the byte at `offset` lies at a multiple of `width`, which is a power of two.
    #[inline(always)]
    pub fn is_aligned(&self, offset: usize, width: usize) -> bool {
        (self.address as usize).wrapping_add(offset) & (width - 1) == 0
    }

    /// Reads a word of 8 bytes.
    #[inline(always)]
    pub fn word_load(&self, offset: usize) -> u64 {
        // SAFETY: `word` checked it.
        unsafe { Word::load(self.word(offset)) }
    }

    /// Writes a word of 8 bytes.
    #[inline(always)]
    pub fn word_store(&self, offset: usize, value: u64) {
        // SAFETY: `word` checked it.
        unsafe { Word::store(self.word(offset), value) }
    }

    /// Reads a word of any width.
    #[inline(always)]
    pub fn peek(&self, offset: usize, width: usize) -> u64 {
        // SAFETY: `word` checked it.
        by_width!(width, W => unsafe { W::load(self.word(offset)) }.number())
    }

    /// Writes a word and returns the former one.
    #[inline(always)]
    pub fn swap(&self, offset: usize, width: usize, value: u64) -> u64 {
        // SAFETY: `word` checked it.
        by_width!(width, W => unsafe { W::swap(self.word(offset), W::of(value)) }.number())
    }

    /// Changes a word by a processor's instruction and returns the former one.
    #[inline(always)]
    pub fn fetch(&self, native: Native, offset: usize, width: usize, value: u64) -> u64 {
        // SAFETY: `word` checked it.
        by_width!(width, W => unsafe { W::change(native, self.word(offset), W::of(value)) }.number())
    }

    /// Adds to a word, which wraps around, and returns the former one.
    #[inline(always)]
    pub fn fetch_add(&self, offset: usize, width: usize, value: u64) -> u64 {
        self.fetch(Native::Add, offset, width, value)
    }

    /// Writes a word if it equals `current`. Returns the former one, as an error if it differed.
    #[inline(always)]
    pub fn compare_exchange(&self, offset: usize, width: usize, current: u64, new: u64) -> Result<u64, u64> {
        by_width!(width, W => {
            // SAFETY: `word` checked it.
            let outcome = unsafe { W::exchange(self.word(offset), W::of(current), W::of(new)) };
            outcome.map(W::number).map_err(W::number)
        })
    }

    /// Changes a word by a function, which is called again if another process was quicker. Returns
    /// the former word.
    #[inline(always)]
    pub fn update(&self, offset: usize, width: usize, mut change: impl FnMut(u64) -> u64) -> u64 {
        by_width!(width, W => {
            // SAFETY: `word` checked it.
            unsafe { W::update(self.word(offset), |word| W::of(change(word.number()))) }.number()
        })
    }

    /// The address of a word. Panics if it is out of range or not aligned.
    #[inline(always)]
    fn word<W: Word>(&self, offset: usize) -> *mut W {
        let word = self.part(offset, size_of::<W>());
        if !word.is_aligned(0, size_of::<W>()) {
            word.is_not_aligned(size_of::<W>());
        }
        word.address.cast()
    }

    #[cold]
    #[inline(never)]
    fn is_not_aligned(&self, width: usize) -> ! {
        panic!("a word of {width} bytes at {:#x}", self.address())
    }
}

/// Computes `inout[i] = combine(input[i], inout[i])` for all values of `inout`, each atomically.
/// `former` gets what was there.
///
/// # Panics
/// If `input` or `former` is shorter, `inout` is not aligned, or no word is as wide as a value.
#[inline(always)]
pub fn fold<P: Plain>(input: Region, inout: Region, former: Option<Region>, combine: impl Fn(P, P) -> P) {
    by_width!(size_of::<P>(), W => each(input, inout, former, |at: *mut W, value: P| {
        // SAFETY: `each` gives aligned words of `inout`; `P` is as wide as `W`, and any bits are a
        // value of either.
        unsafe { W::update(at, |word| cast(combine(value, cast(word)))) }
    }))
}

/// Changes all integers of `inout` by those of `input`, as many at once as a word holds. `former`
/// gets what was there.
///
/// # Panics
/// If `input` or `former` is shorter, `inout` is not aligned, or no word has this width.
pub fn apply(native: Native, width: usize, input: Region, inout: Region, former: Option<Region>) {
    assert!(inout.is_empty() || inout.is_aligned(0, width), "{inout:?} is not aligned to {width}");
    in_wide_words(width, inout, |word, first, len| {
        let former = former.map(|former| former.part(first, len));
        let (input, inout) = (input.part(first, len), inout.part(first, len));
        match native {
            Native::Add if word > width => each(input, inout, former, |at: *mut u64, value: u64| {
                // SAFETY: `each` gives aligned words of `inout`.
                unsafe { u64::update(at, |were| sums(width, were, value)) }
            }),
            // Bits do not know how many of them are an integer.
            _ => by_width!(word, W => each(input, inout, former, |at: *mut W, value: W| {
                // SAFETY: as above.
                unsafe { W::change(native, at, value) }
            })),
        }
    });
}

/// The sums of the integers of this width in two words, each by itself.
#[inline(always)]
fn sums(width: usize, a: u64, b: u64) -> u64 {
    // The highest bit of each integer is added apart, so that nothing is carried into the next one.
    let highest = match width {
        1 => 0x8080_8080_8080_8080,
        2 => 0x8000_8000_8000_8000,
        _ => 0x8000_0000_8000_0000,
    };
    ((a & !highest) + (b & !highest)) ^ ((a ^ b) & highest)
}

/// Writes `input` to `inout` so that no element of this width is ever seen in part. `former` gets
/// what was there.
///
/// # Panics
/// If `input` or `former` is shorter, `inout` is not aligned, or no word has this width.
pub fn replace(width: usize, input: Region, inout: Region, former: Option<Region>) {
    in_wide_words(width, inout, |width, first, len| {
        let (input, inout) = (input.part(first, len), inout.part(first, len));
        match former {
            Some(former) => by_width!(width, W => {
                each(input, inout, Some(former.part(first, len)), |at: *mut W, value: W| {
                    // SAFETY: `each` gives aligned words of `inout`.
                    unsafe { W::swap(at, value) }
                })
            }),
            None => by_width!(width, W => each(input, inout, None, |at: *mut W, value: W| {
                // SAFETY: as above.
                unsafe { W::store(at, value) };
                value
            })),
        }
    });
}

/// Reads `from` into `into` so that no element of this width is read in part.
///
/// # Panics
/// If `into` is shorter, `from` is not aligned, or no word has this width.
pub fn load(width: usize, from: Region, into: Region) {
    in_wide_words(width, from, |width, first, len| {
        let (from, into) = (from.part(first, len), into.part(first, len));
        // SAFETY: `each` gives aligned words of `from`.
        by_width!(width, W => each(into, from, Some(into), |at: *mut W, _: W| unsafe { W::load(at) }))
    });
}

/// Calls `each` with word width, offset and length of the parts of a region of elements: the widest
/// words where they are aligned, words as wide as an element before and behind them. A wide word
/// holds its elements whole.
#[inline(always)]
fn in_wide_words(width: usize, region: Region, mut each: impl FnMut(usize, usize, usize)) {
    let head = (region.address as usize).wrapping_neg() % WORD_BYTES_MAX;
    if width == WORD_BYTES_MAX || region.len < head + WORD_BYTES_MAX {
        return each(width, 0, region.len);
    }
    let body = (region.len - head) / WORD_BYTES_MAX * WORD_BYTES_MAX;
    if head > 0 {
        each(width, 0, head);
    }
    each(WORD_BYTES_MAX, head, body);
    if head + body < region.len {
        each(width, head + body, region.len - head - body);
    }
}

/// Calls `change` with each word of `inout` and its value of `input`; `former` gets what it
/// returns.
#[inline(always)]
fn each<W: Word, P: Plain>(
    input: Region,
    inout: Region,
    former: Option<Region>,
    change: impl Fn(*mut W, P) -> W,
) {
    assert!(size_of::<W>() == size_of::<P>());
    assert!(inout.is_empty() || inout.is_aligned(0, size_of::<W>()), "{inout:?} is not aligned");
    let shortest = former.map_or(input.len, |former| former.len.min(input.len));
    assert!(shortest >= inout.len, "operands of {shortest} bytes for {}", inout.len);
    let (values, words) = (input.address.cast::<P>(), inout.address.cast::<W>());
    let count = inout.len / size_of::<W>();
    match former.map(|former| former.address.cast::<W>()) {
        // SAFETY: within the regions by the checks, which are valid by their creators' promises;
        // the same below.
        None => (0..count).for_each(|i| unsafe {
            change(words.add(i), values.add(i).read_unaligned());
        }),
        // SAFETY: as above.
        Some(former) => (0..count).for_each(|i| unsafe {
            former.add(i).write_unaligned(change(words.add(i), values.add(i).read_unaligned()));
        }),
    }
}

/// Reads the bits of a value as another one of the same size.
///
/// # Safety
/// Both types have the same size.
#[inline(always)]
unsafe fn cast<A: Plain, B: Plain>(value: A) -> B {
    // SAFETY: the caller's promise; any bits are a value.
    unsafe { std::mem::transmute_copy(&value) }
}
