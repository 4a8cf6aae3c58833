//! The datatypes that a target knows: those that each origin has told it to keep, and the last few
//! derived ones that it has read.

use super::error;
use super::kept::KEPT_MAX;
use super::request::Elements;
use crate::datatype::{Datatype, wire};
use crate::error::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most bytes of a description that is remembered and of its datatype, and how many are.
const READ_BYTES_MAX: usize = 4 << 20;
const READ_MAX: usize = 4;

/// The datatypes that a target knows.
pub(super) struct Known {
    /// The datatypes that each origin has told it to keep, by number.
    kept: BTreeMap<i32, [Option<Arc<Datatype>>; KEPT_MAX]>,
    /// The weight of the largest datatype that is kept, in bytes.
    kept_bytes_max: usize,
    /// Descriptions that were read, and their datatypes; the last one first.
    read: Vec<(Box<[u8]>, Arc<Datatype>)>,
    /// Descriptions read so far.
    reads: u64,
}

impl Known {
    /// Knows nothing yet, and keeps datatypes that weigh at most so many bytes.
    pub(super) fn new(kept_bytes_max: usize) -> Known {
        Known { kept: BTreeMap::new(), kept_bytes_max, read: Vec::new(), reads: 0 }
    }

    /// The datatype that a request of an origin names. Errors as in [`wire::decode`];
    /// `MPI_ERR_INTERN` for a number that the origin has not told.
    pub(super) fn datatype(&mut self, origin: i32, elements: &Elements) -> Result<Arc<Datatype>> {
        let (described, number) = (elements.datatype, elements.kept);
        let Some(place) = usize::from(number).checked_sub(1) else { return self.read(described) };
        if described.is_empty() {
            let kept = self.kept.get(&origin).and_then(|all| all.get(place)?.clone());
            return kept.ok_or_else(|| error::untold(origin, number));
        }
        // The origin goes on to name what it told last, be it taken or not.
        let datatype = match wire::weight(described) > self.kept_bytes_max {
            true => Err(error::untold(origin, number)),
            false => self.read(described),
        };
        if let Some(place) = self.kept.entry(origin).or_default().get_mut(place) {
            *place = datatype.as_ref().ok().cloned();
        }
        datatype
    }

    fn read(&mut self, description: &[u8]) -> Result<Arc<Datatype>> {
        if let Some(at) = self.read.iter().position(|(known, _)| **known == *description) {
            self.read[..=at].rotate_right(1);
            return Ok(self.read[0].1.clone());
        }
        let datatype = wire::decode(description)?;
        let is_derived = datatype.as_basic().is_none() && datatype.pair().is_none();
        self.reads += u64::from(is_derived);
        if is_derived && wire::weight(description).saturating_add(description.len()) <= READ_BYTES_MAX {
            self.read.truncate(READ_MAX - 1);
            self.read.insert(0, (description.into(), datatype.clone()));
        }
        Ok(datatype)
    }

    /// The number of derived datatypes that were made of their descriptions.
    pub(super) fn reads(&self) -> u64 {
        self.reads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Form;
    use crate::generated::constants as mpi;

    fn described(count: i64) -> Vec<u8> {
        let int = Datatype::predefined(mpi::MPI_INT).expect("predefined");
        let derived = Arc::new(Datatype::contiguous(Form::Int, count, int).expect("a few elements"));
        wire::description(&derived).expect("a short description").bytes.to_vec()
    }

    fn naming(kept: u8, datatype: &[u8]) -> Elements<'_> {
        Elements { displacement: 0, count: 1, bytes: 4, piece: 0, is_within: false, kept, datatype }
    }

    #[test]
    fn only_the_same_description_gives_the_same_datatype() {
        let (three, four) = (described(3), described(4));
        let mut known = Known::new(10_000);
        let mut of = |bytes: &[u8]| known.datatype(0, &naming(0, bytes));
        let first = of(&three).expect("a datatype");
        // Others between them change nothing.
        let plain = wire::description(Datatype::predefined(mpi::MPI_INT).expect("predefined"));
        let plain = plain.expect("a short description").bytes.to_vec();
        for _ in 0..3 {
            assert_eq!(of(&plain).expect("a datatype").size(), 4);
            assert_eq!(of(&four).expect("a datatype").size(), 16);
            assert!(Arc::ptr_eq(&first, &of(&three).expect("a datatype")));
        }
        assert!(of(&three[1..]).is_err() && of(&[]).is_err());
        assert_eq!(known.reads(), 2);
    }

    #[test]
    fn a_datatype_is_kept_for_its_origin_alone() {
        let mut known = Known::new(10_000);
        let (three, four) = (described(3), described(4));
        let size = |known: &mut Known, origin, kept, bytes: &[u8]| {
            known.datatype(origin, &naming(kept, bytes)).map(|datatype| datatype.size())
        };
        assert_eq!(size(&mut known, 1, 2, &three), Ok(12));
        assert_eq!(size(&mut known, 1, 3, &four), Ok(16));
        assert_eq!([2, 3].map(|kept| size(&mut known, 1, kept, &[])), [Ok(12), Ok(16)]);
        assert_eq!(size(&mut known, 1, 2, &four), Ok(16));
        assert_eq!(size(&mut known, 1, 2, &[]), Ok(16));
        assert_eq!(known.reads(), 2);
        for (origin, kept) in [(2, 2), (1, 1), (1, 4)] {
            assert!(size(&mut known, origin, kept, &[]).is_err(), "{kept} of {origin}");
        }
        // A datatype that is larger than agreed is not kept.
        let mut known = Known::new(wire::weight(&three) - 1);
        assert!(size(&mut known, 1, 1, &three).is_err() && size(&mut known, 1, 1, &[]).is_err());
    }
}
