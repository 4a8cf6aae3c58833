//! The messages to a user where the heap cannot give memory.

use super::Slice;
use std::io::Error;
use verbena_channel::heap::Ticket;
use verbena_fault::Fault;
use verbena_machine::{headroom, kept, node};

/// The remedy where a limit of the heap itself was met.
const ELSEWHERE: &str = "allocate less, or set VERBENA_WINDOW_HEAP=0 to allocate elsewhere";

impl Slice {
    fn here(&self) -> String {
        format!("process {}, node {}", self.peers[self.me as usize], node::host_name())
    }

    /// No extent of the slice is large enough.
    #[cold]
    pub(super) fn no_room(&self, asked: u64) -> Fault {
        let ((free, largest), lost) = {
            let state = self.state();
            let lost = state.lost.as_ref().map(|(bytes, why)| format!("; {bytes} were lost: {why}"));
            (state.extents.free_bytes(), lost.unwrap_or_default())
        };
        Fault::new(
            format!("{asked} bytes do not fit this process's part of the node's heap for windows"),
            format!("{}: {free} of {} bytes are free, {largest} in one piece{lost}", self.here(), self.bytes),
            "it is as large as the machine's memory, unless a limit makes it smaller (ulimit -f, -v)",
            ELSEWHERE,
        )
    }

    /// Less memory is free than asked for.
    #[cold]
    pub(super) fn no_memory(&self, asked: u64, free: u64, others: u64) -> Fault {
        Fault::new(
            format!("there is no memory for {asked} bytes in the node's heap for windows"),
            format!("{}: {free} bytes are free, of which other ranks take {others} now", self.here()),
            "the machine's memory, or the limit of a control group (container), is used up",
            "allocate less on each node, start fewer ranks, or raise the limit",
        )
    }

    /// The kernel did not give the pages.
    #[cold]
    pub(super) fn no_pages(&self, asked: u64, error: &Error) -> Fault {
        if kept::is_lost(error) {
            return self.lost_descriptor(asked);
        }
        Fault::new(
            format!("the system gives no memory for {asked} bytes in the node's heap: {error}"),
            format!("{}: {} bytes are free", self.here(), headroom::bytes()),
            "the machine's memory, or the limit of a control group (container), is used up",
            "allocate less on each node, start fewer ranks, or raise the limit",
        )
    }

    fn lost_descriptor(&self, asked: u64) -> Fault {
        Fault::new(
            format!("{asked} bytes of the node's heap cannot be reserved: its descriptor is gone"),
            self.here(),
            "the program closed a descriptor of the library, perhaps all of them",
            "leave descriptors alone that the program did not open, or use Linux 5.14, which needs none",
        )
    }

    /// The kernel does not open memory to this process.
    #[cold]
    pub(super) fn no_range(&self, asked: u64, error: &Error) -> Fault {
        Fault::new(
            format!("{asked} bytes of the node's heap cannot be opened: {error}"),
            self.here(),
            "the process has as many ranges of memory as the kernel keeps apart (vm.max_map_count)",
            ELSEWHERE,
        )
    }

    /// A ticket that is none.
    #[cold]
    pub(super) fn outside(&self, ticket: Ticket) -> Fault {
        Fault::new(
            format!("{} bytes at {} cannot be used in the node's heap", ticket.bytes, ticket.offset),
            format!("{}: the heap has {} bytes", self.here(), self.memory.len()),
            "they do not lie in it, or the kernel keeps no more ranges apart (vm.max_map_count)",
            ELSEWHERE,
        )
    }
}
