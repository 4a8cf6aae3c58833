//! Datatypes (MPI-5.0, chapter 5). (To be completed by the datatype work.)

use std::sync::Arc;
use verbena_channel::layout::Layout;

/// A datatype. Immutable once committed; shared by `Arc`.
pub struct Datatype {
    layout: Arc<Layout>,
    extent: isize,
}

impl Datatype {
    /// Packed bytes of one element.
    #[inline]
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Distance in bytes from one element to the next.
    #[inline]
    pub fn extent(&self) -> isize {
        self.extent
    }

    /// Where an element's bytes lie.
    #[inline]
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
}
