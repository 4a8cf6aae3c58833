//! `MPI_Allreduce` (MPI-5.0, 6.9.6) of long vectors through the slots of a board.
//!
//! The vector goes through the slots piece by piece, each piece through the next slot of its owner.
//! Every rank makes the same posts in the same order, so the number of a post says what is ready. A
//! rank fills the slots for the next pieces before it waits for the others', so that they seldom
//! wait for each other: where ranks share cores each wait may cost a time slice. Elements lie side
//! by side, without gaps.

use super::part;
use crate::coll::operands::Operands;
use crate::coll::plan::Plan;
use verbena_memory::Region;
use verbena_memory::elements::Elements;

/// The longest element in bytes: several fit a slot.
const ELEMENT_BYTES_MAX: usize = 1024;

/// Returns whether vectors of such elements can go through slots.
pub fn takes(elements: Elements) -> bool {
    (1..=ELEMENT_BYTES_MAX).contains(&elements.layout().solid())
}

/// The slots of all ranks, and the posts that this collective makes.
struct Slots {
    ranks: usize,
    me: usize,
    /// The slots, at `regions[rank * slots + index]`.
    regions: Vec<Region>,
    slots: usize,
    /// The last post before this collective, then the last one in it so far.
    posts: u64,
    /// Elements of a piece.
    piece: usize,
}

impl Slots {
    /// Divides the slots for pieces of at most `bytes` bytes, of elements of `size` bytes; at least
    /// one element a rank must fit.
    fn new(plan: &Plan, bytes: usize, size: usize) -> Slots {
        let board = plan.board().lock();
        let (ranks, slots) = (board.ranks(), board.slots());
        let regions = (0..ranks)
            .flat_map(|rank| (0..slots).map(move |i| (rank, i)))
            .map(|(rank, i)| board.slot(rank, i));
        let piece = (bytes.min(board.slot_bytes()) / size).max(1);
        Slots { ranks, me: board.me(), regions: regions.collect(), slots, posts: board.posted(), piece }
    }

    /// The slot of `rank` for piece `number`.
    fn slot(&self, rank: usize, number: usize) -> Region {
        self.regions[rank * self.slots + number % self.slots]
    }

    /// Adds a post, and returns its number.
    fn post(&mut self, plan: &mut Plan) -> u64 {
        plan.post();
        self.posts += 1;
        self.posts
    }
}

/// The elements in a slot from element `first` on.
fn elements<'a>(slot: Region, like: Elements<'a>, first: usize) -> Elements<'a> {
    Elements::at_origins(slot, like.layout()).from(first as isize)
}

/// Two ranks show each other the whole vector, and each combines it with its own. As many bytes
/// cross between them as if each reduced a half, and they meet less often.
pub fn exchange(plan: &mut Plan, send: Elements, recv: Elements, count: usize, piece_bytes: usize) {
    let mut slots = Slots::new(plan, piece_bytes, send.bytes(1));
    let (me, other) = (slots.me, 1 - slots.me);
    let pieces = count.div_ceil(slots.piece);
    let range = |number: usize, piece: usize| (number * piece, piece.min(count - number * piece));
    let mut ready = Vec::with_capacity(pieces);
    // The other one has read what stood in the slots.
    plan.vacate();
    // When the other has shown piece n - 1 - ahead, it has read piece n - slots: so a slot is free
    // when it is filled again.
    let ahead = (slots.slots - 2) / 2;
    for number in 0..pieces + ahead {
        if number < pieces {
            let (first, len) = range(number, slots.piece);
            let to = elements(slots.slot(me, number), send, 0);
            plan.copy(send.buffer(first as isize, len), to.buffer(0, len));
            ready.push(slots.post(plan));
        }
        let Some(number) = number.checked_sub(ahead) else { continue };
        plan.expect_others(ready[number]);
        let (first, len) = range(number, slots.piece);
        let (own, out) = (send.from(first as isize), recv.from(first as isize));
        let theirs = elements(slots.slot(other, number), send, 0);
        let (left, right) = if me == 0 { (own, theirs) } else { (theirs, own) };
        plan.combine(left, right, out, len);
    }
    slots.post(plan);
}

/// Each rank reduces its part of every piece, and all gather the results.
pub fn reduce_and_gather(plan: &mut Plan, operands: Operands, piece_bytes: usize) {
    let task = Task { operands, send: operands.input(), recv: operands.output() };
    let mut slots = Slots::new(plan, piece_bytes, task.send.bytes(1));
    let pieces = operands.count.div_ceil(slots.piece);
    let (mut shown, mut reduced) = (Vec::with_capacity(pieces), Vec::with_capacity(pieces));
    plan.vacate();
    let ahead = (slots.slots - 2) / 3;
    for number in 0..pieces + 2 * ahead {
        if number < pieces {
            // A rank gathers piece n - slots in the round in which it shows piece
            // n - slots + 2 ahead, so before the piece after that.
            if number >= slots.slots {
                plan.expect_others(shown[number + 2 * ahead + 1 - slots.slots]);
            }
            task.show(plan, &slots, number);
            shown.push(slots.post(plan));
        }
        if (ahead..pieces + ahead).contains(&number) {
            plan.expect_others(shown[number - ahead]);
            task.reduce_part(plan, &slots, number - ahead);
            reduced.push(slots.post(plan));
        }
        if number >= 2 * ahead {
            plan.expect_others(reduced[number - 2 * ahead]);
            task.gather(plan, &slots, number - 2 * ahead);
        }
    }
    slots.post(plan);
}

/// A reduction to all ranks in which each rank does a part.
struct Task<'a> {
    operands: Operands<'a>,
    send: Elements<'a>,
    recv: Elements<'a>,
}

impl Task<'_> {
    /// The first element of piece `number`, and its number of elements.
    fn range(&self, slots: &Slots, number: usize) -> (usize, usize) {
        let first = number * slots.piece;
        (first, slots.piece.min(self.operands.count - first))
    }

    /// Shows a piece. A rank needs its own part in its slot only if the operation is not
    /// commutative, since then its operand (if in place) may be overwritten while it is combined.
    fn show(&self, plan: &mut Plan, slots: &Slots, number: usize) {
        let (first, len) = self.range(slots, number);
        let (own, own_len) = match self.operands.commutative {
            true => part(len, slots.ranks, slots.me),
            false => (0, 0),
        };
        let slot = elements(slots.slot(slots.me, number), self.send, 0);
        for (from, to) in [(0, own), (own + own_len, len)] {
            let of = |elements: Elements, first: usize| elements.buffer((first + from) as isize, to - from);
            plan.copy(of(self.send, first), of(slot, 0));
        }
    }

    /// Reduces this rank's part of a piece in rank order, and shows the result: in its own slot,
    /// where it has put no operand of this part unless the operation is not commutative.
    fn reduce_part(&self, plan: &mut Plan, slots: &Slots, number: usize) {
        let (first, len) = self.range(slots, number);
        let (at, len) = part(len, slots.ranks, slots.me);
        let shown = |rank: usize| elements(slots.slot(rank, number), self.send, at);
        let (own, result) = (self.send.from((first + at) as isize), self.recv.from((first + at) as isize));
        // The operand of this rank may be where the result goes, and that of a rank may be changed
        // by a function of the program: so it comes from the slot if there is one.
        let commutes = self.operands.commutative;
        let operand = |rank: usize| if commutes && rank == slots.me { own } else { shown(rank) };
        let out = if commutes { shown(slots.me) } else { result };
        let mut left = operand(0);
        for rank in 1..slots.ranks {
            plan.combine(left, operand(rank), out, len);
            left = out;
        }
        let copied = if commutes { result } else { shown(slots.me) };
        plan.copy(out.buffer(0, len), copied.buffer(0, len));
    }

    /// Copies the parts of a piece that the others reduced.
    fn gather(&self, plan: &mut Plan, slots: &Slots, number: usize) {
        let (first, len) = self.range(slots, number);
        for rank in (0..slots.ranks).filter(|&rank| rank != slots.me) {
            let (at, len) = part(len, slots.ranks, rank);
            let from = elements(slots.slot(rank, number), self.recv, at);
            plan.copy(from.buffer(0, len), self.recv.buffer((first + at) as isize, len));
        }
    }
}
