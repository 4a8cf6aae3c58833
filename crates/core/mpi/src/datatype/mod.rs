//! Datatypes (MPI-5.0, chapter 5).
//!
//! A [`Datatype`] keeps four things apart: where its bytes lie ([`Layout`]), which basic elements
//! they are ([`Signature`]), its bounds, and how it was made ([`Contents`]). [`predefined`] holds
//! the table of basic types, [`construct`] and [`mod@array`] the constructors, [`fortran`] the
//! types that are chosen by precision, [`pack`] and [`external`] the packing calls. [`wire`] sends
//! a datatype to another process, and [`reshape`] gives it elements of other sizes.

pub mod array;
pub mod construct;
pub mod contents;
pub mod external;
#[cfg(test)]
mod external_tests;
pub mod fortran;
pub mod pack;
mod parts;
pub mod predefined;
pub mod representation;
pub mod reshape;
pub mod signature;
pub mod sort;
#[cfg(test)]
mod tests;
pub mod wire;

pub use contents::{Contents, Form};
pub use predefined::Basic;
pub use representation::{Family, Float, Int, Representation};
pub use signature::{Pairs, Signature};

use crate::attribute::Attributes;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use verbena_memory::layout::Layout;

/// A datatype. Shared by `Arc`; only its [`Identity`] ever changes.
pub struct Datatype {
    layout: Arc<Layout>,
    signature: Signature,
    /// The bounds set by `MPI_Type_create_resized` somewhere inside (the markers of 5.1.6).
    markers: Option<(isize, isize)>,
    /// Lower bound in bytes.
    lb: isize,
    /// The largest alignment of any element.
    align: usize,
    kind: Kind,
    /// The call that made it; `None` for named datatypes.
    contents: Option<Contents>,
    identity: Identity,
}

/// The parts of a datatype that change: by the program, but for the last.
#[derive(Default)]
struct Identity {
    committed: AtomicBool,
    name: Mutex<String>,
    attributes: Attributes,
    /// The handle by which the program knows a derived datatype; 0 if it has none.
    handle: AtomicUsize,
    /// The bytes by which other processes know it ([`wire::description`]), once asked for.
    description: OnceLock<wire::Description>,
}

/// The sort of a datatype.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A basic type.
    Basic(&'static Basic),
    /// A value and an index.
    Pair(Pair),
    /// Made by a constructor.
    Derived,
    /// A basic type under the contents of the call that chose it (`MPI_Type_create_f90_*`).
    Chosen(&'static Basic),
}

/// A value and an index, for `MPI_MAXLOC` and `MPI_MINLOC`.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The ABI's handle.
    pub handle: usize,
    /// The type of the value.
    pub value: &'static Basic,
    /// The type of the index.
    pub index: &'static Basic,
    /// Displacement of the index in bytes.
    pub index_at: usize,
}

/// A predefined element.
#[derive(Clone, Copy, Debug)]
pub enum Element {
    /// A basic one.
    Basic(&'static Basic),
    /// A value and an index.
    Pair(Pair),
}

impl Datatype {
    /// The predefined datatype with this handle of the ABI.
    pub fn predefined(handle: usize) -> Option<&'static Arc<Datatype>> {
        predefined::predefined(handle)
    }

    /// Packed bytes of one element.
    #[inline]
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Distance in bytes from one element to the next.
    #[inline]
    pub fn extent(&self) -> isize {
        self.layout.extent()
    }

    /// Lower bound in bytes.
    #[inline]
    pub fn lb(&self) -> isize {
        self.lb
    }

    /// True lower bound and true extent in bytes: the span of the bytes that are really there.
    pub fn true_extent(&self) -> (isize, isize) {
        let (low, high) = self.layout.bounds();
        (low, high - low)
    }

    /// The places of an element's bytes.
    #[inline]
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The basic elements.
    #[inline]
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The basic type that all elements have, if there is one.
    #[inline]
    pub fn basic(&self) -> Option<&'static Basic> {
        self.signature.basic()
    }

    /// The value and the index, if this is a pair type.
    pub fn pair(&self) -> Option<&Pair> {
        match &self.kind {
            Kind::Pair(pair) => Some(pair),
            _ => None,
        }
    }

    /// The basic type, if this is one (or one chosen by precision), not a type made of basic ones.
    #[inline]
    pub fn as_basic(&self) -> Option<&'static Basic> {
        match self.kind {
            Kind::Basic(basic) | Kind::Chosen(basic) => Some(basic),
            _ => None,
        }
    }

    /// The predefined element that accumulate calls change at once, if all are of one sort. In a
    /// datatype made of pairs it is the pair.
    pub fn element(&self) -> Option<Element> {
        match (&self.kind, self.signature.pairs()) {
            (Kind::Basic(basic) | Kind::Chosen(basic), _) => Some(Element::Basic(basic)),
            (Kind::Pair(pair), _) => Some(Element::Pair(*pair)),
            (Kind::Derived, Pairs::None) => self.basic().map(Element::Basic),
            (Kind::Derived, Pairs::All(pair)) => Some(Element::Pair(*Datatype::predefined(pair)?.pair()?)),
            (Kind::Derived, Pairs::Some) => None,
        }
    }

    /// The ABI's handle, if this datatype has a predefined name.
    pub fn handle(&self) -> Option<usize> {
        match &self.kind {
            Kind::Basic(basic) => Some(basic.handle),
            Kind::Pair(pair) => Some(pair.handle),
            _ => None,
        }
    }

    /// Returns whether the standard predefines it, named or not: such a datatype must not be freed.
    pub fn is_predefined(&self) -> bool {
        !matches!(self.kind, Kind::Derived)
    }

    /// The attributes cached on it.
    pub fn attributes(&self) -> &Attributes {
        &self.identity.attributes
    }

    /// The handle by which the program knows it, 0 if it has none. Callbacks of attributes get it.
    pub fn known_as(&self) -> usize {
        self.handle().unwrap_or_else(|| self.identity.handle.load(Ordering::Relaxed))
    }

    /// Notes the handle by which the program knows it.
    pub fn set_known_as(&self, handle: usize) {
        self.identity.handle.store(handle, Ordering::Relaxed);
    }

    /// Returns whether it may be used in communication.
    #[inline]
    pub fn is_committed(&self) -> bool {
        self.identity.committed.load(Ordering::Relaxed)
    }

    /// Allows its use in communication (`MPI_Type_commit`).
    pub fn commit(&self) {
        self.identity.committed.store(true, Ordering::Relaxed);
    }

    /// Returns `MPI_ERR_TYPE` unless it is committed.
    #[inline]
    pub fn check_committed(&self) -> Result<()> {
        if self.is_committed() { Ok(()) } else { Err(self.uncommitted()) }
    }

    #[cold]
    fn uncommitted(&self) -> Error {
        Error::new(
            mpi::MPI_ERR_TYPE,
            "the datatype is not committed",
            format!("a datatype of {} bytes", self.size()),
            "a derived datatype was used in communication before MPI_Type_commit",
            "call MPI_Type_commit after the constructor",
        )
    }

    /// The name; empty if none was given.
    pub fn name(&self) -> String {
        self.identity.name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives it a name (`MPI_Type_set_name`).
    pub fn set_name(&self, name: &str) {
        *self.identity.name.lock().unwrap_or_else(PoisonError::into_inner) = name.to_string();
    }

    /// The call that made it; `None` for the named predefined ones (`MPI_COMBINER_NAMED`).
    pub fn contents(&self) -> Option<&Contents> {
        self.contents.as_ref()
    }

    /// The number of whole elements in `bytes` packed bytes (`MPI_Get_count`); `None` if the last
    /// element is cut.
    #[inline]
    pub fn count_in(&self, bytes: u64) -> Option<u64> {
        match self.size() as u64 {
            0 => (bytes == 0).then_some(0),
            size => bytes.is_multiple_of(size).then(|| bytes / size),
        }
    }

    /// The number of basic elements in `bytes` packed bytes (`MPI_Get_elements`); `None` if one is
    /// cut.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        self.signature.elements_in(bytes)
    }

    /// The range of bytes, relative to the buffer's address, in which `count` elements lie.
    /// `MPI_ERR_COUNT` if it does not fit the address space.
    #[inline]
    pub fn span(&self, count: usize) -> Result<(isize, isize)> {
        self.layout.span(count).ok_or_else(|| self.too_many(count))
    }

    #[cold]
    fn too_many(&self, count: usize) -> Error {
        Error::new(
            mpi::MPI_ERR_COUNT,
            "the message does not fit the address space",
            format!(
                "{} of {}, {} apart",
                verbena_fault::count(count, "element"),
                verbena_fault::count(self.size(), "byte"),
                verbena_fault::count(self.extent(), "byte")
            ),
            "the count, or the extent of the datatype, is wrong",
            "check both, with MPI_Type_get_extent",
        )
    }

    fn of_basic(basic: &'static Basic) -> Datatype {
        let layout = Arc::new(Layout::contiguous(basic.size()));
        Datatype {
            layout,
            signature: Signature::of(basic),
            markers: None,
            lb: 0,
            align: basic.align(),
            kind: Kind::Basic(basic),
            contents: None,
            identity: Identity::predefined(basic.name),
        }
    }
}

impl Identity {
    /// The identity of a predefined datatype.
    fn predefined(name: &str) -> Identity {
        let (committed, name) = (AtomicBool::new(true), Mutex::new(name.to_string()));
        Identity { committed, name, ..Identity::default() }
    }
}

impl std::fmt::Debug for Datatype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Datatype({} {} bytes, {} apart)", self.name(), self.size(), self.extent())
    }
}
