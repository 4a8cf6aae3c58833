//! The part of a window that this process exposes, as its service and its own accesses see it.

use super::Flavor;
use super::apply::{self, Domain, Guard, Target, TargetMemory};
use super::attached::Attachments;
use super::control::{self, Control, Words};
use super::error::{self, Access};
use super::lock::{self, Claim, Ticket};
use super::own::Memory;
use super::part::Part;
use super::parts::Parts;
use super::runs;
use super::service::shows::Whole;
use super::service::{Exposed, Place};
use super::stripe::{Stripes, yield_core};
use crate::datatype::Datatype;
use crate::error::Result;
use crate::group::Group;
use crate::op::Op;
use std::ops::Range;
use std::sync::Arc;
use verbena_channel::heap::Heap;
use verbena_machine::touch::Touch;
use verbena_memory::{Owned, Region};
use verbena_settings::WINDOW_DEVICE;
use verbena_waiting::lock::Lock;

/// This process's part of a window.
pub(super) struct Local {
    pub flavor: Flavor,
    pub rank: i32,
    pub group: Arc<Group>,
    pub part: Part,
    /// The parts of all members.
    pub parts: Parts,
    pub memory: Memory,
    pub control: Control,
    pub attachments: Lock<Attachments>,
    pub heap: Option<Arc<dyn Heap>>,
}

impl Local {
    /// The domain of this process's memory.
    fn domain(&self) -> Domain {
        self.part.domain(self.flavor)
    }

    /// The means to keep changes of this process's elements apart.
    fn guard(&self) -> Guard<'static> {
        let me = self.group.peer(self.rank);
        let stripes = Stripes::new(self.control.words().stripes(), me, &yield_core);
        Guard { domain: self.domain(), stripes }
    }

    /// The memory of elements at a place of this process, and their place in it.
    pub(super) fn memory_at<'a>(
        &'a self,
        place: &'a Place,
        (count, datatype): (usize, &Datatype),
    ) -> Result<(&'a dyn TargetMemory, i64)> {
        let (low, high) = datatype.span(count)?;
        Ok(match place.holds((low as i64, high as i64)) {
            true => (&place.region, place.at),
            // They lie in several pieces.
            false => (&self.attachments, place.address() as i64),
        })
    }

    /// The control words of another member, if they are mapped here.
    pub(super) fn words_of(&self, member: i32) -> Option<Words> {
        let heap = self.heap.as_ref().filter(|heap| heap.unites(self.group.peer(member)))?;
        let control = self.parts.get(member as usize).control(control::bytes(self.group.size()));
        heap.at(control?).map(Words::at)
    }

    /// Returns whether the system says that a member lives, whatever this process has lost of it:
    /// then it gives its locks back.
    pub(super) fn lives(&self, member: i32) -> bool {
        self.heap.as_ref().is_some_and(|heap| heap.lives(self.group.peer(member)))
    }

    /// The claim of a member that has died on the lock of `owner`, which has these words. None if
    /// it was about to take a ticket, or had just left: those that live account for all tickets.
    pub(super) fn dead_claim(&self, member: i32, owner: i32, words: Words) -> Option<Claim> {
        let claim_of = |member: i32| self.words_of(member)?.claim_on(owner);
        let claims = || {
            let members = 0..self.group.size();
            let living = members.filter(|&member| claim_of(member).is_some() && self.lives(member)).count();
            living + words.served()
        };
        let is_doubtful = |claim: &Claim| *claim == Claim::Holds;
        claim_of(member)
            .filter(|claim| !(is_doubtful(claim) && lock::Lock(words.lock()).is_accounted(claims)))
    }

    /// Wakes the process whose turn to have this one's lock may have come, but not this one.
    fn wake_other(&self, next: Ticket) {
        let Some(heap) = &self.heap else { return };
        self.control.words().for_each_to_wake(next, self.group.size(), |rank| {
            if rank != self.rank {
                heap.wake(self.group.peer(rank));
            }
        });
    }
}

impl Exposed for Local {
    fn place(&self, displacement: i64, elements: (usize, &Arc<Datatype>), touch: Touch) -> Result<Place> {
        let (count, datatype) = elements;
        let (low, high) = datatype.span(count)?;
        let span = (low as i64, high as i64);
        let access = Access { rank: self.rank, displacement, span };
        let (place, is_own) = if self.flavor == Flavor::Dynamic {
            let found = self.attachments.lock().place(displacement, (count, datatype), span);
            found.ok_or_else(|| error::unattached(access))?
        } else {
            let at = self.part.offset(displacement, span).ok_or_else(|| error::range(access, &self.part))?;
            (Place { region: self.memory.region(), at }, !self.memory.may_go())
        };
        match is_own || runs::may_be_touched(place.address(), (count, datatype), touch) {
            true => Ok(place),
            false => Err(error::gone(access)),
        }
    }

    fn accumulate(
        &self,
        place: Place,
        op: &Op,
        (count, datatype): (usize, &Arc<Datatype>),
        range: Range<usize>,
        source: Option<Region>,
        former: Option<Region>,
    ) -> Result<()> {
        let guard = &self.guard();
        let (memory, at) = self.memory_at(&place, (count, datatype))?;
        let target = Target { memory, at, count, datatype, guard };
        // Whole rows of basic elements are the most frequent.
        match range.start == 0 && range.end == datatype.size() * count {
            true => apply::accumulate(op, &target, source, former),
            false => apply::accumulate_part(op, &target, range, source, former),
        }
    }

    fn compare_and_swap(
        &self,
        place: Place,
        datatype: &Arc<Datatype>,
        [new, compared]: [&[u8]; 2],
        former: &mut [u8],
    ) -> Result<()> {
        let (new, compared, result) = (Owned::from(new), Owned::from(compared), Owned::zeroed(former.len()));
        let operands = [&new, &compared, &result].map(Owned::lend);
        let [new, compared, was] = operands;
        apply::compare_and_swap(&place.region, place.at, datatype, new, compared, was, &self.guard())?;
        result.lend().read(0, former);
        Ok(())
    }

    fn lock(&self) -> Region {
        self.control.words().lock()
    }

    fn check_lock(&self) -> Result<()> {
        match self.control.words().is_exposed(self.group.size()) {
            true => Err(error::exposed(self.rank)),
            false => Ok(()),
        }
    }

    fn note_served(&self, tickets: usize) {
        self.control.words().note_served(tickets);
    }

    fn claim_of(&self, member: i32) -> Option<Claim> {
        if self.lives(member) {
            return None;
        }
        self.dead_claim(member, self.rank, self.control.words())
    }

    fn note_dead(&self, member: i32, claim: Claim) {
        let words = self.control.words();
        let is_news = words.note_dead(member, claim);
        let Some(heap) = self.heap.as_ref().filter(|_| is_news) else { return };
        words.for_each_waiting(self.group.size(), |rank| {
            if rank != self.rank {
                heap.wake(self.group.peer(rank));
            }
        });
    }

    fn wake_waiting(&self, next: Ticket) {
        self.wake_other(next);
    }

    fn whole(&self) -> Option<Whole> {
        let region = self.memory.region();
        // Memory of a dynamic window may be detached, and another's may follow at its place.
        let is_shown = self.flavor != Flavor::Dynamic && !region.is_empty() && WINDOW_DEVICE.get();
        is_shown.then_some(Whole { region, base: self.part.base, unit: self.part.unit })
    }
}
