//! Choice buffers of `mpi_f08`. A contiguous one is passed by its address. Another section becomes
//! a datatype ([`Typed`]), so that a nonblocking call works in place. Where a collective needs more
//! than a count and a datatype can say, it becomes a contiguous copy ([`Copied`]). All else is
//! refused with a message ([`whole`]).

use crate::address;
use crate::descriptor::Descriptor;
use crate::dimension::{Dimension, displacements, elements};
use crate::generated::{c, constants as mpi};
use crate::handle::{self, Handle};
use std::ffi::{c_int, c_void};
use verbena_fault::Fault;

/// The address of a buffer, whatever its shape.
///
/// # Safety
/// The pointer leads to a descriptor.
pub unsafe fn place(buffer: *const Descriptor) -> *mut c_void {
    // SAFETY: the caller's promise.
    address::buffer(unsafe { (*buffer).address() })
}

/// The address of a buffer that must be contiguous. Otherwise raises an error and returns its code.
///
/// # Safety
/// The pointer leads to a descriptor.
pub unsafe fn whole(buffer: *const Descriptor) -> Result<*mut c_void, c_int> {
    // SAFETY: the caller's promise.
    match unsafe { (*buffer).is_contiguous() } {
        // SAFETY: as above.
        true => Ok(unsafe { place(buffer) }),
        false => {
            Err(refuse("the call keeps the buffer, and no count and datatype of its own describe all of it"))
        }
    }
}

/// A buffer with its count and datatype.
pub struct Typed {
    address: *mut c_void,
    count: i64,
    datatype: Handle,
    ours: bool,
}

impl Typed {
    /// Describes `count` elements of `datatype` in the buffer, or raises an error and returns its
    /// code.
    ///
    /// # Safety
    /// The pointer leads to a descriptor.
    pub unsafe fn new(buffer: *const Descriptor, count: i64, datatype: c_int) -> Result<Typed, c_int> {
        // SAFETY: the caller's promise.
        let (descriptor, address) = unsafe { (&*buffer, place(buffer)) };
        let datatype = handle::datatype(datatype);
        if count <= 0 || descriptor.is_contiguous() {
            return Ok(Typed { address, count, datatype, ours: false });
        }
        let datatype = of_section(descriptor, count, datatype)?;
        Ok(Typed { address, count: 1, datatype, ours: true })
    }

    /// The address for C.
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    /// The count for C.
    pub fn count(&self) -> i64 {
        self.count
    }

    /// The datatype for C. It may be freed after the call: MPI keeps what it still needs.
    pub fn datatype(&self) -> Handle {
        self.datatype
    }
}

impl Drop for Typed {
    fn drop(&mut self) {
        if self.ours {
            release(self.datatype);
        }
    }
}

fn release(mut datatype: Handle) {
    // SAFETY: a datatype that we made.
    unsafe { c::PMPI_Type_free(&mut datatype) };
}

/// The datatype for the first `count` elements of `datatype`, as if the section were contiguous.
fn of_section(section: &Descriptor, count: i64, datatype: Handle) -> Result<Handle, c_int> {
    let bytes = count * packed_bytes(datatype)?;
    let element_bytes = section.element_bytes() as i64;
    let (elements, all) = (bytes / element_bytes, elements(&section.dimensions()) as i64);
    if bytes % element_bytes != 0 || elements > all {
        return Err(refuse(
            "the count does not end at the end of an element, or is too large for the section",
        ));
    }
    let element = element_type(datatype, element_bytes)?;
    let whole = if elements == all { nested(section, element) } else { listed(section, element, elements) };
    release(element);
    let mut whole = whole?;
    // SAFETY: a datatype that we made.
    checked(unsafe { c::PMPI_Type_commit(&mut whole) }, whole)
}

/// The bytes of a datatype, which must have no gaps.
fn packed_bytes(datatype: Handle) -> Result<i64, c_int> {
    let (mut size, mut lower, mut extent) = (0, 0, 0);
    // SAFETY: a handle, and places for the answers.
    checked(unsafe { c::PMPI_Type_size_c(datatype, &mut size) }, ())?;
    // SAFETY: as above.
    checked(unsafe { c::PMPI_Type_get_extent_c(datatype, &mut lower, &mut extent) }, ())?;
    if size == extent && lower == 0 { Ok(size) } else { Err(refuse("the datatype has gaps")) }
}

/// The datatype of one element of the section: several of `datatype`, or bytes if an element is no
/// multiple of it.
fn element_type(datatype: Handle, element_bytes: i64) -> Result<Handle, c_int> {
    let size = packed_bytes(datatype)?;
    let (number, of) = match size > 0 && element_bytes % size == 0 {
        true => (element_bytes / size, datatype),
        false => (element_bytes, mpi::MPI_BYTE),
    };
    let mut element = 0;
    // SAFETY: a handle, and a place for the answer.
    checked(unsafe { c::PMPI_Type_contiguous_c(number, of, &mut element) }, ())?;
    Ok(element)
}

/// The datatype of a whole section, made dimension by dimension.
fn nested(section: &Descriptor, element: Handle) -> Result<Handle, c_int> {
    let mut inner = element;
    for dimension in section.dimensions() {
        let (extent, stride) = (dimension.extent as i64, dimension.stride as i64);
        let mut outer = 0;
        // SAFETY: a handle, and a place for the answer.
        let code = unsafe { c::PMPI_Type_create_hvector_c(extent, 1, stride, inner, &mut outer) };
        if inner != element {
            release(inner);
        }
        inner = checked(code, outer)?;
    }
    Ok(inner)
}

/// The datatype of the first elements of a section, each given by its place.
fn listed(section: &Descriptor, element: Handle, elements: i64) -> Result<Handle, c_int> {
    let places: Vec<i64> =
        displacements(&section.dimensions()).take(elements as usize).map(|d| d as i64).collect();
    let mut list = 0;
    // SAFETY: as many displacements as said, a handle, and a place for the answer.
    let code =
        unsafe { c::PMPI_Type_create_hindexed_block_c(elements, 1, places.as_ptr(), element, &mut list) };
    checked(code, list)
}

fn checked<T>(code: c_int, value: T) -> Result<T, c_int> {
    if code == mpi::MPI_SUCCESS { Ok(value) } else { Err(code) }
}

/// A buffer that is contiguous during a call, or until a request is complete
/// ([`kept`](crate::kept)).
pub struct Copied {
    address: *mut c_void,
    element_bytes: usize,
    dimensions: Vec<Dimension>,
    copy: Vec<u8>,
    reads: bool,
    writes: bool,
}

// SAFETY: MPI lets any thread complete a request, and the program leaves its array alone until
// then.
unsafe impl Send for Copied {}

impl Copied {
    /// The buffer, copied if needed. The call reads it if `reads`, and sets it if `writes`.
    ///
    /// # Safety
    /// The pointer leads to a descriptor, whose array lives as long as this value.
    pub unsafe fn new(section: *const Descriptor, reads: bool, writes: bool) -> Result<Copied, c_int> {
        // SAFETY: the caller's promise.
        let (descriptor, address) = unsafe { (&*section, place(section)) };
        let element_bytes = descriptor.element_bytes();
        let mut copied =
            Copied { address, element_bytes, dimensions: Vec::new(), copy: Vec::new(), reads, writes };
        if !descriptor.is_contiguous() {
            copied.dimensions = descriptor.dimensions();
            copied.copy = vec![0; elements(&copied.dimensions) * element_bytes];
            copied.take_in();
        }
        Ok(copied)
    }

    /// Returns whether there is a copy.
    pub fn is_copy(&self) -> bool {
        !self.copy.is_empty()
    }

    fn each(&self, mut act: impl FnMut(*mut u8, *mut u8)) {
        let copy = self.copy.as_ptr().cast_mut();
        for (at, displacement) in displacements(&self.dimensions).enumerate() {
            let element = self.address.cast::<u8>().wrapping_offset(displacement);
            act(element, copy.wrapping_add(at * self.element_bytes));
        }
    }

    /// The address for C.
    pub fn address(&self) -> *mut c_void {
        if self.is_copy() { self.copy.as_ptr().cast_mut().cast() } else { self.address }
    }

    /// Copies the elements that the call reads.
    pub fn take_in(&mut self) {
        if self.is_copy() && self.reads {
            let bytes = self.element_bytes;
            // SAFETY: elements of the program's array, by the promise of `new`, and of the copy.
            self.each(|element, copy| unsafe { copy.copy_from_nonoverlapping(element, bytes) });
        }
    }

    /// Copies back the elements that the call set.
    pub fn give_back(&self) {
        if self.is_copy() && self.writes {
            let bytes = self.element_bytes;
            // SAFETY: as above.
            self.each(|element, copy| unsafe { element.copy_from_nonoverlapping(copy, bytes) });
        }
    }
}

/// Prints the cause, and raises the error like any other (MPI-5.0, 9.3).
fn refuse(cause: &str) -> c_int {
    let fault = Fault::new(
        "Cannot use this array section as a buffer.",
        "a section that is not contiguous, passed to mpi_f08",
        cause,
        "pass a contiguous array, or a derived datatype with the first element",
    );
    verbena_fault::complain(&fault);
    // SAFETY: a predefined handle, and an error class.
    unsafe { c::PMPI_Comm_call_errhandler(mpi::MPI_COMM_SELF, mpi::MPI_ERR_BUFFER) };
    mpi::MPI_ERR_BUFFER
}
