//! Puts and gets by the device as the calls of a window use them.

use super::{Far, Operation, Started};
use crate::active::Pending;
use crate::error::Result;
use crate::group::Group;
use crate::info::Info;
use crate::outcome::Outcome;
use crate::process::Process;
use crate::request::Active;
use crate::window::counts::{self, Kind, Way};
use crate::window::place::{Place, Remote};
use crate::window::service::shows::Facts;
use crate::window::{Flavor, Win};
use std::sync::Arc;
use verbena_engine::Motion;
use verbena_memory::Buffer;
use verbena_settings::WINDOW_DEVICE;

/// The hint that tells which way puts and gets go to members whose memory this process cannot reach
/// by itself.
const HINT: &str = "verbena_far_put_get";

impl Pending for Operation {
    fn poll(&self, mut process: &Process) -> Option<Outcome> {
        Operation::poll(self, &mut process)
    }
}

impl Win {
    /// Begins a put or get by the device. `None` if it must go another way. Waits while too much is
    /// under way.
    pub(in crate::window) fn by_device(
        &self,
        process: &Process,
        kind: Kind,
        place: &Place,
        buffer: &Buffer,
        remote: &Remote,
    ) -> Result<Option<Active>> {
        let Some(far) = self.far.as_ref().filter(|_| matches!(place, Place::Messages)) else {
            return Ok(None);
        };
        // All members told of their memory when the window was made.
        let part = self.target(process, remote.rank as usize).part;
        let is_expected =
            |facts: &Facts| (facts.base, facts.size, facts.unit) == (part.base, part.size, part.unit);
        let motion = if kind == Kind::Put { Motion::Put } else { Motion::Get };
        let awaited = |_: &Process| self.awaited_operations(&[remote.rank]);
        let started = process.wait_for(awaited, |mut process| {
            let started = far.start(&mut process, motion, remote, buffer, is_expected);
            (!matches!(started, Ok(Started::Full))).then_some(started)
        });
        let Started::Begun(operation) = started? else { return Ok(None) };
        counts::operation(kind, Way::Device);
        Ok(Some(Active::Far(Arc::new(operation))))
    }

    /// Waits for what the device does on a member before an operation that must not overtake it.
    pub(in crate::window) fn await_device(&self, process: &Process, member: usize) -> Result<()> {
        let Some(far) = &self.far else { return Ok(()) };
        let (target, moment) = (member as i32, far.now());
        let awaited = |_: &Process| self.awaited_operations(&[target]);
        process.wait_for(awaited, |mut process| far.is_over(&mut process, target, moment).then_some(()));
        if far.went_again(target) { self.finish_at(process, member) } else { Ok(()) }
    }

    /// Waits until everything that the device does on a member, or on all, is in place.
    pub(in crate::window) fn settle_device(&self, process: &Process, member: Option<usize>) -> Result<()> {
        let Some(far) = &self.far else { return Ok(()) };
        let moment = far.now();
        let targets = member.map_or_else(|| far.unsettled(), |member| vec![member as i32]);
        let settle = |target: i32| {
            let awaited = |_: &Process| self.awaited_operations(&[target]);
            process.wait_for(awaited, |mut process| far.settle(&mut process, target, moment))
        };
        // Each is waited for, whatever became of those before.
        targets.into_iter().map(settle).fold(Ok(()), Result::and)
    }
}

/// The operations by device of a window whose members do not all reach each other: `None` if it
/// uses none. Notes in the hints which way puts and gets go.
pub(in crate::window) fn of_window(
    process: &Process,
    flavor: Flavor,
    hints: &Info,
    group: &Group,
    far: impl FnOnce() -> Far,
) -> Option<Far> {
    let mut others = group.members().iter().filter(|&&peer| peer != process.me());
    let mut is_led = || process.look(|engine| others.any(|&peer| engine.may_reach_memory(peer)));
    let uses_device = flavor != Flavor::Dynamic && WINDOW_DEVICE.get() && is_led();
    // A window without the hint works as well.
    _ = hints.set(HINT.as_bytes(), if uses_device { &b"device"[..] } else { b"messages" });
    uses_device.then(far)
}
