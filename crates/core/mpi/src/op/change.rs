//! The predefined operations of accumulate calls on elements in memory (MPI-5.0, 12.3.4): by a
//! processor's atomics, or plainly under a lock.
//!
//! The sort of an element decides which: all calls that meet at an element name the same predefined
//! datatype (12.7.1). Integers and bytes of up to 8 bytes change by atomics, so that nobody waits
//! for a counter. Floating-point numbers change under a lock. Processors cannot add them at once: a
//! compare-and-swap would take a locked instruction for each, a lock takes one for a long row,
//! which is added by vector instructions.

use super::Builtin;
use super::kernel::{self, Make, Operator};
use super::locate::{Extreme, Pairs, Side};
use super::number::Number;
use crate::datatype::{Basic, Element, Pair, Representation};
use verbena_memory::Region;
use verbena_memory::atomic::{self, WORD_BYTES_MAX};

/// An operation on elements of one sort, whose bytes lie side by side as if packed.
#[derive(Clone, Copy)]
pub struct Change {
    /// Packed bytes of an element.
    width: usize,
    /// True if a processor changes an aligned element at once.
    is_word: bool,
    work: Work,
}

#[derive(Clone, Copy)]
enum Work {
    Leave,
    Replace,
    Combine(Loops),
    /// The sorts of value and index.
    Locate(Extreme, &'static Basic, &'static Basic),
}

/// The loops of an operation: input, elements, and, if each changes at once, room for the former
/// ones.
#[derive(Clone, Copy)]
struct Loops {
    plainly: fn(Region, Region),
    at_once: fn(Region, Region, Option<Region>),
}

impl Make for Loops {
    fn make<T: Number, O: Operator<T>>() -> Loops {
        Loops { plainly: kernel::two::<T, O>, at_once: at_once::<T, O> }
    }
}

fn at_once<T: Number, O: Operator<T>>(input: Region, inout: Region, former: Option<Region>) {
    match O::NATIVE {
        Some(native) => atomic::apply(native, size_of::<T::Bytes>(), input, inout, former),
        None => atomic::fold(input, inout, former, |a, b| O::combine(T::of(a), T::of(b)).bytes()),
    }
}

impl Change {
    /// The change of this operation on such elements; `None` where the standard does not define it.
    #[inline]
    pub fn new(op: Builtin, element: Element) -> Option<Change> {
        match element {
            Element::Basic(basic) => Change::of_basic(op, basic),
            Element::Pair(pair) => Change::of_pair(op, pair),
        }
    }

    fn of_basic(op: Builtin, basic: &'static Basic) -> Option<Change> {
        let width = basic.size();
        let work = match op {
            Builtin::NoOp => Work::Leave,
            Builtin::Replace => Work::Replace,
            _ => Work::Combine(kernel::select(op, basic)?),
        };
        let is_exact = matches!(basic.representation, Representation::Integer(_) | Representation::Opaque);
        Some(Change { width, is_word: is_exact && width <= WORD_BYTES_MAX, work })
    }

    /// The change of a pair. No processor knows it, so that all calls on pairs take a lock.
    fn of_pair(op: Builtin, pair: Pair) -> Option<Change> {
        let Pair { value, index, .. } = pair;
        let work = match op {
            Builtin::NoOp => Work::Leave,
            Builtin::Replace => Work::Replace,
            Builtin::Maxloc => Work::Locate(Extreme::Greatest, value, index),
            Builtin::Minloc => Work::Locate(Extreme::Least, value, index),
            _ => return None,
        };
        Some(Change { width: value.size() + index.size(), is_word: false, work })
    }

    /// Packed bytes of an element.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns whether it reads the origin's elements.
    #[inline]
    pub fn takes_input(&self) -> bool {
        !matches!(self.work, Work::Leave)
    }

    /// Returns whether the new elements depend on those that are there.
    #[inline]
    pub fn takes_target(&self) -> bool {
        !matches!(self.work, Work::Replace)
    }

    /// Returns whether a processor changes each element at `offset` at once.
    #[inline]
    pub fn is_word(&self, memory: Region, offset: usize) -> bool {
        self.is_word && memory.is_aligned(offset, self.width)
    }

    /// Changes all elements of `inout` by those of `input`, each at once. `former` gets what was
    /// there.
    ///
    /// # Panics
    /// If [`Change::is_word`] is false of `inout`, or another region is shorter.
    #[inline]
    pub fn at_once(&self, input: Region, inout: Region, former: Option<Region>) {
        match self.work {
            Work::Combine(loops) => (loops.at_once)(input, inout, former),
            Work::Replace => atomic::replace(self.width, input, inout, former),
            Work::Leave => {
                former.into_iter().for_each(|former| atomic::load(self.width, inout, former));
            }
            Work::Locate(..) => unreachable!("no processor locates"),
        }
    }

    /// Changes all elements of `inout` by those of `input`; nobody else may change them meanwhile.
    /// `former` gets what was there.
    ///
    /// # Panics
    /// If another region is shorter than `inout`.
    pub fn plainly(&self, input: Region, inout: Region, former: Option<Region>) {
        if let Some(former) = former {
            former.put(0, inout);
        }
        match self.work {
            Work::Leave => {}
            Work::Replace => inout.put(0, input.part(0, inout.len())),
            Work::Combine(loops) => (loops.plainly)(input, inout),
            Work::Locate(extreme, value, index) => {
                // Packed, the index lies right behind the value.
                let pair = Pair { handle: 0, value, index, index_at: value.size() };
                let count = inout.len() / self.width;
                Pairs { pair: &pair, extent: self.width, count }.locate(extreme, input, inout, Side::Left);
            }
        }
    }
}
