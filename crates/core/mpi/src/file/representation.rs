//! Data representations: the form of elements in a file (MPI-5.0, 14.5).

use crate::datatype::reshape::reshape;
use crate::datatype::{Datatype, external, pack};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use verbena_memory::{Buffer, Region};

/// The way of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file to memory.
    Read,
    /// From memory to the file.
    Write,
}

/// The memory of an access: `count` elements of a datatype.
#[derive(Clone, Debug)]
pub struct Data {
    /// The bytes.
    pub buffer: Buffer,
    /// The datatype of an element.
    pub datatype: Arc<Datatype>,
    /// Number of elements.
    pub count: usize,
    /// The address that the program passed, for its own conversion functions.
    pub address: usize,
}

impl Data {
    /// No elements.
    pub(super) fn nothing() -> Data {
        let datatype = Datatype::predefined(mpi::MPI_BYTE).expect("MPI_BYTE is predefined").clone();
        Data { buffer: Buffer::EMPTY, datatype, count: 0, address: 0 }
    }

    /// The elements from number `first` on, at most `most` of them.
    pub(super) fn elements(&self, first: usize, most: usize) -> Data {
        let (size, count) = (self.datatype.size(), most.min(self.count - first));
        let buffer = self.buffer.part(first * size, count * size);
        Data { buffer, datatype: self.datatype.clone(), count, address: self.address }
    }
}

/// The program's part of a data representation (`MPI_Register_datarep`).
pub trait Conversion: Send + Sync {
    /// Bytes that an element of a predefined datatype takes in the file.
    ///
    /// # Errors
    /// `MPI_ERR_CONVERSION` with the code of the program's function.
    fn extent(&self, datatype: &Arc<Datatype>) -> Result<i64>;

    /// Returns whether elements are converted on this way; if not, they are as in memory.
    fn converts(&self, direction: Direction) -> bool;

    /// Converts `count` elements between the memory of `data` and the bytes of the file.
    ///
    /// # Errors
    /// `MPI_ERR_CONVERSION` with the code of the program's function.
    fn convert(&self, direction: Direction, data: &Data, count: usize, file: Region) -> Result<()>;
}

/// A data representation that the program registered.
pub struct Registered {
    name: String,
    conversion: Box<dyn Conversion>,
}

/// A data representation.
#[derive(Clone)]
pub enum Representation {
    /// Elements as in memory.
    Native,
    /// Elements as in memory; other programs of Verbena can read it.
    Internal,
    /// Big-endian, with sizes of its own (14.5.2).
    External32,
    /// A form of the program (14.5.3).
    Registered(Arc<Registered>),
}

/// The representations of the program. They stay as long as the process.
static REGISTERED: Mutex<Vec<Arc<Registered>>> = Mutex::new(Vec::new());

/// Makes a representation known (`MPI_Register_datarep`). `MPI_ERR_DUP_DATAREP` if there is one of
/// this name, `MPI_ERR_ARG` for an impossible name.
pub fn register(name: &[u8], conversion: Box<dyn Conversion>) -> Result<()> {
    if name.is_empty() || name.len() >= mpi::MPI_MAX_DATAREP_STRING {
        return Err(bad_name(name));
    }
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = |name: &[u8]| registered.iter().any(|known| known.name.as_bytes() == name);
    if predefined(name).is_some() || is_known(name) {
        return Err(known_already(name));
    }
    registered.push(Arc::new(Registered { name: shown(name), conversion }));
    Ok(())
}

fn predefined(name: &[u8]) -> Option<Representation> {
    match name {
        b"native" => Some(Representation::Native),
        b"internal" => Some(Representation::Internal),
        b"external32" => Some(Representation::External32),
        _ => None,
    }
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

impl Representation {
    /// The representation of this name; `MPI_ERR_UNSUPPORTED_DATAREP` if there is none.
    pub fn named(name: &[u8]) -> Result<Representation> {
        if let Some(predefined) = predefined(name) {
            return Ok(predefined);
        }
        let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        let found = registered.iter().find(|known| known.name.as_bytes() == name);
        found.map(|found| Representation::Registered(found.clone())).ok_or_else(|| unknown(name))
    }

    /// The name.
    pub fn name(&self) -> &str {
        match self {
            Representation::Native => "native",
            Representation::Internal => "internal",
            Representation::External32 => "external32",
            Representation::Registered(registered) => &registered.name,
        }
    }

    /// The extent of a datatype in the file, in bytes (`MPI_File_get_type_extent`).
    pub fn extent(&self, datatype: &Arc<Datatype>) -> Result<i64> {
        Ok(self.shape(datatype)?.extent() as i64)
    }

    /// The datatype as it lies in the file: its elements have other sizes there.
    pub(super) fn shape(&self, datatype: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        match self {
            Representation::Native | Representation::Internal => Ok(datatype.clone()),
            _ => reshape(datatype, &|element| self.bytes(element)),
        }
    }

    /// Bytes that the elements of a datatype take in the file.
    pub(super) fn bytes(&self, datatype: &Datatype) -> Result<usize> {
        match self {
            Representation::Native | Representation::Internal => Ok(datatype.size()),
            Representation::External32 => external::size(datatype, 1),
            Representation::Registered(registered) => registered.bytes(datatype),
        }
    }

    /// Returns whether elements have another form in the file, on this way.
    pub(super) fn converts(&self, direction: Direction) -> bool {
        match self {
            Representation::Native | Representation::Internal => false,
            Representation::External32 => true,
            Representation::Registered(registered) => registered.conversion.converts(direction),
        }
    }

    /// Returns whether a conversion on this way calls functions of the program, which only its own
    /// threads may do.
    pub(super) fn calls_program(&self, direction: Direction) -> bool {
        matches!(self, Representation::Registered(_)) && self.converts(direction)
    }

    /// Puts the elements into the form of the file, whose bytes fill `file`.
    pub(super) fn encode(&self, data: &Data, file: Region) -> Result<()> {
        match self {
            Representation::Native | Representation::Internal => {
                data.buffer.pack(0, file);
                Ok(())
            }
            Representation::External32 => {
                external::pack_external(&data.buffer, &data.datatype, data.count, file, 0).map(|_| ())
            }
            Representation::Registered(registered) => {
                registered.conversion.convert(Direction::Write, data, data.count, file)
            }
        }
    }

    /// Takes the elements that lie whole in the bytes of the file, and returns how many bytes of
    /// memory they fill.
    pub(super) fn decode(&self, file: Region, data: &Data) -> Result<usize> {
        match self {
            Representation::Native | Representation::Internal => {
                data.buffer.part(0, file.len()).unpack(0, file);
                Ok(file.len())
            }
            Representation::External32 => {
                external::unpack_whole(file, &data.buffer, &data.datatype, data.count)
            }
            Representation::Registered(registered) => {
                let each = registered.bytes(&data.datatype)?;
                let count = file.len().checked_div(each).unwrap_or(0).min(data.count);
                if count > 0 {
                    registered.conversion.convert(
                        Direction::Read,
                        data,
                        count,
                        file.part(0, count * each),
                    )?;
                }
                Ok(count * data.datatype.size())
            }
        }
    }
}

impl Registered {
    /// Bytes that the elements of a datatype take in the file, by the program's function.
    fn bytes(&self, datatype: &Datatype) -> Result<usize> {
        let failure = RefCell::new(None);
        let bytes = datatype.signature().weigh(|basic| {
            let element = Datatype::predefined(basic.handle).expect("a basic datatype is predefined");
            let extent = self
                .conversion
                .extent(element)
                .and_then(|extent| usize::try_from(extent).map_err(|_| bad_extent(&self.name, extent)));
            extent.unwrap_or_else(|error| {
                failure.borrow_mut().get_or_insert(error);
                0
            })
        });
        match failure.into_inner() {
            Some(error) => Err(error),
            None => bytes.ok_or_else(|| bad_extent(&self.name, i64::MAX)),
        }
    }
}

/// Bytes that all elements of an access take in the file; `MPI_ERR_COUNT` if there is no such
/// number.
pub(super) fn file_bytes(representation: &Representation, data: &Data) -> Result<usize> {
    let each = representation.bytes(&data.datatype)?;
    let all = each.checked_mul(data.count).filter(|&bytes| i64::try_from(bytes).is_ok());
    all.map_or_else(|| pack::pack_size(&data.datatype, usize::MAX), Ok)
}

#[cold]
fn unknown(name: &[u8]) -> Error {
    Error::new(
        mpi::MPI_ERR_UNSUPPORTED_DATAREP,
        "this data representation is not supported",
        format!("the name \"{}\"", shown(name)),
        "the program has registered none of this name, or the name is misspelt",
        "use \"native\", \"internal\", \"external32\", or MPI_Register_datarep first",
    )
}

#[cold]
fn bad_name(name: &[u8]) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the name of a data representation is empty or too long",
        format!("a name of {} bytes", name.len()),
        "the text was not set, or not terminated",
        format!("give a name of 1 to {} bytes (MPI_MAX_DATAREP_STRING)", mpi::MPI_MAX_DATAREP_STRING - 1),
    )
}

#[cold]
fn known_already(name: &[u8]) -> Error {
    Error::new(
        mpi::MPI_ERR_DUP_DATAREP,
        "there is a data representation of this name already",
        format!("the name \"{}\"", shown(name)),
        "it is predefined, or was registered before: representations stay as long as the process",
        "register it once, or choose another name",
    )
}

#[cold]
fn bad_extent(name: &str, extent: i64) -> Error {
    Error::new(
        mpi::MPI_ERR_CONVERSION,
        "a function of the program gave an impossible extent",
        format!("an extent of {extent} bytes in the data representation \"{name}\""),
        "the function sets no extent, or a negative one",
        "let the extent function set the bytes of an element in the file",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Form;
    use verbena_memory::Owned;

    /// Every element takes two bytes in the file: its lowest, and a mark.
    struct Halved;

    impl Conversion for Halved {
        fn extent(&self, _: &Arc<Datatype>) -> Result<i64> {
            Ok(2)
        }

        fn converts(&self, _: Direction) -> bool {
            true
        }

        fn convert(&self, direction: Direction, data: &Data, count: usize, file: Region) -> Result<()> {
            let width = data.datatype.size();
            for i in 0..count {
                let mut element = vec![0; width];
                match direction {
                    Direction::Write => {
                        data.buffer.copy_out(i * width, &mut element);
                        file.write(2 * i, &[element[0], 0xaa]);
                    }
                    Direction::Read => {
                        let mut pair = [0; 2];
                        file.read(2 * i, &mut pair);
                        assert_eq!(pair[1], 0xaa);
                        element[0] = pair[0];
                        data.buffer.copy_in(i * width, &element);
                    }
                }
            }
            Ok(())
        }
    }

    fn data(values: &[i64]) -> (Data, Owned) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let owned = Owned::from(&bytes[..]);
        let datatype = Datatype::predefined(mpi::MPI_INT64_T).unwrap().clone();
        let buffer = Buffer::Contiguous(owned.lend());
        (Data { buffer, datatype, count: values.len(), address: 0 }, owned)
    }

    #[test]
    fn a_registered_representation_has_its_sizes_and_converts() {
        register(b"halved", Box::new(Halved)).unwrap();
        assert_eq!(register(b"halved", Box::new(Halved)).unwrap_err().class, mpi::MPI_ERR_DUP_DATAREP);
        let halved = Representation::named(b"halved").unwrap();
        let (from, _owner) = data(&[1, 2, 3]);
        let three = Datatype::contiguous(Form::Int, 3, &from.datatype).unwrap();
        assert_eq!((halved.name(), halved.extent(&Arc::new(three)).unwrap()), ("halved", 6));
        assert_eq!(file_bytes(&halved, &from).unwrap(), 6);
        let file = Owned::zeroed(6);
        halved.encode(&from, file.lend()).unwrap();
        assert_eq!(file.lend().to_vec(), [1, 0xaa, 2, 0xaa, 3, 0xaa]);
        let (into, owner) = data(&[0, 0, 9]);
        assert_eq!(halved.decode(file.lend().part(0, 5), &into).unwrap(), 16, "the third is cut");
        assert_eq!(owner.lend().load::<u64>(8), 2);
        assert_eq!(owner.lend().load::<u64>(16), 9);
    }

    #[test]
    fn external32_reverses_the_bytes_and_stops_at_a_cut_element() {
        let external = Representation::named(b"external32").unwrap();
        let (from, _owner) = data(&[1, 0x0203]);
        let file = Owned::zeroed(16);
        external.encode(&from, file.lend()).unwrap();
        assert_eq!(file.lend().to_vec(), [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 3]);
        let (into, owner) = data(&[7, 7]);
        assert_eq!(external.decode(file.lend().part(0, 15), &into).unwrap(), 8);
        assert_eq!([owner.lend().load::<u64>(0), owner.lend().load::<u64>(8)], [1, 7]);
    }

    #[test]
    fn names_that_are_taken_or_impossible_are_refused() {
        for name in [&b"native"[..], b"internal", b"external32"] {
            assert_eq!(register(name, Box::new(Halved)).unwrap_err().class, mpi::MPI_ERR_DUP_DATAREP);
        }
        for name in [&b""[..], &[b'x'; mpi::MPI_MAX_DATAREP_STRING]] {
            assert_eq!(register(name, Box::new(Halved)).unwrap_err().class, mpi::MPI_ERR_ARG);
        }
        let unknown = Representation::named(b"externel32").err().unwrap();
        assert_eq!(unknown.class, mpi::MPI_ERR_UNSUPPORTED_DATAREP);
    }
}
