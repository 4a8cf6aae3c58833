//! The memory of one argument.

use std::sync::Arc;
use verbena_memory::elements::Elements;
use verbena_memory::layout::Layout;

/// Memory of one argument: elements of a layout, with guard bytes around, and the expected contents
/// in the end.
pub(crate) struct Arena {
    memory: Box<[u8]>,
    /// The contents before the call.
    initial: Box<[u8]>,
    expected: Box<[u8]>,
    origin: usize,
    layout: &'static Arc<Layout>,
}

const GUARD_BYTES: usize = 16;

impl Arena {
    /// Room for `count` elements. The layout is one of a few that live for ever.
    pub(crate) fn new(count: usize, layout: &'static Arc<Layout>) -> Arena {
        let (low, high) = layout.span(count).expect("a span");
        let memory = vec![0xa5; (high - low) as usize + 2 * GUARD_BYTES].into_boxed_slice();
        let origin = (GUARD_BYTES as isize - low) as usize;
        Arena { expected: memory.clone(), initial: memory.clone(), memory, origin, layout }
    }

    /// Returns its elements. The arena must outlive their use.
    pub(crate) fn elements(&mut self) -> Elements<'static> {
        elements_of(&mut self.memory, self.origin, self.layout)
    }

    /// Puts packed bytes into the elements from `first` on, as the program does before the call.
    pub(crate) fn put(&mut self, first: usize, packed: &[u8]) {
        self.put_at(first as isize * self.layout.extent(), self.layout, packed);
    }

    /// Like [`Arena::put`], from byte `at` on in another layout.
    pub(crate) fn put_at(&mut self, at: isize, layout: &'static Arc<Layout>, packed: &[u8]) {
        write(&mut self.memory, self.origin, at, layout, packed);
        write(&mut self.initial, self.origin, at, layout, packed);
        write(&mut self.expected, self.origin, at, layout, packed);
    }

    /// States that the packed bytes are there in the end.
    pub(crate) fn expect(&mut self, first: usize, packed: &[u8]) {
        self.expect_at(first as isize * self.layout.extent(), self.layout, packed);
    }

    /// Like [`Arena::expect`], from byte `at` on in another layout.
    pub(crate) fn expect_at(&mut self, at: isize, layout: &'static Arc<Layout>, packed: &[u8]) {
        write(&mut self.expected, self.origin, at, layout, packed);
    }

    /// Puts everything back to what it was before the call.
    pub(crate) fn restore(&mut self) {
        self.memory.copy_from_slice(&self.initial);
    }

    /// Returns whether every byte is as expected, those between elements and around too.
    pub(crate) fn is_as_expected(&self) -> bool {
        self.memory == self.expected
    }
}

fn write(memory: &mut [u8], origin: usize, at: isize, layout: &'static Arc<Layout>, packed: &[u8]) {
    let count = packed.len().checked_div(layout.size()).unwrap_or(0);
    elements_of(memory, origin, layout).displaced(at).buffer(0, count).copy_in(0, packed);
}

fn elements_of(memory: &mut [u8], origin: usize, layout: &'static Arc<Layout>) -> Elements<'static> {
    // SAFETY: the arena has room for all of its elements and lives in a box that does not move;
    // tests keep it until the collective has ended.
    unsafe { Elements::new(memory.as_mut_ptr().wrapping_add(origin), layout) }
}
