//! The memory that a description's datatype takes, found without making it. Both ends of a
//! connection find the same number, so that they agree on what is kept.

use super::super::Datatype;
use super::Reader;
use crate::generated::constants as mpi;

/// Bytes of a datatype without lists: itself, its layout, its signature, and what allocations add.
const NODE: usize = size_of::<Datatype>() + 512;
/// Bytes of an argument in the call that made it; a list of arguments may have room for as many
/// again.
const INTEGER: usize = 2 * size_of::<i32>();
const ADDRESS: usize = 2 * size_of::<i64>();
/// Bytes of a block in a layout: a run, and its place among the packed bytes.
const RUN: usize = 24;
/// Bytes of a part of a signature.
const PART: usize = 64;
/// The most runs or parts of a derived datatype that are spelt out where it is used.
const SPELT_OUT: usize = 8;
/// Bytes of a dimension of an array, in its layout.
const DIMENSION: usize = 256;

/// The most bytes of memory that the datatype of this description takes; `usize::MAX` for what is
/// no description. Predefined datatypes, which are there anyway, take none.
pub fn weight(description: &[u8]) -> usize {
    let (mut reader, mut nodes, mut total) = (Reader(description), Vec::new(), 0usize);
    while !reader.0.is_empty() {
        let Some((is_derived, bytes)) = node(&mut reader, &nodes) else { return usize::MAX };
        nodes.push(is_derived);
        total = total.saturating_add(bytes);
    }
    total
}

/// Reads the next node. Returns whether it is a derived datatype, and its bytes; `nodes` tells the
/// former of those before.
fn node(reader: &mut Reader<'_>, nodes: &[bool]) -> Option<(bool, usize)> {
    let kind = reader.number()?;
    if kind == 0 {
        return reader.number().map(|_| (false, 0));
    }
    let [integers, addresses, counts] = [(); 3].map(|()| reader.list(Reader::signed).map(|list| list.len()));
    let (integers, numbers) = (integers?, addresses? + counts?);
    let mut of_derived = false;
    let datatypes = reader.list(|reader| {
        let back = usize::try_from(reader.number()?).ok()?;
        of_derived |= nodes[nodes.len().checked_sub(back).filter(|&at| at < nodes.len())?];
        Some(())
    });
    let combiner = i32::try_from(kind / 2).ok()?.checked_add(mpi::MPI_COMBINER_NAMED)?;
    let blocks = match combiner {
        // A length and a displacement for each.
        mpi::MPI_COMBINER_INDEXED | mpi::MPI_COMBINER_HINDEXED | mpi::MPI_COMBINER_STRUCT => {
            (integers + numbers).div_ceil(2)
        }
        _ => integers + numbers,
    };
    let is_array = matches!(combiner, mpi::MPI_COMBINER_SUBARRAY | mpi::MPI_COMBINER_DARRAY);
    let spelt_out = if of_derived { SPELT_OUT } else { 1 };
    let block = spelt_out * RUN + if is_array { DIMENSION } else { 0 };
    let datatype = ADDRESS + spelt_out * PART;
    let lists = integers * INTEGER + numbers * ADDRESS + blocks * block + datatypes?.len() * datatype;
    Some((true, NODE + lists))
}
