//! Memory for reads of few bytes. They come to registered memory of the library, and the processor
//! copies them from there: that costs less than asking the kernel whether a kept registration of
//! the program's memory still holds.

use super::adapter::Adapter;
use super::pinned::Pinned;
use verbena_channel::Access;
use verbena_memory::Region;

/// The most bytes of such a read.
pub(super) const BYTES_MAX: usize = 256;
/// The most of them under way, to all peers.
const PLACES: usize = 64;

/// The places that nobody uses; they are made when the first is asked for.
#[derive(Debug, Default)]
pub(super) struct ShortReads {
    memory: Option<Pinned>,
    free: Vec<usize>,
}

/// A place for the bytes of one read.
#[derive(Debug)]
pub(super) struct Place {
    pub region: Region,
    /// The key by which work names it.
    pub local_key: u32,
    number: usize,
}

impl ShortReads {
    /// Takes a place for as many bytes, at most [`BYTES_MAX`]. `None` if all are in use, or the
    /// memory cannot be registered.
    pub(super) fn take(&mut self, adapter: &mut impl Adapter, bytes: usize) -> Option<Place> {
        if self.memory.is_none() {
            self.memory = Pinned::new(adapter, PLACES * BYTES_MAX, Access::NONE).ok();
            self.free = (0..PLACES).collect();
        }
        let memory = self.memory.as_ref()?;
        let number = self.free.pop()?;
        let region = memory.region().part(number * BYTES_MAX, bytes);
        Some(Place { region, local_key: memory.local_key(), number })
    }

    /// Takes a place back: no work on it is under way.
    pub(super) fn give_back(&mut self, place: Place) {
        self.free.push(place.number);
    }
}
