//! One-sided calls as a trace of messages has them (`VERBENA_TRACE`).

use super::target::{self, Target};
use super::{Remote, Win};
use verbena_channel::trace::one_sided::{self, Call, OneSided, Way};

/// A call that began, if messages are traced.
#[derive(Clone, Copy)]
#[must_use]
pub struct Traced(u64);

impl Traced {
    /// Begins a call.
    #[inline]
    pub fn begin() -> Traced {
        Traced(one_sided::begin())
    }

    /// Ends an operation. One that went nowhere is no part of the trace.
    #[inline]
    pub fn operated(self, win: &Win, remote: &Remote) {
        if self.0 != 0 && remote.rank >= 0 {
            one_sided::operated(self.0, win.group().peer(remote.rank), remote.bytes());
        }
    }

    /// Ends another call on this rank, or on all members.
    #[inline]
    pub fn synchronized(self, win: &Win, call: Call, rank: Option<i32>) {
        if self.0 != 0 {
            win.record(self.0, call, rank);
        }
    }
}

impl Win {
    #[cold]
    fn record(&self, entered: u64, call: Call, rank: Option<i32>) {
        let Some(rank) = rank else {
            return one_sided::record(OneSided { call, target: None, bytes: 0, way: None, entered, left: 0 });
        };
        // Nothing happens at no process, which is no member.
        let Ok(Some(member)) = self.member(rank) else { return };
        let way = self.targets[member].get().map(|target| target.way_of(call));
        let target = Some(self.group().peer(rank));
        one_sided::record(OneSided { call, target, bytes: 0, way, entered, left: 0 });
    }
}

impl Target {
    /// The way that this call goes. Locks go by the control words if those are mapped here.
    fn way_of(&self, call: Call) -> Way {
        match (&self.way, self.words) {
            (_, Some(_)) if matches!(call, Call::Lock | Call::Unlock) => Way::Mapped,
            (_, None) if matches!(call, Call::Lock | Call::Unlock) => Way::Messages,
            (target::Way::Mapped(_), _) => Way::Mapped,
            (target::Way::Neighbor(_), _) => Way::Neighbor,
            (target::Way::Messages, _) => Way::Messages,
        }
    }
}
