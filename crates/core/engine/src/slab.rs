//! A table whose places are used again, with a generation that tells one use from the next.
//!
//! In the steady state nothing is allocated: freed places form a list and are handed out again.

const NONE: u32 = u32::MAX;

/// A place in a [`Slab`] and the use of it that is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Id {
    pub index: u32,
    pub generation: u32,
}

impl Id {
    /// The id as one number, as it travels in packets.
    #[inline]
    pub(crate) fn number(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// The id that [`Id::number`] made the number of.
    #[inline]
    pub(crate) fn of(number: u64) -> Id {
        Id { index: number as u32, generation: (number >> 32) as u32 }
    }
}

struct Place<T> {
    generation: u32,
    next_free: u32,
    value: Option<T>,
}

/// The table.
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    free: u32,
    len: usize,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Slab<T> {
        Slab { places: Vec::new(), free: NONE, len: 0 }
    }

    /// The number of values.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Id {
        if self.free == NONE {
            self.grow();
        }
        let place = &mut self.places[self.free as usize];
        let id = Id { index: self.free, generation: place.generation };
        self.free = place.next_free;
        self.len += 1;
        place.value = Some(value);
        id
    }

    /// Adds a free place where there is none.
    #[cold]
    fn grow(&mut self) {
        let index = u32::try_from(self.places.len()).ok().filter(|i| *i != NONE).expect("too many entries");
        // Generations begin at 1, so that the number 0 is never a valid id.
        self.places.push(Place { generation: 1, next_free: NONE, value: None });
        self.free = index;
    }

    #[inline]
    pub(crate) fn get(&self, id: Id) -> Option<&T> {
        let place = self.places.get(id.index as usize)?;
        place.value.as_ref().filter(|_| place.generation == id.generation)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        let place = self.places.get_mut(id.index as usize)?;
        if place.generation == id.generation { place.value.as_mut() } else { None }
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: Id) -> Option<T> {
        let place = self.places.get_mut(id.index as usize)?;
        if place.generation != id.generation {
            return None;
        }
        let value = place.value.take()?;
        place.generation = place.generation.wrapping_add(1).max(1);
        place.next_free = self.free;
        self.free = id.index;
        self.len -= 1;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_id_does_not_reach_the_next_use_of_its_place() {
        let mut slab = Slab::new();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(first.index, second.index);
        assert_eq!(slab.get(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get(second), Some(&'b'));
        assert_eq!(Id::of(second.number()), second);
    }

    #[test]
    fn places_are_used_again() {
        let mut slab = Slab::new();
        for round in 0..100 {
            let ids: Vec<_> = (0..8).map(|i| slab.insert(round * 8 + i)).collect();
            ids.into_iter().for_each(|id| assert!(slab.remove(id).is_some()));
        }
        assert_eq!(slab.places.len(), 8);
        assert_eq!(slab.len(), 0);
    }
}
