//! Buffers that datagrams are sent from: registered, and kept until their group is acknowledged, so
//! that they can be sent again.
//!
//! There are two sizes, since most messages are short. A buffer is free when neither a link holds
//! it nor the device may still read it. A datagram that has arrived was read, so one that was sent
//! once is free as soon as it is acknowledged, whenever the device says that it is done. So few
//! buffers serve many messages, one after the other, and stay in the processor's cache.

use super::adapter::{Datagrams, Memory};
use super::frame::NOTE_BYTES_MAX;
use verbena_fault::Fault;

/// Bytes of a short buffer.
pub(super) const SHORT_BYTES: usize = 256;
const _: () = assert!(NOTE_BYTES_MAX <= SHORT_BYTES);

/// The memory that is registered first, in bytes; from then on as much again as there is. Each time
/// a message waits while fresh pages are touched and registered, in an emulated machine for up to
/// 20 ms.
const CHUNK_BYTES: usize = 32 << 10;
/// The short buffers that only acknowledgements may take: else two processes that wait for each
/// other's would wait for ever.
const RESERVED: usize = 8;
/// This bit in a buffer's number tells the long ones.
const LONG: u32 = 1 << 31;

#[derive(Clone, Copy, Debug)]
struct Place {
    memory: Memory,
    /// The posts of it that the device has not reported.
    under_way: u16,
    /// The number of these and earlier posts since it was taken.
    posts: u16,
    /// True if only the device has it, which may still read it.
    left: bool,
}

#[derive(Debug)]
struct Class {
    bytes: usize,
    most: usize,
    places: Vec<Place>,
    free: Vec<u32>,
}

impl Class {
    fn new(bytes: usize, most: usize) -> Class {
        Class { bytes, most, places: Vec::new(), free: Vec::new() }
    }

    /// Returns whether `count` are free, by growing if need be.
    fn has(&mut self, count: usize, adapter: &mut impl Datagrams) -> Result<bool, Fault> {
        while self.free.len() < count && self.places.len() < self.most {
            let more = (CHUNK_BYTES / self.bytes).max(self.places.len()).max(1);
            let more = more.min(self.most - self.places.len());
            let chunk = adapter.allocate(more * self.bytes)?;
            for at in 0..more {
                let memory = Memory { region: chunk.region.part(at * self.bytes, self.bytes), ..chunk };
                self.free.push(self.places.len() as u32);
                self.places.push(Place { memory, under_way: 0, posts: 0, left: false });
            }
        }
        Ok(self.free.len() >= count)
    }

    fn take(&mut self) -> u32 {
        let number = self.free.pop().expect("asked for before");
        self.places[number as usize].posts = 0;
        number
    }

    fn free(&mut self, number: u32) {
        self.places[number as usize].left = false;
        self.free.push(number);
    }
}

/// The buffers of both sizes.
#[derive(Debug)]
pub(super) struct Buffers {
    short: Class,
    long: Class,
}

impl Buffers {
    /// Makes none yet: later at most `short_max` short ones, and `long_max` of `long_bytes`.
    pub(super) fn new(short_max: usize, long_bytes: usize, long_max: usize) -> Buffers {
        Buffers {
            short: Class::new(SHORT_BYTES, short_max + RESERVED),
            long: Class::new(long_bytes, long_max),
        }
    }

    /// Returns whether there is a buffer for each of a group: for `full` fragments of `full_bytes`,
    /// and for one of `rest` bytes.
    ///
    /// # Errors
    /// Memory cannot be registered.
    pub(super) fn has_room(
        &mut self,
        (full, full_bytes): (usize, usize),
        rest: usize,
        adapter: &mut impl Datagrams,
    ) -> Result<bool, Fault> {
        let is_short = |bytes: usize| bytes <= SHORT_BYTES;
        let of = |short: bool| {
            usize::from(is_short(rest) == short) + if is_short(full_bytes) == short { full } else { 0 }
        };
        let (short, long) = (of(true), of(false));
        Ok((long == 0 || self.long.has(long, adapter)?)
            && (short == 0 || self.short.has(short + RESERVED, adapter)?))
    }

    /// Takes a buffer of at least `bytes` bytes, if one is free that need not be made first.
    #[inline]
    pub(super) fn take_free(&mut self, bytes: usize) -> Option<u32> {
        let (class, kept, mark) =
            if bytes <= SHORT_BYTES { (&mut self.short, RESERVED, 0) } else { (&mut self.long, 0, LONG) };
        (class.free.len() > kept).then(|| class.take() | mark)
    }

    /// Takes one for `bytes` bytes, which [`Buffers::has_room`] promised.
    pub(super) fn take(&mut self, bytes: usize) -> u32 {
        if bytes <= SHORT_BYTES { self.short.take() } else { self.long.take() | LONG }
    }

    /// Takes one for an acknowledgement; `None` if none is free now.
    ///
    /// # Errors
    /// Memory cannot be registered.
    pub(super) fn take_note(&mut self, adapter: &mut impl Datagrams) -> Result<Option<u32>, Fault> {
        Ok(self.short.has(1, adapter)?.then(|| self.short.take()))
    }

    fn class(&mut self, buffer: u32) -> (&mut Class, u32) {
        if buffer & LONG != 0 { (&mut self.long, buffer & !LONG) } else { (&mut self.short, buffer) }
    }

    /// Returns the buffer's memory.
    #[inline(always)]
    pub(super) fn memory(&self, buffer: u32) -> Memory {
        let class = if buffer & LONG != 0 { &self.long } else { &self.short };
        class.places[(buffer & !LONG) as usize].memory
    }

    /// Notes that it was posted, and that the device reads from it later.
    pub(super) fn posted(&mut self, buffer: u32) {
        let (class, number) = self.class(buffer);
        let place = &mut class.places[number as usize];
        place.under_way += 1;
        place.posts = place.posts.saturating_add(1);
    }

    /// Notes that a post of it is done.
    pub(super) fn done(&mut self, buffer: u32) {
        let (class, number) = self.class(buffer);
        let place = &mut class.places[number as usize];
        place.under_way -= 1;
        if place.under_way == 0 && place.left {
            class.free(number);
        }
    }

    /// Notes that its content has arrived.
    pub(super) fn arrived(&mut self, buffer: u32) {
        let (class, number) = self.class(buffer);
        // If there were two posts, nobody knows which one has.
        if class.places[number as usize].posts <= 1 { class.free(number) } else { self.release(buffer) }
    }

    /// Releases it: nobody needs its content any more.
    pub(super) fn release(&mut self, buffer: u32) {
        let (class, number) = self.class(buffer);
        let place = &mut class.places[number as usize];
        // Posts from before it was taken are known to be read.
        if place.under_way == 0 || place.posts == 0 {
            class.free(number);
        } else {
            place.left = true;
        }
    }

    /// Returns the bytes of registered memory, and of what is known of each buffer.
    pub(super) fn bytes(&self) -> usize {
        let of = |class: &Class| {
            class.places.len() * class.bytes
                + class.places.capacity() * size_of::<Place>()
                + class.free.capacity() * size_of::<u32>()
        };
        of(&self.short) + of(&self.long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_memory::Region;

    /// Makes `count` short buffers, with the reserve not counted.
    fn short(count: usize) -> Buffers {
        let mut buffers = Buffers::new(count, 1024, 0);
        for number in 0..(count + RESERVED) as u32 {
            let memory = Memory { region: Region::EMPTY, key: 0 };
            buffers.short.places.push(Place { memory, under_way: 0, posts: 0, left: false });
            buffers.short.free.push(number);
        }
        buffers
    }

    #[test]
    fn what_was_sent_once_is_free_when_it_has_arrived() {
        let mut buffers = short(1);
        let buffer = buffers.take_free(8).expect("one");
        buffers.posted(buffer);
        assert_eq!(buffers.take_free(8), None);
        buffers.arrived(buffer);
        // It is free although the device has not said that it is done, and whatever it says later.
        assert_eq!(buffers.take_free(8), Some(buffer));
        buffers.posted(buffer);
        buffers.done(buffer);
        assert_eq!(buffers.take_free(8), None);
        buffers.release(buffer);
        assert_eq!(buffers.take_free(8), None, "its second post is under way");
        buffers.done(buffer);
        assert_eq!(buffers.take_free(8), Some(buffer));
    }

    #[test]
    fn what_was_sent_again_is_free_when_the_device_is_done() {
        let mut buffers = short(1);
        let buffer = buffers.take_free(8).expect("one");
        buffers.posted(buffer);
        buffers.posted(buffer);
        buffers.arrived(buffer);
        buffers.done(buffer);
        assert_eq!(buffers.take_free(8), None);
        buffers.done(buffer);
        assert_eq!(buffers.take_free(8), Some(buffer));
        buffers.release(buffer);
        assert_eq!(buffers.take_free(8), Some(buffer), "never posted");
    }
}
