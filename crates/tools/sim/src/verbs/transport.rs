//! Carries posted work to the peer: in order, in pieces, tried again if the peer is not ready, and
//! given up if it does not answer.

use super::faults::Canary;
use super::pair::{Pair, State, Work};
use super::subnet::{Event, Inner, Posted};
use crate::Rank;
use crate::world::fault;
use verbena_channel::{Access, Atomic};
use verbena_infiniband::device::{Failed, QueuePair, Trouble};
use verbena_infiniband::rc::adapter::{Operation, Remote};
use verbena_memory::Region;

/// A device's error for a message longer than its receive buffer (`IBV_WC_LOC_LEN_ERR`).
const LENGTH_ERROR: u32 = 1;
/// The error of the sender's device then (`IBV_WC_REM_INV_REQ_ERR`).
const INVALID_REQUEST: u32 = 9;

/// The result of a step of work.
enum Step {
    /// The next step comes after this time.
    Again(u64),
    /// The last byte is where it belongs.
    Done,
    /// The work failed, which the poster learns after this time.
    Failed(Failed, u64),
}

/// The other end of a connection.
#[derive(Clone, Copy)]
struct Other {
    rank: Rank,
    pair: u32,
}

/// The reason why there is no other end.
enum Absent {
    /// The other end may answer later.
    Silent,
    /// The other end will never answer.
    Gone,
}

impl Inner {
    fn pair(&mut self, posted: Posted) -> Option<&mut Pair> {
        self.device(posted.rank).pairs.get_mut(&posted.pair)
    }

    fn work(&mut self, posted: Posted) -> Option<&mut Work> {
        self.pair(posted)?.find(posted.serial)
    }

    /// Takes work a step on, if it is its turn.
    pub(super) fn move_on(&mut self, posted: Posted) {
        if !self.device(posted.rank).is_up() || !self.is_its_turn(posted) {
            return;
        }
        self.note(&[self.now_ns, u64::from(posted.rank) << 32 | u64::from(posted.pair), posted.serial]);
        let (after_ns, event) = match self.step(posted) {
            Step::Again(ns) => (ns, Event::Move(posted)),
            Step::Done if self.is_unheard(posted) => {
                (self.faults.retry_ns, Event::End(posted, Err(Failed::RetriesExhausted)))
            }
            Step::Done => (self.costs.acknowledge_ns, Event::End(posted, Ok(()))),
            Step::Failed(failed, ns) => (ns, Event::End(posted, Err(failed))),
        };
        self.schedule(self.now_ns + after_ns, event);
        self.wake_stalled(posted);
    }

    /// Returns whether all earlier work of the pair is carried out; if not, it waits until it is
    /// called.
    fn is_its_turn(&mut self, posted: Posted) -> bool {
        let Some(pair) = self.pair(posted) else { return false };
        let Some(work) = pair.find(posted.serial) else { return false };
        if work.executed {
            return true;
        }
        work.stalled = true;
        let is_next = pair.next_to_execute().is_some_and(|next| next.serial == posted.serial);
        if is_next && let Some(work) = pair.find(posted.serial) {
            work.stalled = false;
        }
        is_next
    }

    /// Calls the work whose turn has come, if it waits.
    fn wake_stalled(&mut self, posted: Posted) {
        let Some(next) = self.pair(posted).and_then(Pair::next_to_execute) else { return };
        if std::mem::take(&mut next.stalled) {
            let serial = next.serial;
            self.schedule(self.now_ns + 1, Event::Move(Posted { serial, ..posted }));
        }
    }

    fn step(&mut self, posted: Posted) -> Step {
        let other = match self.other(posted) {
            Ok(other) => other,
            Err(Absent::Gone) => return Step::Failed(Failed::RetriesExhausted, self.faults.retry_ns),
            Err(Absent::Silent) => return self.again(posted),
        };
        let broken_one_in = self.faults.broken_one_in;
        let safe = self.device(posted.rank).safe;
        if broken_one_in > 0 && !safe && self.random.below(broken_one_in) == 0 {
            return Step::Failed(Failed::RetriesExhausted, self.faults.retry_ns);
        }
        if self.faults.canary != Canary::None && !self.work(posted).expect("its turn").begun {
            self.work(posted).expect("its turn").begun = true;
            self.tamper(posted);
        }
        let operation = self.work(posted).expect("its turn").operation;
        match operation {
            Operation::Send => self.step_send(posted, other),
            Operation::Write(remote) => self.step_write(posted, other, remote),
            Operation::Read(_) if self.is_unheard(posted) => self.again(posted),
            Operation::Read(remote) => self.step_read(posted, other, remote),
            Operation::Atomic(remote, atomic) => self.step_atomic(posted, other, remote, atomic),
        }
    }

    /// Returns whether the other end's answers are lost on their way.
    fn is_unheard(&mut self, posted: Posted) -> bool {
        let Some(State::Ready(rank, _)) = self.pair(posted).map(|pair| pair.state) else { return false };
        self.device(posted.rank).deaf || self.device(rank).mute
    }

    /// The other end of the pair's connection.
    fn other(&mut self, posted: Posted) -> Result<Other, Absent> {
        let Some(State::Ready(rank, pair)) = self.pair(posted).map(|pair| pair.state) else {
            return Err(Absent::Gone);
        };
        let down = self.device(posted.rank).port_down || self.device(rank).port_down;
        let down = down || self.device(posted.rank).mute || self.device(rank).deaf;
        let device = self.device(rank);
        match device.pairs.get(&pair).map(|pair| pair.state) {
            _ if !device.is_up() => Err(Absent::Gone),
            _ if down => Err(Absent::Silent),
            Some(State::Ready(rank_back, back)) if (rank_back, back) == (posted.rank, posted.pair) => {
                Ok(Other { rank, pair })
            }
            Some(State::Fresh) => Err(Absent::Silent),
            _ => Err(Absent::Gone),
        }
    }

    /// Tries again, as the peer does not answer, until the time for that is over. Several ports
    /// that go down by chance, one after the other, are not to use up that time together: each
    /// restarts it.
    fn again(&mut self, posted: Posted) -> Step {
        let (after_ns, retry_ns) = (self.faults.not_ready_ns, self.faults.retry_ns);
        let peer = match self.pair(posted).map(|pair| pair.state) {
            Some(State::Ready(rank, _)) => rank,
            _ => posted.rank,
        };
        let blinks = self.device(posted.rank).blinks + self.device(peer).blinks;
        let work = self.work(posted).expect("its turn");
        if std::mem::replace(&mut work.blinks, blinks) != blinks {
            work.tries = 0;
        }
        work.tries += 1;
        match u64::from(work.tries) * after_ns > retry_ns {
            true => Step::Failed(Failed::RetriesExhausted, after_ns),
            false => Step::Again(after_ns),
        }
    }

    fn step_send(&mut self, posted: Posted, other: Other) -> Step {
        let work = self.work(posted).expect("its turn");
        let (bytes, unready) = (work.local.len(), work.unready);
        // It has answered: the time without an answer begins anew.
        (work.tries, work.unready) = (0, unready + 1);
        let Some(receive) = self.device(other.rank).next_receive(other.pair) else {
            self.counts.not_ready += 1;
            return match self.faults.not_ready_retries.is_some_and(|most| unready >= most) {
                true => Step::Failed(Failed::ReceiverNotReady, self.costs.acknowledge_ns),
                false => Step::Again(self.faults.not_ready_ns),
            };
        };
        let refusal = if receive.into.len() < bytes {
            Some((Failed::Other(LENGTH_ERROR), "a message was longer than its receive buffer"))
        } else if !self.device(other.rank).may_use(receive.local_key, receive.into) {
            Some((Failed::LocalAccess, "a receive buffer is not registered"))
        } else {
            None
        };
        if let Some((failed, why)) = refusal {
            self.violations.push(format!("ranks {} and {}: {why}", posted.rank, other.rank));
            self.device(other.rank).complete(other.pair, receive.id, Err(failed), None);
            self.break_other(other, why);
            return Step::Failed(Failed::Other(INVALID_REQUEST), self.costs.acknowledge_ns);
        }
        if !self.put_bytes(posted, (0, bytes), receive.into.part(0, bytes)) {
            return self.no_local_access(posted);
        }
        self.executed(posted);
        self.device(other.rank).complete(other.pair, receive.id, Ok(bytes as u32), None);
        self.wake(other.rank);
        Step::Done
    }

    fn step_write(&mut self, posted: Posted, other: Other, remote: Remote) -> Step {
        let work = self.work(posted).expect("its turn");
        let (bytes, piece, piece_ns) = (work.local.len(), work.pieces.pop(), work.piece_ns);
        let Some(region) = self.device(other.rank).exposed(remote.address, remote.key, bytes, Access::WRITE)
        else {
            return self.refuse_access(posted, other, "writes into");
        };
        let (offset, len) = piece.expect("a step for each piece");
        if !self.put_bytes(posted, (offset, len), region.part(offset, len)) {
            return self.no_local_access(posted);
        }
        self.wake(other.rank);
        if self.work(posted).is_some_and(|work| !work.pieces.is_empty()) {
            return Step::Again(piece_ns);
        }
        self.executed(posted);
        Step::Done
    }

    /// The first step is at the peer, whose device begins to answer; the others are where the
    /// answer's pieces arrive.
    fn step_read(&mut self, posted: Posted, other: Other, remote: Remote) -> Step {
        let work = self.work(posted).expect("its turn");
        let (local, local_key, executed) = (work.local, work.local_key, work.executed);
        let exposed = self.device(other.rank).exposed(remote.address, remote.key, local.len(), Access::READ);
        let Some(region) = exposed else {
            return self.refuse_access(posted, other, "reads");
        };
        if !self.device(posted.rank).may_use(local_key, local) {
            return self.no_local_access(posted);
        }
        if !executed {
            self.executed(posted);
            return Step::Again(self.answer_ns(posted.rank, other.rank, local.len()));
        }
        let work = self.work(posted).expect("its turn");
        let (offset, len) = work.pieces.pop().expect("a step for each piece");
        let (is_last, piece_ns) = (work.pieces.is_empty(), work.piece_ns);
        local.part(offset, len).copy_from(region.part(offset, len));
        if is_last { Step::Done } else { Step::Again(piece_ns) }
    }

    /// The first step is at the peer, whose device carries the operation out; the other is where
    /// the number of before arrives. A device that hears no answer asks again, and the peer's
    /// device answers without carrying it out twice.
    fn step_atomic(&mut self, posted: Posted, other: Other, remote: Remote, atomic: Atomic) -> Step {
        let work = self.work(posted).expect("its turn");
        let (local, local_key, executed) = (work.local, work.local_key, work.executed);
        if executed {
            if self.is_unheard(posted) {
                return self.again(posted);
            }
            let former = self.work(posted).and_then(|work| work.inline.take()).expect("carried out");
            local.write(0, &former);
            return Step::Done;
        }
        let wanted = Access { atomic: true, ..Access::NONE };
        let exposed = self.device(other.rank).exposed(remote.address, remote.key, local.len(), wanted);
        let Some(region) = exposed else {
            return self.refuse_access(posted, other, "changes");
        };
        if !self.device(posted.rank).may_use(local_key, local) {
            return self.no_local_access(posted);
        }
        let mut number = [0; 8];
        region.read(0, &mut number);
        let former = u64::from_ne_bytes(number);
        let later = match atomic {
            Atomic::FetchAdd(added) => former.wrapping_add(added),
            Atomic::CompareSwap { expected, desired } if former == expected => desired,
            Atomic::CompareSwap { .. } => former,
        };
        region.write(0, &later.to_ne_bytes());
        self.work(posted).expect("its turn").inline = Some(number.to_vec());
        self.executed(posted);
        Step::Again(self.answer_ns(posted.rank, other.rank, local.len()))
    }

    /// Copies a part of the work's bytes to where they go; `false` if they lie in memory that is
    /// not registered.
    fn put_bytes(&mut self, posted: Posted, (offset, len): (usize, usize), to: Region) -> bool {
        let work = self.work(posted).expect("its turn");
        if let Some(bytes) = &work.inline {
            to.write(0, &bytes[offset..offset + len]);
            return true;
        }
        let (local, local_key) = (work.local, work.local_key);
        let may = self.device(posted.rank).may_use(local_key, local);
        if may {
            to.copy_from(local.part(offset, len));
        }
        may
    }

    fn executed(&mut self, posted: Posted) {
        if let Some(work) = self.work(posted) {
            work.executed = true;
        }
    }

    fn no_local_access(&mut self, posted: Posted) -> Step {
        self.violations.push(format!("rank {} posted memory that is not registered", posted.rank));
        Step::Failed(Failed::LocalAccess, 0)
    }

    fn refuse_access(&mut self, posted: Posted, other: Other, verb: &str) -> Step {
        let what = format!(
            "rank {} {verb} memory that rank {} has not registered for that",
            posted.rank, other.rank
        );
        self.violations.push(what);
        self.break_other(other, "a peer named memory that is not registered");
        Step::Failed(Failed::RemoteAccess, self.costs.acknowledge_ns)
    }

    fn break_other(&mut self, other: Other, why: &str) {
        let device = self.device(other.rank);
        device.break_pair(other.pair);
        device.troubles.push_back(Trouble::Pair(QueuePair(other.pair), fault(why, other.rank)));
        self.wake(other.rank);
    }

    /// Ends work; its completion waits for those of all earlier work of the pair.
    pub(super) fn end(&mut self, posted: Posted, outcome: Result<(), Failed>) {
        if !self.device(posted.rank).is_up() {
            return;
        }
        let Some(work) = self.work(posted) else { return };
        work.outcome = Some(outcome);
        let device = &mut self.devices[posted.rank as usize];
        while let Some(pair) = device.pairs.get_mut(&posted.pair)
            && let Some(outcome) = pair.work.front().and_then(|work| work.outcome)
        {
            let work = pair.work.pop_front().expect("looked at just now");
            if work.signalled || outcome.is_err() {
                device.complete(posted.pair, work.id, outcome.map(|()| 0), Some(work.serial));
            }
            if outcome.is_err() {
                device.break_pair(posted.pair);
                self.counts.broken += 1;
            }
        }
        self.wake(posted.rank);
    }

    /// A datagram arrives.
    pub(super) fn deliver_datagram(&mut self, to: Rank, bytes: Vec<u8>) {
        self.note(&[self.now_ns, u64::from(to), bytes.len() as u64]);
        let device = self.device(to);
        if device.is_up() && !device.port_down && !device.deaf {
            device.datagrams.push_back(bytes);
            device.tell();
            self.wake(to);
        }
    }
}
