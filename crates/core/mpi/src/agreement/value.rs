//! The thing that is agreed on, and its form on the wire: words of 8 bytes, little-endian.

/// A set of members by their places, for so many of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members(Vec<u64>);

impl Members {
    /// None of `size` members.
    pub fn none(size: usize) -> Members {
        Members(vec![0; words_of(size)])
    }

    /// These of `size` members.
    pub fn these(size: usize, places: impl IntoIterator<Item = usize>) -> Members {
        let mut members = Members::none(size);
        places.into_iter().for_each(|place| members.add(place));
        members
    }

    /// Adds one.
    pub fn add(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    /// Returns whether it is in the set.
    pub fn has(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    /// Returns whether all of these are in `other` too.
    pub fn are_in(&self, other: &Members) -> bool {
        self.0.iter().zip(&other.0).all(|(mine, theirs)| mine & !theirs == 0)
    }
}

fn words_of(size: usize) -> usize {
    size.div_ceil(64)
}

/// The thing that is agreed on. Each member brings one; the result is made of those of all members
/// that live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Bits of the first group and of the second; those that all of a group have are left. The
    /// members of an intracommunicator are the first group.
    pub flags: [u32; 2],
    /// The members that failed, by anybody's knowledge.
    pub failed: Members,
    /// The failed members that all have acknowledged.
    pub acknowledged: Members,
    /// Contexts for a new communicator: for one of all members, and for one of each group of an
    /// intercommunicator. Those of the member that leads are taken.
    pub contexts: [u64; 3],
}

impl Value {
    /// The number of words of a value in a group of this size.
    pub fn words(size: usize) -> usize {
        5 + 2 * words_of(size)
    }

    /// Takes in the value of another member.
    pub fn combine(&mut self, other: &Value) {
        self.flags.iter_mut().zip(other.flags).for_each(|(mine, theirs)| *mine &= theirs);
        self.failed.0.iter_mut().zip(&other.failed.0).for_each(|(mine, theirs)| *mine |= theirs);
        self.acknowledged.0.iter_mut().zip(&other.acknowledged.0).for_each(|(mine, theirs)| *mine &= theirs);
    }

    /// Writes it.
    pub(super) fn write(&self, words: &mut Vec<u64>) {
        words.extend(self.flags.map(u64::from));
        words.extend(self.contexts);
        words.extend(self.failed.0.iter().chain(&self.acknowledged.0));
    }

    /// Reads one for `size` members; `None` if it is too short.
    pub(super) fn read(words: &mut impl Iterator<Item = u64>, size: usize) -> Option<Value> {
        let flags = [words.next()? as u32, words.next()? as u32];
        let contexts = [words.next()?, words.next()?, words.next()?];
        let mut members = || {
            let members: Vec<u64> = words.by_ref().take(words_of(size)).collect();
            (members.len() == words_of(size)).then_some(Members(members))
        };
        Some(Value { flags, contexts, failed: members()?, acknowledged: members()? })
    }
}
