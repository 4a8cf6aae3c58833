//! The meaning of a basic datatype's bytes.

/// A machine integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Int {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    I128,
}

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// The 80-bit format of the x87, in 16 bytes.
    X87,
    /// IEEE binary128.
    F128,
}

/// The meaning of a basic datatype's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Representation {
    /// Bytes without a meaning of their own.
    Opaque,
    /// An integer.
    Integer(Int),
    /// A floating-point number.
    Float(Float),
    /// Real and imaginary part.
    Complex(Float),
}

/// The groups of datatypes that predefined operations are defined for (MPI-5.0, 6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Family {
    CInteger,
    FortranInteger,
    Floating,
    Logical,
    Complex,
    Byte,
    MultiLanguage,
    /// The datatypes without any operation.
    Other,
}

impl Int {
    /// Bytes of a value; also its alignment.
    pub const fn size(self) -> usize {
        match self {
            Int::I8 | Int::U8 => 1,
            Int::I16 | Int::U16 => 2,
            Int::I32 | Int::U32 => 4,
            Int::I64 | Int::U64 => 8,
            Int::I128 => 16,
        }
    }

    /// Returns whether there are negative values.
    pub const fn is_signed(self) -> bool {
        !matches!(self, Int::U8 | Int::U16 | Int::U32 | Int::U64)
    }
}

impl Float {
    /// Bytes of a value; also its alignment.
    pub const fn size(self) -> usize {
        match self {
            Float::F16 => 2,
            Float::F32 => 4,
            Float::F64 => 8,
            Float::X87 | Float::F128 => 16,
        }
    }
}
