//! Datatypes as bytes, for a request to another process, and back.
//!
//! A datatype travels as the calls that made it: a list of nodes, each a predefined datatype by its
//! handle, or a constructor with its arguments, whose datatypes are nodes before it. The last node
//! is the datatype. One that is used twice is one node, and copies by `MPI_Type_dup` are none.
//!
//! | bytes of a node | meaning |
//! | --- | --- |
//! | number | constructor, and whether its call had large counts |
//! | list of signed numbers | arguments of type `int`, of type `MPI_Aint`, and large counts |
//! | list of numbers | datatypes: how many nodes back |
//!
//! A number takes seven bits a byte, the lowest first; a signed one has its sign in the lowest bit.
//! A list begins with its length. The bytes come from outside, so that [`decode`] believes nothing.

mod calls;
#[cfg(test)]
mod tests;
mod weight;

pub use weight::weight;

use super::Datatype;
use super::contents::{Contents, Form};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::collections::HashMap;
use std::sync::Arc;

/// The most bytes of a datatype.
pub const BYTES_MAX: usize = 1 << 28;
/// The most datatypes that one is made of.
const NODES_MAX: usize = 1 << 16;
/// The most constructors one within the other: walks of a layout go as deep.
const DEPTH_MAX: usize = 500;
/// The first handle of a datatype.
const HANDLES: usize = mpi::MPI_DATATYPE_NULL;

/// The bytes of a datatype.
///
/// # Errors
/// `MPI_ERR_TYPE` if it is made of too many datatypes.
pub fn encode(datatype: &Arc<Datatype>) -> Result<Vec<u8>> {
    let mut writer = Writer::default();
    match writer.add(datatype, 0) {
        Some(_) if writer.bytes.len() <= BYTES_MAX => Ok(writer.bytes),
        _ => Err(too_complex(writer.places.len(), writer.bytes.len())),
    }
}

/// A datatype's bytes, and the memory that another process needs to keep it.
#[derive(Debug)]
pub struct Description {
    /// The bytes.
    pub bytes: Arc<[u8]>,
    /// Their [`weight`].
    pub weight: usize,
}

/// The description of a datatype, which is kept with it: requests ask for it again and again.
///
/// # Errors
/// The error of [`encode`].
pub fn description(datatype: &Arc<Datatype>) -> Result<&Description> {
    let kept = &datatype.identity.description;
    match kept.get() {
        Some(description) => Ok(description),
        None => encode(datatype)
            .map(|bytes| kept.get_or_init(|| Description { weight: weight(&bytes), bytes: bytes.into() })),
    }
}

/// The datatype of these bytes, committed.
///
/// # Errors
/// `MPI_ERR_TYPE` if the bytes are not those of a datatype.
pub fn decode(bytes: &[u8]) -> Result<Arc<Datatype>> {
    let mut reader = Reader(bytes);
    let mut nodes: Vec<Node> = Vec::new();
    while !reader.0.is_empty() {
        let node = if nodes.len() < NODES_MAX { read_node(&mut reader, &nodes) } else { None };
        nodes.push(node.ok_or_else(|| damaged(bytes.len(), reader.0.len()))?);
    }
    let last = nodes.pop().ok_or_else(|| damaged(bytes.len(), 0))?;
    last.datatype.commit();
    Ok(last.datatype)
}

/// The datatype that a constructor makes of these arguments; `None` if it takes no such ones.
pub(super) fn rebuild(contents: Contents) -> Option<Datatype> {
    let form = if contents.counts.is_empty() { Form::Int } else { Form::Large };
    calls::make(form, contents)
}

/// A datatype that was read.
struct Node {
    datatype: Arc<Datatype>,
    /// The number of constructors one within the other.
    depth: usize,
}

fn read_node(reader: &mut Reader<'_>, nodes: &[Node]) -> Option<Node> {
    let kind = reader.number()?;
    if kind == 0 {
        let handle = HANDLES.checked_add(reader.number()?.try_into().ok()?)?;
        return Some(Node { datatype: Datatype::predefined(handle)?.clone(), depth: 0 });
    }
    let integers = reader.list(|reader| reader.signed()?.try_into().ok())?;
    let addresses = reader.list(|reader| reader.signed()?.try_into().ok())?;
    let counts = reader.list(Reader::signed)?;
    let mut depth = 0;
    let datatypes = reader.list(|reader| {
        let back = usize::try_from(reader.number()?).ok()?;
        let node = &nodes[nodes.len().checked_sub(back).filter(|&at| at < nodes.len())?];
        depth = depth.max(node.depth + 1);
        Some(node.datatype.clone())
    })?;
    if depth > DEPTH_MAX {
        return None;
    }
    let combiner = i32::try_from(kind / 2).ok()?.checked_add(mpi::MPI_COMBINER_NAMED)?;
    let form = if kind % 2 == 0 { Form::Int } else { Form::Large };
    let contents = Contents { combiner, integers, addresses, counts, datatypes };
    Some(Node { datatype: Arc::new(calls::make(form, contents)?), depth })
}

/// Writes datatypes.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    /// The number and the depth of the node of each datatype, by its address.
    places: HashMap<*const Datatype, (usize, usize)>,
}

impl Writer {
    /// Adds the nodes of a datatype, unless they are there; `above` lie around it. Returns its
    /// node's number and depth; `None` if it is too complex.
    fn add(&mut self, datatype: &Arc<Datatype>, above: usize) -> Option<(usize, usize)> {
        let datatype = original(datatype);
        let address = Arc::as_ptr(datatype);
        if let Some(&place) = self.places.get(&address) {
            return Some(place);
        }
        let leaf = datatype.as_basic().map(|basic| basic.handle).or(datatype.pair().map(|pair| pair.handle));
        let depth = match leaf {
            Some(handle) => {
                self.number(0);
                self.number((handle - HANDLES) as u64);
                0
            }
            None => self.constructor(datatype.contents()?, above)?,
        };
        let place = (self.places.len(), depth);
        self.places.insert(address, place);
        (depth <= DEPTH_MAX && self.places.len() <= NODES_MAX).then_some(place)
    }

    /// Writes the node of a constructor behind those of its arguments. Returns its depth.
    fn constructor(&mut self, contents: &Contents, above: usize) -> Option<usize> {
        if above >= DEPTH_MAX {
            return None;
        }
        let mut places = Vec::with_capacity(contents.datatypes.len());
        for datatype in &contents.datatypes {
            places.push(self.add(datatype, above + 1)?);
        }
        let is_large = !contents.counts.is_empty();
        self.number((contents.combiner - mpi::MPI_COMBINER_NAMED) as u64 * 2 + u64::from(is_large));
        self.list(&contents.integers, |writer, &value| writer.signed(value.into()));
        self.list(&contents.addresses, |writer, &value| writer.signed(value as i64));
        self.list(&contents.counts, |writer, &value| writer.signed(value));
        let mine = self.places.len();
        self.list(&places, |writer, place| writer.number((mine - place.0) as u64));
        Some(places.iter().map(|place| place.1 + 1).max().unwrap_or(0))
    }

    fn list<T>(&mut self, values: &[T], each: impl Fn(&mut Writer, &T)) {
        self.number(values.len() as u64);
        values.iter().for_each(|value| each(self, value));
    }

    fn signed(&mut self, value: i64) {
        self.number((value << 1 ^ value >> 63) as u64);
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

/// The datatype of which this one is a copy, or the datatype itself.
fn original(mut datatype: &Arc<Datatype>) -> &Arc<Datatype> {
    while let Some(contents) = datatype.contents()
        && contents.combiner == mpi::MPI_COMBINER_DUP
        && let [of] = &contents.datatypes[..]
    {
        datatype = of;
    }
    datatype
}

/// The bytes that are not read yet.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            value |= bits << shift;
            if bits << shift >> shift != bits {
                return None;
            }
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        self.number().map(|value| (value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a list; each element takes a byte or more.
    fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let len = usize::try_from(self.number()?).ok().filter(|&len| len <= self.0.len())?;
        let mut values = Vec::with_capacity(len);
        for _ in 0..len {
            values.push(each(self)?);
        }
        Some(values)
    }
}

#[cold]
fn too_complex(datatypes: usize, bytes: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_TYPE,
        "the datatype is too complex to be sent to another process",
        format!("a datatype made of {datatypes} others or more, described in {bytes} bytes or more"),
        format!(
            "at most {NODES_MAX} datatypes, {DEPTH_MAX} one within the other, and {BYTES_MAX} bytes are sent"
        ),
        "make it of fewer datatypes, or use several calls",
    )
}

#[cold]
fn damaged(bytes: usize, left: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_TYPE,
        "another process sent something that is no datatype",
        format!("a description of {bytes} bytes, {left} bytes before its end"),
        "the processes run different versions of the library, or memory was overwritten",
        "start all processes with the same installation, and look for writes out of bounds",
    )
}
