//! Nonblocking duplication (`MPI_Comm_idup`): the exchange of [`super::dup`] as a schedule that
//! progress runs.

use super::{Comm, Traffic};
use crate::coll::algorithms::bcast;
use crate::coll::plan::{Plan, Team};
use crate::coll::{Call, Collective, Kind};
use crate::error::Result;
use crate::process::Process;
use crate::request::{Active, Outcome};
use crate::task::Task;
use std::sync::Arc;
use verbena_memory::{Buffer, Region};

/// Bytes of one side's offer.
const OFFER_BYTES: usize = 16;

/// A duplicate that waits for its contexts.
struct Duplication {
    parent: Arc<Comm>,
    /// The duplicate; `None` if it could not be begun: the others need the exchange all the same.
    new: Option<Arc<Comm>>,
    /// The offers of both sides, this side's first; their memory belongs to the schedule.
    offers: Region,
    collective: Box<Collective>,
}

/// Starts the exchange that gives `new`, made by [`Comm::dup_begin`] of `parent`, its contexts. All
/// members of `parent` start it, in the order of its collectives, even one whose `dup_begin` failed
/// (without `new`).
pub fn start(process: &Process, parent: Arc<Comm>, new: Option<Arc<Comm>>) -> Active {
    let mut collective = Collective::of(&parent, parent.next_nonblocking_tag());
    collective.set_call(Call::new(Kind::CommIdup, &parent).mark());
    let mut plan = Plan::new(collective.schedule(), Team::local(&parent));
    let offers = plan.temporary(2 * OFFER_BYTES);
    if parent.rank() == 0 {
        let offer = parent.offer(&|| process.new_context());
        offers.write(0, &[&offer[..], &offer[..]].concat());
    }
    let [ours, theirs] = [0, OFFER_BYTES].map(|at| Buffer::Contiguous(offers.part(at, OFFER_BYTES)));
    if parent.is_inter() && parent.rank() == 0 {
        let mut across = plan.among(Team::remote(&parent));
        across.exchange(0, ours, 0, theirs);
        across.fence();
    }
    bcast::binomial(&mut plan, Buffer::Contiguous(offers), 0);
    let task = Duplication { parent, new, offers, collective };
    let running = process.tasks().start(process, Box::new(task));
    match running.is_done() {
        true => Active::Done(Outcome { error: running.outcome().err(), ..Outcome::EMPTY }),
        false => Active::Task(running),
    }
}

impl Task for Duplication {
    fn advance(&mut self, mut process: &Process) -> Result<bool> {
        if !self.collective.advance(&mut process, None)? {
            return Ok(false);
        }
        let offers = self.offers.to_vec();
        let (ours, theirs) = offers.split_at(OFFER_BYTES);
        let agreed = self.parent.agreed(ours, theirs)?;
        if let Some(new) = &self.new {
            new.settle(&agreed)?;
            new.choose_engine(process);
            // Another member may have revoked it already.
            process.recall_revoked(new.context(Traffic::Point));
        }
        Ok(true)
    }
}
