//! Messages cost no allocation in the steady state, whichever way they go.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use verbena_channel::loopback::LoopbackChannel;
use verbena_channel::mark::Mark;
use verbena_engine::{
    ANY_SOURCE, ANY_TAG, Engine, Mode, Posted, ReceiveRequest, RequestId, SendRequest, Settings,
};
use verbena_memory::{Buffer, Region};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// An engine that talks to itself, and memory for it.
struct Solo {
    engine: Engine,
    data: Region,
    room: Region,
}

impl Solo {
    fn new() -> Solo {
        let engine = Engine::new(0, 1, vec![Box::new(LoopbackChannel::new(0))], Settings::default());
        // SAFETY: leaked memory stays valid, and only the engine touches it.
        let [data, room] = [1, 0].map(|byte| unsafe { Region::of(vec![byte; 1 << 18].leak()) });
        Solo { engine, data, room }
    }

    fn send(&mut self, bytes: usize, tag: i32, mode: Mode) -> Posted {
        let buffer = Buffer::Contiguous(self.data.part(0, bytes));
        self.engine.send(SendRequest { peer: 0, context: 3, source: 0, tag, buffer, mark: Mark::NONE, mode })
    }

    fn receive(&mut self, source: i32, tag: i32) -> Posted {
        let buffer = Buffer::Contiguous(self.room);
        self.engine.receive(ReceiveRequest::new(3, source, tag, buffer))
    }

    fn end(&mut self, posted: Posted) {
        let Posted::Pending(id) = posted else { return };
        self.end_request(id);
    }

    fn end_request(&mut self, id: RequestId) {
        for _ in 0..1000 {
            if self.engine.take(id).is_some() {
                return;
            }
            self.engine.progress();
        }
        panic!("the operation does not end");
    }

    /// A message with its receive posted first or last.
    fn message(&mut self, bytes: usize, mode: Mode, posted_first: bool) {
        let early = posted_first.then(|| self.receive(0, 5));
        let send = self.send(bytes, 5, mode);
        (0..3).for_each(|_| _ = self.engine.progress());
        let receive = early.unwrap_or_else(|| self.receive(ANY_SOURCE, ANY_TAG));
        self.end(send);
        self.end(receive);
    }

    /// Many receives and many unexpected messages at once, so that the queues are indexed.
    fn crowd(&mut self) {
        let mut receives = [None; 30];
        for (tag, receive) in receives.iter_mut().enumerate() {
            let Posted::Pending(id) = self.receive(0, tag as i32) else { panic!("nothing was sent yet") };
            *receive = Some(id);
        }
        for tag in (0..60).rev() {
            let send = self.send(100, tag, Mode::Standard);
            self.end(send);
        }
        (0..10).for_each(|_| _ = self.engine.progress());
        receives.into_iter().flatten().for_each(|id| self.end_request(id));
        for tag in 30..60 {
            let receive = self.receive(0, tag);
            self.end(receive);
        }
    }

    fn round(&mut self) {
        for bytes in [0, 8, 5000, 1 << 16, 1 << 18] {
            for posted_first in [true, false] {
                self.message(bytes, Mode::Standard, posted_first);
                self.message(bytes, Mode::Synchronous, posted_first);
            }
        }
        self.crowd();
    }
}

#[test]
fn nothing_is_allocated_in_the_steady_state() {
    let mut solo = Solo::new();
    // The loopback's own packet memories grow to the longest packet by and by.
    (0..100).for_each(|_| solo.round());
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    (0..50).for_each(|_| solo.round());
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
}
