//! The predefined datatypes: one table says what each is (MPI-5.0, 3.2.2, 5.1, 6.9.2, 14.5.2 and
//! the ABI of chapter 20).

use super::Datatype;
use super::representation::{Family, Float, Int, Representation};
use crate::generated::constants as mpi;
use std::sync::{Arc, OnceLock};

/// A basic datatype: an indivisible element of a type signature.
#[derive(Debug)]
pub struct Basic {
    /// The ABI's handle.
    pub handle: usize,
    /// The name that `MPI_Type_get_name` reports at first.
    pub name: &'static str,
    /// The meaning of the bytes.
    pub representation: Representation,
    /// The family that says which operations are allowed.
    pub family: Family,
    /// Bytes in the "external32" representation (MPI-5.0, 14.5.2).
    pub external: usize,
    /// The sort that marks name ([`super::sort`]).
    pub sort: u16,
}

impl Basic {
    /// Bytes of an element.
    pub const fn size(&self) -> usize {
        match self.representation {
            Representation::Opaque => 1,
            Representation::Integer(int) => int.size(),
            Representation::Float(float) => float.size(),
            Representation::Complex(float) => 2 * float.size(),
        }
    }

    /// Alignment that C and Fortran compilers give an element.
    pub const fn align(&self) -> usize {
        match self.representation {
            Representation::Complex(float) => float.size(),
            _ => self.size(),
        }
    }
}

impl PartialEq for Basic {
    fn eq(&self, other: &Basic) -> bool {
        self.handle == other.handle
    }
}

impl Eq for Basic {}

const LONG: Int = if size_of::<std::ffi::c_long>() == 8 { Int::I64 } else { Int::I32 };
const UNSIGNED_LONG: Int = if size_of::<std::ffi::c_ulong>() == 8 { Int::U64 } else { Int::U32 };
const CHAR: Int = if std::ffi::c_char::MIN < 0 { Int::I8 } else { Int::U8 };
const WCHAR: Int = if cfg!(windows) { Int::U16 } else { Int::I32 };
const LONG_DOUBLE: Float = if cfg!(target_arch = "x86_64") { Float::X87 } else { Float::F128 };

use Family::{Byte, CInteger, Complex, Floating, FortranInteger, Logical, MultiLanguage, Other};
use Float::{F16, F32, F64, F128};
use Int::{I8, I16, I32, I64, I128, U8, U16, U32, U64};
use Representation::{Float as Real, Integer, Opaque};

const fn basic(
    handle: usize,
    name: &'static str,
    representation: Representation,
    family: Family,
    external: usize,
) -> Basic {
    Basic { handle, name, representation, family, external, sort: super::sort::of(representation, family) }
}

/// Every basic datatype of the ABI. `MPI_CHAR` counts among the C integers, as in other MPI
/// libraries, although the standard leaves it out of the operations. If a handle has two names,
/// this is the first in the standard's table, which calls the other a synonym (MPI-5.0, 3.2.2).
pub static BASICS: [Basic; 61] = [
    basic(mpi::MPI_AINT, "MPI_AINT", Integer(I64), MultiLanguage, 8),
    basic(mpi::MPI_COUNT, "MPI_COUNT", Integer(I64), MultiLanguage, 8),
    basic(mpi::MPI_OFFSET, "MPI_OFFSET", Integer(I64), MultiLanguage, 8),
    basic(mpi::MPI_PACKED, "MPI_PACKED", Opaque, Other, 1),
    basic(mpi::MPI_SHORT, "MPI_SHORT", Integer(I16), CInteger, 2),
    basic(mpi::MPI_INT, "MPI_INT", Integer(I32), CInteger, 4),
    basic(mpi::MPI_LONG, "MPI_LONG", Integer(LONG), CInteger, 4),
    basic(mpi::MPI_LONG_LONG, "MPI_LONG_LONG_INT", Integer(I64), CInteger, 8),
    basic(mpi::MPI_UNSIGNED_SHORT, "MPI_UNSIGNED_SHORT", Integer(U16), CInteger, 2),
    basic(mpi::MPI_UNSIGNED, "MPI_UNSIGNED", Integer(U32), CInteger, 4),
    basic(mpi::MPI_UNSIGNED_LONG, "MPI_UNSIGNED_LONG", Integer(UNSIGNED_LONG), CInteger, 4),
    basic(mpi::MPI_UNSIGNED_LONG_LONG, "MPI_UNSIGNED_LONG_LONG", Integer(U64), CInteger, 8),
    basic(mpi::MPI_FLOAT, "MPI_FLOAT", Real(F32), Floating, 4),
    basic(mpi::MPI_C_FLOAT_COMPLEX, "MPI_C_COMPLEX", Representation::Complex(F32), Complex, 8),
    basic(mpi::MPI_CXX_FLOAT_COMPLEX, "MPI_CXX_FLOAT_COMPLEX", Representation::Complex(F32), Complex, 8),
    basic(mpi::MPI_DOUBLE, "MPI_DOUBLE", Real(F64), Floating, 8),
    basic(mpi::MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX", Representation::Complex(F64), Complex, 16),
    basic(mpi::MPI_CXX_DOUBLE_COMPLEX, "MPI_CXX_DOUBLE_COMPLEX", Representation::Complex(F64), Complex, 16),
    basic(mpi::MPI_LOGICAL, "MPI_LOGICAL", Integer(I32), Logical, 4),
    basic(mpi::MPI_INTEGER, "MPI_INTEGER", Integer(I32), FortranInteger, 4),
    basic(mpi::MPI_REAL, "MPI_REAL", Real(F32), Floating, 4),
    basic(mpi::MPI_COMPLEX, "MPI_COMPLEX", Representation::Complex(F32), Complex, 8),
    basic(mpi::MPI_DOUBLE_PRECISION, "MPI_DOUBLE_PRECISION", Real(F64), Floating, 8),
    basic(mpi::MPI_DOUBLE_COMPLEX, "MPI_DOUBLE_COMPLEX", Representation::Complex(F64), Complex, 16),
    basic(mpi::MPI_CHARACTER, "MPI_CHARACTER", Opaque, Other, 1),
    basic(mpi::MPI_LONG_DOUBLE, "MPI_LONG_DOUBLE", Real(LONG_DOUBLE), Floating, 16),
    basic(
        mpi::MPI_C_LONG_DOUBLE_COMPLEX,
        "MPI_C_LONG_DOUBLE_COMPLEX",
        Representation::Complex(LONG_DOUBLE),
        Complex,
        32,
    ),
    basic(
        mpi::MPI_CXX_LONG_DOUBLE_COMPLEX,
        "MPI_CXX_LONG_DOUBLE_COMPLEX",
        Representation::Complex(LONG_DOUBLE),
        Complex,
        32,
    ),
    basic(mpi::MPI_C_BOOL, "MPI_C_BOOL", Integer(U8), Logical, 1),
    basic(mpi::MPI_CXX_BOOL, "MPI_CXX_BOOL", Integer(U8), Logical, 1),
    basic(mpi::MPI_WCHAR, "MPI_WCHAR", Integer(WCHAR), Other, 2),
    basic(mpi::MPI_INT8_T, "MPI_INT8_T", Integer(I8), CInteger, 1),
    basic(mpi::MPI_UINT8_T, "MPI_UINT8_T", Integer(U8), CInteger, 1),
    basic(mpi::MPI_CHAR, "MPI_CHAR", Integer(CHAR), CInteger, 1),
    basic(mpi::MPI_SIGNED_CHAR, "MPI_SIGNED_CHAR", Integer(I8), CInteger, 1),
    basic(mpi::MPI_UNSIGNED_CHAR, "MPI_UNSIGNED_CHAR", Integer(U8), CInteger, 1),
    basic(mpi::MPI_BYTE, "MPI_BYTE", Opaque, Byte, 1),
    basic(mpi::MPI_INT16_T, "MPI_INT16_T", Integer(I16), CInteger, 2),
    basic(mpi::MPI_UINT16_T, "MPI_UINT16_T", Integer(U16), CInteger, 2),
    basic(mpi::MPI_INT32_T, "MPI_INT32_T", Integer(I32), CInteger, 4),
    basic(mpi::MPI_UINT32_T, "MPI_UINT32_T", Integer(U32), CInteger, 4),
    basic(mpi::MPI_INT64_T, "MPI_INT64_T", Integer(I64), CInteger, 8),
    basic(mpi::MPI_UINT64_T, "MPI_UINT64_T", Integer(U64), CInteger, 8),
    basic(mpi::MPI_LOGICAL1, "MPI_LOGICAL1", Integer(I8), Logical, 1),
    basic(mpi::MPI_INTEGER1, "MPI_INTEGER1", Integer(I8), FortranInteger, 1),
    basic(mpi::MPI_LOGICAL2, "MPI_LOGICAL2", Integer(I16), Logical, 2),
    basic(mpi::MPI_INTEGER2, "MPI_INTEGER2", Integer(I16), FortranInteger, 2),
    basic(mpi::MPI_REAL2, "MPI_REAL2", Real(F16), Floating, 2),
    basic(mpi::MPI_LOGICAL4, "MPI_LOGICAL4", Integer(I32), Logical, 4),
    basic(mpi::MPI_INTEGER4, "MPI_INTEGER4", Integer(I32), FortranInteger, 4),
    basic(mpi::MPI_REAL4, "MPI_REAL4", Real(F32), Floating, 4),
    basic(mpi::MPI_COMPLEX4, "MPI_COMPLEX4", Representation::Complex(F16), Complex, 4),
    basic(mpi::MPI_LOGICAL8, "MPI_LOGICAL8", Integer(I64), Logical, 8),
    basic(mpi::MPI_INTEGER8, "MPI_INTEGER8", Integer(I64), FortranInteger, 8),
    basic(mpi::MPI_REAL8, "MPI_REAL8", Real(F64), Floating, 8),
    basic(mpi::MPI_COMPLEX8, "MPI_COMPLEX8", Representation::Complex(F32), Complex, 8),
    basic(mpi::MPI_LOGICAL16, "MPI_LOGICAL16", Integer(I128), Logical, 16),
    basic(mpi::MPI_INTEGER16, "MPI_INTEGER16", Integer(I128), FortranInteger, 16),
    basic(mpi::MPI_REAL16, "MPI_REAL16", Real(F128), Floating, 16),
    basic(mpi::MPI_COMPLEX16, "MPI_COMPLEX16", Representation::Complex(F64), Complex, 16),
    basic(mpi::MPI_COMPLEX32, "MPI_COMPLEX32", Representation::Complex(F128), Complex, 32),
];

/// The predefined pairs of a value and an index, for `MPI_MAXLOC` and `MPI_MINLOC`: handle, name,
/// value, index.
pub static PAIRS: [(usize, &str, usize, usize); 9] = [
    (mpi::MPI_FLOAT_INT, "MPI_FLOAT_INT", mpi::MPI_FLOAT, mpi::MPI_INT),
    (mpi::MPI_DOUBLE_INT, "MPI_DOUBLE_INT", mpi::MPI_DOUBLE, mpi::MPI_INT),
    (mpi::MPI_LONG_INT, "MPI_LONG_INT", mpi::MPI_LONG, mpi::MPI_INT),
    (mpi::MPI_2INT, "MPI_2INT", mpi::MPI_INT, mpi::MPI_INT),
    (mpi::MPI_SHORT_INT, "MPI_SHORT_INT", mpi::MPI_SHORT, mpi::MPI_INT),
    (mpi::MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", mpi::MPI_LONG_DOUBLE, mpi::MPI_INT),
    (mpi::MPI_2REAL, "MPI_2REAL", mpi::MPI_REAL, mpi::MPI_REAL),
    (
        mpi::MPI_2DOUBLE_PRECISION,
        "MPI_2DOUBLE_PRECISION",
        mpi::MPI_DOUBLE_PRECISION,
        mpi::MPI_DOUBLE_PRECISION,
    ),
    (mpi::MPI_2INTEGER, "MPI_2INTEGER", mpi::MPI_INTEGER, mpi::MPI_INTEGER),
];

/// The first handle of a datatype; the next constant is their number.
const FIRST: usize = mpi::MPI_DATATYPE_NULL;
const HANDLES: usize = 256;

/// The basic datatype of this handle.
pub fn basic_of(handle: usize) -> Option<&'static Basic> {
    static PLACES: OnceLock<[Option<&'static Basic>; HANDLES]> = OnceLock::new();
    let places = PLACES.get_or_init(|| {
        let mut places = [None; HANDLES];
        BASICS.iter().for_each(|basic| places[basic.handle - FIRST] = Some(basic));
        places
    });
    places.get(handle.wrapping_sub(FIRST)).copied().flatten()
}

/// The predefined datatype of this handle; the same object every time. `None` for
/// `MPI_DATATYPE_NULL` and numbers that the ABI does not define.
pub fn predefined(handle: usize) -> Option<&'static Arc<Datatype>> {
    static OBJECTS: [OnceLock<Arc<Datatype>>; HANDLES] = [const { OnceLock::new() }; HANDLES];
    let slot = OBJECTS.get(handle.wrapping_sub(FIRST))?;
    if let Some(object) = slot.get() {
        return Some(object);
    }
    let object = match basic_of(handle) {
        Some(basic) => Datatype::of_basic(basic),
        None => {
            let &(_, name, value, index) = PAIRS.iter().find(|pair| pair.0 == handle)?;
            Datatype::of_pair(handle, name, basic_of(value)?, basic_of(index)?)?
        }
    };
    Some(slot.get_or_init(|| Arc::new(object)))
}
