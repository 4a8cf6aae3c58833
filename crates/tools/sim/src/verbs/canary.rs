//! Defects of the channels `rc` and `pipe`, played by the devices: they change what they carry as a
//! channel with that defect would have written it, or taken it. The checks above must find each of
//! them.
//!
//! They change the prefix of packets, as the module `frame` of `rc` lays it out, the flags of rings
//! (a chunk of `pipe` has them at the same places), and the order of writes.

use super::faults::Canary;
use super::pair::{Pair, Work};
use super::subnet::{Inner, Posted};
use verbena_channel::Access;
use verbena_infiniband::rc::adapter::{Operation, Remote};
use verbena_memory::Region;

/// The flag that the sender takes if it can.
const PRIMARY: u32 = 0x9c3a_51f7;
/// Bytes of the prefix.
const PREFIX_BYTES: usize = 16;
/// Bytes of a pointer.
const POINTER_BYTES: usize = 8;
/// The offset of the packet's number.
const NUMBER_AT: usize = 8;
/// The offsets of credits: for ring slots and for receive buffers.
const CREDITS_AT: [usize; 2] = [12, 14];

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Returns the offset of the tail flag of a packet in a ring; `None` if this is no such packet.
fn tail_at(bytes: &[u8]) -> Option<usize> {
    let body = word(bytes.get(..PREFIX_BYTES)?, 4) as usize & 0xff_ffff;
    let tail = (PREFIX_BYTES + body).next_multiple_of(4);
    (tail + 4 == bytes.len() && word(bytes, tail) == word(bytes, 0)).then_some(tail)
}

impl Inner {
    /// Changes work that is about to reach the peer for the first time.
    pub(super) fn tamper(&mut self, posted: Posted) {
        let canary = self.faults.canary;
        if canary == Canary::HeadFirst {
            return self.write_head_first(posted);
        }
        let twice = matches!(canary, Canary::CreditsTwice(many) if self.random.below(u64::from(many)) == 0);
        let Some(pair) = self.devices[posted.rank as usize].pairs.get_mut(&posted.pair) else { return };
        let Some(work) = pair.find(posted.serial) else { return };
        let mut bytes = work.inline.clone().unwrap_or_else(|| work.local.to_vec());
        let (operation, tail) = (work.operation, tail_at(&bytes));
        if bytes.len() < PREFIX_BYTES || (operation != Operation::Send && tail.is_none()) {
            return;
        }
        match canary {
            Canary::OneFlag => {
                for at in tail.into_iter().chain(tail.map(|_| 0)) {
                    bytes[at..at + 4].copy_from_slice(&PRIMARY.to_le_bytes());
                }
            }
            Canary::CreditsTwice(_) if twice => {
                for at in CREDITS_AT {
                    let credits = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
                    bytes[at..at + 2].copy_from_slice(&(2 * credits).to_le_bytes());
                }
            }
            Canary::NumbersIgnored => return self.swap_numbers(posted, operation, bytes),
            Canary::None | Canary::CreditsTwice(_) | Canary::HeadFirst => return,
        }
        work.inline = Some(bytes);
    }

    /// Swaps numbers: if the last packet that went into the ring was not taken yet, this one takes
    /// its turn.
    fn swap_numbers(&mut self, posted: Posted, operation: Operation, mut bytes: Vec<u8>) {
        let Some((peer, last)) = self.last_in_ring(posted) else { return };
        let pair = self.device(posted.rank).pairs.get_mut(&posted.pair).expect("posted there");
        if let Operation::Write(remote) = operation {
            pair.last_in_ring = Some(remote);
            return;
        }
        pair.last_in_ring = None;
        let Some(packet) = last
            .and_then(|last| self.device(peer).exposed(last.address, last.key, PREFIX_BYTES, Access::WRITE))
        else {
            return;
        };
        let mut prefix = [0; PREFIX_BYTES];
        packet.read(0, &mut prefix);
        if word(&prefix, 0) != 0 && word(&prefix, NUMBER_AT).wrapping_add(1) == word(&bytes, NUMBER_AT) {
            exchange(packet, &mut bytes);
            let work =
                self.device(posted.rank).pairs.get_mut(&posted.pair).and_then(|p| p.find(posted.serial));
            work.expect("posted there").inline = Some(bytes);
        }
    }

    /// Lets a pointer that was posted behind data go before it.
    fn write_head_first(&mut self, posted: Posted) {
        let Some(pair) = self.devices[posted.rank as usize].pairs.get_mut(&posted.pair) else { return };
        let Some(at) = pair.work.iter().position(|work| work.serial == posted.serial) else { return };
        let is_pointer = |work: &Work| work.local.len() == POINTER_BYTES;
        if at + 1 < pair.work.len() && !is_pointer(&pair.work[at]) && is_pointer(&pair.work[at + 1]) {
            let [data, pointer] = &mut pair.work.make_contiguous()[at..at + 2] else { return };
            data.exchange(pointer);
        }
    }

    fn last_in_ring(&mut self, posted: Posted) -> Option<(u32, Option<Remote>)> {
        let pair: &Pair = self.device(posted.rank).pairs.get(&posted.pair)?;
        let super::pair::State::Ready(peer, _) = pair.state else { return None };
        Some((peer, pair.last_in_ring))
    }
}

/// Exchanges the numbers of the packet in the ring and of the other.
fn exchange(ring: Region, other: &mut [u8]) {
    let mut number = [0; 4];
    ring.read(NUMBER_AT, &mut number);
    ring.write(NUMBER_AT, &other[NUMBER_AT..NUMBER_AT + 4]);
    other[NUMBER_AT..NUMBER_AT + 4].copy_from_slice(&number);
}
