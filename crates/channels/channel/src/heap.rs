//! The heap of a node: memory that several processes have mapped, each at an address of its own, so
//! that windows are reached by load and store.
//!
//! Each process allocates blocks from a part of the heap that is its own. It tells another one
//! where they are by a [`Ticket`], which that one turns into an address ([`Heap::at`]).

use crate::Peer;
use std::sync::Arc;
use verbena_fault::Fault;
use verbena_memory::Region;

/// Bytes of a ticket as it travels.
pub const TICKET_BYTES: usize = 16;

/// Names memory of the heap, alike in all processes of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// First byte, counted from the beginning of the heap.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Ticket {
    /// The part of `bytes` bytes from `offset` on; `None` if it does not lie within this memory.
    pub fn part(&self, offset: u64, bytes: u64) -> Option<Ticket> {
        let end = offset.checked_add(bytes)?;
        let offset = self.offset.checked_add(offset)?;
        (end <= self.bytes).then_some(Ticket { offset, bytes })
    }

    /// The encoded form: offset and bytes, little-endian.
    pub fn emit(&self) -> [u8; TICKET_BYTES] {
        (u128::from(self.bytes) << 64 | u128::from(self.offset)).to_le_bytes()
    }

    /// Decodes a ticket. Whether there is such memory, [`Heap::at`] tells.
    pub fn parse(bytes: [u8; TICKET_BYTES]) -> Ticket {
        let both = u128::from_le_bytes(bytes);
        Ticket { offset: both as u64, bytes: (both >> 64) as u64 }
    }
}

/// Memory that all processes of a node have mapped.
pub trait Heap: Send + Sync {
    /// Returns whether `peer` is on this heap's node. It can use tickets of this process if it has
    /// mapped the heap, which only `peer` itself knows: a limit of its own may forbid that.
    fn unites(&self, peer: Peer) -> bool;

    /// Returns whether the system says that the process of `peer` lives: it is of this node, and in
    /// the same pid namespace.
    fn lives(&self, peer: Peer) -> bool;

    /// Claims room for a block from a multiple of `alignment` on (an address of this process; a
    /// power of two). No pages are taken: whoever uses a part of the block touches it first
    /// ([`Block::touch`], and [`Heap::touch`] in other processes), and so decides on which NUMA
    /// node that part lies.
    ///
    /// # Errors
    /// This process's part of the heap has no such room.
    fn claim(&self, bytes: usize, alignment: usize) -> Result<Block, Fault>;

    /// Claims room as [`Heap::claim`], for memory that the program uses itself: the pages beside
    /// the block are closed to all, so that a store beside its pages is a fault instead of a change
    /// of somebody else's memory. No such pages lie beside further blocks while very many are held,
    /// since kernels keep a limited number of ranges apart.
    ///
    /// # Errors
    /// The errors of [`Heap::claim`].
    fn claim_guarded(&self, bytes: usize, alignment: usize) -> Result<Block, Fault>;

    /// Allocates as [`Heap::allocate_aligned`], between closed pages as [`Heap::claim_guarded`].
    ///
    /// # Errors
    /// The errors of [`Heap::allocate`].
    fn allocate_guarded(&self, bytes: usize, alignment: usize) -> Result<Block, Fault> {
        let block = self.claim_guarded(bytes, alignment)?;
        block.touch(0, bytes)?;
        Ok(block)
    }

    /// Allocates a block whose pages are reserved and lie near this process.
    ///
    /// # Errors
    /// There is no room, or no memory for the pages.
    fn allocate(&self, bytes: usize) -> Result<Block, Fault> {
        self.allocate_aligned(bytes, 1)
    }

    /// Allocates as [`Heap::allocate`], from a multiple of `alignment` on.
    ///
    /// # Errors
    /// The errors of [`Heap::allocate`].
    fn allocate_aligned(&self, bytes: usize, alignment: usize) -> Result<Block, Fault> {
        let block = self.claim(bytes, alignment)?;
        block.touch(0, bytes)?;
        Ok(block)
    }

    /// The memory of a ticket, here, for as long as its block is held. The kernel is asked when
    /// this process first asks. `None` if the ticket names no memory of the heap, or if the kernel
    /// opens no more of it to this process.
    fn at(&self, ticket: Ticket) -> Option<Region>;

    /// Reserves the pages of a ticket's memory and takes them near this process, if nobody has
    /// touched them yet. Afterwards using them cannot fail.
    ///
    /// # Errors
    /// No memory is left for them: then some may have been taken, and the whole block is of no use.
    fn touch(&self, ticket: Ticket) -> Result<Region, Fault>;

    /// The ticket of memory that lies wholly in one block which this process allocated and still
    /// holds.
    fn find(&self, address: u64, bytes: usize) -> Option<Ticket>;

    /// Returns whether an address of this process lies in the heap, allocated or not, of whatever
    /// process.
    fn covers(&self, address: u64) -> bool;

    /// Wakes `peer` if it sleeps in a wait, for a caller that has changed memory of the heap.
    fn wake(&self, peer: Peer);
}

/// The giver of a block, who takes it back.
pub trait Lender: Send + Sync {
    /// Does for a part of a block what [`Heap::touch`] says.
    ///
    /// # Errors
    /// The errors of [`Heap::touch`].
    fn touch(&self, ticket: Ticket) -> Result<Region, Fault>;

    /// Takes a block back, with its pages.
    fn give_back(&self, ticket: Ticket);
}

/// Memory of the heap that this process has allocated: zero at first, and given back when this is
/// dropped. Whoever holds a region of it must not use that any more then.
pub struct Block {
    region: Region,
    ticket: Ticket,
    lender: Arc<dyn Lender>,
}

impl Block {
    /// The block that `ticket` names, at `region` in this process.
    pub fn new(region: Region, ticket: Ticket, lender: Arc<dyn Lender>) -> Block {
        Block { region, ticket, lender }
    }

    /// The memory in this process.
    pub fn region(&self) -> Region {
        self.region
    }

    /// The memory as other processes of the node find it.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Reserves the pages of a part, as [`Heap::touch`].
    ///
    /// # Errors
    /// The errors of [`Heap::touch`], or the part does not lie in the block.
    pub fn touch(&self, offset: usize, bytes: usize) -> Result<(), Fault> {
        let part = self.ticket.part(offset as u64, bytes as u64);
        self.lender.touch(part.ok_or_else(|| self.outside(offset, bytes))?).map(drop)
    }

    /// Leaves the memory allocated for the life of the process, where others may never stop using
    /// it.
    pub fn keep(self) {
        std::mem::forget(self);
    }

    #[cold]
    fn outside(&self, offset: usize, bytes: usize) -> Fault {
        Fault::new(
            format!("{bytes} bytes at {offset} do not lie in a block of the node's heap"),
            format!("the block of {} bytes", self.ticket.bytes),
            "a size was computed in two ways: a defect of Verbena",
            "please report it; VERBENA_WINDOW_HEAP=0 avoids it meanwhile",
        )
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Block").field("region", &self.region).field("ticket", &self.ticket).finish()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.lender.give_back(self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A lender that notes its calls.
    #[derive(Default)]
    struct Notes(Mutex<Vec<(&'static str, Ticket)>>);

    impl Lender for Notes {
        fn touch(&self, ticket: Ticket) -> Result<Region, Fault> {
            self.0.lock().unwrap().push(("touch", ticket));
            Ok(Region::EMPTY)
        }

        fn give_back(&self, ticket: Ticket) {
            self.0.lock().unwrap().push(("give back", ticket));
        }
    }

    const TICKET: Ticket = Ticket { offset: 4096, bytes: 100 };

    #[test]
    fn a_ticket_survives_the_wire() {
        let ticket = Ticket { offset: u64::MAX - 1, bytes: 1 << 63 };
        assert_eq!(Ticket::parse(ticket.emit()), ticket);
    }

    #[test]
    fn a_part_stays_within_its_memory() {
        assert_eq!(TICKET.part(60, 40), Some(Ticket { offset: 4156, bytes: 40 }));
        assert_eq!(TICKET.part(100, 0), Some(Ticket { offset: 4196, bytes: 0 }));
        for (offset, bytes) in [(60, 41), (101, 0), (u64::MAX, 1), (1, u64::MAX)] {
            assert_eq!(TICKET.part(offset, bytes), None, "{offset}+{bytes}");
        }
        assert_eq!(Ticket { offset: u64::MAX, bytes: 9 }.part(1, 1), None);
    }

    #[test]
    fn a_block_is_given_back_once_unless_it_is_kept() {
        let notes = Arc::new(Notes::default());
        let block = || Block::new(Region::EMPTY, TICKET, notes.clone());
        block().keep();
        assert!(notes.0.lock().unwrap().is_empty());
        drop(block());
        assert_eq!(*notes.0.lock().unwrap(), [("give back", TICKET)]);
    }

    #[test]
    fn only_parts_of_a_block_are_touched() {
        let notes = Arc::new(Notes::default());
        let block = Block::new(Region::EMPTY, TICKET, notes.clone());
        block.touch(10, 90).unwrap();
        let fault = block.touch(10, 91).unwrap_err();
        assert!(fault.what.contains("91 bytes at 10"), "{fault}");
        assert_eq!(*notes.0.lock().unwrap(), [("touch", Ticket { offset: 4106, bytes: 90 })]);
    }
}
