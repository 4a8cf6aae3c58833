//! Type signatures: the sequence of basic elements in a datatype, without displacements (MPI-5.0,
//! 5.1).

use super::predefined::Basic;
use std::ops::Range;
use std::sync::Arc;

/// The longest signature that is spelt out inside longer ones, in parts.
const INLINE_PARTS_MAX: usize = 8;

/// A sequence of basic elements, with repetitions folded. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    parts: Arc<[Part]>,
    bytes: usize,
    elements: usize,
    pairs: Pairs,
}

/// The pairs of value and index among the basic elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairs {
    /// No element belongs to a pair.
    #[default]
    None,
    /// All belong to pairs of the predefined datatype with this handle.
    All(usize),
    /// Some belong to a pair, and others to none or to another sort of pair.
    Some,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    repeat: usize,
    unit: Unit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Unit {
    Basic(&'static Basic),
    Group(Signature),
}

impl Unit {
    fn bytes(&self) -> usize {
        match self {
            Unit::Basic(basic) => basic.size(),
            Unit::Group(group) => group.bytes,
        }
    }

    fn elements(&self) -> usize {
        match self {
            Unit::Basic(_) => 1,
            Unit::Group(group) => group.elements,
        }
    }

    /// Returns whether they are equal, judged cheaply: groups only if they are the same object.
    fn is_same(&self, other: &Unit) -> bool {
        match (self, other) {
            (Unit::Basic(a), Unit::Basic(b)) => a == b,
            (Unit::Group(a), Unit::Group(b)) => Arc::ptr_eq(&a.parts, &b.parts),
            _ => false,
        }
    }
}

impl Signature {
    /// One basic element.
    pub fn of(basic: &'static Basic) -> Signature {
        Signature {
            parts: [Part { repeat: 1, unit: Unit::Basic(basic) }].into(),
            bytes: basic.size(),
            elements: 1,
            pairs: Pairs::None,
        }
    }

    /// This signature, of a predefined pair with this handle.
    pub(super) fn of_pair(self, handle: usize) -> Signature {
        Signature { pairs: Pairs::All(handle), ..self }
    }

    /// The pairs of value and index among the elements.
    pub fn pairs(&self) -> Pairs {
        self.pairs
    }

    /// Bytes of the packed elements.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of basic elements.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// The basic type that all elements have, if there is one.
    #[inline]
    pub fn basic(&self) -> Option<&'static Basic> {
        match &*self.parts {
            [Part { unit: Unit::Basic(basic), .. }] => Some(basic),
            _ => None,
        }
    }

    /// The number of basic elements in the first `bytes` packed bytes of a row of items with this
    /// signature; `None` if the last element is cut.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        if self.bytes == 0 {
            return (bytes == 0).then_some(0);
        }
        let whole = bytes / self.bytes as u64 * self.elements as u64;
        Some(whole + self.elements_in_part((bytes % self.bytes as u64) as usize)? as u64)
    }

    fn elements_in_part(&self, mut bytes: usize) -> Option<usize> {
        let mut elements = 0;
        for part in self.parts.iter() {
            let whole = (bytes / part.unit.bytes()).min(part.repeat);
            elements += whole * part.unit.elements();
            bytes -= whole * part.unit.bytes();
            if whole < part.repeat {
                return match &part.unit {
                    _ if bytes == 0 => Some(elements),
                    Unit::Basic(_) => None,
                    Unit::Group(group) => Some(elements + group.elements_in_part(bytes)?),
                };
            }
        }
        Some(elements)
    }

    /// The packed bytes of the first `elements` basic elements of a row of items with this
    /// signature.
    pub fn bytes_of(&self, elements: u64) -> Option<u64> {
        if self.elements == 0 {
            return (elements == 0).then_some(0);
        }
        let whole = (elements / self.elements as u64).checked_mul(self.bytes as u64)?;
        whole.checked_add(self.bytes_of_part((elements % self.elements as u64) as usize) as u64)
    }

    fn bytes_of_part(&self, mut elements: usize) -> usize {
        let mut bytes = 0;
        for part in self.parts.iter() {
            let whole = (elements / part.unit.elements()).min(part.repeat);
            bytes += whole * part.unit.bytes();
            elements -= whole * part.unit.elements();
            if whole < part.repeat {
                return match &part.unit {
                    Unit::Group(group) if elements > 0 => bytes + group.bytes_of_part(elements),
                    _ => bytes,
                };
            }
        }
        bytes
    }

    /// The bytes of the whole basic elements among the first `bytes` packed bytes of a row of items
    /// with this signature.
    pub fn whole_bytes(&self, bytes: usize) -> usize {
        match bytes.checked_rem(self.bytes) {
            Some(rest) => bytes - rest + self.whole_bytes_of_part(rest),
            None => 0,
        }
    }

    fn whole_bytes_of_part(&self, mut bytes: usize) -> usize {
        let mut done = 0;
        for part in self.parts.iter() {
            let whole = (bytes / part.unit.bytes()).min(part.repeat) * part.unit.bytes();
            done += whole;
            bytes -= whole;
            if whole < part.repeat * part.unit.bytes() {
                return match &part.unit {
                    Unit::Group(group) => done + group.whole_bytes_of_part(bytes),
                    Unit::Basic(_) => done,
                };
            }
        }
        done
    }

    /// Calls `each` with every run of equal basic elements in a range of the packed bytes, in
    /// order, and with the bytes of the run that lie in the range. What lies before or behind the
    /// range takes no time.
    pub fn for_each_in<E>(
        &self,
        range: &Range<usize>,
        each: &mut impl FnMut(&'static Basic, Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.walk(0, range, each)
    }

    /// Does [`Signature::for_each_in`] for an item that begins at byte `at`.
    fn walk<E>(
        &self,
        mut at: usize,
        range: &Range<usize>,
        each: &mut impl FnMut(&'static Basic, Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        for part in self.parts.iter().filter(|part| part.unit.bytes() > 0) {
            let unit = part.unit.bytes();
            let end = at + part.repeat * unit;
            if at >= range.end {
                break;
            }
            match &part.unit {
                _ if end <= range.start => {}
                Unit::Basic(basic) => each(basic, at.max(range.start)..end.min(range.end))?,
                Unit::Group(group) => {
                    let first = range.start.saturating_sub(at) / unit;
                    let last = (range.end - at).div_ceil(unit).min(part.repeat);
                    (first..last).try_for_each(|i| group.walk(at + i * unit, range, each))?;
                }
            }
            at = end;
        }
        Ok(())
    }

    /// Calls `each` with every run of equal basic elements, in order.
    pub fn for_each<E>(
        &self,
        each: &mut impl FnMut(&'static Basic, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        for part in self.parts.iter() {
            match &part.unit {
                Unit::Basic(basic) => each(basic, part.repeat)?,
                Unit::Group(group) => (0..part.repeat).try_for_each(|_| group.for_each(each))?,
            }
        }
        Ok(())
    }

    /// Sums over the elements what `weigh` gives for each; `None` if it overflows.
    pub fn weigh(&self, weigh: impl Fn(&Basic) -> usize + Copy) -> Option<usize> {
        self.parts.iter().try_fold(0usize, |sum, part| {
            let unit = match &part.unit {
                Unit::Basic(basic) => weigh(basic),
                Unit::Group(group) => group.weigh(weigh)?,
            };
            sum.checked_add(unit.checked_mul(part.repeat)?)
        })
    }
}

/// Strings signatures together.
#[derive(Default)]
pub struct Sequence {
    parts: Vec<Part>,
    /// The pairs in what was added so far, if that is anything.
    pairs: Option<Pairs>,
}

impl Sequence {
    /// Adds `count` items.
    pub fn push(&mut self, signature: &Signature, count: usize) {
        if count == 0 || signature.parts.is_empty() {
            return;
        }
        let same = self.pairs.is_none_or(|pairs| pairs == signature.pairs);
        self.pairs = Some(if same { signature.pairs } else { Pairs::Some });
        match &*signature.parts {
            [only] => self.add(only.unit.clone(), only.repeat * count),
            parts if count == 1 && parts.len() <= INLINE_PARTS_MAX => {
                parts.iter().for_each(|part| self.add(part.unit.clone(), part.repeat));
            }
            _ => self.add(Unit::Group(signature.clone()), count),
        }
    }

    fn add(&mut self, unit: Unit, repeat: usize) {
        match self.parts.last_mut() {
            Some(last) if last.unit.is_same(&unit) => last.repeat += repeat,
            _ => self.parts.push(Part { repeat, unit }),
        }
    }

    /// The signature of all that was added. Its size must have been checked to fit `usize`.
    pub fn finish(self) -> Signature {
        let bytes = self.parts.iter().map(|part| part.repeat * part.unit.bytes()).sum();
        let elements = self.parts.iter().map(|part| part.repeat * part.unit.elements()).sum();
        Signature { parts: self.parts.into(), bytes, elements, pairs: self.pairs.unwrap_or_default() }
    }
}
