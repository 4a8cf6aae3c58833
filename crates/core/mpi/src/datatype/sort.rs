//! The sorts of elements, which marks name: meaning and size. Types of different names that mean
//! the same (`MPI_INT` and `MPI_INTEGER`) have the same sort. Where elements are only moved, those
//! of one size count as one sort: programs rely on it, though the standard does not allow it.

use super::Datatype;
use super::representation::{Family, Float, Representation};

/// The sort of bytes, which match everything.
pub const BYTES: u16 = 0;
const CHARACTERS: u16 = 1;
/// Less than the sorts of the smallest elements, by the exponent of their size.
const SIGNED: u16 = 1;
const UNSIGNED: u16 = 5;
const FLOATING: u16 = 8;
const QUADRUPLE: u16 = 13;
const COMPLEX: u16 = 12;
const QUADRUPLE_COMPLEX: u16 = 18;
const LOGICAL: u16 = 19;
const SEVERAL: u16 = 24;
/// Less than the sorts of all elements of 2 bytes and more, by the exponent of their size.
const SIZED: u16 = 24;

/// The sorts, by their numbers.
const NAMES: [&str; 30] = [
    "bytes",
    "characters",
    "signed integers of 2 bytes",
    "signed integers of 4 bytes",
    "signed integers of 8 bytes",
    "signed integers of 16 bytes",
    "unsigned integers of 2 bytes",
    "unsigned integers of 4 bytes",
    "unsigned integers of 8 bytes",
    "floating-point numbers of 2 bytes",
    "floating-point numbers of 4 bytes",
    "floating-point numbers of 8 bytes",
    "floating-point numbers of 16 bytes",
    "quadruple-precision numbers",
    "complex numbers of 4 bytes",
    "complex numbers of 8 bytes",
    "complex numbers of 16 bytes",
    "complex numbers of 32 bytes",
    "quadruple-precision complex numbers",
    "logical values of 1 byte",
    "logical values of 2 bytes",
    "logical values of 4 bytes",
    "logical values of 8 bytes",
    "logical values of 16 bytes",
    "elements of several types",
    "elements of 2 bytes",
    "elements of 4 bytes",
    "elements of 8 bytes",
    "elements of 16 bytes",
    "elements of 32 bytes",
];

/// The sort of a sort's size alone, by its number.
const BY_SIZE: [u16; 25] = {
    let mut all = [BYTES; 25];
    all[CHARACTERS as usize] = CHARACTERS;
    all[LOGICAL as usize] = CHARACTERS;
    all[SEVERAL as usize] = SEVERAL;
    let mut exponent = 1;
    while exponent < 6 {
        if exponent < 5 {
            all[(SIGNED + exponent) as usize] = SIZED + exponent;
            all[(FLOATING + exponent) as usize] = SIZED + exponent;
            all[(LOGICAL + exponent) as usize] = SIZED + exponent;
        }
        if exponent < 4 {
            all[(UNSIGNED + exponent) as usize] = SIZED + exponent;
        }
        if exponent > 1 {
            all[(COMPLEX + exponent) as usize] = SIZED + exponent;
        }
        exponent += 1;
    }
    all[QUADRUPLE as usize] = SIZED + 4;
    all[QUADRUPLE_COMPLEX as usize] = SIZED + 5;
    all
};

/// The sort of a basic type.
pub(super) const fn of(representation: Representation, family: Family) -> u16 {
    match (family, representation) {
        (_, Representation::Opaque) | (Family::Byte, _) => BYTES,
        (Family::Logical, Representation::Integer(int)) => LOGICAL + exponent(int.size()),
        (_, Representation::Integer(int)) if int.size() == 1 => CHARACTERS,
        (_, Representation::Integer(int)) if int.is_signed() => SIGNED + exponent(int.size()),
        (_, Representation::Integer(int)) => UNSIGNED + exponent(int.size()),
        (_, Representation::Float(Float::F128)) => QUADRUPLE,
        (_, Representation::Float(float)) => FLOATING + exponent(float.size()),
        (_, Representation::Complex(Float::F128)) => QUADRUPLE_COMPLEX,
        (_, Representation::Complex(float)) => COMPLEX + exponent(2 * float.size()),
    }
}

const fn exponent(size: usize) -> u16 {
    size.ilog2() as u16
}

/// The sort of all elements of a datatype.
#[inline]
pub fn of_elements(datatype: &Datatype) -> u16 {
    match datatype.basic() {
        Some(basic) => basic.sort,
        None if datatype.size() == 0 => BYTES,
        None => SEVERAL,
    }
}

/// The sort of all elements of a datatype that are only moved: that of their size, unless
/// `VERBENA_CHECK_TYPES` wants to know more.
#[inline]
pub fn of_moved(datatype: &Datatype) -> u16 {
    let sort = of_elements(datatype);
    if verbena_settings::CHECK_TYPES.get() { sort } else { BY_SIZE[usize::from(sort)] }
}

/// The words for a sort.
pub(crate) fn name(sort: u16) -> &'static str {
    NAMES.get(usize::from(sort)).unwrap_or(&NAMES[usize::from(BYTES)])
}

#[cfg(test)]
mod tests {
    use super::super::predefined::BASICS;
    use super::*;

    #[test]
    fn every_basic_type_has_a_sort_of_its_meaning_and_size() {
        for basic in &BASICS {
            let (name, size) = (name(basic.sort), basic.size());
            match basic.sort {
                BYTES | CHARACTERS => assert_eq!(size, 1, "{}", basic.name),
                QUADRUPLE | QUADRUPLE_COMPLEX => assert!(size >= 16, "{}", basic.name),
                _ => assert!(name.contains(&format!(" of {size} byte")), "{}: {name}", basic.name),
            }
            let word = match basic.representation {
                _ if basic.family == Family::Logical => "logical",
                Representation::Opaque => "bytes",
                Representation::Integer(_) if size == 1 => "characters",
                Representation::Integer(int) if int.is_signed() => "signed",
                Representation::Integer(_) => "unsigned",
                Representation::Float(_) => "numbers",
                Representation::Complex(_) => "complex",
            };
            assert!(name.contains(word), "{}: {name}", basic.name);
            let moved = super::name(BY_SIZE[usize::from(basic.sort)]);
            match basic.sort {
                BYTES => assert_eq!(moved, "bytes"),
                _ if size == 1 => assert_eq!(moved, "characters", "{}", basic.name),
                QUADRUPLE | QUADRUPLE_COMPLEX => {
                    assert!(moved.ends_with("6 bytes") || moved.ends_with("32 bytes"))
                }
                _ => assert_eq!(moved, format!("elements of {size} bytes"), "{}", basic.name),
            }
        }
    }
}
