//! The datatypes that a target keeps for an origin, each under a number: a description travels once
//! and is read once, however often the origin names the datatype. The origin decides what is kept
//! under which number, and its requests come in order, so both know it alike.
//!
//! Predefined datatypes are not kept: their descriptions are a few bytes. Those that take much
//! memory are not kept either, so that all origins together make a target hold [`KEPT_BYTES_ALL`]
//! at most. What counts is the memory of the datatype, many times that of its description, by
//! [`wire::weight`], on which both ends agree.

use crate::datatype::Datatype;
use crate::datatype::wire::Description;
use std::sync::{Arc, Weak};

/// The most datatypes that a target keeps for an origin.
pub(super) const KEPT_MAX: usize = 4;
/// The bytes of the datatypes that a target keeps for all origins together.
const KEPT_BYTES_ALL: usize = 64 << 20;

/// The largest datatype that is kept in a window of so many members, in bytes.
pub(super) fn kept_bytes_max(members: i32) -> usize {
    KEPT_BYTES_ALL / (members.max(1) as usize * KEPT_MAX)
}

/// The datatypes that a target keeps, as the origin knows it. The last used is the first.
#[derive(Default)]
pub(super) struct Kept(Vec<One>);

struct One {
    number: u8,
    /// The datatype that was named last, which may have been freed since.
    datatype: Weak<Datatype>,
    description: Arc<[u8]>,
}

/// The way in which a request names its datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// The description alone names it.
    Described,
    /// The description names it, and it is kept under this number from now on.
    New(u8),
    /// This number names it.
    Known(u8),
}

impl Kept {
    /// Says how the next request names a datatype with this description, which weighs `most` bytes
    /// at most if it is to be kept.
    pub(super) fn name(
        &mut self,
        datatype: &Arc<Datatype>,
        description: &Description,
        most: usize,
    ) -> Naming {
        let is_derived = datatype.as_basic().is_none() && datatype.pair().is_none();
        if !is_derived || description.weight > most {
            return Naming::Described;
        }
        // The address of a datatype is no other's while a weak reference is there.
        let is_same = |one: &One| std::ptr::eq(one.datatype.as_ptr(), Arc::as_ptr(datatype));
        let known = self.0.iter().position(is_same);
        let known = known.or_else(|| self.0.iter().position(|one| one.description == description.bytes));
        if let Some(at) = known {
            self.0[..=at].rotate_right(1);
            self.0[0].datatype = Arc::downgrade(datatype);
            return Naming::Known(self.0[0].number);
        }
        let number = match self.0.len() {
            KEPT_MAX => self.0.pop().map_or(1, |oldest| oldest.number),
            others => others as u8 + 1,
        };
        let one = One { number, datatype: Arc::downgrade(datatype), description: description.bytes.clone() };
        self.0.insert(0, one);
        Naming::New(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{Form, wire};
    use crate::generated::constants as mpi;

    fn row(count: i64) -> Arc<Datatype> {
        let int = Datatype::predefined(mpi::MPI_INT).expect("predefined");
        Arc::new(Datatype::contiguous(Form::Int, count, int).expect("a row"))
    }

    fn name(kept: &mut Kept, datatype: &Arc<Datatype>) -> Naming {
        kept.name(datatype, wire::description(datatype).expect("a short description"), 10_000)
    }

    #[test]
    fn a_datatype_is_described_once() {
        let (mut kept, rows) = (Kept::default(), [2, 3, 4, 5, 6].map(row));
        for (row, number) in rows.iter().zip(1..=4) {
            assert_eq!(name(&mut kept, row), Naming::New(number));
        }
        assert_eq!(name(&mut kept, &rows[0]), Naming::Known(1));
        // The one that was not used for longest goes.
        assert_eq!(name(&mut kept, &rows[4]), Naming::New(2));
        assert_eq!(name(&mut kept, &rows[1]), Naming::New(3));
        assert_eq!([0, 1, 3, 4].map(|i| name(&mut kept, &rows[i])), [1, 3, 4, 2].map(Naming::Known));
    }

    #[test]
    fn a_datatype_that_was_made_anew_is_known() {
        let mut kept = Kept::default();
        for round in 0..10 {
            let expected = if round == 0 { Naming::New(1) } else { Naming::Known(1) };
            assert_eq!(name(&mut kept, &row(7)), expected);
        }
    }

    #[test]
    fn predefined_and_very_large_datatypes_are_told_each_time() {
        let mut kept = Kept::default();
        let int = Datatype::predefined(mpi::MPI_INT).expect("predefined");
        assert_eq!(name(&mut kept, int), Naming::Described);
        let long = row(7);
        let description = wire::description(&long).expect("a short description");
        assert_eq!(kept.name(&long, description, description.weight - 1), Naming::Described);
        for members in [1, 2, 16, 1000, 1 << 20, i32::MAX] {
            assert!(members as usize * KEPT_MAX * kept_bytes_max(members) <= KEPT_BYTES_ALL, "{members}");
        }
        // Plain datatypes are kept in windows of ten thousand members and more.
        assert!(kept_bytes_max(12_000) > description.weight, "{}", description.weight);
    }
}
