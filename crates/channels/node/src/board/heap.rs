//! The members of a board within one process: for the simulator, and for tests of code on boards.

use super::mapped::{Backing, MappedBoard};
use super::memory::Measures;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;
use verbena_channel::board::Board;

/// Zeroed memory that its members hold together.
#[derive(Debug)]
struct Shared {
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is only used through the sides of the board, which may be in different
// threads.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: allocated by `sides` with this layout; the last side is gone.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

impl Backing for Arc<Shared> {
    /// The driver of the members looks at all of them.
    fn wake(&self) {}
}

/// All sides of a board of `ranks` members, with logs and slots of these sizes.
///
/// # Panics
/// If `log_bytes` is not a power of two from 128 on, or `slot_bytes` not a multiple of 64.
pub fn sides(ranks: usize, log_bytes: usize, slots: usize, slot_bytes: usize) -> Vec<Box<dyn Board>> {
    assert!(log_bytes.is_power_of_two() && log_bytes >= 128 && slot_bytes.is_multiple_of(64));
    sides_that_wake(Measures { ranks, log_bytes, slots, slot_bytes }, |_, shared| shared)
}

/// All sides of a board, with what each wakes others by.
fn sides_that_wake<K: Backing + 'static>(
    measures: Measures,
    backing: impl Fn(usize, Arc<Shared>) -> K,
) -> Vec<Box<dyn Board>> {
    let layout = Layout::from_size_align(measures.bytes(), 4096).expect("a board fits the address space");
    // SAFETY: the size is not zero.
    let base = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
    let shared = Arc::new(Shared { base, layout });
    // SAFETY: the memory has the right size and is aligned, lives as long as `shared`, which the
    // backing holds, and each side is made once.
    let side = |me| unsafe { MappedBoard::new(base, measures, me, backing(me, shared.clone())) };
    (0..measures.ranks).map(|me| Box::new(side(me)) as Box<dyn Board>).collect()
}

/// All sides of a board as the channels make them.
pub fn usual_sides(ranks: usize) -> Vec<Box<dyn Board>> {
    let measures = Measures::of(ranks);
    sides(ranks, measures.log_bytes, measures.slots, measures.slot_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use verbena_channel::board::{ANY_BYTES, Packing, Shape, Way};
    use verbena_channel::mark::Mark;

    /// Counts how often others were woken.
    struct Counting {
        _shared: Arc<Shared>,
        wakes: Arc<AtomicU32>,
    }

    impl Backing for Counting {
        fn wake(&self) {
            self.wakes.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn a_post_for_which_all_wait_wakes_them_once_all_have_made_it() {
        let wakes = Arc::new(AtomicU32::new(0));
        let counting = |_, shared| Counting { _shared: shared, wakes: wakes.clone() };
        let mut sides = sides_that_wake(Measures::of(3), counting);
        for number in 1..3 {
            sides.iter_mut().for_each(|side| side.open(number));
            for round in 1..4 {
                for (me, side) in sides.iter_mut().enumerate() {
                    let before = wakes.load(Relaxed);
                    side.step_together();
                    assert_eq!(wakes.load(Relaxed) - before, u32::from(me == 2), "round {round}");
                }
            }
            // Others may wait for each of these.
            let before = wakes.load(Relaxed);
            sides.iter_mut().for_each(|side| side.step());
            assert_eq!(wakes.load(Relaxed) - before, 3);
        }
    }

    /// Others know by its posts in a later collective alone that it has gone on.
    #[test]
    fn a_member_that_gave_up_has_made_no_post_of_that_collective() {
        let mut sides = usual_sides(2);
        sides.iter_mut().for_each(|side| side.open(7));
        let post = sides[0].posted() + 1;
        assert!(!sides[0].has_posted(1, post));
        sides[1].give_up();
        sides[1].open(8);
        sides[1].post();
        assert!(!sides[0].has_posted(1, post), "it made that of collective 8");
        assert!(sides[0].has_left(1) && !sides[1].has_left(0));
        sides[0].open(8);
        let post = sides[0].posted() + 1;
        assert!(sides[0].has_posted(1, post) && !sides[0].has_left(1));
    }

    /// Rank 2 failed in its arguments, and knows of collective 7 by its number alone.
    #[test]
    fn a_member_that_skipped_a_collective_waits_for_its_readers() {
        let mut sides = usual_sides(3);
        for (rank, number) in [(0, 6), (1, 6), (2, 6), (0, 7), (1, 7)] {
            sides[rank].open(number);
            sides[rank].tell_call(Mark::NONE, ANY_BYTES, Way::Slots);
        }
        let slot = sides[0].free_slot().expect("nothing was filled");
        sides[0].announce(slot);
        sides[2].open(8);
        sides[2].tell_call(Mark::NONE, ANY_BYTES, Way::Slots);
        assert_eq!(sides[2].free_slot(), None, "rank 1 may be reading it");
        assert!(!sides[2].slots_are_read() && !sides[2].all_is_read());
        assert_eq!(sides[1].announced(0).map(|announced| announced.slot), Some(slot));
        sides[1].release(slot);
        for rank in [0, 1] {
            sides[rank].open(8);
            sides[rank].tell_call(Mark::NONE, ANY_BYTES, Way::Slots);
        }
        sides.iter_mut().for_each(|side| side.post());
        assert_eq!(sides[2].free_slot(), Some(slot));
    }

    /// Rank 1 failed in its arguments too.
    #[test]
    fn a_member_that_skipped_a_collective_has_made_no_post_of_it() {
        let mut sides = usual_sides(2);
        sides.iter_mut().for_each(|side| side.open(7));
        sides[1].open(8);
        sides[1].post();
        let post = sides[0].posted() + 1;
        assert!(!sides[0].has_posted(1, post), "it made that of collective 8");
    }

    /// Rank 1 lags behind the root of two broadcasts, which fails in its next collective.
    #[test]
    fn a_member_that_gave_up_has_made_its_posts_before() {
        let mut sides = usual_sides(2);
        for number in [1, 2] {
            sides[0].open(number);
            let slot = sides[0].free_slot().expect("one of many");
            sides[0].announce(slot);
        }
        sides[0].open(3);
        sides[0].give_up();
        for number in [1, 2] {
            sides[1].open(number);
            let slot = sides[1].announced(0).expect("it announced it").slot;
            sides[1].release(slot);
        }
        sides[1].open(3);
        assert_eq!(sides[1].announced(0), None);
    }

    /// Ranks 0 and 1 both take themselves for the root, and rank 1 then is it.
    #[test]
    fn a_slot_that_another_root_fills_is_told_from_that_of_the_root() {
        let mut sides = usual_sides(3);
        let open = |side: &mut Box<dyn Board>, number| {
            side.open(number);
            side.tell_call(Mark::NONE, ANY_BYTES, Way::Slots);
        };
        sides.iter_mut().for_each(|side| open(side, 1));
        let slots = [0, 1].map(|me| sides[me].free_slot().expect("nothing was filled"));
        assert_ne!(slots[0], slots[1]);
        sides[0].announce(slots[0]);
        let read = sides[2].announced(0).expect("the root's").slot;
        assert!(sides[2].still_holds(read));
        sides[1].announce(slots[1]);
        open(&mut sides[1], 2);
        assert_eq!(sides[1].free_slot(), Some(read), "it knows of no reader");
        assert!(!sides[2].still_holds(read));
    }

    /// More posts than there is room for below a number of 44 bits.
    #[test]
    fn many_posts_stay_in_their_collective() {
        let mut sides = usual_sides(2);
        sides.iter_mut().for_each(|side| side.open(7));
        (0..=1 << 20).for_each(|_| sides[1].step());
        sides[0].open(8);
        let post = sides[0].posted() + 1;
        assert!(!sides[0].has_posted(1, post), "it is in collective 7");
    }

    /// Numbers of collectives wrap, and their low halves come again.
    #[test]
    fn a_post_of_a_collective_long_ago_is_none_of_this_one() {
        let mut sides = usual_sides(2);
        sides.iter_mut().for_each(|side| side.open(7));
        sides[1].post();
        sides
            .iter_mut()
            .for_each(|side| [1 << 30, 2 << 30, 3 << 30, 7].into_iter().for_each(|number| side.open(number)));
        assert_eq!(sides[0].number(), (1 << 32) + 7);
        let post = sides[0].posted() + 1;
        assert!(!sides[0].has_posted(1, post));
        sides[1].post();
        assert!(sides[0].has_posted(1, post) && !sides[0].has_posted(1, post + 1));
    }

    /// Rank 1 does not know that its log came into another quarter, and does not wait.
    #[test]
    fn a_writer_goes_on_once_others_are_beyond_what_it_writes_over() {
        let mut sides = sides(2, 512, 4, 64);
        let shape = |bytes| Shape { bytes, packing: Packing::Tight, meets: false };
        for number in 1..40 {
            sides[1].open(number);
            sides[1].tell_call(Mark::NONE, ANY_BYTES, Way::Records);
            sides[0].open(number);
            sides[0].tell_call(Mark::NONE, ANY_BYTES, Way::Records);
            sides[0].claim(shape(40)).unwrap_or_else(|| panic!("room in {number}"));
            sides[0].publish();
            sides[0].pass(0, shape(40));
            sides[0].close();
            // It takes it for nothing.
            sides[1].close();
        }
    }
}
