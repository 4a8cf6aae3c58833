//! The derived datatype that a request named last: the next request often names it too.

use crate::datatype::{Datatype, wire};
use crate::error::Result;
use std::sync::Arc;

/// The longest description that is kept, in bytes.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// A description and its datatype.
#[derive(Default)]
pub(super) struct Known(Option<(Box<[u8]>, Arc<Datatype>)>);

impl Known {
    /// The datatype of this description. Errors as in [`wire::decode`].
    pub(super) fn datatype(&mut self, description: &[u8]) -> Result<Arc<Datatype>> {
        if let Some((known, datatype)) = &self.0
            && **known == *description
        {
            return Ok(datatype.clone());
        }
        let datatype = wire::decode(description)?;
        let is_derived = datatype.as_basic().is_none() && datatype.pair().is_none();
        if is_derived && description.len() <= KEPT_BYTES_MAX {
            self.0 = Some((description.into(), datatype.clone()));
        }
        Ok(datatype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Form;
    use crate::generated::constants as mpi;

    #[test]
    fn only_the_same_description_gives_the_same_datatype() {
        let int = Datatype::predefined(mpi::MPI_INT).expect("predefined");
        let described = |count| {
            let derived = Arc::new(Datatype::contiguous(Form::Int, count, int).expect("a few elements"));
            wire::description(&derived).expect("a short description").to_vec()
        };
        let (three, four) = (described(3), described(4));
        let mut known = Known::default();
        let first = known.datatype(&three).expect("a datatype");
        assert!(Arc::ptr_eq(&first, &known.datatype(&three).expect("a datatype")));
        // A predefined one between them changes nothing.
        let plain = wire::description(int).expect("a short description");
        assert!(Arc::ptr_eq(int, &known.datatype(plain).expect("a datatype")));
        assert!(Arc::ptr_eq(&first, &known.datatype(&three).expect("a datatype")));
        assert_eq!(known.datatype(&four).expect("a datatype").size(), 16);
        assert_eq!(known.datatype(&three).expect("a datatype").size(), 12);
        assert!(known.datatype(&three[1..]).is_err() && known.datatype(&[]).is_err());
    }
}
