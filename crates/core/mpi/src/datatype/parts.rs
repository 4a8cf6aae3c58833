//! The values that constructors compute with: the parts of a datatype without name and history.

use super::contents::Contents;
use super::signature::{Sequence, Signature};
use super::{Datatype, Identity, Kind};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::sync::Arc;
use verbena_memory::layout::{Builder, Layout};

/// Layout (with its extent), signature and bounds. Cheap to clone.
#[derive(Clone)]
pub(super) struct Parts {
    pub layout: Layout,
    pub signature: Signature,
    /// The bounds, if markers set them.
    pub markers: Option<(isize, isize)>,
    pub align: usize,
}

impl Parts {
    /// The parts of an existing datatype.
    pub(super) fn of(datatype: &Datatype) -> Parts {
        let Datatype { layout, signature, markers, align, .. } = datatype;
        Parts { layout: (**layout).clone(), signature: signature.clone(), markers: *markers, align: *align }
    }

    /// Repeats the parts `count` times, `stride` bytes apart. `None` on overflow.
    pub(super) fn repeat(&self, count: usize, stride: isize) -> Option<Parts> {
        let layout = self.layout.repeat(count, stride, 0)?;
        let mut assembly = Assembly::default();
        assembly.signature.push(&self.signature, count);
        assembly.mark(0, count, stride, self)?;
        assembly.finish_with(layout)
    }

    /// Sets both bounds. `None` on overflow.
    pub(super) fn resized(mut self, lb: isize, extent: isize) -> Option<Parts> {
        self.markers = Some((lb, lb.checked_add(extent)?));
        self.layout = self.layout.with_extent(extent);
        Some(self)
    }

    /// Upper bound.
    fn ub(&self) -> isize {
        // Both are bounds of one object, whose span was checked when it was made.
        self.lb().saturating_add(self.layout.extent())
    }

    fn lb(&self) -> isize {
        self.markers.map_or(self.layout.bounds().0, |markers| markers.0)
    }

    /// Makes a datatype of these parts, by the call that `contents` describes.
    pub(super) fn into_datatype(self, contents: Contents) -> Datatype {
        Datatype {
            lb: self.lb(),
            layout: Arc::new(self.layout),
            signature: self.signature,
            markers: self.markers,
            align: self.align,
            kind: Kind::Derived,
            contents: Some(contents),
            identity: Identity::default(),
        }
    }
}

/// Puts elements of several datatypes together.
#[derive(Default)]
pub(super) struct Assembly {
    layout: Builder,
    signature: Sequence,
    markers: Option<(isize, isize)>,
    /// The highest upper bound of the elements, with their own rounding.
    ub: Option<isize>,
    align: usize,
}

impl Assembly {
    /// Adds `count` elements, one extent apart, with the origin of the first at `at`. `None` on
    /// overflow.
    pub(super) fn add(&mut self, at: isize, count: usize, parts: &Parts) -> Option<()> {
        self.layout.add(at, count, &parts.layout)?;
        self.signature.push(&parts.signature, count);
        self.mark(at, count, parts.layout.extent(), parts)
    }

    fn mark(&mut self, at: isize, count: usize, stride: isize, parts: &Parts) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        self.align = self.align.max(parts.align);
        let last = stride.checked_mul(isize::try_from(count - 1).ok()?)?;
        let Some((lb, ub)) = parts.markers else {
            let ub = parts.ub().checked_add(at)?.checked_add(last.max(0))?;
            self.ub = (parts.layout.size() > 0).then_some(ub).max(self.ub);
            return Some(());
        };
        let low = at.checked_add(lb)?.checked_add(last.min(0))?;
        let high = at.checked_add(ub)?.checked_add(last.max(0))?;
        self.markers = Some(self.markers.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
        Some(())
    }

    /// The parts of all that was added. `None` on overflow.
    pub(super) fn finish(mut self) -> Option<Parts> {
        let layout = std::mem::take(&mut self.layout).finish(0)?;
        self.finish_with(layout)
    }

    fn finish_with(self, layout: Layout) -> Option<Parts> {
        let align = self.align.max(1);
        // The span of the bytes must have a length too, whatever bounds the program sets.
        let (low, high) = layout.bounds();
        high.checked_sub(low)?;
        let extent = match self.markers {
            Some((lb, ub)) => ub.checked_sub(lb)?,
            None => natural_extent(&layout, self.ub, align)?,
        };
        let layout = layout.with_extent(extent);
        Some(Parts { layout, signature: self.signature.finish(), markers: self.markers, align })
    }
}

/// The span of the elements, rounded up to the alignment (the epsilon of MPI-5.0, 5.1). If elements
/// that were rounded themselves lie at odd places, the bare type map would end within the last
/// one's extent. Programs expect a datatype that holds its elements whole.
fn natural_extent(layout: &Layout, ub: Option<isize>, align: usize) -> Option<isize> {
    let (low, high) = layout.bounds();
    let span = high.max(ub.unwrap_or(high)).checked_sub(low)? as usize;
    isize::try_from(span.checked_next_multiple_of(align)?).ok()
}

/// The error of a datatype beyond the address space.
#[cold]
pub(super) fn too_large() -> Error {
    Error::new(
        mpi::MPI_ERR_COUNT,
        "the datatype does not fit the address space",
        "the arguments of a datatype constructor",
        "a count, block length or displacement is too large",
        "check the arguments; displacements of the h-forms are in bytes, others in extents of the old type",
    )
}

/// The error of an argument out of range.
#[cold]
pub(super) fn bad(class: i32, what: &str, value: impl std::fmt::Display, remedy: &str) -> Error {
    Error::new(
        class,
        format!("{what} is out of range"),
        format!("a datatype constructor, {what} {value}"),
        "the argument was computed wrongly, or arguments are in the wrong order",
        remedy,
    )
}

/// Converts a count to `usize`; `MPI_ERR_COUNT` if negative.
pub(super) fn count_of(count: i64) -> Result<usize> {
    usize::try_from(count).map_err(|_| bad(mpi::MPI_ERR_COUNT, "count", count, "pass a count of 0 or more"))
}

/// Converts a block length to `usize`; `MPI_ERR_ARG` if negative.
pub(super) fn length_of(length: i64) -> Result<usize> {
    usize::try_from(length)
        .map_err(|_| bad(mpi::MPI_ERR_ARG, "block length", length, "pass a length of 0 or more"))
}
