//! The ends of what ranks wait for, and what must be true then.

use super::{COUNTER, GUARDED, Job, MPI_ERR_RMA_RANGE, SUMS, SWAPPED, UNTOUCHED, WORDS, ZONE};
use crate::rank::{Check, Pending, Wait};
use verbena_mpi::Error;
use verbena_mpi::window::service::Moment;
use verbena_sim::Memory as Buffer;

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

impl Job {
    /// Looks at one of the operations under way. Returns whether it is over.
    pub(super) fn look(&mut self, me: usize) -> Result<bool, String> {
        let target = self.random.below(self.ranks.len() as u64) as usize;
        let many = self.ranks[me].relations[target].pending.len();
        if many == 0 {
            return Ok(false);
        }
        let index = self.random.below(many as u64) as usize;
        self.look_at(me, target, index)
    }

    fn look_at(&mut self, me: usize, target: usize, index: usize) -> Result<bool, String> {
        let pending = &self.ranks[me].relations[target].pending[index];
        let Some(outcome) = pending.operation.poll(&mut self.cluster.visit(me as u32)) else {
            return Ok(false);
        };
        let Pending { number, check, .. } = self.ranks[me].relations[target].pending.swap_remove(index);
        match (&check, outcome.error) {
            (Check::Failed, Some(error)) if error.class == MPI_ERR_RMA_RANGE => return Ok(true),
            (Check::Failed, other) => return Err(format!("an operation out of range gave {other:?}")),
            (_, Some(error)) => return Err(format!("an operation failed: {error}")),
            (_, None) => {}
        }
        // What was fetched is there, so its bytes may be changed again.
        if matches!(check, Check::Fetched { .. }) {
            self.ranks[me].relations[target].touched.retain(|it| it.operation != number || it.accumulates);
        }
        self.check(me, target, check)?;
        Ok(true)
    }

    fn check(&mut self, me: usize, target: usize, check: Check) -> Result<(), String> {
        match check {
            Check::Out(buffer) => buffer.scribble(UNTOUCHED),
            Check::Fetched { into, expected } => {
                if into.packed() != expected {
                    return Err(format!("rank {me} fetched wrong bytes from {target}"));
                }
            }
            Check::Counted(into) => self.counted[target].push(word(&into.packed())),
            Check::Swapped { into, compared, new } => {
                let found = word(&into.packed());
                let is_new = found == compared;
                self.ranks[me].relations[target].swapped = if is_new { new } else { found };
                self.swaps[target].extend(is_new.then_some((compared, new)));
            }
            Check::Failed => {}
        }
        Ok(())
    }

    /// Goes on with what the rank waits for. Returns whether that ended.
    pub(super) fn wait(&mut self, me: usize, wait: Wait) -> Result<bool, String> {
        match wait {
            Wait::Nothing => return Ok(false),
            Wait::Flush(moment) => return self.flushed(me, moment, true),
            Wait::FlushLocal(moment) => return self.flushed(me, moment, false),
            Wait::Lock(lock) => {
                let Some(outcome) = lock.poll(&mut self.cluster.visit(me as u32)) else {
                    self.ranks[me].wait = Wait::Lock(lock);
                    return Ok(false);
                };
                succeeded(outcome.error)?;
                self.hold(me)?;
                self.look_guarded(me);
            }
            Wait::Look(get, into) => {
                let Some(outcome) = get.poll(&mut self.cluster.visit(me as u32)) else {
                    self.ranks[me].wait = Wait::Look(get, into);
                    return Ok(false);
                };
                succeeded(outcome.error)?;
                self.looked(me, &into)?;
            }
            Wait::Glance(get, into, unlock) => {
                let engine = &mut self.cluster.visit(me as u32);
                let (Some(got), Some(unlocked)) = (get.poll(engine), unlock.poll(engine)) else {
                    self.ranks[me].wait = Wait::Glance(get, into, unlock);
                    return Ok(false);
                };
                succeeded(got.error)?;
                guarded(&into)?;
                self.unlocked(me, unlocked.error)?;
            }
            Wait::Hold(0, seen) => {
                let target = self.ranks[me].target;
                self.holders[target].retain(|(rank, _)| *rank != me);
                self.unlock(me, seen);
            }
            Wait::Hold(rounds, seen) => self.ranks[me].wait = Wait::Hold(rounds - 1, seen),
            Wait::Unlock(unlock) => {
                let Some(outcome) = unlock.poll(&mut self.cluster.visit(me as u32)) else {
                    self.ranks[me].wait = Wait::Unlock(unlock);
                    return Ok(false);
                };
                self.unlocked(me, outcome.error)?;
            }
        }
        Ok(true)
    }

    /// The block that the lock guards is known, so the lock is held.
    fn looked(&mut self, me: usize, into: &Buffer) -> Result<(), String> {
        let target = self.ranks[me].target;
        if !self.holders[target].iter().any(|(rank, _)| *rank == me) {
            self.hold(me)?;
        }
        self.ranks[me].wait = Wait::Hold(self.random.below(20), guarded(into)?);
        Ok(())
    }

    /// The rank holds the lock from now on.
    fn hold(&mut self, me: usize) -> Result<(), String> {
        let (target, is_exclusive) = (self.ranks[me].target, self.ranks[me].is_exclusive);
        let holders = &mut self.holders[target];
        if holders.iter().any(|(_, alone)| is_exclusive || *alone) {
            return Err(format!("rank {me} has the lock of {target} beside {holders:?}"));
        }
        holders.push((me, is_exclusive));
        Ok(())
    }

    fn unlocked(&mut self, me: usize, error: Option<Error>) -> Result<(), String> {
        let target = self.ranks[me].target;
        self.tell_trouble(me, target, error)?;
        self.finished(me, target)
    }

    fn flushed(&mut self, me: usize, moment: Moment, at_target: bool) -> Result<bool, String> {
        let target = self.ranks[me].target;
        let engine = &mut self.cluster.visit(me as u32);
        let Some(settled) = self.ranks[me].service.origin().settle(engine, target as i32, moment) else {
            self.ranks[me].wait = if at_target { Wait::Flush(moment) } else { Wait::FlushLocal(moment) };
            return Ok(false);
        };
        self.tell_settled(me, target, settled.err(), at_target)?;
        while !self.ranks[me].relations[target].pending.is_empty() {
            if !self.look_at(me, target, 0)? {
                return Err(format!("rank {me} has flushed {target}, but an operation is not over"));
            }
        }
        if at_target {
            self.finished(me, target)?;
        }
        Ok(true)
    }

    /// Everything of this rank is done at the target: its memory holds what it must.
    fn finished(&mut self, me: usize, target: usize) -> Result<(), String> {
        let memory = self.ranks[target].window.bytes();
        for touched in self.ranks[me].relations[target]
            .touched
            .iter()
            .filter(|it| it.bytes.end <= self.ranks.len() * ZONE)
        {
            let bytes = touched.bytes.clone();
            if memory.part(bytes.start, bytes.len()).to_vec() != self.expected[target][bytes.clone()] {
                return Err(format!("rank {me} has flushed {target}, but bytes {bytes:?} are wrong there"));
            }
        }
        // Those that nobody looked at yet may still have to do at this side.
        let relation = &mut self.ranks[me].relations[target];
        let pending: Vec<u64> = relation.pending.iter().map(|it| it.number).collect();
        relation.touched.retain(|it| pending.contains(&it.operation));
        Ok(())
    }

    /// Checks what a flush or an unlock tells of operations without answers.
    fn tell_trouble(&mut self, me: usize, target: usize, error: Option<Error>) -> Result<(), String> {
        let relation = &mut self.ranks[me].relations[target];
        let was_in_trouble = std::mem::take(&mut relation.is_in_trouble);
        match error {
            None if was_in_trouble => Err(format!("rank {me} was not told of its error at {target}")),
            Some(error) if !was_in_trouble || error.class != MPI_ERR_RMA_RANGE => {
                Err(format!("rank {me} was told of an error at {target} that was none: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks what a flush tells: also of operations that failed and that nobody asked about.
    fn tell_settled(
        &mut self,
        me: usize,
        target: usize,
        error: Option<Error>,
        at_target: bool,
    ) -> Result<(), String> {
        let relation = &mut self.ranks[me].relations[target];
        let was_unheard = std::mem::take(&mut relation.is_unheard);
        let may = relation.pending.iter().any(|it| matches!(it.check, Check::Failed));
        let must = was_unheard | (at_target && std::mem::take(&mut relation.is_in_trouble));
        match error {
            None if must => Err(format!("rank {me} was not told of its error at {target}")),
            Some(error) if !(must || may) || error.class != MPI_ERR_RMA_RANGE => {
                Err(format!("rank {me} was told of an error at {target} that was none: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks the windows at the end.
    pub(super) fn check_end(&mut self) -> Result<(), String> {
        if !self.cluster.settle(super::STEPS_MAX) || !self.cluster.is_quiet() {
            return Err(format!("no rest after the end:\n{}", self.cluster.describe()));
        }
        for target in 0..self.ranks.len() {
            self.check_window(target).map_err(|problem| format!("window {target}: {problem}"))?;
            if let Some(fault) = self.ranks[target].service.take_fault() {
                return Err(fault.to_string());
            }
        }
        self.cluster.violations().first().map_or(Ok(()), |violation| Err(violation.clone()))
    }

    fn check_window(&mut self, target: usize) -> Result<(), String> {
        let memory = self.ranks[target].window.bytes().to_vec();
        let zones = self.ranks.len() * ZONE;
        if memory[..zones] != self.expected[target][..zones] {
            return Err("a zone holds what it must not".into());
        }
        let [sums, end] = [SUMS, GUARDED].map(|word| zones + word * 8);
        if memory[sums..end] != self.expected[target][sums..end] {
            return Err("a sum is wrong".into());
        }
        let value = |at: usize| word(&memory[zones + at * 8..][..8]);
        if let Some(at) = (GUARDED..WORDS).find(|&at| value(at) != self.locked[target]) {
            return Err(format!("{} instead of {} under the lock", value(at), self.locked[target]));
        }
        let counted = &mut self.counted[target];
        counted.sort_unstable();
        if value(COUNTER) != counted.len() as u64 || !counted.iter().copied().eq(0..counted.len() as u64) {
            return Err(format!("the counter gave {counted:?} and has {}", value(COUNTER)));
        }
        self.check_swaps(target, value(SWAPPED))
    }

    /// Every swap follows one other, from 0 to the last value.
    fn check_swaps(&self, target: usize, last: u64) -> Result<(), String> {
        let (mut value, mut swaps) = (0, self.swaps[target].clone());
        while let Some(next) = swaps.iter().position(|(compared, _)| *compared == value) {
            value = swaps.swap_remove(next).1;
        }
        match swaps.is_empty() && value == last {
            true => Ok(()),
            false => Err(format!("the word was swapped to {last:#x}, {} swaps are left over", swaps.len())),
        }
    }
}

/// The value that all words of the guarded block have.
fn guarded(block: &Buffer) -> Result<u64, String> {
    let bytes = block.packed();
    let (words, _) = bytes.as_chunks::<8>();
    match words.iter().all(|word| *word == words[0]) {
        true => Ok(word(&words[0])),
        false => Err("the block under the lock was seen while it changed".into()),
    }
}

fn succeeded(error: Option<Error>) -> Result<(), String> {
    error.map_or(Ok(()), |error| Err(format!("under the lock: {error}")))
}
