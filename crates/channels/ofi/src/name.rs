//! The names of operations under way: which sort, and which one.

/// An operation that completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// The send from this slot.
    Send(u32),
    /// Something in this receive buffer.
    Receive(u32),
    /// A piece of this transfer.
    Move(u32),
}

impl Name {
    /// The name as one number.
    pub(crate) fn number(self) -> u64 {
        match self {
            Name::Send(at) => 1 << 32 | u64::from(at),
            Name::Receive(at) => 2 << 32 | u64::from(at),
            Name::Move(at) => 3 << 32 | u64::from(at),
        }
    }

    /// The name with this number.
    pub(crate) fn of(number: u64) -> Option<Name> {
        let at = number as u32;
        match number >> 32 {
            1 => Some(Name::Send(at)),
            2 => Some(Name::Receive(at)),
            3 => Some(Name::Move(at)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_as_numbers() {
        for name in [Name::Send(0), Name::Receive(u32::MAX), Name::Move(7)] {
            assert_eq!(Name::of(name.number()), Some(name));
        }
        assert_eq!(Name::of(5), None);
        assert_eq!(Name::of(u64::MAX), None);
    }
}
