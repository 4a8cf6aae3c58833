//! The constructors (MPI-5.0, 5.1.2, 5.1.7 and 5.1.10).
//!
//! Counts and displacements come as `i64`, whichever form of the call gave them. `form` only
//! decides how `MPI_Type_get_contents` reports them.

use super::contents::{Contents, Form};
use super::parts::{Assembly, Parts, count_of, length_of, too_large};
use super::predefined::Basic;
use super::signature::Signature;
use super::{Datatype, Identity, Kind, Pair};
use crate::error::Result;
use crate::generated::constants as mpi;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use verbena_memory::layout::Layout;

/// The unit of displacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Extents of the old type.
    Extent,
    /// Bytes (the h-forms).
    Byte,
}

impl Unit {
    fn bytes(self, displacement: i64, old: &Datatype) -> Option<isize> {
        let displacement = isize::try_from(displacement).ok()?;
        match self {
            Unit::Extent => displacement.checked_mul(old.extent()),
            Unit::Byte => Some(displacement),
        }
    }
}

impl Datatype {
    /// `count` elements in a row (`MPI_Type_contiguous`).
    pub fn contiguous(form: Form, count: i64, old: &Arc<Datatype>) -> Result<Datatype> {
        let parts = Parts::of(old).repeat(count_of(count)?, old.extent()).ok_or_else(too_large)?;
        let contents = Contents::new(mpi::MPI_COMBINER_CONTIGUOUS).numbers(form, &[count]);
        Ok(parts.into_datatype(contents.datatypes(std::slice::from_ref(old))))
    }

    /// `count` blocks of `length` elements, `stride` units apart (`MPI_Type_vector`,
    /// `_create_hvector`).
    pub fn vector(
        form: Form,
        count: i64,
        length: i64,
        stride: i64,
        unit: Unit,
        old: &Arc<Datatype>,
    ) -> Result<Datatype> {
        let (blocks, each) = (count_of(count)?, length_of(length)?);
        let vector = |parts: Parts| {
            let stride = unit.bytes(stride, old)?;
            parts.repeat(each, old.extent())?.repeat(blocks, stride)
        };
        let parts = vector(Parts::of(old)).ok_or_else(too_large)?;
        let contents = match unit {
            Unit::Extent => Contents::new(mpi::MPI_COMBINER_VECTOR).numbers(form, &[count, length, stride]),
            Unit::Byte => Contents::new(mpi::MPI_COMBINER_HVECTOR)
                .numbers(form, &[count, length])
                .addresses(form, &[stride]),
        };
        Ok(parts.into_datatype(contents.datatypes(std::slice::from_ref(old))))
    }

    /// Blocks of different lengths at given places (`MPI_Type_indexed`, `_create_hindexed`).
    ///
    /// # Panics
    /// If the two lists differ in length.
    pub fn indexed(
        form: Form,
        lengths: &[i64],
        displacements: &[i64],
        unit: Unit,
        old: &Arc<Datatype>,
    ) -> Result<Datatype> {
        assert_eq!(lengths.len(), displacements.len());
        let parts = blocks(lengths.iter().copied(), displacements, unit, old)?;
        let count = [displacements.len() as i64];
        let contents = match unit {
            Unit::Extent => Contents::new(mpi::MPI_COMBINER_INDEXED)
                .numbers(form, &count)
                .numbers(form, lengths)
                .numbers(form, displacements),
            Unit::Byte => Contents::new(mpi::MPI_COMBINER_HINDEXED)
                .numbers(form, &count)
                .numbers(form, lengths)
                .addresses(form, displacements),
        };
        Ok(parts.into_datatype(contents.datatypes(std::slice::from_ref(old))))
    }

    /// Blocks of one length at given places (`MPI_Type_create_indexed_block`,
    /// `_create_hindexed_block`).
    pub fn indexed_block(
        form: Form,
        length: i64,
        displacements: &[i64],
        unit: Unit,
        old: &Arc<Datatype>,
    ) -> Result<Datatype> {
        length_of(length)?;
        let parts = blocks(std::iter::repeat(length), displacements, unit, old)?;
        let head = [displacements.len() as i64, length];
        let contents = match unit {
            Unit::Extent => Contents::new(mpi::MPI_COMBINER_INDEXED_BLOCK)
                .numbers(form, &head)
                .numbers(form, displacements),
            Unit::Byte => Contents::new(mpi::MPI_COMBINER_HINDEXED_BLOCK)
                .numbers(form, &head)
                .addresses(form, displacements),
        };
        Ok(parts.into_datatype(contents.datatypes(std::slice::from_ref(old))))
    }

    /// Blocks of different types at given byte displacements (`MPI_Type_create_struct`).
    ///
    /// # Panics
    /// If the three lists differ in length.
    pub fn structure(
        form: Form,
        lengths: &[i64],
        displacements: &[i64],
        types: &[Arc<Datatype>],
    ) -> Result<Datatype> {
        assert!(lengths.len() == displacements.len() && lengths.len() == types.len());
        let mut assembly = Assembly::default();
        for ((&length, &at), old) in lengths.iter().zip(displacements).zip(types) {
            let at = isize::try_from(at).map_err(|_| too_large())?;
            assembly.add(at, length_of(length)?, &Parts::of(old)).ok_or_else(too_large)?;
        }
        let parts = assembly.finish().ok_or_else(too_large)?;
        let contents = Contents::new(mpi::MPI_COMBINER_STRUCT)
            .numbers(form, &[lengths.len() as i64])
            .numbers(form, lengths)
            .addresses(form, displacements);
        Ok(parts.into_datatype(contents.datatypes(types)))
    }

    /// The elements of another datatype with other bounds (`MPI_Type_create_resized`).
    pub fn resized(form: Form, lb: i64, extent: i64, old: &Arc<Datatype>) -> Result<Datatype> {
        let resize = |parts: Parts| parts.resized(lb.try_into().ok()?, extent.try_into().ok()?);
        let parts = resize(Parts::of(old)).ok_or_else(too_large)?;
        let contents = Contents::new(mpi::MPI_COMBINER_RESIZED).addresses(form, &[lb, extent]);
        Ok(parts.into_datatype(contents.datatypes(std::slice::from_ref(old))))
    }

    /// A copy of a datatype under a new handle (`MPI_Type_dup`), committed if the old one is.
    /// Attributes are taken over by their copy callbacks; a callback's failure is the error.
    pub fn duplicate(old: &Arc<Datatype>) -> Result<Datatype> {
        let contents = Contents::new(mpi::MPI_COMBINER_DUP).datatypes(std::slice::from_ref(old));
        let mut copy = Parts::of(old).into_datatype(contents);
        copy.identity.attributes = old.identity.attributes.copied(old.known_as())?;
        copy.identity.committed = AtomicBool::new(old.is_committed());
        Ok(copy)
    }

    /// A new object made as this one was, without its name and attributes. `MPI_Type_get_contents`
    /// returns it for a derived datatype.
    pub fn remade(&self) -> Datatype {
        let contents = self.contents.clone().unwrap_or_else(|| Contents::new(mpi::MPI_COMBINER_NAMED));
        let mut copy = Parts::of(self).into_datatype(contents);
        copy.kind = self.kind;
        copy.identity.committed = AtomicBool::new(self.is_committed());
        copy
    }

    /// A value and an index as a C compiler lays them out, under the ABI's handle and name.
    pub(super) fn of_pair(
        handle: usize,
        name: &str,
        value: &'static Basic,
        index: &'static Basic,
    ) -> Option<Datatype> {
        let index_at = value.size().next_multiple_of(index.align());
        let mut assembly = Assembly::default();
        assembly.add(0, 1, &Parts::of_basic(value))?;
        assembly.add(index_at as isize, 1, &Parts::of_basic(index))?;
        let mut pair = assembly.finish()?.into_datatype(Contents::new(mpi::MPI_COMBINER_NAMED));
        pair.signature = pair.signature.of_pair(handle);
        pair.kind = Kind::Pair(Pair { handle, value, index, index_at });
        pair.identity = Identity::predefined(name);
        pair.contents = None;
        Some(pair)
    }
}

impl Parts {
    fn of_basic(basic: &'static Basic) -> Parts {
        let (layout, signature) = (Layout::contiguous(basic.size()), Signature::of(basic));
        Parts { layout, signature, markers: None, align: basic.align() }
    }
}

fn blocks(
    lengths: impl Iterator<Item = i64>,
    displacements: &[i64],
    unit: Unit,
    old: &Arc<Datatype>,
) -> Result<Parts> {
    let (mut assembly, parts) = (Assembly::default(), Parts::of(old));
    for (length, &displacement) in lengths.zip(displacements) {
        let at = unit.bytes(displacement, old).ok_or_else(too_large)?;
        assembly.add(at, length_of(length)?, &parts).ok_or_else(too_large)?;
    }
    assembly.finish().ok_or_else(too_large)
}
