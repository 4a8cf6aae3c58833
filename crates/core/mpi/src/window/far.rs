//! Puts and gets between nodes by the device: the origin writes and reads the target's memory, and
//! the target does nothing.
//!
//! | file | what it does |
//! | --- | --- |
//! | here | what is known of each target, and what is under way there |
//! | [`operation`] | an operation under way |
//! | `parts` | an operation as parts that lie side by side at both ends |
//! | `calls` | how the calls of a window use all this |
//!
//! At its first access to a target an origin asks for the memory ([`super::service::shows`]). It
//! goes on by messages until the answer is there, so nothing waits for it; and it does so wherever
//! the device cannot go: memory that is attached to dynamic windows, elements in too many places,
//! connections that are not there.
//!
//! # Order
//!
//! Messages do everything but puts and gets. So an origin begins nothing by the device while it has
//! an accumulate, a swap or a lock under way at the target, and waits for what the device does
//! there before it sends one. A flush waits for the device first: what it did is in the target's
//! memory then. Other orders there are none, here as among messages.
//!
//! # Failures
//!
//! What the device could not do is done again by messages, when somebody next waits for it. The
//! connection over which it failed is closed at both ends before such a message is looked at
//! (`verbena_engine`, `failover.rs`), so nothing comes late. If messages fail as well, their error
//! is told as usual.

mod calls;
pub mod operation;
mod parts;

pub(super) use calls::of_window;
pub use operation::Operation;

use super::part::Part as Exposure;
use super::place::Remote;
use super::service::shows::{self, Answer, Facts};
use super::service::{self, Service};
use crate::comm::Comm;
use crate::error::Result;
use crate::group::Group;
use crate::process::Access;
use operation::Again;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use verbena_engine::{Motion, Refused};
use verbena_memory::{Buffer, Owned};
use verbena_waiting::lock::Lock;

/// The operations that go by messages before a target that could not show its memory is asked
/// again; each time twice as many, up to a limit.
const PATIENCE: u32 = 8;
const PATIENCE_MAX: u32 = 4096;
/// The operations whose end is looked for when another one begins. They are let go at least as
/// quickly as others come.
const REAPED_AT_ONCE: usize = 4;

/// The operations by device on a window.
pub struct Far {
    service: Arc<Service>,
    group: Arc<Group>,
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    /// Operations begun so far.
    begun: u64,
    relations: BTreeMap<i32, Relation>,
}

/// The knowledge of a target, and what is under way there.
#[derive(Default)]
struct Relation {
    knowledge: Knowledge,
    /// The operations that a target's next refusal costs; 0 for [`PATIENCE`].
    patience: u32,
    /// Operations that are not known to be over, in order.
    under_way: VecDeque<(u64, Operation)>,
    /// Operations that failed: somebody must hear of it.
    failed: Vec<Operation>,
    /// Set once something went again by messages, and nobody was told.
    went_again: bool,
}

/// The knowledge of a target's memory.
#[derive(Default)]
enum Knowledge {
    #[default]
    Nothing,
    /// The target was asked; its answer goes to the memory.
    Asked(service::Operation, Owned),
    Here(Facts),
    /// The target is asked again after this many operations.
    Later(u32),
    Never,
}

/// A moment: what was begun before it, and what was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

/// The outcome of an attempt to begin an operation.
pub enum Started {
    /// The operation is under way.
    Begun(Operation),
    /// There is no room now, but will be after progress.
    Full,
    /// The operation must go by messages.
    ByMessages,
}

impl Far {
    /// The operations by device on the window of this service, whose members are those of `comm`.
    pub fn new(service: Arc<Service>, comm: &Comm) -> Far {
        Far { service, group: comm.group().clone(), state: Lock::new(State::default()) }
    }

    /// Begins to copy between `buffer` and the target's elements, of as many bytes.
    /// `MPI_ERR_INTERN` if the target has answered what makes no sense, or not `is_expected`.
    pub fn start(
        &self,
        access: &mut impl Access,
        motion: Motion,
        remote: &Remote,
        buffer: &Buffer,
        is_expected: impl Fn(&Facts) -> bool,
    ) -> Result<Started> {
        let mut state = self.state.lock();
        let State { begun, relations } = &mut *state;
        let relation = relations.entry(remote.rank).or_default();
        relation.reap(access, REAPED_AT_ONCE);
        let Some(facts) = relation.facts(access, &self.service, remote.rank)? else {
            return Ok(Started::ByMessages);
        };
        if !is_expected(&facts) {
            relation.knowledge = Knowledge::Never;
            return Err(service::garbled_answer(shows::BYTES));
        }
        if self.service.origin().must_be_followed(access, remote.rank) {
            return Ok(Started::ByMessages);
        }
        // What lies outside goes by messages, whose target says so in words.
        let Some(parts) = parts::of(buffer, remote, offset(&facts, remote)?) else {
            return Ok(Started::ByMessages);
        };
        let peer = self.group.peer(remote.rank);
        let id = access.with(|engine| engine.start_one_sided(peer, &facts.shown, motion, &parts));
        Ok(match id {
            Ok(id) => {
                let again = Again::new(&self.service, motion, remote, buffer);
                let operation = Operation::by_device(id, again);
                relation.under_way.push_back((*begun, operation.clone()));
                *begun += 1;
                Started::Begun(operation)
            }
            Err(Refused::Full) => Started::Full,
            Err(Refused::NoWay) => {
                relation.be_patient();
                Started::ByMessages
            }
        })
    }

    /// The memory of a target, if that has shown it.
    pub fn facts(&self, target: i32) -> Option<Facts> {
        match self.state.lock().relations.get(&target)?.knowledge {
            Knowledge::Here(facts) => Some(facts),
            _ => None,
        }
    }

    /// The moment now.
    pub fn now(&self) -> Moment {
        Moment(self.state.lock().begun)
    }

    /// The targets with operations that are not over, or have failed.
    pub fn unsettled(&self) -> Vec<i32> {
        let state = self.state.lock();
        let is_unsettled =
            |relation: &Relation| !relation.under_way.is_empty() || !relation.failed.is_empty();
        state
            .relations
            .iter()
            .filter(|(_, relation)| is_unsettled(relation))
            .map(|(&target, _)| target)
            .collect()
    }

    /// Returns whether the operations on `target` from before `moment` are over: what they wrote is
    /// in the target's memory, or goes there as messages, for which a flush waits.
    pub fn is_over(&self, access: &mut impl Access, target: i32, moment: Moment) -> bool {
        let mut state = self.state.lock();
        state.relations.get_mut(&target).is_none_or(|relation| relation.is_over(access, moment))
    }

    /// Returns whether operations on `target` went again by messages since this was last asked:
    /// they are not at the target before a flush.
    pub fn went_again(&self, target: i32) -> bool {
        let mut state = self.state.lock();
        state.relations.get_mut(&target).is_some_and(|relation| std::mem::take(&mut relation.went_again))
    }

    /// Like [`Far::is_over`]: then their first error, if nobody heard of it.
    pub fn settle(&self, access: &mut impl Access, target: i32, moment: Moment) -> Option<Result<()>> {
        let mut state = self.state.lock();
        let Some(relation) = state.relations.get_mut(&target) else { return Some(Ok(())) };
        if !relation.is_over(access, moment) {
            return None;
        }
        let failed = std::mem::take(&mut relation.failed);
        drop(state);
        let unheard = failed.iter().find_map(|operation| operation.end(access).flatten());
        Some(unheard.map_or(Ok(()), Err))
    }
}

impl Relation {
    /// The target's memory, if it is known to be shown. Asks for it if need be.
    fn facts(&mut self, access: &mut impl Access, service: &Service, target: i32) -> Result<Option<Facts>> {
        match &mut self.knowledge {
            Knowledge::Here(facts) => return Ok(Some(*facts)),
            Knowledge::Never => return Ok(None),
            Knowledge::Later(left) if *left > 1 => {
                *left -= 1;
                return Ok(None);
            }
            Knowledge::Nothing | Knowledge::Later(_) => {
                let into = Owned::zeroed(shows::BYTES);
                let asked = service.origin().show(access, target, &Buffer::Contiguous(into.lend()));
                self.knowledge = Knowledge::Asked(asked, into);
            }
            Knowledge::Asked(..) => (),
        }
        self.hear(access)
    }

    /// Takes the target's answer, if it is there.
    fn hear(&mut self, access: &mut impl Access) -> Result<Option<Facts>> {
        let Knowledge::Asked(asked, into) = &self.knowledge else { return Ok(None) };
        let Some(outcome) = asked.poll(access) else { return Ok(None) };
        let mut bytes = [0; shows::BYTES];
        into.lend().read(0, &mut bytes);
        self.knowledge = Knowledge::Never;
        if outcome.error.is_some() {
            // Whatever it is, messages fail of it too, and say so.
            return Ok(None);
        }
        match Answer::decode(&bytes) {
            Some(Answer::Here(facts)) => {
                self.knowledge = Knowledge::Here(facts);
                return Ok(Some(facts));
            }
            Some(Answer::Later) => self.be_patient(),
            Some(Answer::Never) => (),
            None => return Err(service::garbled_answer(bytes.len())),
        }
        Ok(None)
    }

    /// Lets some operations pass before the target is asked again.
    fn be_patient(&mut self) {
        self.patience = (self.patience * 2).clamp(PATIENCE, PATIENCE_MAX);
        self.knowledge = Knowledge::Later(self.patience);
    }

    /// Lets go of operations that are over, at most so many, up to the first that is not.
    fn reap(&mut self, access: &mut impl Access, most: usize) {
        for _ in 0..most {
            let Some(error) = self.under_way.front().and_then(|(_, operation)| operation.end(access)) else {
                return;
            };
            let ended = self.under_way.pop_front().map(|(_, operation)| operation);
            if ended.as_ref().is_some_and(Operation::went_again) {
                self.went_again = true;
                // Others go by messages for a while.
                if matches!(self.knowledge, Knowledge::Here(_)) {
                    self.be_patient();
                }
            }
            if error.is_some() {
                self.failed.extend(ended);
            }
        }
    }

    fn is_over(&mut self, access: &mut impl Access, moment: Moment) -> bool {
        self.reap(access, usize::MAX);
        self.under_way.front().is_none_or(|(begun, _)| *begun >= moment.0)
    }
}

/// The bytes from the beginning of a target's memory to the first element; `None` if some of the
/// elements lie outside.
fn offset(facts: &Facts, remote: &Remote) -> Result<Option<i64>> {
    let (low, high) = remote.datatype.span(remote.count as usize)?;
    let exposure = Exposure::new(facts.base, facts.size, facts.unit, None, None);
    Ok(exposure.offset(remote.displacement, (low as i64, high as i64)))
}
