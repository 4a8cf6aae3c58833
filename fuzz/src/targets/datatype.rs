//! Datatypes of any arguments, against the list of their bytes.

use arbitrary::{Result, Unstructured};
use std::collections::HashSet;
use std::sync::Arc;
use verbena_memory::Buffer;
use verbena_mpi::Datatype;
use verbena_mpi::datatype::Form;
use verbena_mpi::datatype::array::{ORDER_C, ORDER_FORTRAN};
use verbena_mpi::datatype::construct::Unit;
use verbena_mpi::generated::constants as mpi;

/// The largest number of bytes of a datatype in the naive list.
const BYTES_MAX: usize = 4000;
/// A buffer of more bytes is not made.
const SPAN_MAX: i64 = 1 << 16;
/// Bytes on either side of a buffer that nobody may touch.
const GUARD: usize = 64;

const LEAVES: [usize; 6] =
    [mpi::MPI_BYTE, mpi::MPI_SHORT, mpi::MPI_INT, mpi::MPI_DOUBLE, mpi::MPI_LONG_DOUBLE, mpi::MPI_SHORT_INT];

/// A datatype and the displacement of each of its packed bytes.
#[derive(Clone)]
pub struct Made {
    /// The datatype.
    pub datatype: Arc<Datatype>,
    /// The places of its bytes, in the order in which they are packed.
    pub bytes: Vec<i64>,
}

impl Made {
    /// The datatype with the places that its layout names.
    pub fn of(datatype: &Arc<Datatype>) -> Made {
        let mut bytes = Vec::new();
        let each = |at: isize, len: usize| bytes.extend(at as i64..at as i64 + len as i64);
        datatype.layout().for_each_run(1, 0, datatype.size(), each);
        Made { datatype: datatype.clone(), bytes }
    }

    fn block(&self, count: i64) -> Vec<i64> {
        self.spread((0..count).map(|i| i * self.datatype.extent() as i64))
    }

    fn spread(&self, at: impl Iterator<Item = i64>) -> Vec<i64> {
        at.flat_map(|at| self.bytes.iter().map(move |byte| at + byte)).collect()
    }
}

/// Constructors with small arguments against the list, and with any arguments for the absence of
/// surprises.
pub fn constructors(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok(made) = nested(&mut input, 3) else { return };
    check(&made);
    let _ = copies(&mut input, &made);
    let _ = wild(&mut input, &made.datatype);
}

/// Makes a datatype of up to `depth` constructors, one within the other.
///
/// # Errors
/// The input is used up.
pub fn nested(input: &mut Unstructured<'_>, depth: u32) -> Result<Made> {
    if depth == 0 || input.ratio(1, 6)? {
        let leaf = *input.choose(&LEAVES)?;
        return Ok(Made::of(Datatype::predefined(leaf).expect("a predefined datatype")));
    }
    let old = nested(input, depth - 1)?;
    let made = match input.int_in_range(0..=7)? {
        0 => contiguous(input, &old)?,
        1 | 2 => vector(input, &old)?,
        3 => indexed(input, &old)?,
        4 => block(input, &old)?,
        5 => structure(input, depth, &old)?,
        6 => subarray(input, &old)?,
        _ => resized(input, &old)?,
    };
    Ok(if made.bytes.len() > BYTES_MAX { old } else { made })
}

fn made(datatype: verbena_mpi::Result<Datatype>, bytes: Vec<i64>) -> Made {
    Made { datatype: Arc::new(datatype.expect("small arguments are fine")), bytes }
}

fn contiguous(input: &mut Unstructured<'_>, old: &Made) -> Result<Made> {
    let count = input.int_in_range(0..=4)?;
    Ok(made(Datatype::contiguous(Form::Int, count, &old.datatype), old.block(count)))
}

fn vector(input: &mut Unstructured<'_>, old: &Made) -> Result<Made> {
    let [count, length] = [input.int_in_range(0..=4)?, input.int_in_range(0..=3)?];
    let (stride, unit) = (input.int_in_range(-5..=9)?, unit(input)?);
    let element = old.block(length);
    let bytes = (0..count).flat_map(|i| {
        let at = i * stride * scale(unit, old);
        element.iter().map(move |byte| at + byte).collect::<Vec<_>>()
    });
    Ok(made(Datatype::vector(Form::Int, count, length, stride, unit, &old.datatype), bytes.collect()))
}

fn unit(input: &mut Unstructured<'_>) -> Result<Unit> {
    Ok(if input.arbitrary()? { Unit::Extent } else { Unit::Byte })
}

fn scale(unit: Unit, old: &Made) -> i64 {
    if unit == Unit::Extent { old.datatype.extent() as i64 } else { 1 }
}

fn list(input: &mut Unstructured<'_>, least: i64, most: i64) -> Result<Vec<i64>> {
    let len = input.int_in_range(0..=4usize)?;
    (0..len).map(|_| input.int_in_range(least..=most)).collect()
}

fn indexed(input: &mut Unstructured<'_>, old: &Made) -> Result<Made> {
    let (unit, displacements) = (unit(input)?, list(input, -9, 20)?);
    let lengths = displacements.iter().map(|_| input.int_in_range(0..=3)).collect::<Result<Vec<i64>>>()?;
    let at = |i: usize| displacements[i] * scale(unit, old);
    let bytes = (0..lengths.len())
        .flat_map(|i| old.block(lengths[i]).into_iter().map(move |byte| at(i) + byte).collect::<Vec<_>>());
    let bytes = bytes.collect();
    Ok(made(Datatype::indexed(Form::Large, &lengths, &displacements, unit, &old.datatype), bytes))
}

fn block(input: &mut Unstructured<'_>, old: &Made) -> Result<Made> {
    let (unit, displacements) = (unit(input)?, list(input, -9, 20)?);
    let length = input.int_in_range(0..=3)?;
    let element = Made { bytes: old.block(length), ..old.clone() };
    let bytes = element.spread(displacements.iter().map(|at| at * scale(unit, old)));
    Ok(made(Datatype::indexed_block(Form::Int, length, &displacements, unit, &old.datatype), bytes))
}

fn structure(input: &mut Unstructured<'_>, depth: u32, old: &Made) -> Result<Made> {
    let other = nested(input, depth - 1)?;
    let lengths = [input.int_in_range(0..=3)?, input.int_in_range(0..=3)?];
    let at = [input.int_in_range(-20..=40)?, input.int_in_range(-20..=90)?];
    let mut bytes: Vec<i64> = old.block(lengths[0]).iter().map(|byte| at[0] + byte).collect();
    bytes.extend(other.block(lengths[1]).iter().map(|byte| at[1] + byte));
    let types = [old.datatype.clone(), other.datatype];
    Ok(made(Datatype::structure(Form::Int, &lengths, &at, &types), bytes))
}

fn subarray(input: &mut Unstructured<'_>, old: &Made) -> Result<Made> {
    let (mut sizes, mut subsizes, mut starts) = (vec![], vec![], vec![]);
    for _ in 0..input.int_in_range(1..=3)? {
        let size = input.int_in_range(1..=4i64)?;
        let subsize = input.int_in_range(1..=size)?;
        sizes.push(size);
        subsizes.push(subsize);
        starts.push(input.int_in_range(0..=size - subsize)?);
    }
    let order = if input.arbitrary()? { ORDER_C } else { ORDER_FORTRAN };
    let datatype = Datatype::subarray(Form::Int, &sizes, &subsizes, &starts, order, &old.datatype);
    // From the dimension that runs slowest to the one that runs fastest.
    let mut dimensions: Vec<usize> = (0..sizes.len()).collect();
    if order == ORDER_FORTRAN {
        dimensions.reverse();
    }
    let mut elements = vec![0];
    for &i in &dimensions {
        let places: Vec<i64> = (0..subsizes[i]).map(|k| starts[i] + k).collect();
        let row = |before: i64| places.iter().map(move |place| before + place);
        elements = elements.into_iter().flat_map(|before: i64| row(before * sizes[i])).collect();
    }
    let extent = old.datatype.extent() as i64;
    Ok(made(datatype, old.spread(elements.into_iter().map(|element| element * extent))))
}

fn resized(input: &mut Unstructured<'_>, old: &Made) -> Result<Made> {
    let (lb, extent) = (input.int_in_range(-20..=20)?, input.int_in_range(-20..=80)?);
    let datatype = Datatype::resized(Form::Int, lb, extent, &old.datatype);
    let made = made(datatype, old.bytes.clone());
    assert_eq!((made.datatype.lb() as i64, made.datatype.extent() as i64), (lb, extent));
    Ok(made)
}

/// The layout names the bytes of the list, in its order.
fn check(made: &Made) {
    let (datatype, bytes) = (&made.datatype, &made.bytes);
    assert_eq!(datatype.size(), bytes.len());
    assert_eq!(datatype.signature().bytes(), bytes.len());
    assert_eq!(Made::of(datatype).bytes, *bytes);
    let low = bytes.iter().min().copied().unwrap_or(0);
    let high = bytes.iter().max().map_or(0, |byte| byte + 1);
    assert_eq!(datatype.true_extent(), (low as isize, (high - low) as isize));
}

/// Checks that packing and unpacking some elements, whole and in part, touch the bytes of the list
/// and no others.
fn copies(input: &mut Unstructured<'_>, made: &Made) -> Result<()> {
    let count = input.int_in_range(0..=3)?;
    let bytes = made.block(count);
    let (Some(&low), Some(&high)) = (bytes.iter().min(), bytes.iter().max()) else { return Ok(()) };
    if high - low > SPAN_MAX {
        return Ok(());
    }
    let place = |byte: i64| (byte - low) as usize + GUARD;
    let mut memory: Vec<u8> = (0..place(high) + 1 + GUARD).map(|i| (i * 31 + i / 256) as u8).collect();
    let before = memory.clone();
    let packed: Vec<u8> = bytes.iter().map(|&byte| before[place(byte)]).collect();
    let origin = memory.as_mut_ptr().wrapping_offset(GUARD as isize - low as isize);
    // SAFETY: the bytes of the list, which the layout names (`check`), lie within the memory, which
    // outlives the buffer and is not used otherwise while the buffer is.
    let buffer = unsafe { Buffer::strided(origin, count as usize, made.datatype.layout()) };
    let first = input.int_in_range(0..=packed.len())?;
    let len = input.int_in_range(0..=packed.len() - first)?;
    let mut out = vec![0; len];
    buffer.part(first, len).copy_out(0, &mut out);
    assert_eq!(out, packed[first..first + len]);
    let new = vec![0xa7; len];
    buffer.copy_in(first, &new);
    let touched: HashSet<usize> = bytes[first..first + len].iter().map(|&byte| place(byte)).collect();
    for (i, (&now, &then)) in memory.iter().zip(&before).enumerate() {
        assert_eq!(now, if touched.contains(&i) { 0xa7 } else { then }, "byte {i}");
    }
    Ok(())
}

/// Returns any number, most often one at an edge.
fn number(input: &mut Unstructured<'_>) -> Result<i64> {
    Ok(match input.int_in_range(0..=3)? {
        0 => input.int_in_range(-3..=70_000)?,
        1 => *input.choose(&[i64::MAX, i64::MIN, 1 << 31, 1 << 62, -(1 << 62), i64::MAX / 8])?,
        _ => input.arbitrary()?,
    })
}

/// Tries any arguments. They give an error, or a datatype whose size and bounds are defined.
fn wild(input: &mut Unstructured<'_>, old: &Arc<Datatype>) -> Result<()> {
    let mut old = old.clone();
    for _ in 0..3 {
        let [a, b, c] = [number(input)?, number(input)?, number(input)?];
        let unit = unit(input)?;
        let result = match input.int_in_range(0..=5)? {
            0 => Datatype::contiguous(Form::Large, a, &old),
            1 => Datatype::vector(Form::Large, a, b, c, unit, &old),
            2 => Datatype::indexed(Form::Large, &[a, 1], &[b, c], unit, &old),
            3 => Datatype::structure(Form::Large, &[a, 2], &[b, c], &[old.clone(), old.clone()]),
            4 => Datatype::subarray(Form::Large, &[a, 7], &[b, 3], &[c, 2], ORDER_C, &old),
            _ => Datatype::resized(Form::Large, a, b, &old),
        };
        let Ok(datatype) = result else { continue };
        assert!(i64::try_from(datatype.size()).is_ok());
        let _ = (datatype.true_extent(), datatype.lb(), datatype.span(3), datatype.span(usize::MAX));
        let _ = (datatype.elements_in(1 << 40), datatype.count_in(u64::MAX), datatype.count_in(12));
        old = Arc::new(datatype);
    }
    Ok(())
}
