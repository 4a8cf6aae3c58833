//! The times at which posted work gets to the peer, by the cost model and the faults.

use super::costs::Stage;
use super::pair::{State, Work};
use super::subnet::{Event, Inner, Posted};
use crate::Rank;
use verbena_infiniband::rc::adapter::{Operation, Remote};

/// Pieces of a write that do not come in order begin at multiples of this many bytes in the peer's
/// memory. In order they begin anywhere: a kernel that copies byte by byte, as Soft-RoCE's does
/// under an emulator, tears words.
const PIECE_ALIGNMENT: u64 = 8;

impl Inner {
    /// Sets posted work on its way.
    pub(super) fn launch(&mut self, rank: Rank, number: u32, mut work: Work) {
        self.blink(rank);
        let stage = self.stage(work.operation);
        let is_read = work.operation.is_answered();
        let wire_ns = if is_read { 0 } else { self.wire_ns(rank, work.local.len()) };
        let between_ns = self.costs.between_pairs_ns(stage);
        let now_ns = self.time_ns(rank);
        let device = self.device(rank);
        let pair = device.pairs.get_mut(&number).expect("posted on a pair that is there");
        let issue_ns = now_ns.max(device.out_free_ns).max(pair.out_free_ns);
        pair.out_free_ns = issue_ns + wire_ns.max(stage.issue_ns);
        device.out_free_ns = issue_ns + wire_ns.max(between_ns);
        device.note_busy(issue_ns, issue_ns + wire_ns);
        let delay_ns = self.random.between(0, self.faults.delay_ns_max);
        let one_way_ns = if is_read { stage.latency_ns / 2 } else { stage.latency_ns };
        work.pieces = self.pieces(&work);
        let pieces = work.pieces.len() as u64;
        self.counts.torn += u64::from(!is_read && pieces > 1);
        work.piece_ns = (wire_ns + delay_ns) / pieces + 1;
        let piece_ns = work.piece_ns;
        let posted = Posted { rank, pair: number, serial: work.serial };
        let pair = self.device(rank).pairs.get_mut(&number).expect("as above");
        let (state, first_ns) = (pair.state, (issue_ns + one_way_ns).max(pair.last_ns + 1));
        pair.work.push_back(work);
        let steps = if is_read { 1 } else { pieces };
        let mut last_ns = first_ns + piece_ns * steps;
        if let (State::Ready(peer, _), false) = (state, is_read) {
            last_ns = self.take_in(peer, last_ns, wire_ns, stage.receive_ns);
        }
        self.device(rank).pairs.get_mut(&number).expect("as above").last_ns = last_ns;
        self.schedule(last_ns - piece_ns * (steps - 1), Event::Move(posted));
    }

    /// The peer's device takes bytes in as fast as it can: the time of the last one.
    fn take_in(&mut self, peer: Rank, last_ns: u64, wire_ns: u64, receive_ns: u64) -> u64 {
        let device = self.device(peer);
        let last_ns = last_ns.max(device.in_free_ns + wire_ns.max(receive_ns));
        device.in_free_ns = last_ns;
        device.note_busy(last_ns - wire_ns, last_ns);
        last_ns
    }

    /// The peer's device answers a read: how long it is until its first piece is here.
    pub(super) fn answer_ns(&mut self, rank: Rank, peer: Rank, bytes: usize) -> u64 {
        let (stage, wire_ns, now_ns) = (self.costs.read, self.wire_ns(peer, bytes), self.now_ns);
        let device = self.device(peer);
        let begin_ns = now_ns.max(device.out_free_ns);
        let ready_ns = begin_ns + stage.receive_ns;
        device.out_free_ns = ready_ns + wire_ns;
        device.note_busy(ready_ns, ready_ns + wire_ns);
        let last_ns = self.take_in(rank, ready_ns + stage.latency_ns / 2 + wire_ns, wire_ns, 0);
        last_ns - wire_ns - now_ns
    }

    /// Time on the wire of this many bytes that the device sends.
    fn wire_ns(&mut self, rank: Rank, bytes: usize) -> u64 {
        self.costs.wire_ns(bytes) * self.device(rank).slower.max(1)
    }

    fn stage(&self, operation: Operation) -> Stage {
        match operation {
            Operation::Send => self.costs.send,
            Operation::Write(_) => self.costs.write,
            Operation::Read(_) | Operation::Atomic(..) => self.costs.read,
        }
    }

    /// The pieces in which the bytes land, the first one last in the list; a send lands as a whole.
    fn pieces(&mut self, work: &Work) -> Vec<(usize, usize)> {
        let len = work.local.len();
        let address = match work.operation {
            Operation::Write(Remote { address, .. }) | Operation::Read(Remote { address, .. }) if len > 0 => {
                address
            }
            _ => return vec![(0, len)],
        };
        let count = self.random.between(1, u64::from(self.faults.pieces_max.max(1)));
        let swapped = self.random.percent(self.faults.last_first_percent);
        let alignment = if swapped { PIECE_ALIGNMENT } else { 1 };
        let cut = |at: u64| (address + at).next_multiple_of(alignment) - address;
        let mut cuts = vec![0, len];
        cuts.extend((1..count).map(|_| (cut(self.random.below(len as u64)) as usize).min(len)));
        cuts.sort_unstable();
        cuts.dedup();
        let mut pieces: Vec<_> = cuts.windows(2).rev().map(|pair| (pair[0], pair[1] - pair[0])).collect();
        if swapped {
            pieces.rotate_left(1);
        }
        pieces
    }
}
