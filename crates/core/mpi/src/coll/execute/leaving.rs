//! Leaving a collective since a process cannot be reached any more.
//!
//! After a death in a job that goes on, and in a communicator that was revoked, each rank finds out
//! by itself, and leaves. A lost link is known at its ends only, and the end of a process of
//! another job to those that have waited for it. Others would wait for messages that never come, or
//! to be rid of long ones: so who leaves sends to those for whom messages were to follow, and to
//! those from whom it would have received some, one that says so.
//!
//! A call that runs several schedules needs more ([`tell_on`]): others may be in a later one, and
//! look under the earlier ones' tags too.

use super::{Collective, Step, UnderWay};
use crate::coll::call::{LEFT, LEFT_AFTER_END, LEFT_AFTER_FAILURE};
use crate::coll::plan::Team;
use crate::error::Error;
use crate::generated::constants::{MPI_ERR_OTHER, MPI_ERR_PROC_ABORTED, MPIX_ERR_PROC_FAILED};
use std::collections::BTreeSet;
use std::iter::successors;
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_engine::{Engine, Mode, Posted, SendRequest};
use verbena_memory::Buffer;

impl Collective {
    /// Cancels all that is under way and skips the rest.
    pub(super) fn give_up(&mut self, engine: &mut Engine) {
        self.next = self.schedule.steps().len();
        self.under_way.iter().for_each(|u| engine.cancel(u.request));
    }

    /// Gives up, and tells those at the other end of the rest, and of what is under way: they may
    /// not have matched it yet, and a long message is sent once it is matched. Messages that say
    /// nothing of their call cannot say this.
    #[cold]
    pub(super) fn leave(&mut self, engine: &mut Engine, error: &Error) {
        let under_way = self.under_way.iter().map(|under_way| under_way.step as usize);
        let steps: Vec<usize> = under_way.chain(self.next..self.schedule.steps().len()).collect();
        self.give_up(engine);
        if self.call == Mark::NONE || self.left.is_some() {
            return;
        }
        let mark = match error.class {
            MPI_ERR_PROC_ABORTED => LEFT_AFTER_END,
            MPIX_ERR_PROC_FAILED => LEFT_AFTER_FAILURE,
            _ => LEFT,
        };
        self.left = Some(mark);
        let own = self.schedule.steps().iter().find_map(|step| match step {
            Step::Send { source, .. } => Some(*source),
            _ => None,
        });
        let own = own.unwrap_or(self.members.me as i32);
        let (under, mut told) = ((self.context, self.tag), BTreeSet::new());
        for step in steps {
            let (peer, source) = match self.schedule.steps()[step] {
                Step::Send { peer, source, .. } => (peer, source),
                Step::Receive { peer, .. } => (peer, own),
                _ => continue,
            };
            if !told.insert(peer) {
                continue;
            }
            // Who cannot be told has gone itself.
            if let Posted::Pending(request) = engine.send(word(peer, under, source, mark)) {
                self.under_way.push(UnderWay { step: step as u32, request });
            }
        }
    }

    /// The mark by which this rank has told others that it left, if it did.
    pub(in crate::coll) fn left(&self) -> Option<Mark> {
        self.left
    }
}

/// The message that says that this rank has left.
fn word(peer: Peer, (context, tag): (u64, i32), source: i32, mark: Mark) -> SendRequest {
    SendRequest { peer, context, source, tag, buffer: Buffer::EMPTY, mark, mode: Mode::Standard }
}

/// Tells members of a team that this rank has left one of several schedules that run under this
/// context and tag. Those that are in a later one wait for other ranks there than in this one. The
/// ranks at distances of powers of two hear it, and tell it on as they leave, so that all do.
#[cold]
pub(in crate::coll) fn tell_on(engine: &mut Engine, under: (u64, i32), team: Team<'_>, mark: Mark) {
    let (rank, size) = (team.rank(), team.size());
    let distances = successors(Some(1), |distance| Some(2 * distance));
    for distance in distances.take_while(|&distance| distance < size) {
        let peer = team.members()[(rank + distance) % size];
        if let Posted::Pending(request) = engine.send(word(peer, under, team.source(rank), mark)) {
            engine.forget(request);
        }
    }
}

/// The error of a rank that another one has told so by this mark.
#[cold]
pub(super) fn left_by(sender: &str, mark: Mark) -> Error {
    Error::new(
        match mark {
            LEFT_AFTER_END => MPI_ERR_PROC_ABORTED,
            LEFT_AFTER_FAILURE => MPIX_ERR_PROC_FAILED,
            _ => MPI_ERR_OTHER,
        },
        "another process has left the collective, since it has lost one",
        format!("told by {sender}"),
        "a process that takes part has ended or cannot be reached any more; the error of the other process \
         says which",
        "look at the error of the other process, and at the output of the one that was lost",
    )
}
