//! The rights of peers over memory that is exposed to them.

/// The rights of a peer over exposed memory. A channel whose device guards memory grants these and
/// no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    /// True if the peer may read it ([`Channel::get`](crate::Channel::get)).
    pub read: bool,
    /// True if the peer may write it ([`Channel::put`](crate::Channel::put)).
    pub write: bool,
}

impl Access {
    /// Memory of this process alone.
    pub const NONE: Access = Access { read: false, write: false };
    /// The memory of a message that is sent.
    pub const READ: Access = Access { read: true, write: false };
    /// The memory of a message that is received.
    pub const WRITE: Access = Access { read: false, write: true };
    /// Memory that peers use as they like.
    pub const READ_WRITE: Access = Access { read: true, write: true };

    /// Every combination of rights.
    pub const ALL: [Access; 4] = [Access::NONE, Access::READ, Access::WRITE, Access::READ_WRITE];

    /// The index in [`Access::ALL`].
    pub fn index(self) -> usize {
        usize::from(self.read) | usize::from(self.write) << 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_combination_has_its_place() {
        assert!(Access::ALL.iter().enumerate().all(|(at, access)| access.index() == at));
    }
}
