//! The "external32" data representation: big-endian, with sizes of its own (MPI-5.0, 14.5.2).
//!
//! Elements are packed natively in pieces and then converted one by one, so the layout and the
//! conversion know nothing of each other.

use super::predefined::Basic;
use super::representation::{Float, Int, Representation};
use super::{Datatype, pack};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::op::soft;
use verbena_memory::{Buffer, Region};

/// Native bytes converted at a time.
const PIECE_BYTES: usize = 16 << 10;

/// Returns `MPI_ERR_UNSUPPORTED_DATAREP` unless the data representation is "external32".
pub fn check_name(name: &str) -> Result<()> {
    if name == "external32" {
        return Ok(());
    }
    Err(Error::new(
        mpi::MPI_ERR_UNSUPPORTED_DATAREP,
        "the data representation is unknown",
        format!("data representation \"{name}\""),
        "packing knows \"external32\" only",
        "pass \"external32\"",
    ))
}

/// Bytes that `count` elements take in external32; `MPI_ERR_COUNT` on overflow.
pub fn size(datatype: &Datatype, count: usize) -> Result<usize> {
    let one = datatype.signature().weigh(|basic| basic.external);
    let all = one.and_then(|one| one.checked_mul(count)).filter(|&bytes| i64::try_from(bytes).is_ok());
    all.ok_or_else(|| datatype.too_many(count))
}

/// Packs `count` elements in `input` into `out` from `position` on; returns the position after
/// them.
pub fn pack_external(
    input: &Buffer,
    datatype: &Datatype,
    count: usize,
    out: Region,
    position: usize,
) -> Result<usize> {
    let len = size(datatype, count)?;
    let room = pack::room(out, position, len, "pack")?;
    let (mut piece, mut target, mut read, mut written) = (Vec::new(), Vec::new(), 0, 0);
    each_piece(datatype, count, |basic, elements| {
        piece.resize(elements * basic.size(), 0);
        input.copy_out(read, &mut piece);
        read += piece.len();
        target.resize(elements * basic.external, 0);
        let mut pairs = piece.chunks_exact(basic.size()).zip(target.chunks_exact_mut(basic.external));
        pairs.try_for_each(|(native, external)| encode(basic, native, external))?;
        room.write(written, &target);
        written += target.len();
        Ok(())
    })?;
    Ok(position + len)
}

/// Unpacks `count` elements from `input` at `position` into `output`; returns the position after
/// them.
pub fn unpack_external(
    input: Region,
    position: usize,
    output: &Buffer,
    datatype: &Datatype,
    count: usize,
) -> Result<usize> {
    let len = size(datatype, count)?;
    unpack_whole(pack::room(input, position, len, "unpack")?, output, datatype, count)?;
    Ok(position + len)
}

/// Unpacks the basic elements that `input` holds whole, at most those of `count` elements, and
/// returns how many bytes of `output` they fill: a file may end within an element.
pub fn unpack_whole(input: Region, output: &Buffer, datatype: &Datatype, count: usize) -> Result<usize> {
    let (mut piece, mut source, mut read, mut written) = (Vec::new(), Vec::new(), 0, 0);
    let mut is_cut = false;
    each_piece(datatype, count, |basic, elements| {
        let whole = elements.min((input.len() - read) / basic.external);
        if is_cut || whole == 0 {
            is_cut = true;
            return Ok(());
        }
        is_cut = whole < elements;
        piece.resize(whole * basic.size(), 0);
        source.resize(whole * basic.external, 0);
        input.read(read, &mut source);
        read += source.len();
        let pairs = source.chunks_exact(basic.external).zip(piece.chunks_exact_mut(basic.size()));
        pairs.for_each(|(external, native)| decode(basic, external, native));
        output.copy_in(written, &piece);
        written += piece.len();
        Ok(())
    })?;
    Ok(written)
}

/// Calls `each` with runs of equal basic elements, none longer than a piece.
fn each_piece(
    datatype: &Datatype,
    count: usize,
    mut each: impl FnMut(&'static Basic, usize) -> Result<()>,
) -> Result<()> {
    let mut cut = |basic: &'static Basic, mut elements: usize| {
        while elements > 0 {
            let piece = elements.min(PIECE_BYTES / basic.size());
            each(basic, piece)?;
            elements -= piece;
        }
        Ok(())
    };
    match datatype.basic() {
        Some(basic) => cut(basic, datatype.signature().elements() * count),
        None => (0..count).try_for_each(|_| datatype.signature().for_each(&mut cut)),
    }
}

fn encode(basic: &Basic, native: &[u8], external: &mut [u8]) -> Result<()> {
    match basic.representation {
        Representation::Opaque => external.copy_from_slice(native),
        Representation::Integer(int) => return encode_integer(basic, int, native, external),
        Representation::Float(float) => encode_float(float, native, external),
        Representation::Complex(float) => {
            let (re, im) = native.split_at(native.len() / 2);
            let (external_re, external_im) = external.split_at_mut(external.len() / 2);
            encode_float(float, re, external_re);
            encode_float(float, im, external_im);
        }
    }
    Ok(())
}

fn decode(basic: &Basic, external: &[u8], native: &mut [u8]) {
    match basic.representation {
        Representation::Opaque => native.copy_from_slice(external),
        Representation::Integer(int) => decode_integer(int, external, native),
        Representation::Float(float) => decode_float(float, external, native),
        Representation::Complex(float) => {
            let (external_re, external_im) = external.split_at(external.len() / 2);
            let (re, im) = native.split_at_mut(native.len() / 2);
            decode_float(float, external_re, re);
            decode_float(float, external_im, im);
        }
    }
}

/// Writes the low bytes, if they hold the value: a C `long` has 8 bytes here and 4 in external32.
fn encode_integer(basic: &Basic, int: Int, native: &[u8], external: &mut [u8]) -> Result<()> {
    let (low, high) = native.split_at(external.len());
    let negative = int.is_signed() && low.last().is_some_and(|byte| byte & 0x80 != 0);
    if high.iter().any(|&byte| byte != if negative { 0xff } else { 0 }) {
        return Err(out_of_range(basic, native));
    }
    reverse(low, external);
    Ok(())
}

fn decode_integer(int: Int, external: &[u8], native: &mut [u8]) {
    let negative = int.is_signed() && external[0] & 0x80 != 0;
    let (low, high) = native.split_at_mut(external.len());
    reverse(external, low);
    high.fill(if negative { 0xff } else { 0 });
}

fn encode_float(float: Float, native: &[u8], external: &mut [u8]) {
    match float {
        Float::X87 => reverse(&soft::extended_to_quad(native), external),
        _ => reverse(native, external),
    }
}

fn decode_float(float: Float, external: &[u8], native: &mut [u8]) {
    reverse(external, native);
    if float == Float::X87 {
        let narrowed = soft::quad_to_extended(native);
        native.copy_from_slice(&narrowed);
    }
}

/// Copies with reversed byte order; machines of this library are little-endian.
fn reverse(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
    to.reverse();
}

#[cold]
fn out_of_range(basic: &Basic, native: &[u8]) -> Error {
    Error::new(
        mpi::MPI_ERR_CONVERSION,
        "a value does not fit the external32 representation",
        format!("the {} with the bytes {native:02x?}, in {} bytes", basic.name, basic.external),
        "external32 gives this datatype fewer bytes than this machine does",
        "send such values as MPI_INT64_T or MPI_LONG_LONG",
    )
}
